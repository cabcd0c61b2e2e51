"""The whole way of a question in every home: asked, decided or expired, and leave given before."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from opencrab.domain.access.impact import Impact
from opencrab.domain.approvals.approval import OPEN, Approval, ApprovalRules, ApprovalState
from opencrab.domain.approvals.policy import ApprovalPolicy
from opencrab.domain.conversation.message import LineKind
from opencrab.domain.document import INSTALLATION_FACTS
from opencrab.domain.turn.turn import Stop, Turn, TurnStatus
from opencrab.engine.approvals import approvals
from opencrab.engine.approvals.approvals import Decider
from opencrab.engine.approvals.grants import (
    NewGrant,
    grant_approval_in_advance,
    open_approval_grants,
)
from opencrab.engine.queueing import enqueue_turn
from opencrab.engine.turn import control
from opencrab.ports.turn.journal import Journal, TurnChange
from tests.crash.outside import Reply
from tests.e2e.house import House
from tests.e2e.mortal import die_after

OWNER = Decider(id="owner", is_owner=True)


def furnished(house: House, *, rings: int = 1, **changes: Any) -> None:
    """An agent who wants to ring the bell, and must ask."""
    calls = [Reply(calls=(("ring_bell", {"tone": f"ding {n}"}),)) for n in range(rings)]
    agent = house.agent("crab", (*calls, Reply(text="鳴らしました")))
    changed = agent.replaced(**{"policy": ApprovalPolicy.STRICT, **changes})
    house.session(house.home.agents.save(changed))


def asked(house: House) -> tuple[Turn, Approval]:
    (turn,) = house.say("鐘を鳴らして")
    house.work()
    (found,) = approvals.open_or_decided_approvals(house.runtime.home.facts, decided=False)
    assert house.turn(turn.id).status is TurnStatus.WAITING
    assert found.turn_id == turn.id
    return turn, found


@pytest.mark.parametrize("approved", [True, False])
def test_a_bell_rings_once_if_the_owner_says_so(house: House, *, approved: bool) -> None:
    furnished(house)
    turn, found = asked(house)
    for _ in range(2):
        approvals.decide_approval(house.runtime, found.id, approved=approved, who=OWNER)
        house.work()
    assert len(house.bell.rings) == int(approved)
    ended = TurnStatus.COMPLETED if approved else TurnStatus.STOPPED
    assert house.turn(turn.id).status is ended
    assert approvals.open_or_decided_approvals(house.runtime.home.facts, decided=False) == ()


def test_what_a_turn_has_asked_is_withdrawn_in_the_moment_in_which_it_ends(house: House) -> None:
    furnished(house)
    turn, found = asked(house)
    control.stop_turn(house.runtime, turn.id, by="owner")
    house.work()
    assert house.turn(turn.id).status is TurnStatus.STOPPED
    # As it is stored: whoever looks later may settle what no end has settled.
    assert house.home.facts.page(INSTALLATION_FACTS, OPEN) == ()
    assert (
        approvals.find_approval(house.runtime.home.facts, found.id).state is ApprovalState.WITHDRAWN
    )


def ask_and_die(house: House) -> tuple[Turn, Approval]:
    """A turn that waits for its approval, whose process died before its message was done."""
    furnished(house)
    live = die_after(house, "journal", "commit", 3)
    (turn,) = house.say("鐘を鳴らして")
    assert live(house.work)
    assert house.turn(turn.id).status is TurnStatus.WAITING
    (found,) = approvals.open_or_decided_approvals(house.runtime.home.facts, decided=False)
    return turn, found


def test_a_session_goes_on_though_a_process_died_as_its_turn_began_to_wait(house: House) -> None:
    turn, found = ask_and_die(house)
    (other,) = house.say("潮は?", "m2")
    house.work()
    # It has come as far: it waits for an approval of its own.
    assert house.statuses((turn, other)) == [TurnStatus.WAITING] * 2
    approvals.decide_approval(house.runtime, found.id, approved=True, who=OWNER)
    house.work()
    assert house.turn(turn.id).status is TurnStatus.COMPLETED
    assert len(house.bell.rings) == 1


class StopsBeforeWaiting:
    """A journal in which somebody stops a turn just before it is written as waiting."""

    def __init__(self, journal: Journal, stop: Callable[[], object]) -> None:
        self._journal, self._stop = journal, stop
        self.waits = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._journal, name)

    def commit(self, change: TurnChange) -> Turn:
        if change.turn.status is TurnStatus.WAITING:
            self.waits += 1
            if self.waits == 1:
                self._stop()
        return self._journal.commit(change)


def test_a_turn_that_is_stopped_while_it_goes_back_to_waiting_ends(house: House) -> None:
    furnished(house)
    turn, found = asked(house)
    # It runs once more without a decision, as after a pause that was taken back.
    journal = house.home.journal
    pause = Stop(by="owner", reason="", at=house.clock.now(), pause=True)
    journal.stop(turn.id, pause)
    enqueue_turn(house.runtime.home, journal.resume(turn.id), again="-resumed")
    meddled: Any = StopsBeforeWaiting(
        journal, lambda: control.stop_turn(house.runtime, turn.id, by="owner")
    )
    house.runtime = replace(house.runtime, home=replace(house.runtime.home, journal=meddled))
    house.work()
    assert meddled.waits == 1
    assert house.turn(turn.id).status is TurnStatus.STOPPED
    state = approvals.find_approval(house.runtime.home.facts, found.id).state
    assert state is ApprovalState.WITHDRAWN


def test_nobody_answers_in_time_and_the_turn_ends(house: House) -> None:
    furnished(house, approvals=ApprovalRules(expire_minutes=10))
    turn, found = asked(house)
    house.later(540)
    assert house.turn(turn.id).status is TurnStatus.WAITING
    house.later(60)
    assert (
        approvals.find_approval(house.runtime.home.facts, found.id).state is ApprovalState.EXPIRED
    )
    assert house.turn(turn.id).status is TurnStatus.STOPPED
    assert house.bell.rings == []
    assert house.lines(LineKind.SYSTEM)


def test_a_grant_is_used_up_and_then_the_agent_asks(house: House) -> None:
    furnished(house, rings=3)
    new = NewGrant(impacts=tuple(Impact), calls=2, hours=1)
    grant_approval_in_advance(house.runtime, "crab", new, by="owner", grant_id="g1")
    _, found = asked(house)
    assert len(house.bell.rings) == 2
    assert open_approval_grants(house.runtime, "crab")[0].used == 2
    approvals.decide_approval(house.runtime, found.id, approved=True, who=OWNER)
    house.work()
    assert len(house.bell.rings) == 3
    assert open_approval_grants(house.runtime, "crab")[0].used == 2
