"""Several agents talk with each other, and it ends by itself."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from opencrab.adapters.providers.scripted.model import Scripted
from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.agents.agent import AgentStatus
from opencrab.domain.agents.event import HAPPENING, AgentEvent
from opencrab.domain.agents.heartbeat import Heartbeat
from opencrab.domain.autonomy.settings import Autonomy
from opencrab.domain.autonomy.vital_signs import VitalSigns
from opencrab.domain.conversation.message import Audience, LineKind, Sender
from opencrab.domain.conversation.session import Ending, Mode, Participant, Phase, SessionStatus
from opencrab.domain.discussion.outcome import is_discussion_outcome_turn
from opencrab.domain.document import new_fact
from opencrab.domain.memory.belief_index import PEERS
from opencrab.domain.memory.peer import PEER, Peer
from opencrab.domain.memory.salient_beliefs import OUTLOOK, SalientBeliefs
from opencrab.domain.money.budget import agent_budget_scope, public_budget_scope
from opencrab.domain.turn.turn import Trigger, TurnStatus
from opencrab.domain.value import Language
from opencrab.engine.agents.vital_signs import agent_vital_signs_document, create_agent_vital_signs
from opencrab.engine.autonomy.due_items import admit_due_item
from opencrab.engine.autonomy.sweep import sweep_due_items
from opencrab.engine.discussion.after_turn import record_discussion_results
from opencrab.engine.runtime import Rules
from tests.contract.homes import sqlite
from tests.e2e.house import START, House
from tests.e2e.talking import DONE, SILENT, WORDS, Talk, gathered, session_of, turns_of
from tests.integration.rest.house import House as RestHouse

LONG = 61


def goes_on(house: House, rounds: int = 9) -> None:
    """Let so much time pass that everybody could have spoken who might."""
    for _ in range(rounds):
        house.later(LONG)


def nothing_is_queued(house: House) -> bool:
    """Whether nobody will ever say anything more of their own accord."""
    house.clock.advance(3_600)
    queued = house.home.turns.receive(visibility_seconds=1, wait_seconds=0)
    return queued is None and house.home.due.list_due(house.clock.now(), 10) == ()


def test_three_agents_discuss_in_japanese_over_rest_and_come_to_an_end(tmp_path: Path) -> None:
    house = RestHouse(tmp_path)
    at_once = Autonomy(floor_seconds=0, own_speech_seconds=0)
    house.furnish(rules=replace(house.runtime.rules, autonomy=at_once))
    said = ["海岸を掃除しましょう。", "子どもたちも誘いたいです。", "夏より秋がよいと思います。"]
    more = ["秋なら十月の第一日曜が空いています。", "その日で決まりですね。"]
    talk = Talk([*said, *more, DONE, DONE, DONE])
    house.thinking.model = talk.model(Scripted())
    agents = [house.agent(name, language="ja") for name in ("凪", "汐", "渚")]
    wanted = {"participants": agents, "theme": "海岸の行事"}
    session_id = house.made("/sessions", wanted)["id"]
    house.say(session_id, "秋の行事を決めてください。")
    for _ in range(12):
        house.work()
        sweep_due_items(house.runtime)
    found = house.got(f"/sessions/{session_id}")
    assert (found["status"], found["ended_by"], found["phase"]) == ("ended", "done", "concluded")
    lines = house.got(f"/sessions/{session_id}/messages?kinds=speech")["items"]
    assert [line["text"] for line in lines] == ["秋の行事を決めてください。", *said, *more]
    assert [line["speaker_name"] for line in lines[1:4]] == ["凪", "汐", "渚"]
    assert lines[4]["speaker_name"] != "渚"
    fairness = house.got(f"/sessions/{session_id}/fairness")
    assert fairness["characters"] == sum(map(len, said + more))
    assert 0.5 < fairness["index"] <= 1
    peer = house.runtime.home.facts.get(agents[0], PEER, agents[1])
    assert peer is not None
    assert (peer.read(Peer).interactions, peer.read(Peer).successes) == (1, 1)
    outlook = house.runtime.home.facts.get(agents[0], OUTLOOK, OUTLOOK)
    assert outlook is not None
    assert {each.agent_id for each in outlook.read(SalientBeliefs).peers} == {*agents[1:]}
    house.close()


def test_who_knows_as_many_peers_as_one_may_gets_to_know_no_more(home: House) -> None:
    gathered(home, "kai", "nami", says=["海です"])
    known = (new_fact("kai", PEER, f"p{n}", Peer(agent_id=f"p{n}")) for n in range(PEERS))
    for fact in known:
        home.home.facts.commit(fact)
    home.say("話して")
    goes_on(home)
    assert session_of(home).ended_by is Ending.DONE
    assert home.home.facts.get("kai", PEER, "nami") is None
    assert home.home.facts.get("nami", PEER, "kai") is not None


def test_two_who_keep_each_other_talking_are_stopped_by_the_hop_limit(home: House) -> None:
    gathered(home, "kai", "nami", says=list(WORDS))
    home.say("海について話して")
    goes_on(home)
    session = session_of(home)
    assert (session.status, session.ended_by) == (SessionStatus.ENDED, Ending.HOPS)
    asked = [turn for turn in turns_of(home) if turn.source is Source.PEER]
    *asked, last = asked
    assert [turn.hops for turn in asked] == [1, 2, 3, 4, 5, 6]
    assert {turn.agent_id for turn in asked[::2]} != {turn.agent_id for turn in asked[1::2]}
    assert is_discussion_outcome_turn(last)
    assert all((t.trigger, t.authority, t.taint) == (Trigger.EVENT, "peer", True) for t in asked)
    assert nothing_is_queued(home)


def test_it_ends_in_every_home(house: House) -> None:
    gathered(house, "kai", "nami", says=list(WORDS), hop_limit=1)
    house.say("海について話して")
    goes_on(house, 3)
    assert session_of(house).ended_by is Ending.HOPS
    assert nothing_is_queued(house)


def test_nobody_is_asked_about_their_own_words_and_all_hear_why_they_speak(home: House) -> None:
    talk = gathered(home, "kai", "nami", says=list(WORDS))
    home.say("海について話して")
    goes_on(home, 3)
    asked = [name for name, _ in talk.asked]
    assert all(one != other for one, other in pairwise(asked))
    _, shown = talk.asked[2]
    assert "段階: 発散" in shown
    assert "残りの発言機会: 全員で6回" in shown
    assert "80文字程度" in shown
    hidden = [line for line in home.lines(LineKind.SYSTEM) if line.audience is Audience.SELF]
    assert len(hidden) == 2


def test_saying_the_same_thing_three_times_ends_it(home: House) -> None:
    gathered(home, "kai", "nami", says=["賛成です"] * 20)
    home.say("どう思う?")
    goes_on(home)
    session = session_of(home)
    assert (session.ended_by, session.hops) == (Ending.NO_NOVELTY, 1)


def test_silence_of_all_others_ends_it(home: House) -> None:
    gathered(home, "kai", "nami", "umi", says=["潮です", "波です", "砂です", SILENT, SILENT])
    home.say("どう思う?")
    goes_on(home)
    session = session_of(home)
    assert (session.ended_by, session.hops) == (Ending.QUIET, 2)


def test_a_question_that_nobody_answers_waits_for_a_human(home: House) -> None:
    gathered(home, "kai", "nami", says=[SILENT, SILENT, "潮です", SILENT, SILENT])
    home.say("ありがとう")
    goes_on(home, 3)
    assert session_of(home).status is SessionStatus.ACTIVE
    assert nothing_is_queued(home)
    home.say("もう一つ聞いていい?", "m2")
    goes_on(home, 3)
    assert (session_of(home).hops, session_of(home).floor) == (0, 0)


def test_quorum_and_budget_end_it(home: House) -> None:
    gathered(home, "kai", "nami", "umi", says=["潮", "波", "砂", DONE, DONE, "岩"], quorum=2)
    home.say("話して")
    goes_on(home)
    assert (session_of(home).ended_by, session_of(home).hops) == (Ending.QUORUM, 0)


def test_a_budget_ends_it(home: House) -> None:
    gathered(home, "kai", "nami", says=list(WORDS), budget_micro_usd=8)
    home.say("話して")
    goes_on(home)
    session = session_of(home)
    assert (session.ended_by, session.turn_number) == (Ending.BUDGET, 3)
    assert session.spent_micro_usd >= 8


def test_what_a_public_person_set_going_is_paid_from_that_persons_day(tmp_path: Path) -> None:
    day = START.strftime("%Y-%m-%d")
    house = House(sqlite, tmp_path)
    gathered(house, "kai", "nami", says=[a + b for a in WORDS for b in WORDS], hop_limit=50)
    stranger = {"authority": Authority.PUBLIC, "principal_id": "stranger"}
    house.say("話して", sender=Sender(id="stranger", name="S"), **stranger)
    house.work()
    goes_on(house, 3)
    drawn = house.home.budgets.drawn_micro_usd
    theirs = sum(drawn(agent_budget_scope(name), day) for name in ("kai", "nami"))
    assert 0 < theirs == drawn(public_budget_scope("stranger"), day)
    asked = [turn for turn in turns_of(house) if turn.source is Source.PEER]
    assert {turn.payer for turn in asked} == {"stranger"}
    house.say("私にも", "m2")
    house.work()
    goes_on(house, 3)
    assert turns_of(house)[-1].payer is session_of(house).payer is None
    assert drawn(public_budget_scope("stranger"), day) == theirs
    house.say("もっと話して", "m3", sender=Sender(id="stranger", name="S"), **stranger)
    house.work()
    house.home.budgets.change_limits({"public_user_day_micro_usd": 0})
    goes_on(house, 3)
    last = turns_of(house)[-1]
    assert (last.source, last.status) == (Source.PEER, TurnStatus.EXHAUSTED)
    house.close()


def test_a_crash_between_a_close_and_the_next_floor_loses_and_doubles_nothing(home: House) -> None:
    gathered(home, "kai", "nami", says=["潮", "波", "砂"])
    home.say("話して")
    home.work()
    home.clock.advance(LONG)
    (item,) = home.home.due.list_due(home.clock.now(), 10)
    admit_due_item(home.runtime, item)
    # Killed before the item was done: the sweep finds it, and a second worker has it too.
    sweep_due_items(home.runtime)
    admit_due_item(home.runtime, item)
    home.work()
    admit_due_item(home.runtime, item)
    home.work()
    assert [turn.hops for turn in turns_of(home)] == [0, 0, 1]
    home.home.sessions.end("s", home.clock.now())
    admit_due_item(home.runtime, item)
    home.work()
    assert len(turns_of(home)) == 3


def test_a_human_word_begins_a_new_round_and_only_one_floor_follows(home: House) -> None:
    gathered(home, "kai", "nami", says=list(WORDS))
    home.say("話して")
    home.work()
    home.clock.advance(LONG)
    sweep_due_items(home.runtime)
    # The floor of the first round waits in the queue when a human speaks again.
    home.say("別の話をして", "m2")
    goes_on(home)
    session = session_of(home)
    assert session.ended_by is Ending.HOPS
    assert session.turn_number == 2 + 1 + 2 + 6 + 1
    assert nothing_is_queued(home)


def test_observers_and_the_sleeping_never_get_the_floor(home: House) -> None:
    seats = [Participant(agent_id=x) for x in ("kai", "nami")]
    watching = Participant(agent_id="umi", role="observer")
    gathered(home, "kai", "nami", "umi", says=list(WORDS), participants=(*seats, watching))
    home.say("話して")
    home.work()
    agent = home.home.agents.get("nami").agent
    home.home.agents.save(agent.replaced(status=AgentStatus.DORMANT))
    goes_on(home)
    asked = [turn.agent_id for turn in turns_of(home) if turn.source is Source.PEER]
    assert asked == ["kai"]
    assert nothing_is_queued(home)


def test_a_facilitator_takes_every_second_floor_guides_and_concludes(home: House) -> None:
    guides = [("use_action", _wrapped("broadcast_guidance", text="結論を急ごう"))]
    ends = [("use_action", _wrapped("set_phase", phase="concluded"))]
    tries = [("use_action", _wrapped("set_phase", phase="concluded"))]
    says = ["潮", "波", "砂", guides, "岩", tries, "風", ends, "まとめます"]
    fields: dict[str, Any] = {"mode": Mode.FACILITATED, "facilitator_id": "kai"}
    talk = gathered(home, "kai", "nami", "umi", says=says, **fields)
    home.say("話して")
    goes_on(home)
    asked = [turn.agent_id for turn in turns_of(home) if turn.source is Source.PEER]
    assert asked[0] == asked[2] == "kai" != asked[1]
    (guidance,) = [x for x in home.lines(LineKind.SYSTEM) if x.audience is Audience.AGENTS]
    assert (guidance.text, guidance.authority) == ("結論を急ごう", Authority.PEER)
    heard = [shown for name, shown in talk.asked if name != "kai" and "結論を急ごう" in shown]
    assert "オーナーではない人からの指示" in heard[0]
    session = session_of(home)
    assert (session.ended_by, session.phase) == (Ending.CONCLUDED, Phase.CONCLUDED)


def test_an_owners_instruction_reaches_who_speaks_next(home: House) -> None:
    talk = gathered(home, "kai", "nami", says=["潮", "波", "砂"])
    home.say("話して")
    home.work()
    home.mentor("短く話して")
    home.later(LONG)
    assert "[オーナーからの指示] 短く話して" in talk.asked[2][1]


def test_who_is_named_and_does_not_get_the_floor_is_told_in_its_vital_signs(home: House) -> None:
    gathered(home, "kai", "nami", "umi", says=["潮", "波", "kaiとnamiはどう?", "砂"])
    for name in ("kai", "nami"):
        create_agent_vital_signs(home.runtime, home.home.agents.get(name))
    home.say("話して", channel="wall", authority=Authority.PUBLIC, principal_id="stranger")
    home.work()
    home.later(3)
    (asked,) = [turn.agent_id for turn in turns_of(home) if turn.source is Source.PEER]
    other = {"kai": "nami", "nami": "kai"}[asked]
    assert _mention(home, asked) is None
    assert _mention(home, other) == ("s", Authority.PEER, "umi", "wall", "stranger")


@pytest.mark.parametrize("fields", [{"mode": Mode.DIRECT}, {"hop_limit": None}])
def test_agents_answer_each_other_only_in_a_discussion(home: House, fields: dict[str, Any]) -> None:
    gathered(home, "kai", "nami", says=list(WORDS), **fields)
    home.say("話して")
    goes_on(home, 3)
    assert (session_of(home).turn_number, session_of(home).status.value) == (2, "active")


def test_it_is_paced_by_the_settings(tmp_path: Path) -> None:
    rules = Rules(autonomy=Autonomy(floor_seconds=5, own_speech_seconds=0))
    house = House(sqlite, tmp_path, rules)
    gathered(house, "kai", "nami", says=list(WORDS))
    house.say("話して")
    house.work()
    house.later(4)
    assert session_of(house).turn_number == 2
    house.later(2)
    assert session_of(house).turn_number == 3
    house.close()


def _wrapped(name: str, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


def _mention(house: House, agent_id: str) -> tuple[str | None, ...] | None:
    fact = agent_vital_signs_document(house.runtime.home.facts, agent_id)
    said = None if fact is None else fact.read(VitalSigns).mention
    if said is None:
        return None
    kind = None if said.channel is None else said.channel.kind
    return said.session_id, said.authority, said.principal_id, kind, said.payer


@pytest.mark.parametrize(
    ("language", "told"),
    [
        (Language.JA, "「海岸の行事」の議論が終わりました: 連続ターンの上限"),
        (Language.EN, 'the discussion about "海岸の行事" ended: too many turns without'),
    ],
)
def test_who_did_not_speak_last_is_told_of_the_end_once_if_it_acts_unasked(
    home: House, language: Language, told: str
) -> None:
    gathered(home, "kai", "nami", "tsuki", says=list(WORDS), hop_limit=2, theme="海岸の行事")
    for name in ("kai", "nami", "tsuki"):
        agent = home.home.agents.get(name).agent
        wishes = "" if name == "tsuki" else "海を知る"
        lives = agent.replaced(heartbeat=Heartbeat(instructions=wishes), language=language)
        home.home.agents.save(lives)
        create_agent_vital_signs(home.runtime, home.home.agents.get(name))
    home.say("海について話して")
    goes_on(home, 4)
    over = session_of(home)
    assert over.ended_by is Ending.HOPS
    record_discussion_results(home.runtime, over)
    heard = {
        name: [fact.read(AgentEvent) for fact in home.home.facts.page(name, HAPPENING)]
        for name in over.agent_ids
        if name != over.speaker_id
    }
    assert heard.pop("tsuki", []) == []
    assert heard
    for (event,) in heard.values():
        assert event.text.startswith(told)
        assert (event.type, event.source) == ("speech", over.speaker_id)
        assert (event.authority, event.tainted) == (Authority.PEER, True)
    assert home.home.facts.page(str(over.speaker_id), HAPPENING) == ()
