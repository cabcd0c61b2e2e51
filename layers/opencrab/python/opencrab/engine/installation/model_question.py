"""A question of a few tokens to a chosen model, paid for like every other call.

It is a turn of its own without a message, as an embedding is (`engine/memory/embedding`): if its
worker dies, the sweep finds it and it is charged in full.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta

from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.agents.agent import Agent
from opencrab.domain.errors import Exhausted, Refused, Unavailable
from opencrab.domain.identifier import content_hash
from opencrab.domain.models.fault import ModelCallFailed
from opencrab.domain.models.routing import Use
from opencrab.domain.money.budget import Limits
from opencrab.domain.turn.record import CallState, ModelIntent, ModelResult
from opencrab.domain.turn.turn import Trigger, Turn, TurnStatus, turn_block_draws
from opencrab.domain.usage.ledger import UsageRow
from opencrab.domain.value import MicroUsd
from opencrab.engine.money.reservation import model_call_reservation
from opencrab.engine.runtime import Runtime
from opencrab.ports.models.model import (
    ChatModel,
    ChatRequest,
    TrustedText,
    labelled_message,
    labelled_request,
)
from opencrab.ports.turn.journal import TurnChange

MOST_TOKENS = 16
"""What some vendors take as the least that may be asked for."""

_QUESTION = TrustedText("Answer with the word OK.")


@dataclass(frozen=True)
class ModelQuestionResult:
    """What a model answered, what that cost and how long it took; the text is stored nowhere."""

    cost: MicroUsd
    latency_ms: int
    text: str = ""


class ModelQuestion:
    """Asks one model in the name of an agent, within all its budgets."""

    def __init__(self, runtime: Runtime, agent: Agent, model: ChatModel) -> None:
        self._runtime = runtime
        self._agent = agent
        self._model = model

    def ask(
        self, *, timeout_seconds: float, request: ChatRequest | None = None
    ) -> ModelQuestionResult:
        """Ask once, for the word OK unless there is another request.

        Raises ModelCallFailed, Exhausted, and Refused for a frozen agent.
        """
        journal, turn = self._runtime.home.journal, self._turn()
        state = journal.read_step_state(turn)
        if state.frozen is not None:
            raise Refused(f"{state.frozen!r} is frozen", cure="opencrab unfreeze")
        limits = self._runtime.rules.limits.changed(state.limits)
        request = request or self._request(timeout_seconds)
        body = self._model.encode(request)
        amount = model_call_reservation(self._model.info, request, body)
        journal.open(turn)
        claimed = journal.claim(turn.id, lease_until=self._lease(), receipt=None)
        if claimed is None:
            raise Unavailable(f"turn {turn.id!r} was ended concurrently", cure="try again")
        # Exactly what is missing is drawn: no other call follows in this turn.
        alone = limits.replaced(session_micro_usd=None, block_micro_usd=1)
        turn, intent = self._reserved(claimed.turn, alone, amount, body)
        return self._asked(turn, intent, request, body)

    def _request(self, timeout_seconds: float) -> ChatRequest:
        return labelled_request(
            model=self._model.info.name.partition(":")[2],
            actions=(),
            system=TrustedText("This is a test of the connection."),
            turns=(labelled_message("user", _QUESTION),),
            max_output_tokens=MOST_TOKENS,
            temperature=None,
            stop=(),
            timeout_seconds=timeout_seconds,
        )

    def _turn(self) -> Turn:
        turn_id = self._runtime.clock.new_id()
        return Turn(
            id=turn_id,
            agent_id=self._agent.id,
            session_id="",
            # The trigger of all turns that nobody's message opens and no queue carries; releases
            # before this one know it as well.
            trigger=Trigger.EMBEDDING,
            source=Source.SCHEDULE,
            authority=Authority.SELF,
            principal_id=self._agent.id,
            group="",
            body_hash=turn_id,
            lease_until=self._lease(),
            created_at=self._runtime.clock.now(),
        )

    def _reserved(
        self, turn: Turn, limits: Limits, amount: MicroUsd, body: bytes
    ) -> tuple[Turn, ModelIntent]:
        """Write the intent with its reservation; end the turn if a budget is exhausted."""
        now, info = self._runtime.clock.now(), self._model.info
        intent = ModelIntent(
            n=turn.sequence,
            model=info.name,
            request_hash=content_hash(body),
            reserved=amount,
            purpose=Use.ANALYSIS,
            task_type="check",
            chosen_by="use",
            price=info.price,
        )
        with self._ended_if_exhausted(turn):
            block = turn.block_for(amount, now.strftime("%Y-%m-%d"), limits)
            own = self._agent.day_limit_micro_usd
            change = TurnChange(
                turn=turn.with_reservation(amount, block).replaced(
                    sequence=turn.sequence + 1, lease_until=self._lease()
                ),
                expected=turn.sequence,
                unless_stopped=True,
                records=(intent,),
                draws=() if block is None else turn_block_draws(turn, block, limits, own),
                at=now,
            )
            return self._runtime.home.journal.commit(change), intent

    @contextmanager
    def _ended_if_exhausted(self, turn: Turn) -> Iterator[None]:
        try:
            yield
        except Exhausted as error:
            now = self._runtime.clock.now()
            ended = turn.replaced(
                status=TurnStatus.EXHAUSTED, ended_at=now, lease_until=None, note=error.message
            )
            self._runtime.home.journal.commit(
                TurnChange(turn=ended, expected=turn.sequence, at=now)
            )
            raise

    def _asked(
        self, turn: Turn, intent: ModelIntent, request: ChatRequest, body: bytes
    ) -> ModelQuestionResult:
        clock = self._runtime.clock
        started = clock.monotonic_ms()
        try:
            answer = self._model.chat(request, body)
        except ModelCallFailed as error:
            result = ModelResult(
                n=intent.n,
                state=CallState.FAILED,
                error=error.message[:2_000],
                fault=error.fault,
                usage=error.usage,
                provider_call_id=error.provider_call_id,
                cost=intent.cost_of_failure(error),
                latency_ms=round(clock.monotonic_ms() - started),
                at=clock.now(),
            )
            self._end(turn, intent, result, TurnStatus.FAILED, error.message[:1_000])
            raise
        result = ModelResult(
            n=intent.n,
            state=CallState.COMPLETED,
            answer=answer.replaced(text="", thought=None, calls=(), replay=None),
            cost=intent.cost_of(answer),
            latency_ms=round(clock.monotonic_ms() - started),
            at=clock.now(),
        )
        self._end(turn, intent, result, TurnStatus.COMPLETED)
        return ModelQuestionResult(result.cost, result.latency_ms or 0, answer.text)

    def _end(
        self,
        turn: Turn,
        intent: ModelIntent,
        result: ModelResult,
        status: TurnStatus,
        note: str = "",
    ) -> None:
        """Write the result, its ledger row and the returned budget in one transaction."""
        now = self._runtime.clock.now()
        settled = turn.with_cost(reserved=intent.reserved, cost=result.cost)
        change = TurnChange(
            turn=settled.replaced(
                status=status, ended_at=now, lease_until=None, allowance=0, note=note
            ),
            expected=turn.sequence,
            records=(result,),
            draws=settled.closing_budget_draws(now.strftime("%Y-%m-%d")),
            usage=(UsageRow.of_call(turn, intent, result, now),),
            at=now,
        )
        self._runtime.home.journal.commit(change)

    def _lease(self) -> datetime:
        return self._runtime.clock.now() + timedelta(seconds=self._runtime.rules.lease_seconds)
