"""A beat fires once: through crashes, repeats, strange messages and clocks that jump."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest

from opencrab.domain.agents.agent import AgentStatus
from opencrab.domain.agents.agent_state import Agenda
from opencrab.domain.agents.heartbeat import Heartbeat
from opencrab.domain.autonomy.vital_signs import VITALS, heartbeat_slot
from opencrab.domain.document import Document
from opencrab.engine.agents import vital_signs
from opencrab.engine.agents.heartbeat_queue import HeartbeatMessage
from opencrab.engine.autonomy.heartbeat import (
    HeartbeatResult,
    decide_queued_heartbeat,
    run_heartbeat,
    sweep_heartbeats,
)
from opencrab.engine.autonomy.sweep import run_autonomy_sweep
from opencrab.ports.clock import Clock
from opencrab.ports.home import Home
from opencrab.ports.turn.queue import Delivery, MessageOutcome
from tests.contract.homes import HOMES
from tests.crash.outside import Reply
from tests.e2e.beating import QUIET, drain, living, log, minutes, note, signs, tell
from tests.e2e.house import START, House

SPEAKS = (Reply(text="雨"),)


class Killed(BaseException):
    """The process is gone."""


class Mortal:
    """All ports together: the process dies before their n-th call.

    To die after a call leaves the stores as to die before the next one does.
    """

    def __init__(self, at: int) -> None:
        self.left = at

    def around(self, home: Home) -> Home:
        """The home whose ports count down."""
        ports: dict[str, Any] = {
            name: _Port(getattr(home, name), self) for name in Home.__dataclass_fields__
        }
        return replace(home, **ports)


class _Port:
    def __init__(self, target: object, mortal: Mortal) -> None:
        self._target = target
        self._mortal = mortal

    def __getattr__(self, method: str) -> Any:
        inner = getattr(self._target, method)

        def call(*arguments: Any, **named: Any) -> Any:
            self._mortal.left -= 1
            if self._mortal.left == 0:
                raise Killed
            return inner(*arguments, **named)

        return call


class Earlier:
    """A clock that was set back, by an hour or more."""

    def __init__(self, clock: Clock, hours: int = 1) -> None:
        self._clock, self._back = clock, timedelta(hours=hours)

    def now(self) -> datetime:
        return self._clock.now() - self._back

    def __getattr__(self, name: str) -> Any:
        return getattr(self._clock, name)


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    opened = House(HOMES[0], tmp_path)
    yield opened
    opened.close()


def told(body: object) -> Delivery:
    """A message of the beats queue."""
    text = body if isinstance(body, str) else json.dumps(body)
    return Delivery(body=text, group="crab", receipt="unknown", count=1)


@pytest.mark.parametrize("curious", [False, True])
def test_a_crash_at_any_call_of_a_beat_loses_and_doubles_no_turn(
    tmp_path: Path, *, curious: bool
) -> None:
    calls = 0
    while True:
        calls += 1
        folder = tmp_path / f"{calls}"
        folder.mkdir()
        house = House(HOMES[0], folder)
        name = living(house, "crab", SPEAKS, instructions="See" if curious else "")
        if not curious:
            tell(house, name)
        house.clock.advance(24 * 3_600 if curious else 61)
        mortal = Mortal(calls)
        runtime = replace(house.runtime, home=mortal.around(house.runtime.home))
        try:
            sweep_heartbeats(runtime)
        except Killed:
            survived = False
        else:
            survived = True
        minutes(house, 3, twice=True, step=30)
        # What its owner asked for is the second.
        turns = 2 if curious else 1
        assert (len(log(house, name)), house.provider.bill.received) == (turns, turns), calls
        assert signs(house, name).turn_id is None
        house.close()
        if survived:
            break
    assert calls > 10


def test_a_message_of_a_newer_release_names_a_beat_as_well() -> None:
    body = {"v": 1, "agent": "crab", "slot": 1, "more": 1}
    assert HeartbeatMessage.from_stored(json.dumps(body)).slot == 1


@pytest.mark.parametrize(
    "body",
    [
        "",
        "[]",
        "null",
        "{",
        {"v": 2, "agent": "crab", "slot": 1},
        {"v": True, "agent": "crab", "slot": 1},
        {"v": 1, "agent": "crab", "slot": "1"},
        {"v": 1, "agent": "crab", "slot": -1},
        {"v": 1, "agent": "../crab", "slot": 1},
    ],
)
def test_a_message_that_names_no_beat_is_buried(house: House, body: object) -> None:
    assert decide_queued_heartbeat(house.runtime, told(body)) is MessageOutcome.FINISHED
    ((buried, reason),) = house.home.beats.list_dead_letters(5)
    assert (buried, reason) == (told(body).body, "malformed heartbeat message")


def test_early_beats_wait_and_late_repeated_future_and_foreign_ones_are_dropped(
    house: House,
) -> None:
    living(house, "crab", SPEAKS)
    tell(house, "crab")
    slot = heartbeat_slot(signs(house, "crab").next_beat_at)
    house.clock.advance(31)

    def deliver(at: int, agent: str = "crab") -> MessageOutcome:
        return decide_queued_heartbeat(house.runtime, told({"v": 1, "agent": agent, "slot": at}))

    assert deliver(slot) is MessageOutcome.CONTINUE
    house.clock.advance(30)
    for other in (slot - 61, slot + 61, slot + 3_600, 0):
        deliver(other)
    deliver(slot, "nobody")
    assert signs(house, "crab").beats == 0
    assert [deliver(slot) for _ in range(2)] == [MessageOutcome.FINISHED] * 2
    assert (signs(house, "crab").beats, len(log(house, "crab"))) == (1, 1)


@pytest.mark.parametrize("status", [AgentStatus.DORMANT, AgentStatus.RETIRED])
def test_agents_that_sleep_or_have_retired_do_not_beat_whatever_their_signs_say(
    house: House, status: AgentStatus
) -> None:
    living(house, "crab", SPEAKS)
    agent = house.home.agents.get("crab").agent
    if status is AgentStatus.RETIRED:
        tell(house, "crab")
    house.home.agents.save(agent.replaced(status=status))
    minutes(house, 3, step=30)
    assert log(house, "crab") == []
    assert house.home.facts.list_due(VITALS, house.clock.now(), 10) == ()
    assert run_heartbeat(house.runtime, "crab", heartbeat_slot(START)) is HeartbeatResult.DROPPED


def test_an_agent_that_is_gone_leaves_no_signs_and_unreadable_ones_stop_nobody(
    house: House,
) -> None:
    for name in ("crab", "clam"):
        living(house, name, SPEAKS)
        tell(house, name)
    house.lose_agent("crab")
    broken = Document(owner="worm", kind=VITALS, id=VITALS, body={"agent_id": "worm"}, due_at=START)
    house.home.facts.commit(broken)
    minutes(house, 2, step=30)
    assert vital_signs.agent_vital_signs_document(house.runtime.home.facts, "crab") is None
    assert len(log(house, "clam")) == 1


def test_signs_that_an_index_had_too_late_are_read_again(house: House) -> None:
    living(house, "crab", SPEAKS)
    stale = vital_signs.agent_vital_signs_document(house.runtime.home.facts, "crab")
    assert stale is not None
    tell(house, "crab")
    house.clock.advance(61)
    slot = heartbeat_slot(signs(house, "crab").next_beat_at)
    assert run_heartbeat(house.runtime, "crab", slot, found=stale) is HeartbeatResult.TURN
    assert run_heartbeat(house.runtime, "crab", slot, found=stale) is HeartbeatResult.DROPPED


def test_after_a_clock_was_set_back_beats_go_on_as_soon_as_anything_happens(house: House) -> None:
    living(house, "crab", SPEAKS)
    house.clock.advance(3_600)
    tell(house, "crab", 1)
    minutes(house, 2, step=30)
    early = Earlier(house.clock)
    house.runtime = replace(house.runtime, clock=cast(Clock, early))
    tell(house, "crab", 2)
    assert (signs(house, "crab").next_beat_at - early.now()).total_seconds() <= 61
    minutes(house, 62, step=30)
    assert len(log(house, "crab")) == 2
    assert house.provider.bill.received == 2


def test_a_clock_that_was_ahead_for_once_silences_nobody_for_longer_than_an_hour(
    house: House,
) -> None:
    living(house, "crab", SPEAKS)
    house.clock.advance(30 * 86_400)
    tell(house, "crab", 2)
    minutes(house, 2, step=30)
    late = signs(house, "crab")
    note(house, "crab", turn_id="rests", busy_until=late.next_beat_at, lived_at=late.next_beat_at)
    early = Earlier(house.clock, 30 * 24)
    house.runtime = replace(house.runtime, clock=cast(Clock, early))
    minutes(house, 75, step=60)
    found = signs(house, "crab")
    assert found.beats > late.beats
    assert (found.next_beat_at - early.now()).total_seconds() <= 3_600 + 61
    assert found.lived_at <= early.now()
    tell(house, "crab", 1)
    minutes(house, 60, step=60)
    assert house.provider.bill.received == 2


class Saving:
    """Agents to whom something happens whenever one was saved."""

    def __init__(self, agents: Any, happens: Callable[[], object]) -> None:
        self._agents, self._happens = agents, happens

    def save(self, *agent: Any) -> Any:
        saved = self._agents.save(*agent)
        self._happens()
        return saved

    def __getattr__(self, name: str) -> Any:
        return getattr(self._agents, name)


@pytest.mark.parametrize("asleep", [False, True])
def test_no_crash_lets_an_agent_sleep_while_an_event_waits_for_it(
    tmp_path: Path, *, asleep: bool
) -> None:
    calls, survived = 0, False
    while not survived:
        calls += 1
        folder = tmp_path / f"{calls}"
        folder.mkdir()
        house = House(HOMES[0], folder)
        name = living(house, "crab", SPEAKS)
        if asleep:
            vital_signs.make_agent_dormant(house.runtime, name)
        awake, mortal = house.runtime, Mortal(calls)
        house.runtime = replace(awake, home=mortal.around(awake.home))
        try:
            if asleep:
                tell(house, name)
            else:
                vital_signs.make_agent_dormant(house.runtime, name)
        except Killed:
            pass
        else:
            survived = True
        house.runtime = awake
        tell(house, name)
        minutes(house, 4, step=30)
        found = signs(house, name)
        assert (len(log(house, name)), found.unread) == (1, 0), calls
        assert house.home.agents.get(name).agent.status is found.status is AgentStatus.ACTIVE
        house.close()
    assert calls > 4


def test_what_comes_while_an_agent_falls_asleep_keeps_it_awake(house: House) -> None:
    name = living(house, "crab", SPEAKS)
    saving = Saving(house.home.agents, lambda: tell(house, name))
    home = replace(house.runtime.home, agents=cast(Any, saving))
    vital_signs.make_agent_dormant(replace(house.runtime, home=home), name)
    assert signs(house, name).status is AgentStatus.ACTIVE
    before = house.home.agents.get(name).agent
    note(house, name, in_vain=99)
    house.scripts[name] = QUIET
    house.interrupt(lambda: tell(house, name, 2))
    minutes(house, 2, step=30)
    assert (len(log(house, name)), signs(house, name).in_vain) == (1, 100)
    assert house.home.agents.get(name).agent == before


def test_more_overdue_agents_than_one_sweep_decides_go_through_the_queue(house: House) -> None:
    for number in range(105):
        living(house, f"crab{number}", interval_seconds=211)
    house.clock.advance(300)
    found = sweep_heartbeats(house.runtime)
    assert (found.idle, found.queued) == (100, 5)
    assert drain(house) == 5
    assert {signs(house, f"crab{number}").beats for number in range(105)} == {1}


def test_a_changed_interval_begins_anew_and_what_an_agent_wants_is_reviewed(house: House) -> None:
    living(house, "crab", instructions="x")
    profile = house.home.agents.get("crab")
    changed = profile.agent.replaced(heartbeat=Heartbeat(interval_seconds=127))
    profile = profile.replaced(agent=house.home.agents.save(changed))
    told_signs = vital_signs.create_agent_vital_signs(house.runtime, profile)
    assert (told_signs.next_beat_at - house.clock.now()).total_seconds() == 127
    assert vital_signs.create_agent_vital_signs(house.runtime, profile) == told_signs
    note(house, "crab", goal_at=START, reviewed_at=START)
    house.clock.advance(3_601)
    run_autonomy_sweep(house.runtime)
    assert (signs(house, "crab").goal_at, log(house, "crab")) == (None, [])
    assert house.home.agents.get("crab").mind.agenda == Agenda()
