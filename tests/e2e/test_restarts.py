"""Restarts and poison, on machines of any speed: who is failed, and who is answered."""

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from opencrab.domain.turn.crash import CRASH_RULE, CrashRule
from opencrab.domain.turn.record import CallResult, CallState
from opencrab.domain.turn.turn import (
    CRASHES_WITHOUT_PROGRESS,
    DELIVERIES_WITHOUT_PROGRESS,
    Turn,
    TurnStatus,
)
from opencrab.engine.turn.run import Pace, run_turn
from opencrab.ports.turn.queue import MessageOutcome
from tests.crash.outside import Reply
from tests.crash.scenarios import TEXT
from tests.e2e.house import House
from tests.e2e.machine import Machine
from tests.soak import SOAK

AGENTS = tuple(f"crab{number}" for number in range(8))
AFTER_READY = 0.25
HOUR = 3_600

Build = Callable[..., Machine]


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Build]:
    machines: list[Machine] = []

    def build(call_seconds: float, **fields: Any) -> Machine:
        machines.append(Machine(tmp_path / str(len(machines)), call_seconds, **fields))
        return machines[-1]

    yield build
    for each in machines:
        each.close()


def restarted(machine: Machine, kills: int) -> None:
    """Somebody kills the process as soon as it is ready, again and again."""
    for _ in range(kills):
        machine.run(AFTER_READY)
        machine.kill()
        machine.start()


def settled(machine: Machine, turns: list[Turn]) -> set[TurnStatus]:
    """How turns end that are given an hour."""
    for _ in range(HOUR):
        machine.run(1)
        if all(machine.turn(turn).status.is_end for turn in turns):
            break
    return {machine.turn(turn).status for turn in turns}


@pytest.mark.parametrize("kills", [4, 10, 30] if SOAK else [4, 30])
@pytest.mark.parametrize("boot_seconds", [0.5, 5.0, 20.0])
@pytest.mark.parametrize("call_seconds", [0.5, 15.0])
def test_kills_as_soon_as_it_is_ready_fail_nobody(
    machine: Build, call_seconds: float, boot_seconds: float, kills: int
) -> None:
    up = machine(call_seconds, boot_seconds=boot_seconds)
    turns = [up.say(agent_id) for agent_id in AGENTS]
    restarted(up, kills)
    assert settled(up, turns) == {TurnStatus.COMPLETED}
    assert [up.spoken(agent_id) for agent_id in AGENTS] == [["here you are"]] * len(AGENTS)
    assert up.home.turns.list_dead_letters(10) == ()


@pytest.mark.parametrize("lives", [1.0, 3.0, 7.0])
def test_a_process_that_lives_too_shortly_for_any_answer_fails_nobody(
    machine: Build, lives: float
) -> None:
    up = machine(10.0)
    turns = [up.say(agent_id) for agent_id in AGENTS]
    for _ in range(10):
        up.run(lives)
        up.kill()
        up.start()
    assert settled(up, turns) == {TurnStatus.COMPLETED}


@pytest.mark.parametrize("deadly_seconds", [0.0, 5.0, 100.0, 130.0])
def test_a_poison_message_is_buried_with_its_reason_and_takes_nobody_with_it(
    machine: Build, deadly_seconds: float
) -> None:
    up = machine(2.0, deadly={"poison": deadly_seconds})
    others = [up.say(agent_id) for agent_id in AGENTS]
    poison = up.say("poison")
    assert settled(up, [poison, *others]) == {TurnStatus.FAILED, TurnStatus.COMPLETED}
    assert up.turn(poison).status is TurnStatus.FAILED
    ((body, reason),) = up.home.turns.list_dead_letters(10)
    assert poison.id in body
    assert "no progress" in reason
    fair = deadly_seconds >= CRASH_RULE.fair_seconds
    assert up.deaths == 1 + (DELIVERIES_WITHOUT_PROGRESS if fair else CRASHES_WITHOUT_PROGRESS)
    assert "repeated attempts made no progress" in up.spoken("poison")[-1]


def test_a_hundred_are_answered_beside_one_that_kills_its_process_over_twenty_restarts(
    machine: Build,
) -> None:
    up = machine(2.0, deadly={"poison": 1.0})
    poison, innocent = up.say("poison"), [up.say(f"crab{number}") for number in range(100)]
    for _ in range(20):
        up.run(3.0)
        up.kill()
        up.start()
    assert settled(up, innocent) == {TurnStatus.COMPLETED}
    assert settled(up, [poison]) == {TurnStatus.FAILED}
    assert all(len(up.spoken(turn.agent_id)) == 1 for turn in innocent)
    ((body, reason),) = up.home.turns.list_dead_letters(10)
    assert poison.id in body
    assert "no progress" in reason


def test_others_are_answered_while_a_poison_message_is_kept_back(machine: Build) -> None:
    up = machine(2.0, deadly={"poison": 0.5})
    poison, late = up.say("poison"), list[Turn]()
    for number in range(200):
        if up.turn(poison).status.is_end:
            break
        late.append(up.say(AGENTS[number % len(AGENTS)], f"m{number}"))
        up.run(10)
    assert up.turn(poison).status is TurnStatus.FAILED
    assert settled(up, late) == {TurnStatus.COMPLETED}


def test_two_poisons_are_told_apart_from_six_bystanders(machine: Build) -> None:
    up = machine(2.0, deadly={"poison": 0.5, "venom": 1.0})
    bad = [up.say("poison"), up.say("venom")]
    good = [up.say(agent_id) for agent_id in AGENTS[:6]]
    assert settled(up, [*bad, *good]) == {TurnStatus.FAILED, TurnStatus.COMPLETED}
    assert {up.turn(turn).status for turn in bad} == {TurnStatus.FAILED}
    assert {up.turn(turn).status for turn in good} == {TurnStatus.COMPLETED}


class EverybodyCounted(CrashRule):
    """Seeded bug: a death counts against all who ran, as it once did."""

    def turns_after_crash(self, running: Iterable[Turn], died_at: datetime) -> tuple[Turn, ...]:
        before = tuple(running)
        after = super().turns_after_crash(before, died_at)
        both = zip(before, after, strict=True)
        return tuple(new.replaced(deliveries=old.deliveries) for old, new in both)


class BystandersSuspected(CrashRule):
    """Seeded bug: who stood aside while a suspect ran alone is blamed with it."""

    def turns_after_crash(self, running: Iterable[Turn], died_at: datetime) -> tuple[Turn, ...]:
        turns = tuple(turn.replaced(crashes=turn.crashes or 1) for turn in running)
        return super().turns_after_crash(turns, died_at)


class NobodyCounted(CrashRule):
    """Seeded bug: a death alone is no evidence either."""

    def turns_after_crash(self, running: Iterable[Turn], died_at: datetime) -> tuple[Turn, ...]:
        after = super().turns_after_crash(running, died_at)
        return tuple(turn.replaced(crashes=1, deliveries=0) for turn in after)


BUGS: dict[str, dict[str, Any]] = {
    "everybody is counted": {"rule": EverybodyCounted()},
    "bystanders are suspected": {"rule": BystandersSuspected()},
    "nobody is counted": {"rule": NobodyCounted()},
    "no pause": {"rule": CrashRule(pause_seconds=0)},
    "suspects have company": {"isolates": False},
}


def looked(machine: Build) -> None:
    """What notices a wrong rule."""
    test_kills_as_soon_as_it_is_ready_fail_nobody(machine, 15.0, boot_seconds=5.0, kills=10)
    test_a_process_that_lives_too_shortly_for_any_answer_fails_nobody(machine, lives=3.0)
    test_a_poison_message_is_buried_with_its_reason_and_takes_nobody_with_it(machine, 0.0)


@pytest.mark.parametrize("bug", BUGS.values(), ids=BUGS.keys())
def test_a_seeded_bug_of_the_rule_is_noticed(machine: Build, bug: dict[str, Any]) -> None:
    with pytest.raises(AssertionError):
        looked(partial(machine, **bug))


def test_a_turn_given_back_between_steps_is_never_given_up(house: House) -> None:
    """In each home: a worker whose time is over is not one that died."""
    house.session(house.agent("crab", TEXT))
    (turn,) = house.say("hello")
    for _ in range(10):
        delivery = house.home.turns.receive(visibility_seconds=1_800, wait_seconds=0)
        assert delivery is not None
        pace = Pace(seconds_left=partial(next, iter([float("inf")]), 0.0))
        assert run_turn(house.runtime, delivery, pace) is MessageOutcome.CONTINUE
        house.clock.advance(60)
    assert house.turn(turn.id).deliveries == 0
    house.work()
    assert house.statuses((turn,)) == [TurnStatus.COMPLETED]


def test_a_turn_given_back_after_a_file_write_has_saved_that_it_wrote(house: House) -> None:
    """Elsewhere the result waits for the next model call's intent; here nobody knows when."""
    script = (Reply(calls=(("ws_write", {"path": "a.md", "content": "蟹"}),)), Reply("書きました"))
    house.session(house.agent("crab", script))
    (turn,) = house.say("hello")
    delivery = house.home.turns.receive(visibility_seconds=1_800, wait_seconds=0)
    assert delivery is not None
    inf = float("inf")
    pace = Pace(seconds_left=partial(next, iter([inf, inf]), 0.0))
    assert run_turn(house.runtime, delivery, pace) is MessageOutcome.CONTINUE
    last = house.home.journal.load(turn.id).records[-1]
    assert isinstance(last, CallResult)
    assert last.state is CallState.COMPLETED
    house.clock.advance(60)
    house.work()
    assert house.statuses((turn,)) == [TurnStatus.COMPLETED]
