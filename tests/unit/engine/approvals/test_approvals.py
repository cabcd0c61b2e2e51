"""Approvals: who may decide what, once, and what time and the end of a turn make of a question."""

from typing import Any

import pytest

from opencrab.domain.approvals.approval import DECIDED, OPEN, Approval, ApprovalState
from opencrab.domain.document import INSTALLATION_FACTS
from opencrab.domain.errors import Conflict, NotFound, OpenCrabError, Refused
from opencrab.domain.turn.record import ApprovalDecision
from opencrab.domain.turn.turn import Stop, Turn, TurnStatus
from opencrab.engine.approvals import approvals
from opencrab.engine.approvals.approvals import (
    Decider,
    decide_approval,
    find_approval,
    sweep_approvals,
)
from tests.unit.engine.approving import CALL, DELEGATE, OWNER, STRANGER, asked, later, with_rules
from tests.unit.engine.known_world import World


def turn_of(world: World, approval: Approval) -> Turn:
    return world.runtime.home.journal.header(approval.turn_id)


def decisions(world: World, approval: Approval) -> list[ApprovalDecision]:
    records = world.runtime.home.journal.load(approval.turn_id).records
    return [record for record in records if isinstance(record, ApprovalDecision)]


def drained(world: World) -> list[str]:
    """The groups of all messages that were queued since somebody last looked."""
    queue, found = world.runtime.home.turns, []
    while delivery := queue.receive(visibility_seconds=600, wait_seconds=0):
        found.append(delivery.body)
        queue.acknowledge(delivery.receipt)
    return found


def facts(world: World, kind: str) -> list[str]:
    return [fact.id for fact in world.runtime.home.facts.page(INSTALLATION_FACTS, kind)]


@pytest.mark.parametrize("approved", [True, False])
def test_a_decision_is_recorded_for_the_exact_arguments_and_queues_the_turn(
    world: World, *, approved: bool
) -> None:
    approval = asked(world)
    drained(world)
    made = decide_approval(
        world.runtime, approval.id, approved=approved, who=OWNER, reason="いいよ"
    )
    assert made.state is (ApprovalState.APPROVED if approved else ApprovalState.REJECTED)
    assert (made.by, made.reason, made.decided_at) == ("owner", "いいよ", world.clock.now())
    (decision,) = decisions(world, approval)
    assert (decision.approved, decision.argument_hash) == (approved, CALL.argument_hash)
    assert turn_of(world, approval).status is TurnStatus.QUEUED
    assert [approval.turn_id in body for body in drained(world)] == [True]
    assert (facts(world, OPEN), facts(world, DECIDED)) == ([], [approval.id])


@pytest.mark.parametrize("taint", [True, False])
def test_whoever_decides_sees_whether_foreign_words_were_read_before(
    world: World, *, taint: bool
) -> None:
    assert asked(world, taint=taint).tainted is taint


def test_a_decision_is_made_once(world: World) -> None:
    approval = asked(world)
    made = decide_approval(world.runtime, approval.id, approved=True, who=OWNER)
    assert decide_approval(world.runtime, approval.id, approved=True, who=OWNER) == made
    for other in (DELEGATE, STRANGER, Decider("second-owner", is_owner=True)):
        with pytest.raises(Conflict, match="approved already"):
            decide_approval(world.runtime, approval.id, approved=True, who=other)
    with pytest.raises(Conflict, match="approved already"):
        decide_approval(world.runtime, approval.id, approved=False, who=OWNER)
    assert len(decisions(world, approval)) == 1


def test_whoever_may_not_decide_is_told_what_to_do(world: World) -> None:
    decided = asked(world)
    decide_approval(world.runtime, decided.id, approved=True, who=OWNER)
    waits = asked(world, delegates=("taro",), escalate_minutes=30)
    cures = {
        ("nothing", OWNER): "list them with `opencrab approvals list`",
        (decided.id, DELEGATE): "read it to see who decided and why",
        (waits.id, STRANGER): "ask the owner, who can name you in the agent's approvals.delegates",
        (waits.id, DELEGATE): "try again then, or ask the owner",
    }
    for (wanted, who), cure in cures.items():
        with pytest.raises(OpenCrabError) as refused:
            decide_approval(world.runtime, wanted, approved=True, who=who)
        assert refused.value.cure == cure


def test_what_does_not_exist_cannot_be_decided(world: World) -> None:
    with pytest.raises(NotFound):
        decide_approval(world.runtime, "nothing", approved=True, who=OWNER)


@pytest.mark.parametrize("who", [DELEGATE, STRANGER])
def test_nobody_decides_for_the_owner_unless_named(world: World, who: Decider) -> None:
    approval = asked(world)
    with pytest.raises(Refused):
        decide_approval(world.runtime, approval.id, approved=True, who=who)
    assert find_approval(world.runtime.home.facts, approval.id) == approval
    assert decisions(world, approval) == []


def test_a_delegate_decides_at_once_where_nothing_escalates(world: World) -> None:
    approval = asked(world, delegates=("taro",))
    with pytest.raises(Refused):
        decide_approval(world.runtime, approval.id, approved=True, who=STRANGER)
    assert decide_approval(world.runtime, approval.id, approved=True, who=DELEGATE).by == "taro"


def test_a_delegate_waits_for_escalation_and_the_owner_does_not(world: World) -> None:
    first, second = (asked(world, delegates=("taro",), escalate_minutes=30) for _ in range(2))
    with pytest.raises(Refused, match="until"):
        decide_approval(world.runtime, first.id, approved=True, who=DELEGATE)
    decide_approval(world.runtime, second.id, approved=True, who=OWNER)
    later(world, 30)
    assert decide_approval(world.runtime, first.id, approved=False, who=DELEGATE).by == "taro"


def test_a_delegate_who_was_taken_back_decides_no_more(world: World) -> None:
    approval = asked(world, delegates=("taro",))
    with_rules(world)
    with pytest.raises(Refused):
        decide_approval(world.runtime, approval.id, approved=True, who=DELEGATE)


def test_an_escalation_is_marked_once_and_spoils_no_decision(world: World) -> None:
    approval = asked(world, delegates=("taro",), escalate_minutes=5)
    assert sweep_approvals(world.runtime) == 0
    later(world, 5)
    assert [sweep_approvals(world.runtime) for _ in range(2)] == [1, 0]
    assert find_approval(world.runtime.home.facts, approval.id).escalated
    assert decide_approval(world.runtime, approval.id, approved=True, who=DELEGATE).escalated


@pytest.mark.parametrize("by_sweep", [True, False])
def test_what_expires_is_rejected_and_its_turn_goes_on(world: World, *, by_sweep: bool) -> None:
    approval = asked(world, expire_minutes=10)
    assert sweep_approvals(world.runtime) == 0
    later(world, 10)
    if by_sweep:
        assert sweep_approvals(world.runtime) == 1
    with pytest.raises(Conflict, match="expired already"):
        decide_approval(world.runtime, approval.id, approved=True, who=OWNER)
    found = find_approval(world.runtime.home.facts, approval.id)
    assert (found.state, found.by) == (ApprovalState.EXPIRED, "nobody")
    (decision,) = decisions(world, approval)
    assert (decision.approved, decision.reason[:7]) == (False, "expired")
    assert turn_of(world, approval).status is TurnStatus.QUEUED
    assert sweep_approvals(world.runtime) == 0


@pytest.mark.parametrize("by_sweep", [True, False])
def test_what_a_stopped_turn_asked_is_withdrawn(world: World, *, by_sweep: bool) -> None:
    approval = asked(world)
    stop = Stop(by="owner", at=world.clock.now())
    world.runtime.home.journal.stop(approval.turn_id, stop)
    if by_sweep:
        assert sweep_approvals(world.runtime) == 1
    with pytest.raises(Conflict, match="withdrawn already"):
        decide_approval(world.runtime, approval.id, approved=True, who=OWNER)
    assert find_approval(world.runtime.home.facts, approval.id).state is ApprovalState.WITHDRAWN
    assert decisions(world, approval) == []


def test_a_question_that_a_worker_looks_at_again_is_not_withdrawn(world: World) -> None:
    approval = asked(world)
    pause = Stop(by="owner", at=world.clock.now(), pause=True)
    world.runtime.home.journal.stop(approval.turn_id, pause)
    resumed = world.runtime.home.journal.resume(approval.turn_id)
    if resumed.status is TurnStatus.QUEUED:
        with pytest.raises(Conflict, match="changed concurrently"):
            decide_approval(world.runtime, approval.id, approved=True, who=OWNER)
    assert sweep_approvals(world.runtime) == 0
    assert find_approval(world.runtime.home.facts, approval.id).state is ApprovalState.PENDING


def test_open_ones_come_oldest_first_and_decided_ones_newest_first(world: World) -> None:
    made = [asked(world) for _ in range(3)]
    ids = [approval.id for approval in made]
    assert [
        one.id
        for one in approvals.open_or_decided_approvals(world.runtime.home.facts, decided=False)
    ] == ids
    for one in (made[1], made[0], made[2]):
        decide_approval(world.runtime, one.id, approved=True, who=OWNER)
    decided = [
        one.id
        for one in approvals.open_or_decided_approvals(world.runtime.home.facts, decided=True)
    ]
    assert decided == ids[::-1]
    after = approvals.open_or_decided_approvals(
        world.runtime.home.facts, decided=True, after=decided[0], limit=1
    )
    assert [one.id for one in after] == [ids[1]]


def test_the_exact_arguments_come_from_the_journal(world: World) -> None:
    approval = asked(world)
    found = approvals.call_awaiting_approval(world.runtime.home, approval)
    assert found == approvals.ApprovalCall(CALL, None)
    other = approval.replaced(argument_hash="0" * 64)
    assert approvals.call_awaiting_approval(world.runtime.home, other) is None
    gone = approval.replaced(turn_id="gone")
    assert approvals.call_awaiting_approval(world.runtime.home, gone) is None


def test_a_sweep_goes_on_after_one_that_fails(world: World) -> None:
    gone, fine = asked(world, expire_minutes=1), asked(world, expire_minutes=1)
    fact = world.runtime.home.facts.get(INSTALLATION_FACTS, OPEN, gone.id)
    assert fact is not None
    lost = gone.replaced(turn_id="gone", agent_id="gone")
    world.runtime.home.facts.commit(fact.with_body(lost))
    later(world, 2)
    assert sweep_approvals(world.runtime) == 2
    states: list[Any] = [
        find_approval(world.runtime.home.facts, one.id).state for one in (gone, fine)
    ]
    assert states == [ApprovalState.WITHDRAWN, ApprovalState.EXPIRED]
