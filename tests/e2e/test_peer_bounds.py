"""Agents that meet: who reaches whom, what it costs, and what ends it."""

from pathlib import Path

from opencrab.domain.access.authority import Authority
from opencrab.domain.conversation.message import Sender
from opencrab.domain.discussion.outcome import DISCUSSION_OUTCOME
from opencrab.domain.document import INSTALLATION_FACTS, new_fact
from opencrab.domain.goals.goal import GoalStatus
from opencrab.domain.money.budget import agent_budget_scope, heartbeat_budget_scope
from opencrab.domain.peers.notice import NOTICE, notice_board_id
from opencrab.domain.peers.policy import PEER_POLICY, PeerPolicy, PeerReach
from opencrab.domain.peers.talk import HEARD_ITEM, PATIENCE, TALKS_A_DAY, peer_session_id
from opencrab.domain.value import Language
from opencrab.engine.autonomy.due_items import admit_due_item
from opencrab.engine.turn.admission import admit_turns_of_message
from tests.contract.homes import sqlite
from tests.crash.errand import RICH
from tests.crash.scenarios import message
from tests.e2e.beating import minutes
from tests.e2e.house import House
from tests.e2e.meeting import (
    CONVERSATION,
    SILENT,
    SOON,
    UNMET,
    Said,
    asks,
    drawn,
    goals,
    if_asked,
    meets,
    pair,
    results,
    session_of,
    spoken,
    talk,
    use,
)


def test_two_agents_that_answer_each_other_for_ever_end_by_hops(home: House) -> None:
    meets(home, "aki")
    meets(home, "bo")
    words = iter(f"{first} {second}" for first in "潮波砂貝岩風雲月" for second in "森川雪花鳥魚")
    question = use("talk_to_peer", peer="Botan", purpose="tides", message="海", hops=5)
    players = asks(home, question, bo="")
    players.says["bo"] = lambda _text, _step: next(words)
    first = players.says["aki"]
    players.says["aki"] = lambda text, step: (
        first(text, step) if "please" in text or step else next(words)
    )
    home.say("please")
    home.work()
    for _ in range(12):
        home.later(61)
    assert [who for who, _ in spoken(home)] == ["aki", "bo", "aki", "bo", "aki", "bo"]
    assert (talk(home).hops, talk(home).ended) == (5, True)


def test_two_agents_that_repeat_themselves_end_before_their_hops(home: House) -> None:
    meets(home, "aki")
    meets(home, "bo")
    question = use("talk_to_peer", peer="Botan", purpose="tides", message="海", hops=10)
    players = asks(home, question, bo="その通りです。")
    first = players.says["aki"]
    players.says["aki"] = lambda text, step: (
        first(text, step) if "please" in text or step else "その通りです。"
    )
    home.say("please")
    home.work()
    for _ in range(12):
        home.later(61)
    assert [who for who, _ in spoken(home)] == ["aki", "bo", "aki"]


def test_another_owners_agent_is_neither_listed_nor_reached(home: House) -> None:
    meets(home, "aki")
    meets(home, "eve", owner="somebody")
    players = asks(home, use("talk_to_peer", peer="Eve", purpose="x", message="y"), eve="hello")
    home.say("please")
    home.work()
    home.later(61)
    assert not any(name == "eve" for name, _ in players.asked)
    assert "is in your reach" in results(home)[0]
    players.says["aki"] = lambda _text, step: SILENT if step else use("list_peers")
    home.say("please list", "m2")
    home.work()
    assert "Eve" not in results(home)[1]


def test_both_owners_may_permit_it_and_one_alone_does_not(home: House) -> None:
    meets(home, "aki")
    meets(home, "eve", owner="somebody")
    listed = {"aki": ("eve",), "eve": ("aki",)}
    asks(home, use("talk_to_peer", peer="Eve", purpose="x", message="y"), eve="hello")
    for place, (name, others) in enumerate(listed.items()):
        policy = PeerPolicy(reach=PeerReach.LISTED, agents=others)
        home.home.facts.commit(new_fact(INSTALLATION_FACTS, PEER_POLICY, name, policy))
        home.say("please", f"m{place}")
        home.work()
    home.later(61)
    assert "is in your reach" in results(home)[0]
    assert spoken(home, peer_session_id("aki", "eve"))[1:] == [("eve", "hello")]


def test_a_peer_turn_has_a_peers_rights_and_cannot_ask_others(home: House) -> None:
    for name in ("aki", "bo", "caro"):
        meets(home, name)
    onward = use("talk_to_peer", peer="caro", purpose="chain", message="go on")
    players = asks(home, use("talk_to_peer", peer="Botan", purpose="x", message="y"), caro="hi")
    players.says["bo"] = lambda _text, step: "no" if step else onward
    home.say("please")
    home.work()
    for _ in range(4):
        home.later(61)
    assert not any(name == "caro" for name, _ in players.asked)
    refused = results(home, CONVERSATION)
    assert len(refused) == 1
    assert "error" in refused[0]


def test_a_question_counts_on_the_day_and_the_share_of_own_turns_of_both(home: House) -> None:
    pair(home)
    minutes(home, SOON)
    answered = drawn(home, agent_budget_scope("bo"))
    assert answered > 0
    own = [goal.spent_micro_usd for goal in goals(home)]
    assert drawn(home, agent_budget_scope("aki")) >= answered + sum(own)
    assert drawn(home, heartbeat_budget_scope("aki")) >= answered + sum(own)
    assert drawn(home, heartbeat_budget_scope("bo")) == answered


def test_what_a_person_had_asked_leaves_the_shares_of_own_turns_alone(home: House) -> None:
    meets(home, "aki")
    meets(home, "bo")
    asks(home, use("talk_to_peer", peer="bo", purpose="x", message="y"), bo="hello")
    home.say("please")
    home.work()
    home.later(61)
    assert drawn(home, agent_budget_scope("bo")) > 0
    for name in ("aki", "bo"):
        assert drawn(home, heartbeat_budget_scope(name)) == 0


def test_a_discussion_that_no_person_caused_is_paid_from_the_shares_of_own_turns(
    home: House,
) -> None:
    players = pair(home)
    words = iter(f"{first} {second}" for first in "潮波砂貝岩風雲月" for second in "森川雪花鳥魚")
    invites = use("invite_to_discussion", agents=["Botan"], subject="海", message="波?")

    def aki(text: str, step: int) -> Said:
        own = UNMET[Language.EN] in text
        return SILENT if step else invites if own else next(words)

    players.says = {"aki": aki, "bo": lambda _text, _step: next(words)}
    minutes(home, 2 * SOON)
    for name in ("aki", "bo"):
        spent = drawn(home, agent_budget_scope(name))
        assert spent == drawn(home, heartbeat_budget_scope(name)) > 0
    (held,) = (s for s in home.home.sessions.page(after=None, limit=9) if s.discusses)
    assert {who for who, _ in spoken(home, held.id)[2:]} == {"aki", "bo"}
    assert home.home.facts.get(INSTALLATION_FACTS, DISCUSSION_OUTCOME, held.id) is not None


def test_a_discussion_that_a_person_had_opened_is_paid_from_the_days(home: House) -> None:
    meets(home, "aki")
    meets(home, "bo")
    wanted = {"agents": ["bo"], "subject": "x", "message": "y"}
    asks(home, use("invite_to_discussion", **wanted), bo="hello")
    home.say("please")
    home.work()
    home.later(61)
    assert drawn(home, agent_budget_scope("bo")) > 0
    assert drawn(home, heartbeat_budget_scope("bo")) == 0


def test_a_caller_whose_day_is_spent_causes_no_call_of_the_peer(tmp_path: Path) -> None:
    house = House(sqlite, tmp_path, RICH)
    meets(house, "aki")
    meets(house, "bo")
    players = asks(house, use("talk_to_peer", peer="bo", purpose="x", message="y"), bo="hello")
    house.say("please")
    house.work()
    poor = house.home.agents.get("aki").agent
    spent = drawn(house, agent_budget_scope("aki"))
    house.home.agents.save(poor.replaced(day_limit_micro_usd=spent))
    for _ in range(3):
        house.later(61)
    assert not any(name == "bo" for name, _ in players.asked)
    assert talk(house).ended
    house.close()


def test_a_peer_is_asked_one_thing_at_a_time_and_nothing_twice(home: House) -> None:
    meets(home, "aki")
    meets(home, "bo")
    question = use("talk_to_peer", peer="Botan", purpose="tides", message="When is high tide?")
    players = asks(home, question, bo="At nine.")
    home.say("please")
    home.work()
    other = use("talk_to_peer", peer="Botan", purpose="wind", message="How strong is the wind?")
    players.says["aki"] = if_asked(other)
    home.say("please, again", "m2")
    home.work()
    assert "is not over yet" in results(home)[1]
    for _ in range(4):
        home.later(61)
    players.says["aki"] = if_asked(question)
    home.say("please", "m3")
    home.work()
    assert any("nearly the same" in each for each in results(home))
    assert len(spoken(home)) == 2


def test_questions_to_one_peer_are_limited_in_a_day(home: House) -> None:
    meets(home, "aki")
    meets(home, "bo")
    players = asks(home, SILENT, bo=SILENT)
    words = "潮波砂貝岩風雲月星森川雪花鳥魚馬犬猫"
    for place in range(TALKS_A_DAY + 1):
        said = use("talk_to_peer", peer="bo", purpose=words[place], message=words[place])
        players.says["aki"] = if_asked(said)
        home.say("please", f"m{place}")
        home.work()
        home.later(61)
        home.later(61)
    assert f"limit reached: {TALKS_A_DAY}" in results(home)[-1]
    assert len(spoken(home)) == TALKS_A_DAY


def test_what_follows_a_turn_may_be_done_twice_and_happens_once(home: House) -> None:
    players = pair(home)
    seen = []

    def twice() -> None:
        for item in home.home.due.list_due(home.clock.now(), 100):
            if item.id.startswith(("talk-", "heard-")):
                seen.append(item.id)
                admit_due_item(home.runtime, item)
                admit_due_item(home.runtime, item)

    for _ in range(SOON):
        twice()
        minutes(home, 1)
    assert len(seen) == 3
    assert len(spoken(home)) == 2
    assert len([name for name, _ in players.asked if name == "bo"]) == 1
    assert [goal.status for goal in goals(home)] == [GoalStatus.COMPLETED]


def test_notices_are_limited_in_a_day_and_the_same_one_stands_once(home: House) -> None:
    meets(home, "aki")
    players = asks(home, use("offer", text="maps"))
    for place in range(7):
        said = use("offer", text=f"maps {max(place - 1, 0)}")
        players.says["aki"] = if_asked(said)
        home.say("please", f"m{place}")
        home.work()
    told = results(home)
    assert "on the board already" in told[1]
    assert "limit reached: 5" in told[-1]
    assert len(home.home.facts.page(notice_board_id("owner"), NOTICE)) == 5


def test_either_of_two_agents_continues_their_conversation_until_an_owner_ends_it(
    home: House,
) -> None:
    meets(home, "aki")
    meets(home, "bo")
    players = asks(home, use("talk_to_peer", peer="Botan", purpose="a", message="海"), bo=SILENT)
    home.say("please")
    home.work()
    home.later(61)
    home.later(61)
    back = use("talk_to_peer", peer="秋", purpose="b", message="風")
    players.says |= {"aki": lambda _t, _s: SILENT}
    players.says["bo"] = if_asked(back)
    home.home.sessions.create(session_of("bo"))
    admit_turns_of_message(home.runtime, "bo-s", message("please", "b1"))
    home.work()
    home.later(61)
    assert [who for who, _ in spoken(home)] == ["aki", "bo"]
    home.later(61)
    home.home.sessions.end(CONVERSATION, home.clock.now())
    players.says["bo"] = lambda text, step: (
        SILENT if step else use("talk_to_peer", peer="aki", purpose="c", message="星")
    )
    admit_turns_of_message(home.runtime, "bo-s", message("please", "b2"))
    home.work()
    assert "ended for good" in results(home, "bo-s")[-1]


def test_an_answer_that_comes_too_late_is_not_taken_for_that_of_the_next_question(
    home: House,
) -> None:
    meets(home, "aki")
    meets(home, "bo")
    players = asks(home, use("talk_to_peer", peer="bo", purpose="海", message="海"), bo="LATE")
    home.say("please")
    home.work()
    home.later(61)
    heard = [x for x in home.home.due.list_due(home.clock.now(), 99) if x.id.startswith(HEARD_ITEM)]
    for item in heard:
        home.home.due.remove(item.id)
    home.clock.advance(PATIENCE.total_seconds())
    players.says["aki"] = if_asked(use("talk_to_peer", peer="bo", purpose="風", message="風"))
    home.say("please", "m2")
    home.work()
    for item in heard:
        admit_due_item(home.runtime, item)
    assert (len(heard), talk(home).hops, talk(home).answer_turn) == (1, 0, "")
    players.says["bo"] = lambda _text, _step: "IN TIME"
    home.later(61)
    home.later(61)
    answer = home.home.journal.header(talk(home).answer_turn)
    lines = home.home.journal.lines(CONVERSATION, limit=99)
    assert [line.text for line in lines if line.turn_id == answer.id] == ["IN TIME"]


def test_what_was_asked_for_one_person_is_not_told_to_another(home: House) -> None:
    meets(home, "aki")
    meets(home, "bo")
    secret = use("talk_to_peer", peer="bo", purpose="海", message="SECRET 潮")
    players = asks(home, secret, bo="understood")
    home.say("please")
    home.work()
    for _ in range(3):
        home.later(61)
    nosy = use("talk_to_peer", peer="bo", purpose="風", message="What were you told?")
    players.says["aki"] = if_asked(nosy)
    for person in ("guest", "visitor"):
        home.home.sessions.create(session_of("aki").replaced(id=person, created_by=person))
        sender = {"authority": Authority.USER, "principal_id": person}
        asked = message("please", person).replaced(sender=Sender(id=person, name=person), **sender)
        before = len(players.asked)
        admit_turns_of_message(home.runtime, person, asked)
        home.work()
        home.later(61)
        told = [text for name, text in players.asked[before:] if name == "bo"]
        assert (len(told), "What were you told?" in told[0]) == (1, True)
        assert "SECRET" not in told[0]
        assert spoken(home, peer_session_id("aki", "bo", person))[1] == ("bo", "understood")
        home.clock.advance(25 * 3_600)
    assert spoken(home)[0] == ("aki", "[Purpose: 海]\nSECRET 潮")
