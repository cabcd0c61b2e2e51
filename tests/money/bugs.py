"""The seeded bugs: each is a wrapper around a port, and the simulation must catch every one."""

from dataclasses import replace
from typing import Any

from opencrab.domain.models.fault import FaultResponse, ModelCallFailed
from opencrab.domain.turn.record import CallState, ModelIntent, ModelResult
from opencrab.domain.turn.turn import Turn
from opencrab.domain.usage.ledger import UsageRow
from opencrab.engine.runtime import Runtime
from opencrab.ports.home import Home
from opencrab.ports.models.model import UNWATCHED, AnswerWatch, ChatRequest
from opencrab.ports.turn.journal import StepState, TurnChange
from tests.money.playing import Totals, play
from tests.money.town import Bug, Town


class Over:
    """Everything as what is wrapped does it, but for what a subclass does worse."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


class SettledTwice(Over):
    """What a call did not need becomes allowance twice."""

    def commit(self, change: TurnChange) -> Any:
        turn = change.turn
        if not turn.status.is_end:
            for row in change.usage:
                turn = turn.replaced(allowance=turn.allowance + row.reserved - row.cost)
        return self.inner.commit(replace(change, turn=turn))


class ReservedLate(Over):
    """The reservation is written together with the answer."""

    def __init__(self, inner: Any) -> None:
        super().__init__(inner)
        self._kept: dict[tuple[str, int], TurnChange] = {}

    def commit(self, change: TurnChange) -> Any:
        turn = change.turn
        if any(isinstance(record, ModelIntent) for record in change.records):
            self._kept[turn.id, turn.epoch] = change
            return turn
        before = self._kept.pop((turn.id, turn.epoch), None)
        if before is not None:
            change = replace(
                change,
                expected=before.expected,
                records=before.records + change.records,
                draws=before.draws + change.draws,
            )
        return self.inner.commit(change)


class Uncharged(Over):
    """Calls that ended in this state cost nothing."""

    state: CallState

    def commit(self, change: TurnChange) -> Any:
        turn, records, rows = change.turn, list(change.records), list[UsageRow]()
        for row in change.usage:
            free = row.state is self.state and not turn.status.is_end
            if free:
                turn = turn.replaced(
                    allowance=turn.allowance + row.cost, spent=turn.spent - row.cost
                )
                records = [_free(record, row.n) for record in records]
            rows.append(row.replaced(cost=0) if free else row)
        return self.inner.commit(
            replace(change, turn=turn, records=tuple(records), usage=tuple(rows))
        )


def _free(record: Any, n: int) -> Any:
    mine = isinstance(record, ModelResult) and record.n == n
    return record.replaced(cost=0) if mine else record


class CrashedReleased(Uncharged):
    """A call whose worker died is settled as if it had cost nothing."""

    state = CallState.UNKNOWN


class FailedReleased(Uncharged):
    """A call that failed is settled as if it had cost nothing, although it may have been billed."""

    state = CallState.FAILED


class LimitIgnored(Over):
    """A block is drawn although the budget is used up."""

    def commit(self, change: TurnChange) -> Any:
        draws = tuple(draw.replaced(limit_micro_usd=None) for draw in change.draws)
        return self.inner.commit(replace(change, draws=draws))


class ReturnedToday(Over):
    """What is left goes to the budgets of the day on which a turn ends."""

    def commit(self, change: TurnChange) -> Any:
        if change.turn.status.is_end and change.at is not None:
            today = change.at.strftime("%Y-%m-%d")
            draws = tuple(
                draw if draw.scope.startswith("session:") else draw.replaced(day=today)
                for draw in change.draws
            )
            change = replace(change, draws=draws)
        return self.inner.commit(change)


class AllowanceKept(Over):
    """A turn that ends gives nothing back."""

    def commit(self, change: TurnChange) -> Any:
        if change.turn.status.is_end:
            change = replace(change, draws=())
        return self.inner.commit(change)


class DrawnApart(Over):
    """The block is drawn in a transaction of its own, before that of the reservation."""

    def commit(self, change: TurnChange) -> Any:
        turn = change.turn
        if change.draws and not turn.status.is_end:
            before = self.inner.header(turn.id).replaced(epoch=turn.epoch)
            self.inner.commit(TurnChange(turn=before, expected=change.expected, draws=change.draws))
            change = replace(change, draws=())
        return self.inner.commit(change)


class FreezeIgnored(Over):
    """Nobody looks at the switches."""

    def read_step_state(self, turn: Turn) -> StepState:
        step_state: StepState = self.inner.read_step_state(turn)
        return replace(step_state, frozen=None)


class LimitsRemembered(Over):
    """The limits are read once and never again."""

    def __init__(self, inner: Any) -> None:
        super().__init__(inner)
        self._first: StepState | None = None

    def read_step_state(self, turn: Turn) -> StepState:
        step_state: StepState = self.inner.read_step_state(turn)
        self._first = self._first or step_state
        return replace(step_state, limits=self._first.limits)


class ScopeForgotten(Over):
    """One kind of budget does not pay."""

    scope: str

    def commit(self, change: TurnChange) -> Any:
        draws = tuple(draw for draw in change.draws if not draw.scope.startswith(self.scope))
        return self.inner.commit(replace(change, draws=draws))


class HeartbeatsForgotten(ScopeForgotten):
    """Heartbeats have no share of their own."""

    scope = "heartbeat:"


class PublicForgotten(ScopeForgotten):
    """A member of the public has no limit."""

    scope = "public:"


class RowForgotten(Over):
    """The ledger has no row of what failed."""

    def commit(self, change: TurnChange) -> Any:
        rows = tuple(row for row in change.usage if row.state is not CallState.FAILED)
        return self.inner.commit(replace(change, usage=rows))


class EpochForgotten(Over):
    """A worker that was thought dead settles its call all the same."""

    def commit(self, change: TurnChange) -> Any:
        stored = self.inner.header(change.turn.id)
        return self.inner.commit(
            replace(
                change,
                turn=change.turn.replaced(epoch=stored.epoch),
                expected=stored.sequence,
            )
        )


class Lending(Over):
    """Models that ask another one by themselves when they fail."""

    def get(self, name: str | None) -> Any:
        return LendingModel(self.inner.get(name), self.inner.get("dear:big"))


class LendingModel(Over):
    """Falls back without a reservation for it."""

    def __init__(self, inner: Any, other: Any) -> None:
        super().__init__(inner)
        self._other = other

    def chat(self, request: ChatRequest, body: bytes, watch: AnswerWatch = UNWATCHED) -> Any:
        try:
            return self.inner.chat(request, body)
        except ModelCallFailed as error:
            if error.fault.response is not FaultResponse.NEXT:
                raise
        return self._other.chat(request, body)


class Guessing(Over):
    """Models whose requests are taken for four bytes a token."""

    def get(self, name: str | None) -> Any:
        return GuessingModel(self.inner.get(name))


class GuessingModel(Over):
    """Reserves an estimate instead of an upper bound."""

    def encode(self, request: ChatRequest) -> bytes:
        body: bytes = self.inner.encode(request)
        return body[: len(body) // 4]

    def chat(self, request: ChatRequest, body: bytes, watch: AnswerWatch = UNWATCHED) -> Any:
        return self.inner.chat(request, self.inner.encode(request))


class Seeded(Bug):
    """A bug of the engine in front of a port, or of an adapter behind its I/O points."""

    def __init__(self, over: type[Over], port: str = "journal", *, adapter: bool = False) -> None:
        super().__init__(over.__name__)
        self._over = over
        self._port = port
        self._adapter = adapter

    def below(self, home: Home, town: Town) -> Home:
        return self._wrapped(home) if self._adapter else home

    def above(self, runtime: Runtime, town: Town) -> Runtime:
        if self._adapter:
            return runtime
        if self._port == "models":
            models: Any = self._over(runtime.models)
            return replace(runtime, models=models)
        return replace(runtime, home=self._wrapped(runtime.home))

    def _wrapped(self, home: Home) -> Home:
        ports: dict[str, Any] = {self._port: self._over(getattr(home, self._port))}
        return replace(home, **ports)


BUGS = (
    Seeded(SettledTwice),
    Seeded(ReservedLate),
    Seeded(CrashedReleased),
    Seeded(FailedReleased),
    Seeded(LimitIgnored, adapter=True),
    Seeded(ReturnedToday),
    Seeded(AllowanceKept),
    Seeded(DrawnApart),
    Seeded(FreezeIgnored),
    Seeded(LimitsRemembered),
    Seeded(HeartbeatsForgotten),
    Seeded(PublicForgotten),
    Seeded(RowForgotten),
    Seeded(EpochForgotten, adapter=True),
    Seeded(Lending, "models"),
    Seeded(Guessing, "models"),
)


def hunt(town: Town, bug: Bug, runs: int = 40) -> str | None:
    """The seed of the first run that catches a bug."""
    seeds = (f"hunt/{number}" for number in range(1, runs))
    return next((seed for seed in seeds if play(town, seed, Totals(), bug=bug, most=16)), None)
