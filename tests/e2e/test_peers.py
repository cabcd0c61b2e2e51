"""Agents that meet: one asks another by itself, hears the answer, and it ends."""

from pathlib import Path

import pytest

from opencrab.domain.access.authority import Authority
from opencrab.domain.agents.event import HAPPENING
from opencrab.domain.conversation.message import LineKind
from opencrab.domain.conversation.session import Mode, Participant, Session
from opencrab.domain.document import INSTALLATION_FACTS, new_fact
from opencrab.domain.goals.goal import GOAL, Goal, GoalSource, GoalStatus
from opencrab.domain.memory.memory import EXPERIENCE
from opencrab.domain.money.budget import agent_budget_scope, heartbeat_budget_scope
from opencrab.domain.outcome import Outcome
from opencrab.domain.peers.notice import NOTICE, notice_board_id
from opencrab.domain.peers.policy import PEER_POLICY, PeerPolicy, PeerReach
from opencrab.domain.peers.talk import PATIENCE, PEER_TALK, TALKS_A_DAY, PeerTalk, peer_session_id
from opencrab.domain.value import Language
from opencrab.engine.autonomy.due_items import admit_due_item
from opencrab.engine.autonomy.sweep import run_autonomy_sweep
from opencrab.engine.turn.admission import admit_turns_of_message
from tests.contract.homes import sqlite
from tests.crash.errand import RICH
from tests.crash.scenarios import message
from tests.e2e.beating import minutes
from tests.e2e.house import START, House
from tests.e2e.meeting import (
    ANSWER,
    QUESTION,
    SILENT,
    Players,
    Said,
    always,
    if_asked,
    meets,
    use,
)

CONVERSATION = peer_session_id("aki", "bo")
SOON = 8
UNMET = {Language.EN: "Get to know Botan", Language.JA: "Botanさんと知り合う"}
REPORT = {Language.EN: "Botan answered: {answer}", Language.JA: "Botanさんの返事: {answer}"}


def spoken(house: House, session_id: str = CONVERSATION) -> list[tuple[str, str]]:
    lines = house.home.journal.lines(session_id, limit=200)
    return [(line.speaker_id, line.text) for line in lines if line.kind is LineKind.SPEECH]


def goals(house: House, source: GoalSource = GoalSource.SOCIAL, name: str = "aki") -> list[Goal]:
    found = (fact.read(Goal) for fact in house.home.facts.page(name, GOAL))
    return [goal for goal in found if goal.source is source and goal.deadline is None]


def talk(house: House, caller: str = "aki", peer: str = "bo") -> PeerTalk:
    stored = house.home.facts.get(caller, PEER_TALK, peer)
    assert stored is not None
    return stored.read(PeerTalk)


def drawn(house: House, scope: str) -> int:
    return house.home.budgets.drawn_micro_usd(scope, f"{house.clock.now():%Y-%m-%d}")


def pair(house: House, language: Language = Language.EN, peer: Said | None = None) -> Players:
    """Aki asks by its own heartbeat turn; Botan answers, or says what is given."""
    players = Players()
    meets(house, "aki", language, instructions="海を知る", interval_seconds=61)
    meets(house, "bo", language, enabled=False)

    def aki(text: str, step: int) -> Said:
        if UNMET[language] not in text or step:
            return SILENT
        return use("talk_to_peer", peer="Botan", purpose="tides", message=QUESTION[language])

    players.says = {"aki": aki, "bo": lambda _text, _step: peer or ANSWER[language]}
    house.provider.wrap = players.model
    return players


def asks(house: House, said: Said, name: str = "aki", **others: Said) -> Players:
    """An agent that does one thing when its owner writes, and others that say the same always."""
    players = Players()
    done = house.home.agents.get(name).agent
    house.session(done)
    players.says = {each: always(words) for each, words in others.items()}
    players.says[name] = if_asked(said)
    house.provider.wrap = players.model
    return players


def session_of(name: str) -> Session:
    """A session of one agent with its owner."""
    return Session(
        id=f"{name}-s",
        participants=(Participant(agent_id=name),),
        created_by="owner",
        created_at=START,
        updated_at=START,
    )


def results(house: House, session_id: str = "s") -> list[str]:
    lines = house.home.journal.lines(session_id, limit=1_000)
    calls = [line.data or {} for line in lines if line.kind is LineKind.ACTION]
    return [str(call["result"]) for call in calls if call["name"] != "send_noreact"]


@pytest.mark.parametrize("language", Language)
def test_an_agent_asks_another_by_itself_and_its_goal_ends_with_the_answer(
    house: House, language: Language
) -> None:
    players = pair(house, language)
    minutes(house, SOON)
    heard = spoken(house)
    assert heard[0][0] == "aki"
    assert heard[0][1].endswith(QUESTION[language])
    assert heard[1:] == [("bo", ANSWER[language])]
    (goal,) = goals(house)
    assert (goal.name, goal.status) == (UNMET[language], GoalStatus.COMPLETED)
    assert goal.report == REPORT[language].format(answer=ANSWER[language])
    assert goal.satisfaction is not None
    assert (goal.satisfaction.outcome, goal.taint) == (Outcome.SUCCESS, True)
    assert len(house.home.facts.page("aki", EXPERIENCE)) == 1
    prompts = [text for name, text in players.asked if name == "aki"]
    # In the direct session, and in a later turn of its own.
    told = [text for text in prompts if ANSWER[language] in text]
    assert len(told) == 2
    assert "peer.answered Botan (bo)" in told[1]
    assert not any("- bo " in text or "answered bo:" in text for _, text in players.asked)


def test_a_goal_whose_question_nobody_answers_is_given_up(home: House) -> None:
    pair(home, peer=SILENT)
    minutes(home, SOON)
    (goal,) = goals(home)
    assert (goal.status, goal.report) == (GoalStatus.ABANDONED, "")
    assert home.home.facts.page("aki", EXPERIENCE) == ()
    assert [who for who, _ in spoken(home)] == ["aki"]


def test_a_goal_waits_for_an_answer_that_never_comes_only_so_long(home: House) -> None:
    players = pair(home)
    while home.home.facts.get("aki", PEER_TALK, "bo") is None:
        minutes(home, 1)
    waiting = talk(home)
    assert (waiting.waits, goals(home)[0].status) == (True, GoalStatus.PENDING)
    home.lose_agent("bo")
    minutes(home, 1)
    assert goals(home)[0].status is GoalStatus.PENDING
    home.clock.advance(PATIENCE.total_seconds())
    minutes(home, 3)
    assert goals(home)[0].status is GoalStatus.ABANDONED
    assert not any(name == "bo" for name, _ in players.asked)


@pytest.mark.parametrize("language", Language)
def test_a_step_of_another_goal_rests_and_goes_on_with_the_answer(
    home: House, language: Language
) -> None:
    players = pair(home, language)

    def aki(text: str, step: int) -> Said:
        if "海を知る" not in text or "G4" not in text or step:
            return SILENT
        if ANSWER[language] in text:
            return "ws_write", {"path": "tide.md", "content": "9"}
        return use("talk_to_peer", peer="bo", purpose="tides", message=QUESTION[language])

    meets(home, "caro", language)
    players.says["aki"] = aki
    minutes(home, SOON)
    assert home.home.files.info("aki", "tide.md") is not None
    assert [who for who, _ in spoken(home)] == ["aki", "bo"]


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


def test_a_question_counts_on_the_day_of_both_and_on_the_share_of_own_turns(home: House) -> None:
    pair(home)
    minutes(home, SOON)
    answered = drawn(home, agent_budget_scope("bo"))
    assert answered > 0
    own = [goal.spent_micro_usd for goal in goals(home)]
    assert drawn(home, agent_budget_scope("aki")) >= answered + sum(own)
    assert drawn(home, heartbeat_budget_scope("aki")) >= answered + sum(own)
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


@pytest.mark.parametrize("language", Language)
def test_a_notice_wakes_nobody_and_own_turns_see_it_and_help(
    home: House, language: Language
) -> None:
    players = pair(home, language)
    meets(home, "caro", language, owner="somebody", instructions="x")
    asking = use("ask_for_help", text="満潮を知りたい")
    players.says["bo"] = if_asked(asking)
    players.says["caro"] = lambda _text, _step: SILENT
    helping = {Language.EN: "Help Botan", Language.JA: "助けを求めているBotanさん"}

    def aki(text: str, step: int) -> Said:
        if helping[language] not in text or step > 1:
            return SILENT
        if step == 0:
            return use("read_notices")
        return use("talk_to_peer", peer="Botan", purpose="help", message=QUESTION[language])

    players.says["aki"] = aki
    home.session(home.home.agents.get("bo").agent)
    home.say("please")
    home.work()
    asked = len(players.asked)
    run_autonomy_sweep(home.runtime)
    home.work()
    assert len(players.asked) == asked
    minutes(home, SOON)
    (goal,) = goals(home)
    assert helping[language] in goal.name
    assert any("満潮を知りたい" in text for name, text in _shown(players, home) if name == "aki")
    assert [who for who, _ in spoken(home)][:1] == ["aki"]
    board = {Language.EN: "Botan asks for help", Language.JA: "Botanさんが助けを求めています"}
    told = [name for name, text in players.asked if board[language] in text]
    assert "aki" in told
    assert "caro" not in told


def _shown(players: Players, house: House) -> list[tuple[str, str]]:
    """What actions of the goals' sessions returned, by agent."""
    return [("aki", text) for goal in goals(house) for text in results(house, goal.session_id)]


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


@pytest.mark.parametrize("language", Language)
def test_an_agent_opens_a_discussion_with_others(home: House, language: Language) -> None:
    for name in ("aki", "bo", "caro"):
        meets(home, name, language)
    wanted = {"agents": ["Botan", "caro"], "subject": "海の行事", "message": QUESTION[language]}
    players = asks(home, use("invite_to_discussion", **wanted))
    words = iter("潮波砂貝岩風雲月星森川雪花鳥魚馬犬猫")
    first = players.says["aki"]

    def speaks(text: str, step: int) -> Said:
        return next(words)

    players.says |= {"bo": speaks, "caro": speaks}
    players.says["aki"] = lambda text, step: (
        first(text, step) if "please" in text or step else next(words)
    )
    home.say("please")
    home.work()
    for _ in range(20):
        home.later(61)
    (opened,) = [
        s for s in home.home.sessions.page(after=None, limit=9) if s.mode is not Mode.DIRECT
    ]
    assert (opened.theme, opened.created_by) == ("海の行事", "aki")
    said = spoken(home, opened.id)
    assert said[0] == ("aki", QUESTION[language])
    assert {who for who, _ in said} == {"aki", "bo", "caro"}
    assert opened.ended_by is not None
    assert opened.hops <= (opened.hop_limit or 0)


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


@pytest.mark.parametrize("language", Language)
def test_a_person_who_had_an_agent_ask_hears_the_answer_in_the_same_conversation(
    home: House, language: Language
) -> None:
    meets(home, "aki", language)
    meets(home, "bo", language)
    question = use("talk_to_peer", peer="Botan", purpose="潮", message=QUESTION[language])
    players = asks(home, question, bo=ANSWER[language])
    marks = {Language.EN: "because of this conversation", Language.JA: "この会話のために"}
    asking = players.says["aki"]

    def aki(text: str, step: int) -> Said:
        return f"PASSED ON {ANSWER[language]}" if marks[language] in text else asking(text, step)

    players.says["aki"] = aki
    home.say("please", channel="wall")
    home.work()
    for _ in range(3):
        home.later(61)
    assert spoken(home, "s")[-1] == ("aki", f"PASSED ON {ANSWER[language]}")
    assert home.wall.shown[-1][1] == f"PASSED ON {ANSWER[language]}"
    told = home.home.journal.lines("s", limit=100)[-1]
    assert (told.taint, told.authority) == (True, Authority.PEER)
    assert home.home.facts.page("aki", HAPPENING) == ()
