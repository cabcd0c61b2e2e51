"""Deaths of functions on AWS: whose turn they count against, and what becomes of its neighbours."""

from collections.abc import Callable, Iterable, Iterator
from random import Random

import pytest

from opencrab.domain.turn.turn import Turn, TurnStatus
from opencrab.domain.value import Language
from opencrab.engine.phrases import system_phrase
from tests.e2e.lambdas import CONCURRENCY, VISIBILITY_SECONDS, Lambdas
from tests.unit.gateways.function import own_log

RESTARTS = 20
PATIENCE_MINUTES = 120
MOST_SECONDS = 90
"""How long the user of a turn waits whose worker died, before another one goes on with it."""

Build = Callable[[float], Lambdas]


@pytest.fixture
def lambdas() -> Iterator[Build]:
    """Builds installations, which end with the test; a worker takes the process's log."""
    built: list[Lambdas] = []

    def build(call_seconds: float) -> Lambdas:
        built.append(Lambdas(call_seconds))
        return built[-1]

    with own_log():
        yield build
        for each in built:
            each.close()


def settled(up: Lambdas, turns: Iterable[Turn]) -> set[TurnStatus]:
    """How turns end that are given some hours."""
    waiting, ends = list(turns), set[TurnStatus]()
    for _ in range(PATIENCE_MINUTES):
        while waiting and (status := up.home.journal.header(waiting[-1].id).status).is_end:
            ends.add(status)
            waiting.pop()
        if not waiting:
            return ends
        up.run(60)
    return ends | {up.home.journal.header(turn.id).status for turn in waiting}


def introduced(up: Lambdas, count: int, language: Language = Language.EN) -> list[str]:
    names = [f"crab{number}" for number in range(count)]
    for name in ("poisoned", *names):
        up.introduce(name, language)
    return names


@pytest.mark.timeout(900)
def test_a_hundred_are_answered_beside_one_that_kills_its_function_over_twenty_restarts(
    lambdas: Build,
) -> None:
    up, moments = lambdas(2.0), Random(20)  # noqa: S311 - the same moments each time
    names = introduced(up, 100)
    poison = up.say("poisoned")
    up.deadly[poison.id] = 1.0
    innocent = [up.say(name) for name in names]
    for _ in range(RESTARTS):
        up.run(moments.uniform(0.5, 4.0))
        up.kill()
    innocent.append(up.say("poisoned", "behind"))
    assert settled(up, innocent) == {TurnStatus.COMPLETED}
    assert settled(up, [poison]) == {TurnStatus.FAILED}
    assert sum(up.deaths[turn.id] for turn in innocent) > 2 * CONCURRENCY
    assert all(up.spoken(name) == ["here you are"] for name in names)
    assert all(up.counted[turn.id] <= up.deaths[turn.id] + 1 for turn in innocent)
    ((body, reason),) = up.home.turns.list_dead_letters(10)
    assert poison.id in body
    assert reason == f"turn {poison.id} made no progress in 3 deliveries"
    assert up.home.journal.header(poison.id).note == reason


@pytest.mark.parametrize("language", Language)
def test_a_poison_message_keeps_only_its_own_session_waiting_and_its_user_is_told(
    lambdas: Build, language: Language
) -> None:
    up = lambdas(2.0)
    names = introduced(up, 3, language)
    poison = up.say("poisoned")
    up.deadly[poison.id] = 1.0
    behind, others = up.say("poisoned", "behind"), [up.say(name) for name in names]
    up.run(3.0)
    assert settled(up, others) == {TurnStatus.COMPLETED}
    assert up.deaths[poison.id] == up.receives[poison.id] == 1
    assert up.home.journal.header(behind.id).status is TurnStatus.QUEUED
    assert settled(up, [poison]) == {TurnStatus.FAILED}
    assert up.deaths[poison.id] == up.receives[poison.id] - 1 == 3
    assert settled(up, [behind]) == {TurnStatus.COMPLETED}
    assert up.spoken("poisoned") == [system_phrase("no_progress", language), "here you are"]
    assert up.counted[behind.id] == 1


def test_receives_without_a_run_count_against_nobody(lambdas: Build) -> None:
    """Lambda without room receives messages, too: only a claim is a try, not a receive."""
    up = lambdas(2.0)
    turns = [up.say(name) for name in introduced(up, 3)]
    for _ in range(10):
        up.throttle()
    assert settled(up, turns) == {TurnStatus.COMPLETED}
    assert {up.receives[turn.id] for turn in turns} == {11}
    assert {up.counted[turn.id] for turn in turns} == {1}


@pytest.mark.parametrize("seconds", [1.0, 59.0, 61.0, 95.0, 117.0])
def test_the_user_of_a_worker_that_dies_waits_ninety_seconds_at_most(
    lambdas: Build, seconds: float
) -> None:
    up = lambdas(118.0)
    (name,) = introduced(up, 1)
    up.run(33.0)
    turn = up.say(name)
    up.run(seconds)
    assert up.home.journal.header(turn.id).epoch == 1
    up.kill()
    waited = 0
    while up.home.journal.header(turn.id).epoch == 1:
        up.run(1.0)
        waited += 1
    assert waited <= MOST_SECONDS
    assert settled(up, [turn]) == {TurnStatus.COMPLETED}
    assert up.spoken(name) == ["here you are"]


def test_a_worker_whose_model_takes_its_time_keeps_its_turns(lambdas: Build) -> None:
    up = lambdas(118.0)
    names = introduced(up, 3)
    turns = [up.say(name) for name in names]
    up.run(130.0)
    headers = [up.home.journal.header(turn.id) for turn in turns]
    assert {(header.status, header.epoch) for header in headers} == {(TurnStatus.COMPLETED, 1)}
    assert {up.receives[turn.id] for turn in turns} == {1}
    up.run(VISIBILITY_SECONDS)
    assert all(up.spoken(name) == ["here you are"] for name in names)
