"""Leases of budgets: each process holds a slice of a day's budget in an item of its own.

A budget is one item, and transactions that meet at an item refuse each other. So the turns of a
process draw from its lease, which no other process writes; the lease is filled from the budget by
one update outside of any transaction, and what is left goes back when the lease has ended.

What a lease holds counts as drawn, so that no budget is ever exceeded, whoever dies and whatever
clocks say: time only decides when something goes back. All leases of a budget together hold at most
a twentieth of its limit; when that is taken, and where the limit is small, turns draw from the
budget itself (ADR 0056).
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from secrets import token_hex
from threading import Lock

from pynamodb.expressions.condition import Condition
from pynamodb.expressions.operand import Path
from pynamodb.expressions.update import Update

from opencrab.adapters.dynamodb.item import (
    Fields,
    Item,
    Schema,
    from_item_microseconds,
    item_time_to_live,
    to_item_microseconds,
)
from opencrab.adapters.dynamodb.money.budget_item import (
    LeaseReturned,
    dynamodb_budget_return_write,
    dynamodb_budget_slice_write,
    is_own_slice,
)
from opencrab.adapters.dynamodb.table import (
    Cancelled,
    ConditionFailed,
    Table,
    Write,
    delete_dynamodb_item,
    join_dynamodb_conditions,
    update_item,
)
from opencrab.domain.errors import Changed, Exhausted, Stopped, Unavailable
from opencrab.domain.money.budget import INSTALLATION, WHOLE, BudgetDraw
from opencrab.domain.turn.turn import Turn
from opencrab.domain.value import MicroUsd

SCHEMA = Schema("budget lease")
LIST = "lease"
LEASE = timedelta(minutes=2)
"""How long a lease lasts from its last use."""

SKEW = timedelta(minutes=1)
POOL_DIVISOR = 20
"""All leases together hold at most this part of a limit: 5 %."""

SLICE_DRAWS = 2
"""A slice is enough for so many draws."""

_MOST_BUDGETS = 10
_POOL_FULL = timedelta(seconds=30)
_LIFE = timedelta(days=3)
_LEFT, _HELD = "left#", "held#"
_NOTHING: MicroUsd = 0

Budget = tuple[str, str]
"""Scope and day."""


@dataclass(frozen=True)
class _Slice:
    """What this process believes to hold of a budget; only the item's condition decides.

    `held` is its part of the pool, and the most that stays in the lease between turns.
    """

    left: MicroUsd = 0
    held: MicroUsd = 0
    limit: MicroUsd = 0


@dataclass(frozen=True)
class _Change:
    """A change of one budget in a lease: `filled` was just taken from the budget for it."""

    micro_usd: MicroUsd
    filled: MicroUsd = 0
    held: MicroUsd = 0

    @property
    def sum(self) -> MicroUsd:
        """What the lease's item gains, or loses."""
        return self.filled + self.micro_usd


@dataclass(frozen=True)
class LeasedDraws:
    """The draws of a transaction: those from budgets themselves, and the write of the lease."""

    direct: tuple[BudgetDraw, ...]
    day: str = ""
    changes: tuple[tuple[str, _Change], ...] = ()
    write: Write | None = None


class BudgetLeases:
    """The leases of one process, an item for each day; threads may share it."""

    def __init__(self, table: Table, holder: str | None = None) -> None:
        self._table = table
        self._holder = holder or token_hex(8)
        self._slices: dict[Budget, _Slice] = {}
        self._until: dict[str, datetime] = {}
        self._full: dict[Budget, datetime] = {}
        self._direct: set[Budget] = set()
        self._lock = Lock()

    def draw(
        self, draws: tuple[BudgetDraw, ...], at: datetime, commit: Callable[[LeasedDraws], Turn]
    ) -> Turn:
        """Commit a turn's change with its draws, as many of them as possible from the lease."""
        while True:
            planned = self._planned(draws, at)
            try:
                after = commit(planned)
            except LeaseReturned as found:
                self._believe(planned.day, found.item)
                self._abandon(planned, at)
                continue
            # Only these say that nothing was written; what is not known counts as drawn.
            except (Stopped, Exhausted, Changed):
                self._abandon(planned, at)
                raise
            for scope, change in planned.changes:
                self._add((scope, planned.day), change)
                if after.status.is_end:
                    self._return_excess((scope, planned.day), at)
            if planned.changes:
                self._until[planned.day] = at + LEASE
            return after

    def _planned(self, draws: tuple[BudgetDraw, ...], at: datetime) -> LeasedDraws:
        """Decide what is drawn from the lease, filling it first where it holds too little."""
        day = max((draw.day for draw in draws if draw.day != WHOLE), default="")
        self._refresh(day, at)
        direct, changes = list[BudgetDraw](), dict[str, _Change]()
        for draw in draws:
            try:
                change = self._change(draw, at) if draw.day == day else None
            except Unavailable:
                self._abandon(LeasedDraws((), day, tuple(changes.items())), at)
                raise
            if change is None:
                if draw.micro_usd > 0:
                    self._return_excess((draw.scope, draw.day), at)
                direct.append(draw)
            else:
                changes[draw.scope] = change
        write = self._write(day, changes, at) if changes else None
        return LeasedDraws(tuple(direct), day, tuple(changes.items()), write)

    def _abandon(self, planned: LeasedDraws, at: datetime) -> None:
        """Put what was taken for a transaction that failed into the lease.

        Otherwise it would count as drawn until the day is over. A transaction, since the SDK may
        repeat it: a second one would be money that no budget gave.
        """
        filled = {
            scope: _Change(0, change.filled, change.held)
            for scope, change in planned.changes
            if change.filled
        }
        if not filled:
            return
        with suppress(Unavailable):
            self._table.transact(self._write(planned.day, filled, at))
            for scope, change in filled.items():
                self._add((scope, planned.day), change)

    def _change(self, draw: BudgetDraw, at: datetime) -> _Change | None:
        """Return what a draw changes in the lease; None if it goes to the budget itself."""
        budget = (draw.scope, draw.day)
        known = self._slices.get(budget)
        if draw.micro_usd <= 0:
            # A lease that got nothing is not asked for when it is told what was drawn.
            is_filled = known is not None and bool(known.left or known.held)
            return _Change(-draw.micro_usd) if is_filled or self._takes_over(budget) else None
        limit = draw.limit_micro_usd
        if known is not None and limit is not None and limit < known.limit:
            # Whoever lowers a limit means now: what was taken under the old one goes back.
            self._return(budget, known.left, known.held, at)
            known = self._slices[budget]
            if not known.left and not known.held:
                self._slices[budget] = replace(known, limit=limit)
            return None
        if limit is None or not self._is_leased(draw, limit):
            if draw.scope == INSTALLATION:
                self._direct.add(budget)
            return None
        known = known or _Slice()
        if known.left >= draw.micro_usd:
            return _Change(-draw.micro_usd)
        filled = self._fill(draw, known, at)
        self._slices[budget] = replace(known, limit=limit)
        return None if filled is None else _Change(-draw.micro_usd, *filled)

    def _takes_over(self, budget: Budget) -> bool:
        """Check whether the rest of a turn of another process goes through this one's lease.

        What turns spent is saved with it, and must not meet all others at the installation's item.
        """
        return budget[0] == INSTALLATION and budget not in self._direct

    def _is_leased(self, draw: BudgetDraw, limit: MicroUsd) -> bool:
        if limit // POOL_DIVISOR < SLICE_DRAWS * draw.micro_usd:
            return False
        of_day = [budget for budget in self._slices if budget[1] == draw.day]
        return (draw.scope, draw.day) in of_day or len(of_day) < _MOST_BUDGETS

    def _fill(
        self, draw: BudgetDraw, known: _Slice, at: datetime
    ) -> tuple[MicroUsd, MicroUsd] | None:
        """Take from the budget what a lease lacks; None if the draw must do without a lease."""
        budget, missing = (draw.scope, draw.day), draw.micro_usd - known.left
        size = SLICE_DRAWS * draw.micro_usd
        if known.held:
            wishes = [(max(known.held - known.left, missing), 0), (missing, 0)]
        elif self._full.get(budget, at) > at:
            return None
        else:
            wishes = [(size - known.left, size)]
        nonce = token_hex(4)
        for micro_usd, held in wishes:
            write = dynamodb_budget_slice_write(
                draw,
                micro_usd,
                held,
                pool=(draw.limit_micro_usd or 0) // POOL_DIVISOR,
                nonce=nonce,
                at=at,
            )
            try:
                self._table.write(write)
            except ConditionFailed as refusal:
                if not is_own_slice(refusal.item, nonce):
                    continue
            return micro_usd, held
        if not known.held:
            self._full[budget] = at + _POOL_FULL
        return None

    def _refresh(self, day: str, at: datetime) -> None:
        """Read the lease of a day again if somebody may have returned it."""
        until = self._until.get(day)
        if until is not None and at >= until:
            self._believe(day, self._table.get(_partition(self._holder), day))
            self._until[day] = at + LEASE

    def _believe(self, day: str, item: Item | None) -> None:
        """Believe what the item of the lease says."""
        fields = {} if item is None else SCHEMA.decode_item(item)
        with self._lock:
            for budget, known in list(self._slices.items()):
                if budget[1] == day:
                    self._slices[budget] = replace(
                        known,
                        left=fields.get(f"{_LEFT}{budget[0]}", 0),
                        held=fields.get(f"{_HELD}{budget[0]}", 0),
                    )

    def _add(self, budget: Budget, change: _Change) -> None:
        with self._lock:
            known = self._slices.get(budget, _Slice())
            self._slices[budget] = replace(
                known, left=known.left + change.sum, held=known.held + change.held
            )

    def _write(self, day: str, changes: dict[str, _Change], at: datetime) -> Write:
        values = {
            "schema": SCHEMA.version,
            "list": LIST,
            "until": to_item_microseconds(at + LEASE),
            "ttl": item_time_to_live(at.astimezone(UTC) + _LIFE),
        }
        update = Update(*(Path(name).set(value) for name, value in values.items()))
        conditions = list[Condition]()
        for scope, change in changes.items():
            left = Path([f"{_LEFT}{scope}"])
            update.add_action(left.add(change.sum))
            if change.held:
                update.add_action(Path([f"{_HELD}{scope}"]).add(change.held))
            if change.sum < 0:
                conditions.append(left >= -change.sum)
        condition = join_dynamodb_conditions(*conditions) if conditions else None
        return update_item(_partition(self._holder), day, update, condition)

    def _return_excess(self, budget: Budget, at: datetime) -> None:
        known = self._slices.get(budget)
        if known is not None and known.left > known.held:
            self._return(budget, known.left - known.held, 0, at)

    def _return(self, budget: Budget, micro_usd: MicroUsd, held: MicroUsd, at: datetime) -> None:
        """Give back to a budget; if that fails, the sweep does it when the lease has ended."""
        scope, day = budget
        left = Path([f"{_LEFT}{scope}"])
        change = Update(left.add(-micro_usd))
        condition: Condition = left >= micro_usd
        if held:
            change.add_action(Path([f"{_HELD}{scope}"]).add(-held))
            condition &= Path([f"{_HELD}{scope}"]) >= held
        if not micro_usd and not held:
            return
        try:
            self._table.transact(
                update_item(_partition(self._holder), day, change, condition),
                dynamodb_budget_return_write(scope, day, micro_usd, held, at),
            )
        except Cancelled as refusal:
            self._believe(day, refusal.failed.get(0))
        except Unavailable:
            return
        else:
            self._add(budget, _Change(-micro_usd, held=-held))


def return_lapsed_dynamodb_leases(table: Table, now: datetime) -> int:
    """Return what is left in leases that have ended to their budgets; return how many ended."""
    returned = 0
    for item in list_dynamodb_leases(table):
        fields = SCHEMA.decode_item(item)
        if from_item_microseconds(fields["until"]) + SKEW > now:
            continue
        try:
            table.transact(*_closing_writes(fields, now))
        except (Cancelled, Unavailable):
            continue  # it was used again, or returned by another sweep
        returned += 1
    return returned


def list_dynamodb_leases(table: Table, limit: int | None = None) -> Iterable[Item]:
    """Return the items of all leases, or of the first ones."""
    keys = [(key["pk"]["S"], key["sk"]["S"]) for key in table.query_listing(LIST, "!", limit)]
    return table.get_many(keys).values()


def left_in_dynamodb_lease(item: Item, scope: str, day: str) -> MicroUsd:
    """Return what a lease still holds of a day's budget."""
    fields = SCHEMA.decode_item(item)
    return int(fields.get(f"{_LEFT}{scope}", 0)) if fields["sk"] == day else _NOTHING


def _closing_writes(fields: Fields, now: datetime) -> Iterator[Write]:
    named = [name for name in fields if name.startswith((_LEFT, _HELD))]
    unchanged = [Path([name]) == fields[name] for name in (*named, "until")]
    yield delete_dynamodb_item(fields["pk"], fields["sk"], join_dynamodb_conditions(*unchanged))
    for scope in sorted({name.partition("#")[2] for name in named}):
        left, held = fields.get(f"{_LEFT}{scope}", 0), fields.get(f"{_HELD}{scope}", 0)
        if left or held:
            yield dynamodb_budget_return_write(scope, fields["sk"], left, held, now)


def _partition(holder: str) -> str:
    return f"LEASE#{holder}"
