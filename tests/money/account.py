"""Account: what is noted of money while a run goes on, below every seeded bug of the engine."""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.money.budget import (
    INSTALLATION,
    BudgetDraw,
    Limits,
    agent_budget_scope,
    heartbeat_budget_scope,
    public_budget_scope,
    session_budget_scope,
)
from opencrab.domain.turn.record import ModelIntent
from opencrab.domain.turn.turn import Turn
from opencrab.ports.turn.journal import TurnChange
from tests.crash.scheduling import Task
from tests.crash.watching import Watch

PICO = 1_000_000
"""Millionths of a micro-dollar in one micro-dollar: what tokens times price comes to."""

Budget = tuple[str, str]
"""Scope and day."""


@dataclass(frozen=True)
class Moment:
    """What the owner had set until the next change."""

    limits: Limits
    frozen: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Reserved:
    """A model call that may be made: its turn's header once that was written, and its price."""

    turn: Turn
    n: int
    micro_usd: int


class Account(Watch):
    """Sees each change when it has taken effect, and holds it against what was allowed then."""

    def __init__(
        self,
        now: Callable[[], datetime],
        current: Callable[[], Task | None],
        limits: Limits,
        day_limits: Mapping[str, int | None],
    ) -> None:
        super().__init__(now, current)
        self.moments = [Moment(limits)]
        self.intents: dict[tuple[str, int], Reserved] = {}
        self.taken: dict[str, Counter[str]] = defaultdict(Counter)
        self.drawn: Counter[Budget] = Counter()
        self.by_scope: Counter[str] = Counter()
        self.allowed: dict[Budget, int] = {}
        self.bound: dict[str, bool] = {}
        self.largest_draw = 0
        self._worker = current
        self._day_limits = day_limits
        self._looked: dict[Task | None, tuple[int, str]] = {}
        self._calling: dict[Task | None, Reserved] = {}

    def sets(self, limits: Limits | None = None, frozen: frozenset[str] | None = None) -> None:
        """The owner changed something; what is None stays."""
        last = self.moments[-1]
        self.moments.append(
            Moment(limits or last.limits, last.frozen if frozen is None else frozen)
        )

    def looks(self) -> None:
        """A worker is about to read the limits and the switches."""
        self._looked[self._worker()] = len(self.moments) - 1, self._today()

    def calling(self) -> Reserved | None:
        """On whose behalf the present worker calls a model."""
        return self._calling.get(self._worker())

    def scopes_of(self, turn: Turn) -> tuple[str, ...]:
        """Every budget that must pay for a turn."""
        scopes = [agent_budget_scope(turn.agent_id), INSTALLATION]
        if turn.source is Source.HEARTBEAT:
            scopes.append(heartbeat_budget_scope(turn.agent_id))
        if turn.authority is Authority.PUBLIC:
            scopes.append(public_budget_scope(turn.principal_id))
        elif turn.payer is not None:
            scopes.append(public_budget_scope(turn.payer))
        if self.bound.get(turn.id, False):
            scopes.append(session_budget_scope(turn.session_id))
        return tuple(scopes)

    def _claimed(self, turn: Turn) -> None:
        """Leases are the explorer's matter: here time passes while a worker gives its turn back."""
        said = len(self.problems)
        super()._claimed(turn)
        del self.problems[said:]

    def _committed(self, change: TurnChange, turn: Turn) -> None:
        super()._committed(change, turn)
        first, day = self._looked.get(self._worker(), (0, ""))
        seen = self.moments[first:]
        if change.draws and not turn.status.is_end:
            self._block(change, seen, day)
        for draw in change.draws:
            self._draws(draw, turn, seen)
        for record in change.records:
            if isinstance(record, ModelIntent):
                self._intends(record, turn, seen)

    def _block(self, change: TurnChange, seen: list[Moment], since: str) -> None:
        """A turn takes a block: the first one decides whether its session's budget pays too."""
        turn = change.turn
        limited = [moment.limits.session_micro_usd is not None for moment in seen]
        drawn = any(draw.scope == session_budget_scope(turn.session_id) for draw in change.draws)
        self.bound.setdefault(turn.id, all(limited) or (any(limited) and drawn))
        for draw in change.draws:
            if draw.scope == INSTALLATION:
                self.taken[turn.id][draw.day] += draw.micro_usd
                if not since <= draw.day <= self._today():
                    self.problems.append(f"{turn.id} drew from {draw.day} on {self._today()}")
        most = max(moment.limits.turn_micro_usd for moment in seen)
        if self.taken[turn.id].total() > most:
            self.problems.append(f"{turn.id} drew {self.taken[turn.id].total()} of {most}")

    def _draws(self, draw: BudgetDraw, turn: Turn, seen: list[Moment]) -> None:
        budget = (draw.scope, draw.day)
        self.drawn[budget] += draw.micro_usd
        self.by_scope[draw.scope] += draw.micro_usd
        self.largest_draw = max(self.largest_draw, draw.micro_usd)
        if self.drawn[budget] < 0:
            self.problems.append(f"{budget} has {self.drawn[budget]} drawn")
        if draw.micro_usd <= 0 or turn.status.is_end:
            return
        most = max(self._limit(draw.scope, turn, moment.limits) for moment in seen)
        self.allowed[budget] = max(most, self.allowed.get(budget, 0))
        if self.drawn[budget] > most:
            self.problems.append(f"{budget} has {self.drawn[budget]} drawn of {most}")

    def _today(self) -> str:
        return self._now().strftime("%Y-%m-%d")

    def _limit(self, scope: str, turn: Turn, limits: Limits) -> int:
        own = self._day_limits[turn.agent_id]
        of_agent = limits.agent_day_micro_usd if own is None else own
        session = limits.session_micro_usd
        return {
            "agent": of_agent,
            "heartbeat": of_agent * limits.heartbeat_percent // 100,
            "installation": limits.installation_day_micro_usd,
            "public": limits.public_user_day_micro_usd,
            "session": 10**12 if session is None else session,
        }[scope.partition(":")[0]]

    def _intends(self, intent: ModelIntent, turn: Turn, seen: list[Moment]) -> None:
        """A model call may be made from now on; each needs a look of its own at the switches."""
        worker = self._worker()
        reserved = Reserved(turn, intent.n, intent.reserved)
        self.intents[turn.id, intent.n] = self._calling[worker] = reserved
        if self._looked.pop(worker, None) is None:
            self.problems.append(f"{turn.id} reserved without a look at the switches")
        throughout = frozenset.intersection(*(moment.frozen for moment in seen))
        if throughout & {INSTALLATION, turn.agent_id}:
            self.problems.append(f"{turn.id} reserved while {sorted(throughout)} were frozen")
        if turn.allowance < 0:
            self.problems.append(f"{turn.id} reserved more than it drew: {turn.allowance}")


class Looking:
    """A journal of which the account knows when somebody reads the board."""

    def __init__(self, inner: Any, account: Account) -> None:
        self._inner = inner
        self._account = account

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def read_step_state(self, turn: Turn) -> Any:
        self._account.looks()
        return self._inner.read_step_state(turn)
