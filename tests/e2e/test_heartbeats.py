"""Agents live on their own: they wake for a reason, once, and cost nothing while there is none."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.agents.agent import AgentStatus
from opencrab.domain.autonomy.heartbeat_gate import BeatReason
from opencrab.domain.autonomy.vital_signs import Mention
from opencrab.domain.conversation.message import Channel, LineKind
from opencrab.domain.document import new_fact
from opencrab.domain.memory.working_memory import WORKING, WorkingMemory
from opencrab.domain.models.fault import Fault
from opencrab.domain.money.budget import FREE, Limits, Price, agent_budget_scope
from opencrab.domain.turn.turn import Trigger, TurnStatus
from opencrab.engine.autonomy.sweep import run_autonomy_sweep
from opencrab.engine.runtime import Rules
from opencrab.engine.turn.admission import admit_turns_of_message
from tests.contract.homes import DISTINCT_HOMES as HOMES
from tests.crash.outside import PRICE, Reply
from tests.crash.scenarios import message
from tests.e2e.beating import QUIET, SECOND, drain, living, log, minutes, note, signs, tell, turns
from tests.e2e.house import START, House

SPEAKS = (Reply(text="雨が降っています。"),)


@pytest.fixture(params=HOMES[:1], ids=lambda opens: opens.__name__)
def house(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[House]:
    opened = House(request.param, tmp_path)
    yield opened
    opened.close()


ANYWHERE = pytest.mark.parametrize("house", HOMES, indirect=True, ids=lambda opens: opens.__name__)


def test_an_agent_with_nothing_due_beats_and_calls_no_model(house: House) -> None:
    living(house, "crab", instructions="Look around")
    minutes(house, 10, step=10)
    found = signs(house, "crab")
    assert (found.beats, found.idle, found.next_beat_at) == (1, 1, START + 60 * 61 * SECOND)
    assert house.provider.bill.received == 0


def test_an_idle_beat_is_one_write_that_can_wait_and_nothing_else(house: House) -> None:
    living(house, "crab", interval_seconds=59)
    run_autonomy_sweep(house.runtime)
    house.clock.advance(59)
    house.calls.clear()
    drain(house)
    del house.calls["beats.receive"], house.calls["beats.acknowledge"]
    assert house.calls == {"facts.get": 1, "facts.commit_soon": 1}


@ANYWHERE
def test_an_event_wakes_an_agent_without_instructions_once(house: House) -> None:
    living(house, "crab", SPEAKS)
    assert tell(house, "crab")
    minutes(house, 2, twice=True, step=10)
    (beat,), (turn,) = log(house, "crab"), turns(house, "crab")
    assert beat.reasons == (BeatReason.UNREAD,)
    assert (turn.status, turn.trigger) == (TurnStatus.COMPLETED, Trigger.HEARTBEAT)
    assert turn.authority is Authority.SELF
    spoken = house.home.journal.lines(beat.session_id)
    assert [(line.kind, line.text[:1]) for line in spoken] == [
        (LineKind.SYSTEM, "["),
        (LineKind.SPEECH, "雨"),
    ]
    assert (signs(house, "crab").turn_id, signs(house, "crab").in_vain) == (None, 0)


def test_a_hundred_agents_catch_up_after_an_hour_with_one_turn_each(house: House) -> None:
    names = [living(house, f"crab{number}", SPEAKS) for number in range(100)]
    for name in names:
        tell(house, name)
    house.clock.advance(3_600)
    for _ in range(2):
        run_autonomy_sweep(house.runtime)
        drain(house, twice=True)
    house.work()
    assert house.provider.bill.received == 100
    assert all(len(turns(house, name)) == 1 for name in names[::10])
    assert all(signs(house, name).next_beat_at > house.clock.now() for name in names)


def test_beats_within_the_minute_come_to_their_second_and_as_often_as_they_are_due(
    house: House,
) -> None:
    assert tell(house, living(house, "crab", interval_seconds=29))
    house.home.switches.set("crab", frozen=True)
    moments: list[float] = []
    for _ in range(2):
        run_autonomy_sweep(house.runtime)
        for _ in range(60):
            house.clock.advance(1)
            beaten = drain(house, twice=True)
            moments += [(house.clock.now() - START).total_seconds()] * bool(beaten)
    assert moments == [29, 58, 87, 116]
    assert signs(house, "crab").beats == 4


def test_outside_its_hours_only_words_to_it_wake_an_agent(house: House) -> None:
    living(house, "crab", SPEAKS, active_hours={"start": "20:00", "end": "08:00"})
    house.session(house.home.agents.get("crab").agent)
    tell(house, "crab")
    minutes(house, 2, step=10)
    assert log(house, "crab") == []
    note(house, "crab", mention=mention())
    minutes(house, 2, step=10)
    (beat,) = log(house, "crab")
    assert (beat.reasons, beat.session_id) == ((BeatReason.MENTION,), "s")
    assert signs(house, "crab").mention is None
    tell(house, "crab", 2)
    minutes(house, 2, step=10)
    assert len(log(house, "crab")) == 1
    house.clock.advance(11 * 3_600)
    minutes(house, 2, step=10)
    assert log(house, "crab")[0].reasons == (BeatReason.UNREAD,)


def mention(**changes: Any) -> Mention:
    """Words of another agent that nobody has answered."""
    told = Mention(session_id="s", line=1, authority=Authority.PEER, principal_id="mika", at=START)
    return told.replaced(**changes)


def test_answers_to_other_agents_wait_for_the_channel_and_are_tainted(house: House) -> None:
    wall = Channel(kind="wall", address="x")
    living(house, "crab", SPEAKS, cooldown_seconds=600)
    house.session(house.home.agents.get("crab").agent)
    note(house, "crab", mention=mention(channel=wall), spoke={wall.target: START})
    minutes(house, 5, step=10)
    assert log(house, "crab") == []
    minutes(house, 7, step=10)
    (turn,) = turns(house, "crab")
    assert (turn.taint, turn.channel) == (True, wall)
    assert signs(house, "crab").spoke[wall.target] > START


def test_what_is_said_unasked_goes_to_its_channel_once_in_the_cooldown(house: House) -> None:
    wall = Channel(kind="wall", address="x")
    living(house, "crab", SPEAKS, channel=wall, cooldown_seconds=600)
    for number in range(3):
        tell(house, "crab", number, tainted=False)
        minutes(house, 3, step=10)
        note(house, "crab", unread=0)
    assert [turn.channel for turn in turns(house, "crab")][-2:] == [None, wall]
    assert len(house.wall.shown) == 1


def test_a_day_that_was_spent_by_other_turns_lets_no_beat_begin_one(house: House) -> None:
    living(house, "crab", SPEAKS)
    house.session(house.home.agents.get("crab").agent)
    house.say("やあ")
    house.work()
    spent = house.home.budgets.drawn_micro_usd(
        agent_budget_scope("crab"), START.strftime("%Y-%m-%d")
    )
    house.home.budgets.change_limits({"agent_day_micro_usd": spent, "heartbeat_percent": 100})
    tell(house, "crab")
    minutes(house, 2, step=10)
    assert (log(house, "crab"), signs(house, "crab").unread) == ([], 1)


def test_a_peers_words_wake_with_a_peers_rights_and_hear_nothing_private(house: House) -> None:
    writes = (Reply(calls=(("ws_write", {"path": "a.md", "content": "x"}),)), Reply())
    living(house, "crab", writes, instructions="SECRET-WISH")
    house.session(house.home.agents.get("crab").agent)
    noted = WorkingMemory(text="SECRET-NOTE", turn_id="before", at=START)
    house.home.facts.commit(new_fact("crab", WORKING, WORKING, noted))
    tell(house, "crab", text="SECRET-EVENT", tainted=False)
    for authority in (Authority.SELF, Authority.PEER, Authority.PUBLIC):
        house.provider.reset()
        note(house, "crab", mention=mention(authority=authority, payer="taro"), turn_id=None)
        minutes(house, 1, step=1)
        house.clock.advance(2)
        run_autonomy_sweep(house.runtime)
        house.work()
        turn = turns(house, "crab")[0]
        peer = Authority.PEER if authority is Authority.SELF else authority
        assert (turn.authority, turn.source, turn.taint) == (peer, Source.HEARTBEAT, True)
        assert (turn.principal_id, turn.payer, turn.session_id) == ("mika", "taro", "s")
        shown = str(house.provider.seen)
        assert "SECRET" not in shown
        assert "events that you" not in shown
        assert house.home.facts.get("crab", WORKING, WORKING) is not None
    found = signs(house, "crab")
    assert (found.in_vain, found.unread) == (3, 1)


def test_words_to_an_agent_are_answered_by_any_words_of_its_there(house: House) -> None:
    names = [living(house, name, SPEAKS) for name in ("crab", "clam")]
    house.session(*(house.home.agents.get(name).agent for name in names))
    note(house, "crab", mention=mention(session_id="other"))
    house.say("やあ")
    house.work()
    assert signs(house, "crab").mention is not None
    note(house, "crab", mention=mention())
    house.say("やあ", "m2")
    house.work()
    assert signs(house, "crab").mention is None
    minutes(house, 2, step=10)
    assert log(house, "crab") == []


def test_events_stay_unread_until_a_model_has_answered(house: House) -> None:
    living(house, "crab", (Reply(text="雨", fails=(Fault.UNREACHABLE,) * 50),))
    tell(house, "crab")
    minutes(house, 30, step=30)
    (turn,) = turns(house, "crab")
    found = signs(house, "crab")
    assert (turn.status, found.unread, found.read_to) == (TurnStatus.FAILED, 1, "")
    house.scripts["crab"] = SPEAKS
    house.provider.failed.clear()
    house.provider.reset()
    house.scripts["crab"] = SPEAKS
    minutes(house, 40, step=30)
    assert (signs(house, "crab").unread, house.provider.bill.received) == (0, 1)
    assert "world.bounty" in str(house.provider.seen)


def test_an_event_with_an_id_before_what_was_read_is_looked_at_once(house: House) -> None:
    living(house, "crab", SPEAKS)
    for number in (1, 3):
        tell(house, "crab", number, text=f"EVENT-{number}")
    house.interrupt(lambda: tell(house, "crab", 2, text="EVENT-2"))
    minutes(house, 2, step=10)
    assert (signs(house, "crab").read_to, signs(house, "crab").unread) == ("000001", 2)
    minutes(house, 2, step=10)
    assert "EVENT-2" in str(house.provider.seen[-1])
    house.interrupt(lambda: None)
    for _ in range(2):
        assert tell(house, "crab", 0, text="EVENT-0")
        assert tell(house, "crab", 1, text="EVENT-1")
    assert signs(house, "crab").unread == 1
    minutes(house, 2, step=10)
    assert "EVENT-0" in str(house.provider.seen[-1])
    assert (signs(house, "crab").unread, house.provider.bill.received) == (0, 3)


def test_events_that_are_gone_cost_no_turn(house: House) -> None:
    living(house, "crab", SPEAKS)
    note(house, "crab", unread=5)
    minutes(house, 2, step=10)
    assert (signs(house, "crab").unread, log(house, "crab")) == (0, [])


def test_no_channel_hears_what_an_agent_says_about_others_words(house: House) -> None:
    living(house, "crab", SPEAKS, channel=Channel(kind="wall", address="x"), cooldown_seconds=0)
    tell(house, "crab", 1, text="MINE", tainted=False)
    house.clock.advance(61)
    run_autonomy_sweep(house.runtime)
    tell(house, "crab", 2, text="THEIRS")
    house.work()
    assert "THEIRS" not in str(house.provider.seen)
    minutes(house, 2, step=10)
    assert "THEIRS" in str(house.provider.seen[-1])
    assert [turn.channel is None for turn in turns(house, "crab")] == [True, False]
    assert (len(house.wall.shown), signs(house, "crab").unread) == (1, 0)


def test_a_busy_agent_and_a_frozen_one_skip_beats_and_lose_nothing(house: House) -> None:
    living(house, "crab", SPEAKS)
    house.session(house.home.agents.get("crab").agent)
    tell(house, "crab")
    house.say("やあ")
    house.clock.advance(61)
    run_autonomy_sweep(house.runtime)
    assert (signs(house, "crab").idle, log(house, "crab")) == (1, [])
    house.work()
    house.home.switches.set("crab", frozen=True)
    minutes(house, 2, step=10)
    assert log(house, "crab") == []
    house.home.switches.set("crab", frozen=False)
    minutes(house, 2, step=10)
    assert len(log(house, "crab")) == 1


def test_ten_turns_in_vain_are_followed_by_sleep_and_a_message_ends_it(house: House) -> None:
    living(house, "crab", QUIET)
    house.session(house.home.agents.get("crab").agent)
    for number in range(12):
        note(house, "crab", unread=1)
        tell(house, "crab", number)
        minutes(house, 2, step=30)
        if signs(house, "crab").in_vain == 10:
            break
    assert number == 9
    assert house.home.agents.get("crab").agent.status is AgentStatus.DORMANT
    calls = house.provider.bill.received
    house.clock.advance(3_600)
    minutes(house, 2, step=30)
    assert house.provider.bill.received == calls
    house.scripts["crab"] = SPEAKS
    house.say("起きて")
    house.work()
    assert house.home.agents.get("crab").agent.status is AgentStatus.ACTIVE
    found = signs(house, "crab")
    assert (found.status, found.in_vain) == (AgentStatus.ACTIVE, 0)
    assert timedelta() < found.next_beat_at - house.clock.now() <= 61 * SECOND


def test_an_event_wakes_a_dormant_agent(house: House) -> None:
    name = living(house, "crab", SPEAKS)
    agent = house.home.agents.get(name).agent
    house.home.agents.save(agent.replaced(status=AgentStatus.DORMANT))
    note(house, name, status=AgentStatus.DORMANT)
    minutes(house, 2, step=30)
    assert signs(house, name).beats == 0
    tell(house, name)
    minutes(house, 3, step=30)
    assert len(turns(house, name)) == 1


def test_an_agent_whose_money_has_ended_rests_and_does_not_fall_asleep(tmp_path: Path) -> None:
    limits = Limits(agent_day_micro_usd=4, heartbeat_percent=25, block_micro_usd=1)
    house = House(HOMES[0], tmp_path, replace(Rules(), limits=limits))
    living(house, "crab", SPEAKS)
    tell(house, "crab")
    minutes(house, 30, step=30)
    found = signs(house, "crab")
    assert (found.turns, found.in_vain, house.provider.bill.received) == (1, 0, 0)
    assert (found.unread, found.read_to) == (1, "")
    house.close()


@pytest.mark.parametrize(
    ("limits", "price", "turns_begun"),
    [
        ({"heartbeat_percent": 0}, PRICE, 0),
        ({"heartbeat_percent": 0}, FREE, 1),
        ({"agent_day_micro_usd": 0}, PRICE, 0),
        ({"installation_day_micro_usd": 0}, PRICE, 0),
        ({"turn_micro_usd": 1}, PRICE, 1),
    ],
)
def test_without_money_nobody_is_told_and_only_what_costs_nothing_begins(
    tmp_path: Path, limits: dict[str, int], price: Price, turns_begun: int
) -> None:
    house = House(HOMES[0], tmp_path, replace(Rules(), limits=Limits(**limits)))
    house.provider.prices["fake:crab"] = price
    living(house, "crab", SPEAKS, channel=Channel(kind="wall", address="x"))
    tell(house, "crab", tainted=False)
    minutes(house, 2, step=10)
    begun = turns(house, "crab")
    assert len(begun) == turns_begun
    if price is PRICE:
        assert house.wall.shown == []
        assert signs(house, "crab").unread == 1
    for turn in begun:
        last = house.home.journal.lines(turn.session_id)[-1]
        assert (last.kind is LineKind.SYSTEM) is (price is PRICE)
    house.close()


def test_an_agent_to_whom_nothing_new_happens_explores_if_it_has_instructions(
    house: House,
) -> None:
    writes = (Reply(calls=(("ws_write", {"path": "a.md", "content": "x"}),)), Reply("Seen"))
    for name, instructions in (("crab", "Look around"), ("clam", "")):
        living(house, name, writes, instructions=instructions)
    # Of another owner, so that there is nobody to get to know.
    clam = house.home.agents.get("clam").agent
    house.home.agents.save(clam.replaced(owner="somebody"))
    house.clock.advance(21 * 3_600)
    minutes(house, 5, step=30)
    assert log(house, "clam") == []
    reasons = [beat.reasons for beat in log(house, "crab")]
    assert sorted(reasons) == [(BeatReason.CURIOSITY,), (BeatReason.GOAL,)]
    assert {(turn.source, turn.status) for turn in turns(house, "crab")} == {
        (Source.HEARTBEAT, TurnStatus.COMPLETED)
    }
    assert signs(house, "crab").lived_at > START


def test_working_memory_lasts_until_the_next_waking_ends(house: House) -> None:
    living(house, "crab", SPEAKS)
    noted = WorkingMemory(text="雨のことを話す", turn_id="before", at=START)
    house.home.facts.commit(new_fact("crab", WORKING, WORKING, noted))
    minutes(house, 2, step=30)
    assert house.home.facts.get("crab", WORKING, WORKING) is not None
    tell(house, "crab")
    minutes(house, 2, step=30)
    assert house.home.facts.get("crab", WORKING, WORKING) is None


def test_silence_in_a_discussion_is_not_in_vain(house: House) -> None:
    living(house, "crab", QUIET)
    house.session(house.home.agents.get("crab").agent)
    for source, authority in ((Source.PEER, Authority.PEER), (Source.SCHEDULE, Authority.SELF)):
        said = message("?", source.value, None).replaced(source=source, authority=authority)
        admit_turns_of_message(house.runtime, "s", said, trigger=Trigger.EVENT)
    house.work()
    assert signs(house, "crab").in_vain == 1
