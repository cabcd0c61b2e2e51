"""A unit of work: how many model calls are left to a turn, whose vendor may fail meanwhile."""

from collections.abc import Iterable

import pytest

from opencrab.domain.models.fault import Fault
from opencrab.domain.turn.record import CallState, ModelAnswer, ModelIntent, ModelResult
from opencrab.engine.turn.work import TurnWork
from tests.unit.engine.known_world import World


def called(work: TurnWork, *states: CallState) -> TurnWork:
    """A turn after so many model calls, each begun under the next number."""
    for n, state in enumerate(states):
        fault = Fault.OVERLOADED if state is CallState.FAILED else None
        work.transcript.add(ModelIntent(n=2 * n, model="m", request_hash="h", reserved=0))
        answer = ModelAnswer(text="ええ") if fault is None else None
        work.transcript.add(ModelResult(n=2 * n, state=state, answer=answer, fault=fault))
    work.turn = work.turn.replaced(attempts=len(states))
    return work


@pytest.mark.parametrize(("failed", "answered"), [(0, 0), (0, 3), (2, 0), (4, 3)])
def test_a_vendors_failures_use_up_no_step(world: World, failed: int, answered: int) -> None:
    world.rules(max_steps=10)
    calls: Iterable[CallState] = [CallState.FAILED] * failed + [CallState.COMPLETED] * answered
    assert called(world.begun(), *calls).calls_left == 10 - answered


def test_a_turn_whose_vendor_only_fails_comes_to_its_end(world: World) -> None:
    world.rules(max_steps=2)
    left = [called(world.begun(), *[CallState.FAILED] * n).calls_left for n in range(12)]
    assert left[0] == 2
    assert left[-1] == 0
