"""Turn: one trigger, one end, and everything about it that outlives a crash."""

from collections.abc import Iterator
from datetime import datetime
from enum import StrEnum

from pydantic import Field

from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.conversation.message import Channel
from opencrab.domain.erasure.request import FORGOTTEN_PERSON
from opencrab.domain.errors import Exhausted
from opencrab.domain.money.budget import (
    INSTALLATION,
    WHOLE,
    BudgetDraw,
    Limits,
    agent_budget_scope,
    heartbeat_budget_scope,
    public_budget_scope,
    session_budget_scope,
)
from opencrab.domain.turn.interrupt import Interrupt
from opencrab.domain.value import Identifier, MicroUsd, Value

MAX_STEPS = 10
"""The default of `agent.max_steps`, the model calls of one turn.

Which calls count is the rule of `TurnWork.calls_left`.
"""

DELIVERIES_WITHOUT_PROGRESS = 3
"""The limit of deliveries without a new result; one more and the turn fails."""

CRASHES_WITHOUT_PROGRESS = 6
"""The limit of process deaths without a new result; one more and the turn fails.

The first of them may be another turn's fault; after them the turn runs alone.
"""


_DAYS = 2
_NEXT_MESSAGE = "@next_message"
"""The `by` of a takeover; ids of principals cannot have the first character."""
_PAUSED = "paused"
"""The note of a turn that has told its session of its pause; stored, so it never changes."""


class Trigger(StrEnum):
    """The cause that starts a turn."""

    MESSAGE = "message"
    HEARTBEAT = "heartbeat"
    SCHEDULE = "schedule"
    DECISION = "decision"
    CONTINUATION = "continuation"
    EVENT = "event"
    COMPACTION = "compaction"
    EMBEDDING = "embedding"


UNASKED = frozenset({Trigger.HEARTBEAT, Trigger.SCHEDULE, Trigger.EVENT})
"""Triggers without a person's message; their line is visible to the agent alone."""


class TurnStatus(StrEnum):
    """Status of a turn; everything after `waiting` is an end."""

    QUEUED = "queued"
    RUNNING = "running"
    WAITING = "waiting"
    COMPLETED = "completed"
    IDLE = "idle"
    STOPPED = "stopped"
    EXHAUSTED = "exhausted"
    FAILED = "failed"

    @property
    def is_end(self) -> bool:
        """True if the turn has ended."""
        return self not in {TurnStatus.QUEUED, TurnStatus.RUNNING, TurnStatus.WAITING}


class Stop(Value):
    """A request to end a turn before its next call, or with `pause` to stop it until resumed.

    `by` is `@next_message` if the sender's next message took over.
    """

    by: str
    reason: str = ""
    at: datetime
    pause: bool = False

    @classmethod
    def for_next_message(cls, interrupt: Interrupt, at: datetime) -> "Stop":
        """Build the stop of a turn whose sender has sent the next message.

        Policy and cause are in the fields that every version knows: an older worker ends the turn.
        """
        return cls(by=_NEXT_MESSAGE, reason=interrupt.value, at=at)

    @property
    def is_takeover(self) -> bool:
        """True if the sender's next message takes over, and nobody asked for an end."""
        return self.by == _NEXT_MESSAGE

    @property
    def after_step(self) -> bool:
        """True if a running model call may end by itself first."""
        return self.is_takeover and self.reason == Interrupt.AFTER_STEP.value

    @property
    def strength(self) -> int:
        """The rank of the request: a stronger one replaces a weaker one."""
        if self.is_takeover:
            return 0 if self.after_step else 1
        return 2 if self.pause else 3


class Block(Value):
    """The reservations of a turn from one day's budgets."""

    day: str
    micro_usd: MicroUsd
    scopes: tuple[str, ...] = ()


class Turn(Value):
    """A turn's header: saved before and after each call, so any worker can continue it.

    `sequence` numbers the next record; `epoch` grows with each claim, so that a worker that was
    believed dead cannot write; `stop` is set from outside and refuses every later intent. `scopes`
    are the budgets that its first block came from, beside the agent's and the installation's: all
    later ones come from the same, and go back there, whatever the settings have become.
    `blocks` are what it drew from each day, and stay when the turn has ended. `task` names the goal
    or task that it carries out. `payer` is the id of the public person who caused the turn through
    another agent's turn, None if there is none: that person's day budget pays for the turn too.
    `deliveries` counts claims without a new result, without those that a restart cut short;
    `crashes` counts the deaths of the process since the last result; 0 is not stored, because
    headers of older versions have no such field (ADR 0028).
    """

    id: str
    agent_id: str
    session_id: str
    trigger: Trigger
    source: Source
    authority: Authority
    principal_id: str
    group: str
    trigger_line: int = 0
    body_hash: str
    channel: Channel | None = None
    status: TurnStatus = TurnStatus.QUEUED
    epoch: int = 0
    sequence: int = 1
    attempts: int = 0
    deliveries: int = 0
    crashes: int = Field(default=0, exclude_if=lambda crashes: crashes == 0)
    lease_until: datetime | None = None
    receipt: str | None = None
    stop: Stop | None = None
    taint: bool = False
    task: str | None = None
    payer: Identifier | None = None
    hops: int = 0
    allowance: MicroUsd = 0
    spent: MicroUsd = 0
    blocks: tuple[Block, ...] = ()
    scopes: tuple[str, ...] | None = None
    note: str = ""
    created_at: datetime
    ended_at: datetime | None = None

    def with_claim(self, *, lease_until: datetime, receipt: str | None) -> "Turn":
        """Return the header after a worker claimed the turn."""
        return self.replaced(
            status=TurnStatus.RUNNING,
            # Whoever had it before writes with the old epoch and is refused, dead or merely slow
            # (ADR 0004).
            epoch=self.epoch + 1,
            deliveries=self.deliveries + 1,
            lease_until=lease_until,
            receipt=receipt,
        )

    def with_stop(self, stop: Stop) -> "Turn":
        """Return the header after a request to stop or pause; unchanged if it has no effect.

        That is so if the turn has ended or if as strong a request is there already. A stop queues a
        waiting turn again, so that it closes. A takeover ends only a turn that runs.
        """
        earlier = self.stop is not None and self.stop.strength >= stop.strength
        if self.status.is_end or earlier:
            return self
        if stop.is_takeover and self.status is not TurnStatus.RUNNING:
            return self
        closes = self.status is TurnStatus.WAITING and not stop.pause
        return self.replaced(stop=stop, status=TurnStatus.QUEUED if closes else self.status)

    def paused(self) -> "Turn":
        """Return the header of a turn that waits in a pause and has told its session so."""
        return self.replaced(status=TurnStatus.WAITING, note=_PAUSED)

    @property
    def pause_announced(self) -> bool:
        """True if the turn has told its session of its pause and has not gone on since.

        The header keeps this as its `note`, which ends with the pause.
        """
        return self.note == _PAUSED

    def without_crashes(self) -> "Turn":
        """Return the header after a new result: deliveries and crashes start again at 0."""
        return self.replaced(deliveries=0, crashes=0)

    @property
    def is_suspect(self) -> bool:
        """True if the process died while this turn ran, and it has no result since."""
        return self.crashes > 0

    @property
    def give_up_reason(self) -> str:
        """The reason not to retry the turn (no progress, repeated crashes), or ""."""
        if self.deliveries > DELIVERIES_WITHOUT_PROGRESS:
            return f"no progress in {DELIVERIES_WITHOUT_PROGRESS} deliveries"
        if self.crashes > CRASHES_WITHOUT_PROGRESS:
            return f"no progress: the process died {self.crashes} times while it ran"
        return ""

    @property
    def is_autonomous(self) -> bool:
        """True if no person's message caused the turn, directly or through a goal."""
        return self.trigger in UNASKED or self.source is Source.HEARTBEAT

    @property
    def is_erased(self) -> bool:
        """True if only the header is left of an erased turn."""
        return self.status.is_end and self.principal_id == FORGOTTEN_PERSON

    def without_content(self) -> "Turn":
        """Return the header of an ended turn after erasure: type, times and cost remain."""
        return self.replaced(
            principal_id=FORGOTTEN_PERSON,
            channel=None,
            payer=None,
            receipt=None,
            stop=self.stop and Stop(by=FORGOTTEN_PERSON, at=self.stop.at, pause=self.stop.pause),
            note="",
            blocks=tuple(block.replaced(scopes=()) for block in self.blocks),
            scopes=None,
        )

    def with_reservation(self, amount: MicroUsd, drawn: Block | None) -> "Turn":
        """Return the header with a model call's reservation taken out of the allowance."""
        per_day = {block.day: block.micro_usd for block in self.blocks}
        if drawn is not None:
            per_day[drawn.day] = per_day.get(drawn.day, 0) + drawn.micro_usd
        blocks = tuple(Block(day=day, micro_usd=micro_usd) for day, micro_usd in per_day.items())
        return self.replaced(
            allowance=self.allowance + (drawn.micro_usd if drawn else 0) - amount,
            blocks=blocks,
            attempts=self.attempts + 1,
            scopes=self.scopes if drawn is None else drawn.scopes,
        )

    def with_cost(self, *, reserved: MicroUsd, cost: MicroUsd) -> "Turn":
        """Return the header after settlement: the unused reservation is allowance again."""
        return self.replaced(allowance=self.allowance + reserved - cost, spent=self.spent + cost)

    def closing_budget_draws(self, today: str) -> tuple[BudgetDraw, ...]:
        """Return the draws by which a closing turn settles with the days that its money came from.

        What is left goes back, newest day first, to the last two days that it drew from: a turn
        that waited longer leaves the rest spent, so that one transaction is enough. What was spent
        beyond the allowance, because a provider counted more than was reserved, is taken from the
        newest day even beyond its limit, or from today if nothing was ever drawn.
        """
        days = dict[str, MicroUsd]()
        if self.allowance < 0:
            # A provider counted more than it could: it was spent, so the day must say so (ADR
            # 0008).
            days[self.blocks[-1].day if self.blocks else today] = -self.allowance
        rest = max(self.allowance, 0)
        # Two days for each budget are what the closing transaction has room for among its 25 items.
        for block in reversed(self.blocks[-_DAYS:]):
            back = min(rest, block.micro_usd)
            days[block.day] = days.get(block.day, 0) - back
            rest -= back
        return tuple(
            BudgetDraw(scope=scope, day=day, micro_usd=change, limit_micro_usd=None)
            for scope, day, change in _per_budget(self.budgets(), days)
        )

    def settlement_budget_draws(
        self, change: MicroUsd, *, returned_before: MicroUsd = 0
    ) -> tuple[BudgetDraw, ...]:
        """Return the draws by which an ended turn's budgets learn that a call cost something else.

        A negative change goes back where the money came from, newest day first, and never more
        than the turn left spent there; `returned_before` went back so for other calls. A positive
        one is taken from the newest day, even beyond its limit: it was spent.
        """
        if not self.blocks:
            return ()
        days = {self.blocks[-1].day: change}
        if change < 0:
            before = self._returned_by_day(returned_before)
            after = self._returned_by_day(returned_before - change)
            days = {day: before[day] - after[day] for day in after}
        return tuple(
            BudgetDraw(scope=scope, day=day, micro_usd=amount, limit_micro_usd=None)
            for scope, day, amount in _per_budget(self.budgets(), days)
        )

    def _returned_by_day(self, released: MicroUsd) -> dict[str, MicroUsd]:
        """Return what each day has got back: the rest when the turn ended, and `released` since."""
        rest = sum(block.micro_usd for block in self.blocks) - self.spent
        # What was spent beyond the blocks was taken from the newest day, as the turn closed.
        days, beyond, left = dict[str, MicroUsd](), max(-rest, 0), max(rest, 0) + released
        for block in reversed(self.blocks):
            days[block.day] = min(left, block.micro_usd + beyond)
            left, beyond = left - days[block.day], 0
        return days

    @property
    def public_payer(self) -> str | None:
        """The id of the public person whose day budget pays for this turn too; None for no one."""
        return self.principal_id if self.authority is Authority.PUBLIC else self.payer

    def budgets(self) -> tuple[str, ...]:
        """Return the scopes of all budgets that this turn draws from."""
        return (agent_budget_scope(self.agent_id), INSTALLATION, *(self.scopes or ()))

    def block_for(self, reservation: MicroUsd, day: str, limits: Limits) -> Block | None:
        """Return the block to draw for a reservation; None if the allowance already covers it.

        Raises Exhausted if the turn's own budget cannot cover it.
        """
        missing = reservation - self.allowance
        if missing <= 0:
            return None
        room = limits.turn_micro_usd - self.spent - self.allowance
        if missing > room:
            raise Exhausted(
                f"turn {self.id!r} has {room} micro-dollars of budget left and needs {missing}",
                field="turn",
                cure="raise [budget] turn_usd or use a cheaper model",
                drawn_micro_usd=self.spent,
            )
        micro_usd = min(max(missing, limits.block_micro_usd), room)
        return Block(day=day, micro_usd=micro_usd, scopes=self._further_scopes(limits))

    def _further_scopes(self, limits: Limits) -> tuple[str, ...]:
        # Fixed by the first block, as money must go back to where it came from; headers of the
        # first release have blocks and no scopes. Before it they are those of who caused the turn.
        if self.blocks:
            return self.scopes or ()
        session = (
            session_budget_scope(self.session_id) if limits.session_micro_usd is not None else None
        )
        unasked = self.source is Source.HEARTBEAT
        beats = heartbeat_budget_scope(self.agent_id) if unasked else None
        public = None if self.public_payer is None else public_budget_scope(self.public_payer)
        further = (session, beats, public, *(self.scopes or ()))
        return tuple(scope for scope in further if scope is not None)


def turn_block_draws(
    turn: Turn, block: Block, limits: Limits, agent_limit: MicroUsd | None
) -> tuple[BudgetDraw, ...]:
    """Return the draws that take one block from every budget of a turn."""
    scopes = (agent_budget_scope(turn.agent_id), INSTALLATION, *block.scopes)
    return tuple(
        BudgetDraw(
            scope=scope,
            day=_budget_day(scope, block.day),
            micro_usd=block.micro_usd,
            limit_micro_usd=limits.of_budget(scope, agent_limit),
        )
        for scope in scopes
    )


def _per_budget(
    scopes: tuple[str, ...], days: dict[str, MicroUsd]
) -> Iterator[tuple[str, str, MicroUsd]]:
    """Yield the changes of each budget, one per day: no transaction may name one twice."""
    for scope in scopes:
        changes = dict[str, MicroUsd]()
        for day, change in days.items():
            own = _budget_day(scope, day)
            changes[own] = changes.get(own, 0) + change
        yield from ((scope, day, change) for day, change in changes.items() if change)


def _budget_day(scope: str, day: str) -> str:
    # A session's budget has no days: two days of one turn are one change of one item.
    return WHOLE if scope.startswith("session:") else day
