"""No fault of the journal or the queue loses an event, wherever it happens."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import pytest

from opencrab.domain.approvals.policy import ApprovalPolicy
from opencrab.domain.errors import OpenCrabError, Unavailable
from opencrab.domain.webhooks.subscription import WebhookEventType
from opencrab.engine.approvals import approvals
from opencrab.engine.approvals.approvals import Decider
from tests.contract.homes import HOMES
from tests.crash.outside import Reply
from tests.e2e.hearing import Died, Receiver, listening, speaking, subscribe, until_quiet
from tests.e2e.house import House
from tests.soak import SOAK

SHARE = 3
LEAST_CALLS = 20
"""The calls of journal and queue in which something may go wrong are more than these."""


class Faulty:
    """A port at whose nth call something happens, before or after it has its effect."""

    def __init__(self, port: object, fault: "Fault") -> None:
        self._port, self._fault = port, fault

    def __getattr__(self, name: str) -> Any:
        inner = getattr(self._port, name)
        if not callable(inner):
            return inner
        return lambda *given, **named: self._fault.call(lambda: inner(*given, **named))


@dataclass
class Fault:
    """What happens at which call; `calls` counts them."""

    at: int
    error: type[BaseException]
    after: bool
    calls: int = 0

    def call(self, go: Callable[[], Any]) -> Any:
        self.calls += 1
        if self.calls != self.at:
            return go()
        if self.after:
            go()
        raise self.error("made up")


def play(house: House, fault: Fault) -> Receiver:
    """A turn that asks, is allowed to, and ends; a worker that dies is followed by another."""
    rings = Reply(calls=(("ring_bell", {"tone": "ding"}),))
    speaking(house, rings, Reply(text="鳴らしました"), policy=ApprovalPolicy.STRICT)
    receiver = listening(house)
    subscribe(house, WebhookEventType.APPROVAL_REQUESTED, WebhookEventType.TURN_COMPLETED)
    house.say("鐘を")
    sound, home = house.runtime, house.runtime.home
    ports = {name: Faulty(getattr(home, name), fault) for name in ("journal", "deliveries")}
    for is_decided in (False, True):
        if is_decided:
            (found,) = approvals.open_or_decided_approvals(home.facts, decided=False)
            who = Decider(id="owner", is_owner=True)
            approvals.decide_approval(house.runtime, found.id, approved=True, who=who)
        house.runtime = replace(sound, home=replace(home, **cast("dict[str, Any]", ports)))
        with suppress(OpenCrabError, Died):
            house.work()
        house.runtime = sound
        until_quiet(house)
    return receiver


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("error", [Unavailable, Died])
def test_no_fault_of_journal_and_queue_loses_an_event(
    tmp_path: Path, error: type[BaseException], *, after: bool
) -> None:
    place, fault, every = 1, Fault(0, error, after), 1 if SOAK else SHARE
    while True:
        house = House(HOMES[0], tmp_path / str(place))
        fault = Fault(place, error, after)
        receiver = play(house, fault)
        house.close()
        assert receiver.once == ["approval.requested", "turn.completed"], (place, receiver.types)
        assert [each["data"]["status"] for _, _, each in receiver.heard][-1] == "completed"
        if fault.calls < place:
            break
        place += every
    assert place > LEAST_CALLS
