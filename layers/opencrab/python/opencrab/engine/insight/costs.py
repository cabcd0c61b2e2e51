"""Costs of a turn, call by call, and totals of an agent's calls over a period."""

from datetime import UTC, datetime, timedelta
from enum import StrEnum

from opencrab.domain.models.fault import Fault
from opencrab.domain.models.routing import Use
from opencrab.domain.money.budget import Price, Share
from opencrab.domain.turn.record import CallState, ModelIntent, Record
from opencrab.domain.turn.turn import Block, Turn, TurnStatus
from opencrab.domain.usage.call_summary import CallSummary, group_usage, summarize_usage
from opencrab.domain.usage.counters import usage_tally_day
from opencrab.domain.usage.ledger import Grouping, Period, UsageRow
from opencrab.domain.value import MicroUsd, Value
from opencrab.engine.runtime import Runtime
from opencrab.ports.clock import Clock
from opencrab.ports.usage.ledger import UsageLedger

_PAGE = 500
_LATER = timedelta(minutes=1)
"""Tolerance for clocks: a row may be newer than the end of its turn if two machines wrote them."""


class Ground(StrEnum):
    """Reason for the cost of a call."""

    COUNTED = "counted"
    REPORTED = "reported"
    FREE = "free"
    UNCOUNTED = "uncounted"
    UNKNOWN = "unknown"
    PERHAPS_BILLED = "perhaps_billed"
    NOT_BILLED = "not_billed"
    SETTLED = "settled"
    RUNNING = "running"


class Charge(Value):
    """A model call: its reservation, its cost and the reason; `shares` add up to the cost.

    A running call has no row in the ledger yet, and so no id, time and cost.
    """

    n: int
    metrics_id: str | None = None
    at: datetime | None = None
    provider: str
    model: str
    purpose: Use
    task_type: str
    tier: int
    chosen_by: str
    state: CallState
    fault: Fault | None = None
    reserved_micro_usd: MicroUsd
    cost_micro_usd: MicroUsd = 0
    price: Price | None = None
    shares: tuple[Share, ...] = ()
    ground: Ground


class Explanation(Value):
    """A turn's money: drawn = spent + held + returned.

    `drawn` was taken from the day's budgets. `spent` is what its calls cost. `held` is reserved for
    a running call or a later one; 0 when the turn has ended. `returned` went back at the end; 0
    before. It is negative if the calls cost more than was drawn. `adds_up` is true if this holds
    and `calls` sum up to `spent`. Corrections by `opencrab costs reconcile` are included.
    `complete` is false if the ledger lacks some of the calls.
    """

    turn_id: str
    agent_id: str
    session_id: str
    status: TurnStatus
    calls: tuple[Charge, ...]
    scopes: tuple[str, ...]
    drawn: tuple[Block, ...]
    drawn_micro_usd: MicroUsd
    spent_micro_usd: MicroUsd
    held_micro_usd: MicroUsd
    returned_micro_usd: MicroUsd
    adds_up: bool
    complete: bool


class UsageReport(Value):
    """Totals of an agent's calls of a period, over all calls and in groups.

    `complete` is false while calls of an earlier version are still to be counted again: until then
    the unconfirmed cost and the mean quality may lack some. Single calls before
    `calls_listed_since` were deleted after `retention.calls_days`, but count; null if none were.
    """

    period: Period
    since: datetime | None
    until: datetime
    complete: bool
    calls_listed_since: datetime | None = None
    total: CallSummary
    groups: dict[Grouping, dict[str, CallSummary]]


def turn_cost_for_insight(runtime: Runtime, turn_id: str) -> Explanation:
    """Return a turn's money, call by call; raises NotFound."""
    recorded = runtime.home.journal.load(turn_id)
    turn = recorded.turn
    open_calls = _open(recorded.records)
    rows, complete = _rows_of(
        runtime.home.usage, runtime.clock, turn, turn.attempts - len(open_calls)
    )
    calls = (*map(_charge, rows), *map(_running, open_calls))
    drawn = sum(block.micro_usd for block in turn.blocks)
    held = turn.allowance + sum(intent.reserved for intent in open_calls)
    settled = sum(row.settlement.change for row in rows if row.settlement is not None)
    turn_spent = turn.spent + settled
    returned = drawn - turn_spent if turn.status.is_end else 0
    spent = sum(call.cost_micro_usd for call in calls)
    return Explanation(
        turn_id=turn.id,
        agent_id=turn.agent_id,
        session_id=turn.session_id,
        status=turn.status,
        calls=tuple(sorted(calls, key=lambda call: call.n)),
        scopes=turn.budgets() if turn.blocks else (),
        drawn=turn.blocks,
        drawn_micro_usd=drawn,
        spent_micro_usd=turn_spent,
        held_micro_usd=held,
        returned_micro_usd=returned,
        adds_up=spent == turn_spent and drawn == turn_spent + held + returned,
        complete=complete,
    )


def costs_for_insight(
    runtime: Runtime,
    agent_id: str,
    period: Period,
    groupings: tuple[Grouping, ...],
    *,
    most: int | None = None,
) -> UsageReport:
    """Return the totals of an agent's calls of a period; raises NotFound.

    It counts at most about `most` calls of earlier releases anew, by default 10,000.
    """
    from opencrab.engine.money.period_usage import money_spent_in_period  # noqa: PLC0415 - seldom needed

    runtime.home.agents.get(agent_id)
    now = runtime.clock.now()
    since = period.since(now)
    found = money_spent_in_period(runtime, agent_id, since, most=most)
    return UsageReport(
        period=period,
        since=since,
        until=now,
        complete=found.complete,
        calls_listed_since=insight_calls_listed_since(runtime, now, found.first_day),
        total=summarize_usage(found.cells),
        groups={by: group_usage(found.cells, by) for by in groupings},
    )


def insight_calls_listed_since(
    runtime: Runtime, now: datetime, first_day: str | None
) -> datetime | None:
    """Return the time before which an agent's single calls were deleted; None if none were.

    `first_day` is the first day (UTC) with a call; None if there was none.
    """
    kept = runtime.rules.calls_kept
    if kept is None or first_day is None:
        return None
    begins = (now - kept).astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return begins if first_day < usage_tally_day(begins) else None


def call_cost_for_insight(row: UsageRow) -> tuple[Share, ...]:
    """Return the parts of a call's cost; they add up to it, rounding included."""
    if row.cost == 0:
        return ()
    ground = _ground(row)
    if ground is not Ground.COUNTED or row.price is None:
        return (Share(kind=ground.value, tokens=0, per_million=0, micro_usd=row.cost),)
    found = row.price.shares(row.usage)
    rest = row.cost - sum(share.micro_usd for share in found)
    if rest == 0:
        return found
    return (*found, Share(kind="rounding", tokens=0, per_million=0, micro_usd=rest))


def _ground(row: UsageRow) -> Ground:
    return _ground_of_call(row) if row.settlement is None else Ground.SETTLED


def _ground_of_call(row: UsageRow) -> Ground:
    if row.state is CallState.UNKNOWN:
        return Ground.UNKNOWN
    failed = row.state is not CallState.COMPLETED
    if failed and row.cost == 0:
        return Ground.NOT_BILLED
    if row.usage.is_counted and row.price is not None and row.price.cost(row.usage) == row.cost:
        if row.usage.reported_micro_usd is not None:
            return Ground.REPORTED
        return Ground.COUNTED if row.cost else Ground.FREE
    if failed:
        return Ground.PERHAPS_BILLED
    return Ground.UNCOUNTED if row.cost else Ground.FREE


def _charge(row: UsageRow) -> Charge:
    return Charge(
        n=row.n,
        metrics_id=row.id,
        at=row.at,
        provider=row.provider,
        model=row.model,
        purpose=row.purpose,
        task_type=row.task_type,
        tier=row.tier,
        chosen_by=row.chosen_by,
        state=row.state,
        fault=row.fault,
        reserved_micro_usd=row.reserved,
        cost_micro_usd=row.cost,
        price=row.price,
        shares=call_cost_for_insight(row),
        ground=_ground(row),
    )


def _running(intent: ModelIntent) -> Charge:
    provider, _, model = intent.model.partition(":")
    return Charge(
        n=intent.n,
        provider=provider,
        model=model,
        purpose=intent.purpose,
        task_type=intent.task_type,
        tier=intent.tier,
        chosen_by=intent.chosen_by,
        state=CallState.RUNNING,
        reserved_micro_usd=intent.reserved,
        price=intent.price,
        ground=Ground.RUNNING,
    )


def _open(records: tuple[Record, ...]) -> tuple[ModelIntent, ...]:
    """Return the model calls without a result; a pointer record to a large result counts as one."""
    ended = {record.n for record in records if not isinstance(record, ModelIntent)}
    intents = (record for record in records if isinstance(record, ModelIntent))
    return tuple(intent for intent in intents if intent.n not in ended)


def _rows_of(
    usage: UsageLedger, clock: Clock, turn: Turn, expected: int
) -> tuple[tuple[UsageRow, ...], bool]:
    """Return the turn's rows in the ledger, and whether these are all `expected` rows."""
    found: list[UsageRow] = []
    after = None
    until = (turn.ended_at or clock.now()) + _LATER
    since = turn.created_at - _LATER
    while len(found) < expected:
        rows = usage.rows(turn.agent_id, since=since, until=until, after=after, limit=_PAGE)
        found += (row for row in rows if row.turn_id == turn.id)
        if len(rows) < _PAGE:
            break
        after = rows[-1].id
    return tuple(found), len(found) == expected
