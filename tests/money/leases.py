"""Budget leases under everything that can happen to them, a call of the table at a time.

Processes with clocks of their own draw blocks for turns and close them; at every call of the table
another one may go on, die, meet a conflict, or lose the answer of a write that was carried out,
which the SDK then repeats. Meanwhile the owner changes the limit, processes of the release before
draw from the budget itself, sweeps return leases, and days end. After each call:

- what turns have drawn and what leases hold is never more than what the budget counts as drawn;
- whatever raised that was within the limit that its process had read;
- no more than a twentieth of the largest limit of the day lies in the pool of leases.

At the end nothing is drawn but what turns spent, and slices that died between two calls.
"""

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from greenlet import GreenletExit, getcurrent, greenlet
from pynamodb.expressions.operand import Path

from opencrab.adapters.dynamodb.item import Item, Schema
from opencrab.adapters.dynamodb.money.budget_item import (
    LEASED,
    LeaseReturned,
    dynamodb_budget_draw_write,
    refused_dynamodb_draw_error,
)
from opencrab.adapters.dynamodb.money.lease import (
    POOL_DIVISOR,
    SLICE_DRAWS,
    BudgetLeases,
    LeasedDraws,
    return_lapsed_dynamodb_leases,
)
from opencrab.adapters.dynamodb.table import (
    Cancelled,
    Table,
    delete_dynamodb_item,
    item_absent,
    put_item,
)
from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.errors import Exhausted, Superseded, Unavailable
from opencrab.domain.money.budget import INSTALLATION, BudgetDraw
from opencrab.domain.turn.turn import Trigger, Turn, TurnStatus
from tests.crash.ground import START
from tests.scale.dynamodb import MemoryTable, cancelled, client_error, written_key

BLOCK = 50_000
PROCESSES = 6
_OLD = 1
"""So many of the processes draw without leases, as the release before did."""

_CONFLICTS, _LOST, _KILLS, _SWITCHES = 0.08, 0.05, 0.004, 0.5

_TURN_ITEMS = Schema("turn of this simulation")
RUNNING = Turn(
    id="t",
    agent_id="a",
    session_id="s",
    trigger=Trigger.MESSAGE,
    group="g",
    body_hash="h",
    principal_id="owner",
    source=Source.REST,
    authority=Authority.OWNER,
    created_at=START,
    status=TurnStatus.RUNNING,
)
ENDED = RUNNING.replaced(status=TurnStatus.COMPLETED, ended_at=START)


@dataclass
class Found:
    """What a run came to."""

    steps: int = 0
    problems: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    largest_pool: float = 0.0


class Leases:
    """One budget, its processes, and an owner who cannot make up their mind."""

    def __init__(
        self, seed: str, most: int, made: Callable[[Table, str], BudgetLeases] = BudgetLeases
    ) -> None:
        self.found = Found()
        self._made = made
        self._most = most
        self._dice = random.Random(seed)  # noqa: S311 - the same run each time
        self._clock = FakeClock(START)
        self._stored = MemoryTable()
        self._limit = self._new_limit()
        self._limits: dict[str, int] = {}
        self._owed: Counter[str] = Counter()
        """By day: blocks of running turns, and what ended ones spent."""

        self._turns: dict[str, tuple[str, int]] = {}
        self._writing: dict[Any, tuple[str, BudgetDraw]] = {}
        self._hub = getcurrent()
        self._ready: list[greenlet] = []
        self._number = 0
        self._ending = False

    def run(self) -> Found:
        """Go on for so many calls or until something is wrong, then let everything come to rest."""
        while self.found.steps < self._most and not self.found.problems:
            while len(self._ready) < PROCESSES:
                self._ready.append(greenlet(self._live, parent=self._hub))
            self._owner()
            chosen = self._dice.choice(self._ready)
            chosen.switch()
            self._ready = [each for each in self._ready if not each.dead]
        for each in self._ready:
            each.throw(GreenletExit)
        self._ending = True
        self._rest()
        return self.found

    def _new_limit(self) -> int:
        return self._dice.choice(
            (1, 30, 60, 120, 120, 400, 400, 1_000, 5_000)
        ) * BLOCK + self._dice.randrange(BLOCK)

    @property
    def _day(self) -> str:
        return f"{self._clock.now():%Y-%m-%d}"

    def _owner(self) -> None:
        way = self._dice.random()
        if way < 0.002:
            self._limit = self._new_limit()
            self.found.counts["limits"] += 1
        elif way < 0.05:
            self._clock.advance(self._dice.choice((1, 30, 200)))
        elif way < 0.0505:
            self._clock.advance(86_400 - self._clock.now().timestamp() % 86_400)
            self.found.counts["days"] += 1
        self._limits[self._day] = max(self._limit, self._limits.get(self._day, 0))

    def _live(self) -> None:
        """The life of a process: turns, one after the other, until it dies."""
        self._number += 1
        skew = timedelta(seconds=self._dice.choice((0, 0, -150, 150)))
        table = Table("t", self._ask, pause=lambda _seconds: self._give_way())
        old = self._number % PROCESSES < _OLD
        leases = None if old else self._made(table, f"p{self._number}")
        while self._dice.random() > 0.01:
            try:
                self._turn(table, leases, skew)
                if self._dice.random() < 0.1:
                    return_lapsed_dynamodb_leases(table, self._clock.now() + skew)
            except (Unavailable, Superseded):
                self.found.counts["unavailable"] += 1

    def _turn(self, table: Table, leases: BudgetLeases | None, skew: timedelta) -> None:
        """Draw a block and spend some of it; or close a turn whose process died."""
        if self._turns and self._dice.random() < 0.3:
            self._close(table, leases, self._dice.choice(list(self._turns)), skew)
            return
        self._number += 1
        turn_id, block = f"T{self._number}", BLOCK * self._dice.choice((1, 1, 1, 2))
        draw = BudgetDraw(
            scope=INSTALLATION, day=self._day, micro_usd=block, limit_micro_usd=self._limit
        )
        try:
            self._commit(table, leases, turn_id, draw, skew)
        except Exhausted:
            self.found.counts["refused"] += 1
        else:
            self.found.counts["draws"] += 1
            self._close(table, leases, turn_id, skew)

    def _close(
        self, table: Table, leases: BudgetLeases | None, turn_id: str, skew: timedelta
    ) -> None:
        if turn_id not in self._turns:
            return  # another process was faster
        day, block = self._turns[turn_id]
        spent = self._dice.choice((0, 500, block, self._dice.randrange(block)))
        rest = BudgetDraw(
            scope=INSTALLATION, day=day, micro_usd=spent - block, limit_micro_usd=None
        )
        self._commit(table, leases, turn_id, rest, skew)

    def _commit(
        self,
        table: Table,
        leases: BudgetLeases | None,
        turn_id: str,
        draw: BudgetDraw,
        skew: timedelta,
    ) -> None:
        """The transaction of a turn: its header, there or gone, with its draw."""
        at, ends = self._clock.now() + skew, draw.micro_usd <= 0
        pk = f"TURN#{turn_id}"
        fields = {"day": draw.day, "micro_usd": draw.micro_usd}
        header = put_item(_TURN_ITEMS.encode_item(pk, "H", fields), item_absent())
        if ends:
            header = delete_dynamodb_item(pk, "H", Path("pk").exists())

        def commit(planned: LeasedDraws) -> Turn:
            direct = [dynamodb_budget_draw_write(one, at) for one in planned.direct]
            lease = [] if planned.write is None else [planned.write]
            self._writing[getcurrent()] = turn_id, draw
            try:
                table.transact(header, *direct, *lease)
            except Cancelled as refusal:
                if 0 in refusal.failed:
                    raise Superseded(turn_id) from None
                if lease and len(direct) + 1 in refusal.failed:
                    raise LeaseReturned(refusal.failed[len(direct) + 1]) from None
                raise refused_dynamodb_draw_error(draw, refusal.failed[1]) from None
            return ENDED if ends else RUNNING

        if leases is None:
            commit(LeasedDraws((draw,)))
        else:
            leases.draw((draw,), at, commit)

    def _ask(self, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """`Dispatch`: a call at which anything may happen."""
        if self._ending:
            answer = self._stored(operation, arguments)
            self._note(operation, arguments)
            return answer
        self._point()
        writes = operation not in ("GetItem", "BatchGetItem", "Query")
        if writes and self._dice.random() < _CONFLICTS:
            self.found.counts["conflicts"] += 1
            if operation == "TransactWriteItems":
                raise cancelled([("TransactionConflict", None)] * len(arguments["TransactItems"]))
            error = {"Code": "TransactionConflictException", "Message": "made up"}
            raise client_error(operation, {"Error": error})
        answer = self._stored(operation, arguments)
        self._note(operation, arguments)
        if writes and operation != "TransactWriteItems" and self._dice.random() < _LOST:
            self.found.counts["repeats"] += 1
            self._check()
            self._give_way()  # others may write before the SDK asks again
            answer = self._stored(operation, arguments)
        self._check()
        self._point()
        return answer

    def _give_way(self) -> None:
        self._hub.switch()

    def _point(self) -> None:
        self.found.steps += 1
        if self._dice.random() < _SWITCHES:
            self._give_way()
        if self._dice.random() < _KILLS:
            self.found.counts["kills"] += 1
            raise GreenletExit

    def _note(self, operation: str, arguments: dict[str, Any]) -> None:
        """Note what a transaction of a turn that was carried out means."""
        if operation != "TransactWriteItems":
            return
        if not written_key(next(iter(arguments["TransactItems"][0].values())))[0].startswith(
            "TURN#"
        ):
            return
        turn_id, draw = self._writing[getcurrent()]
        self._owed[draw.day] += draw.micro_usd
        if draw.micro_usd > 0:
            self._turns[turn_id] = draw.day, draw.micro_usd
        else:
            del self._turns[turn_id]

    def _check(self) -> None:
        """Hold what is stored against what must be."""
        left, held = Counter[str](), Counter[str]()
        stored = [each for each in self._stored.items.items() if each[0][0][0] != "T"]
        for (pk, sk), item in stored:
            if pk.startswith("LEASE#"):
                left[sk] += _number(item, f"left#{INSTALLATION}")
                held[sk] += _number(item, f"held#{INSTALLATION}")
        for (pk, day), item in stored:
            if not pk.startswith("BUDGET#"):
                continue
            drawn, pool, limit = _number(item, "drawn"), _number(item, LEASED), self._limits[day]
            self.found.largest_pool = max(self.found.largest_pool, pool / max(limit, 1))
            if self._owed[day] + left[day] > drawn:
                self._wrong(f"{day}: {self._owed[day]} + {left[day]} of {drawn} drawn")
            if drawn > limit:
                self._wrong(f"{day}: {drawn} drawn of {limit}")
            if not held[day] <= pool <= limit // POOL_DIVISOR:
                self._wrong(f"{day}: leases hold {held[day]} of a pool of {pool}")

    def _wrong(self, what: str) -> None:
        if what not in self.found.problems:
            self.found.problems.append(what)

    def _rest(self) -> None:
        """Close what is open, let all leases end, and see what is left."""
        table = Table("t", self._ask)
        for turn_id in list(self._turns):
            self._close(table, None, turn_id, timedelta())
        self._clock.advance(1_000)
        return_lapsed_dynamodb_leases(table, self._clock.now())
        died = sum(self.found.counts[name] for name in ("kills", "unavailable", "repeats"))
        for (pk, day), item in self._stored.items.items():
            if pk.startswith("LEASE#"):
                self._wrong(f"{pk} was not returned")
            elif pk.startswith("BUDGET#"):
                stranded = _number(item, "drawn") - self._owed[day]
                self.found.counts["stranded"] += stranded
                if not 0 <= stranded <= died * SLICE_DRAWS * 2 * BLOCK:
                    self._wrong(f"{day}: {stranded} are neither spent nor free")


def _number(item: Item, name: str) -> int:
    return int(item.get(name, {"N": "0"})["N"])


def play_leases(
    seed: int, steps: int, made: Callable[[Table, str], BudgetLeases] = BudgetLeases
) -> Found:
    """Run after run until there were so many calls, or something was wrong."""
    total, number = Found(), 0
    while total.steps < steps and not total.problems:
        found = Leases(f"leases {seed}/{number}", min(20_000, steps), made).run()
        total.steps += found.steps
        total.counts.update(found.counts)
        total.problems += [f"{seed}/{number}: {each}" for each in found.problems]
        total.largest_pool = max(total.largest_pool, found.largest_pool)
        number += 1
    return total


def lease_summary(found: Found, seconds: float) -> str:
    """One paragraph."""
    n = found.counts
    return (
        f"money in leases: {found.steps:,} calls, {n['draws']:,} draws, {n['refused']:,} refused, "
        f"{n['kills']:,} kills, {n['conflicts']:,} conflicts, {n['repeats']:,} writes twice, "
        f"{n['limits']:,} other limits, {n['days']:,} midnights, overspend 0, at most "
        f"{100 * found.largest_pool:.1f} % held by leases, {n['stranded']:,} micro-dollars "
        f"unused for a day after kills, {len(found.problems)} violations, {seconds:.0f} s: "
        f"{'FAILED' if found.problems else 'OK'}"
    )
