"""Reconciliation: what calls that were perhaps billed cost after all.

A call without an answer keeps its reservation until its provider, or an owner who has seen the
bill, says what it cost. Then its ledger row, its day and every budget that paid are corrected at
once. The journal stays as it was: it says what was known when the turn ran.
"""

from dataclasses import dataclass
from datetime import timedelta
from itertools import chain, islice

from opencrab.domain.document import Document
from opencrab.domain.errors import Changed, Conflict, Invalid, Unavailable
from opencrab.domain.goals.goal import GOAL, Goal, goal_document_id, goal_id_of_label
from opencrab.domain.money.budget import Usage
from opencrab.domain.turn.turn import Turn
from opencrab.domain.usage.ledger import Period, Settlement, UsageRow, turn_of_ledger_row
from opencrab.domain.value import MicroUsd
from opencrab.engine.runtime import Runtime
from opencrab.ports.models.directory import ProviderDirectory
from opencrab.ports.models.model import CallUsage
from opencrab.ports.paging import paginate

LOOKUP_SECONDS = 5.0
"""How long one provider is asked for one call."""

MOST_ROWS = 10_000
"""Most calls of an agent that are searched for unconfirmed ones."""

_PAGE = 500
_TRIES = 4
_CLOCKS_APART = timedelta(minutes=1)


@dataclass(frozen=True)
class UnconfirmedCalls:
    """An agent's unconfirmed calls, newest first; `complete` if all of its calls were searched."""

    calls: tuple[UsageRow, ...]
    complete: bool


@dataclass(frozen=True)
class Reconciled:
    """A call after its reconciliation; it stays unconfirmed for the reason in `problem`."""

    call: UsageRow
    problem: str = ""
    cure: str = ""


def calls_with_money_reserved(runtime: Runtime, agent_id: str, period: Period) -> UnconfirmedCalls:
    """Return an agent's calls of a period for which money is held; raises NotFound."""
    from opencrab.engine.money.period_usage import (  # noqa: PLC0415 - seldom needed
        days_with_money_held,
        money_spent_by_calls_of_day,
    )

    runtime.home.agents.get(agent_id)
    since = period.since(runtime.clock.now())
    days, complete = days_with_money_held(runtime, agent_id, since)
    rows = chain.from_iterable(
        money_spent_by_calls_of_day(runtime, agent_id, day, since=since) for day in days
    )
    found = tuple(islice(rows, MOST_ROWS + 1))
    held = tuple(row for row in found[:MOST_ROWS] if row.unconfirmed_micro_usd)
    return UnconfirmedCalls(held, complete and len(found) <= MOST_ROWS)


def settle_money_held_for_call(
    runtime: Runtime, call_id: str, cost: MicroUsd, *, by: str, above_reservation: bool = False
) -> UsageRow:
    """Settle an unconfirmed call at the cost that an owner read on the bill, 0 if it is not there.

    Raises NotFound, Conflict if the call is not unconfirmed or its turn has not ended, and Invalid
    for a cost above the reservation unless that is said to be meant.
    """
    turn = _turn_of(runtime, call_id)
    row = runtime.home.usage.row(turn.agent_id, call_id)
    if cost > row.reserved and not above_reservation:
        raise Invalid(
            f"the cost of {cost} micro-dollars is above the reservation of {row.reserved}",
            field="cost_micro_usd",
            cure="check the bill; if it is right, send above_reservation (--above-reservation)",
        )
    return _settle(runtime, turn, call_id, cost, by)


def settle_money_by_provider_cost(
    runtime: Runtime, directory: ProviderDirectory, call_id: str
) -> Reconciled:
    """Settle an unconfirmed call at the cost that its provider tells; else it stays as it is.

    Raises NotFound, and Conflict if its turn has not ended.
    """
    turn = _turn_of(runtime, call_id)
    row = runtime.home.usage.row(turn.agent_id, call_id)
    if not row.unconfirmed_micro_usd:
        return Reconciled(row)
    found = directory.call_usage(row.provider, row.provider_call_id, timeout_seconds=LOOKUP_SECONDS)
    cost = _told_cost(row, found)
    if cost is None:
        return Reconciled(row, found.problem, found.cure)
    by = f"provider:{row.provider}"
    return Reconciled(_settle(runtime, turn, call_id, cost, by, usage=found.usage))


def _told_cost(row: UsageRow, found: CallUsage) -> MicroUsd | None:
    """Return the cost by the provider's counts; None if it told none that can be priced."""
    usage = found.usage
    if usage is None or not usage.is_counted:
        return None
    if usage.reported_micro_usd is not None:
        return max(usage.reported_micro_usd, 0)
    return None if row.price is None else row.price.cost(usage)


def _turn_of(runtime: Runtime, call_id: str) -> Turn:
    """Return the turn of a call; raise Conflict while it still spends."""
    turn = runtime.home.journal.header(turn_of_ledger_row(call_id))
    if not turn.status.is_end:
        raise Conflict(
            f"turn {turn.id!r} of this call has not ended",
            field="call",
            cure="wait until it has ended, then try again",
        )
    return turn


def _settle(
    runtime: Runtime,
    turn: Turn,
    call_id: str,
    cost: MicroUsd,
    by: str,
    *,
    usage: Usage | None = None,
) -> UsageRow:
    home = runtime.home
    for _ in range(_TRIES):
        row = home.usage.row(turn.agent_id, call_id)
        settlement = Settlement(
            cost=cost, held=row.cost, by=by, at=runtime.clock.now(), usage=usage
        )
        if row.with_settlement(settlement) == row:
            return row
        draws = turn.settlement_budget_draws(
            settlement.change, returned_before=_returned_before(runtime, turn)
        )
        facts = _goal_spent(runtime, turn, settlement.change)
        try:
            return home.usage.settle(turn.agent_id, call_id, settlement, draws=draws, facts=facts)
        except Changed:
            # The goal was written meanwhile: its newest version is corrected.
            continue
    raise Unavailable(
        f"the goal of turn {turn.id!r} has too many concurrent updates; retries exhausted",
        cure="try again in a few seconds",
    )


def _returned_before(runtime: Runtime, turn: Turn) -> MicroUsd:
    """Return what settlements of the turn's other calls gave back; 0 where one day paid for all."""
    if len(turn.blocks) < 2:  # noqa: PLR2004  - one day gets everything back
        return 0
    until = (turn.ended_at or runtime.clock.now()) + _CLOCKS_APART
    since = turn.created_at - _CLOCKS_APART
    rows = paginate(runtime.home.usage.rows, turn.agent_id, limit=_PAGE, since=since, until=until)
    changes = (row.settlement.change for row in rows if row.turn_id == turn.id and row.settlement)
    return sum(max(-change, 0) for change in changes)


def _goal_spent(runtime: Runtime, turn: Turn, change: MicroUsd) -> tuple[Document, ...]:
    """Return the turn's goal with its costs corrected, () if it serves none."""
    if turn.task is None:
        return ()
    stored = runtime.home.facts.get(
        turn.agent_id, GOAL, goal_document_id(goal_id_of_label(turn.task))
    )
    if stored is None:
        return ()
    goal = stored.read(Goal)
    spent = max(goal.spent_micro_usd + change, 0)
    return (stored.with_body(goal.replaced(spent_micro_usd=spent)),)
