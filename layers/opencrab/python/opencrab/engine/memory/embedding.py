"""Embeddings: vectors of texts, each call a turn of its own that is paid for like every other.

No message opens such a turn, and no queue carries it: the caller that needs the vectors creates,
runs and ends it. If that worker dies, the sweep finds the turn, and it is charged in full. Its
records contain no text and no vector.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.agents.agent import Agent
from opencrab.domain.errors import Exhausted, Invalid, OpenCrabError, Refused, Unavailable
from opencrab.domain.identifier import content_hash
from opencrab.domain.models.fault import Fault, ModelCallFailed
from opencrab.domain.models.routing import RoutingBasis, Use
from opencrab.domain.money.budget import Limits
from opencrab.domain.turn.record import CallState, ModelAnswer, ModelIntent, ModelResult
from opencrab.domain.turn.turn import Trigger, Turn, TurnStatus, turn_block_draws
from opencrab.domain.usage.ledger import UsageRow
from opencrab.domain.value import MicroUsd
from opencrab.engine.models import router
from opencrab.engine.runtime import Rules
from opencrab.ports.agents import Agents
from opencrab.ports.clock import Clock
from opencrab.ports.memory.search import TextVectors
from opencrab.ports.models.directory import ProviderDirectory
from opencrab.ports.models.model import Embedder, Embeddings, ModelInfo, Models
from opencrab.ports.turn.journal import Journal, StepState, TurnChange

log = logging.getLogger(__name__)

PAUSE_MS = 30_000.0
"""Milliseconds without embeddings after a failure; full-text search answers meanwhile."""

REFUSALS = 12
"""The number of refused calls in a row after which a pause begins: it is not one text's doing."""

_TEXT_FAULTS = {Fault.BAD_REQUEST, Fault.TOO_LONG, Fault.BLOCKED}
_PER_TEXT = 16
"""Tokens that a server may add to each text."""


@dataclass(frozen=True)
class _Call:
    """A planned embedding call and its budget."""

    agent: Agent
    embedder: Embedder
    texts: tuple[str, ...]
    query: bool
    limits: Limits
    amount: MicroUsd


class EmbeddingModels(Models, ProviderDirectory, Protocol):
    """The models, including the one for embeddings."""


@dataclass(frozen=True)
class CountedVectors(TextVectors):
    """Embeddings of texts, and the tokens that their model counted; 0 if it counted none."""

    tokens: int = 0


class MeteredEmbedder:
    """`ports.memory.search.TextEmbedder` with the model of use `embedding`, within a budget."""

    def __init__(
        self,
        journal: Journal,
        agents: Agents,
        models: Models,
        clock: Clock,
        rules: Rules,
        *,
        directory: ProviderDirectory,
    ) -> None:
        self._journal = journal
        self._agents = agents
        self._models = models
        self._directory = directory
        self._clock = clock
        self._rules = rules
        self._quiet_until: dict[str, float] = {}
        self._refusals: dict[str, int] = {}

    @property
    def name(self) -> str:
        try:
            return self._directory.embedder(None).info.name
        except OpenCrabError:
            return ""

    def embed(
        self,
        agent_id: str,
        texts: tuple[str, ...],
        *,
        query: bool = False,
        at_most_seconds: float | None = None,
    ) -> TextVectors | None:
        now = self._clock.monotonic_ms()
        if not texts or now < self._quiet_until.get(agent_id, now):
            return None
        try:
            found = self.embed_or_raise(agent_id, texts, at_most_seconds, query=query)
        except OpenCrabError as error:
            if not query and self._is_of_a_text(agent_id, error):
                return TextVectors(self.name, ())
            self._quiet_until[agent_id] = self._clock.monotonic_ms() + PAUSE_MS
            log.warning(
                "embedding failed, using full-text search only for 30 s: agent_id=%s, error=%s",
                agent_id,
                error.message,
            )
            return None
        self._refusals.pop(agent_id, None)
        return found

    def _is_of_a_text(self, agent_id: str, error: OpenCrabError) -> bool:
        """Check whether a call failed for one of its texts, and count it."""
        if not isinstance(error, ModelCallFailed) or error.fault not in _TEXT_FAULTS:
            return False
        refusals = self._refusals[agent_id] = self._refusals.get(agent_id, 0) + 1
        return refusals % REFUSALS != 0

    def embed_or_raise(
        self,
        agent_id: str,
        texts: tuple[str, ...],
        at_most_seconds: float | None,
        *,
        query: bool = False,
    ) -> CountedVectors:
        """Compute embeddings for a caller who is told why there are none.

        Raises Invalid (no model, or one without a price), Refused, Exhausted and ModelCallFailed.
        """
        turn = self._turn(agent_id)
        step_state = self._journal.read_step_state(turn)
        if step_state.frozen is not None:
            raise Refused(f"{step_state.frozen!r} is frozen", cure="unfreeze it first")
        self._models.refresh(step_state.settings_version)
        call = self._call(agent_id, texts, step_state, query=query)
        seconds = self._models.routing.call_options(Use.EMBEDDING).timeout_seconds
        if at_most_seconds is not None:
            seconds = min(seconds, at_most_seconds)
        self._journal.open(turn)
        claimed = self._journal.claim(turn.id, lease_until=self._lease(), receipt=None)
        if claimed is None:
            raise Unavailable(f"turn {turn.id!r} was ended concurrently", cure="try again")
        turn, intent = self._reserved(call, claimed.turn)
        return self._asked(call, turn, intent, seconds)

    def _turn(self, agent_id: str) -> Turn:
        turn_id = self._clock.new_id()
        return Turn(
            id=turn_id,
            agent_id=agent_id,
            session_id="",
            trigger=Trigger.EMBEDDING,
            source=Source.SCHEDULE,
            authority=Authority.SELF,
            principal_id=agent_id,
            group="",
            body_hash=turn_id,
            lease_until=self._lease(),
            created_at=self._clock.now(),
        )

    def _call(
        self, agent_id: str, texts: tuple[str, ...], step_state: StepState, *, query: bool
    ) -> _Call:
        """Return the call if this agent may make it; raise Refused or Invalid."""
        agent = self._agents.get(agent_id).agent
        if not agent.answers:
            raise Refused(f"agent {agent_id!r} has retired", cure="choose another agent")
        embedder = self._directory.embedder(None)
        basis = RoutingBasis(model=agent.model, models=agent.llm.models)
        leader = router.first_routed_model(self._models, Use.CONVERSATION, basis, ())[0]
        if leader.info.private and not embedder.info.private:
            raise Refused(
                f"agent {agent_id!r} may use private models only, and {embedder.info.name!r} is "
                "not private",
                cure="choose a private model as embedding in [llm.models]",
            )
        limits = self._rules.limits.changed(step_state.limits)
        return _Call(
            agent=agent,
            embedder=embedder,
            texts=texts,
            query=query,
            # Exactly what is missing is drawn: no other call follows in this turn.
            limits=limits.replaced(session_micro_usd=None, block_micro_usd=1),
            amount=memory_embedding_reservation(embedder.info, texts),
        )

    def _reserved(self, call: _Call, turn: Turn) -> tuple[Turn, ModelIntent]:
        """Write the intent with its reservation; end the turn if the budget is exhausted."""
        now, info = self._clock.now(), call.embedder.info
        intent = ModelIntent(
            n=turn.sequence,
            model=info.name,
            request_hash=content_hash("\n".join(call.texts).encode("utf-8", "replace")),
            reserved=call.amount,
            purpose=Use.EMBEDDING,
            task_type="embedding",
            chosen_by="use",
            price=info.price,
        )
        with self._ended_if_exhausted(turn):
            block = turn.block_for(call.amount, now.strftime("%Y-%m-%d"), call.limits)
            own = call.agent.day_limit_micro_usd
            change = TurnChange(
                turn=turn.with_reservation(call.amount, block).replaced(
                    sequence=turn.sequence + 1, lease_until=self._lease()
                ),
                expected=turn.sequence,
                unless_stopped=True,
                records=(intent,),
                draws=() if block is None else turn_block_draws(turn, block, call.limits, own),
                at=now,
            )
            return self._journal.commit(change), intent

    @contextmanager
    def _ended_if_exhausted(self, turn: Turn) -> Iterator[None]:
        try:
            yield
        except Exhausted as error:
            now = self._clock.now()
            ended = turn.replaced(
                status=TurnStatus.EXHAUSTED, ended_at=now, lease_until=None, note=error.message
            )
            self._journal.commit(TurnChange(turn=ended, expected=turn.sequence, at=now))
            raise

    def _asked(
        self, call: _Call, turn: Turn, intent: ModelIntent, seconds: float
    ) -> CountedVectors:
        started = self._clock.monotonic_ms()
        try:
            found = call.embedder.embed(call.texts, timeout_seconds=seconds, query=call.query)
        except ModelCallFailed as error:
            self._failed(turn, intent, error, started)
            raise
        if len(found.vectors) != len(call.texts) or not all(found.vectors):
            made = sum(map(bool, found.vectors))
            why = f"model {intent.model!r} returned {made} vectors for {len(call.texts)} texts"
            nonsense = ModelCallFailed(why, Fault.NONSENSE, usage=found.usage)
            self._failed(turn, intent, nonsense, started)
            raise nonsense
        result = ModelResult(
            n=intent.n,
            state=CallState.COMPLETED,
            answer=ModelAnswer(usage=found.usage, model=found.model),
            cost=_cost(found, intent),
            latency_ms=round(self._clock.monotonic_ms() - started),
            at=self._clock.now(),
        )
        self._end(turn, intent, result, TurnStatus.COMPLETED)
        return CountedVectors(intent.model, found.vectors, max(found.usage.input_tokens, 0))

    def _failed(
        self, turn: Turn, intent: ModelIntent, error: ModelCallFailed, started: float
    ) -> None:
        counted = error.usage if error.usage is not None and error.usage.is_counted else None
        cost = intent.reserved if error.may_be_billed else 0
        if counted is not None and intent.price is not None:
            cost = intent.price.cost(counted)
        result = ModelResult(
            n=intent.n,
            state=CallState.FAILED,
            error=error.message[:2_000],
            fault=error.fault,
            usage=error.usage,
            provider_call_id=error.provider_call_id,
            cost=cost,
            latency_ms=round(self._clock.monotonic_ms() - started),
            at=self._clock.now(),
        )
        self._end(turn, intent, result, TurnStatus.FAILED, error.message[:1_000])

    def _end(
        self,
        turn: Turn,
        intent: ModelIntent,
        result: ModelResult,
        status: TurnStatus,
        note: str = "",
    ) -> None:
        """Write the result, its ledger row and the returned budget in one transaction."""
        now = self._clock.now()
        settled = turn.with_cost(reserved=intent.reserved, cost=result.cost)
        ended = settled.replaced(
            status=status, ended_at=now, lease_until=None, allowance=0, note=note
        )
        change = TurnChange(
            turn=ended,
            expected=turn.sequence,
            records=(result,),
            draws=settled.closing_budget_draws(now.strftime("%Y-%m-%d")),
            usage=(UsageRow.of_call(turn, intent, result, now),),
            at=now,
        )
        self._journal.commit(change)

    def _lease(self) -> datetime:
        return self._clock.now() + timedelta(seconds=self._rules.lease_seconds)


def memory_embedding_reservation(info: ModelInfo, texts: tuple[str, ...]) -> MicroUsd:
    """Return an upper bound of the cost of embedding texts; raise Invalid without a price.

    No token is shorter than one byte of UTF-8.
    """
    if info.price is None:
        raise Invalid(
            f"the price of model {info.name!r} is unknown, so it may not be used",
            cure=f"set llm.providers.{info.provider}.usd_per_million, or choose another model",
        )
    tokens = sum(len(text.encode("utf-8", "surrogatepass")) + _PER_TEXT for text in texts)
    return info.price.reservation(
        request_tokens=tokens + info.hidden_tokens, max_output_tokens=info.hidden_output_tokens
    )


def _cost(found: Embeddings, intent: ModelIntent) -> MicroUsd:
    """Return the cost of the vectors; the whole reservation if the tokens were not counted."""
    if intent.price is None or not found.usage.is_counted:
        return intent.reserved
    return intent.price.cost(found.usage)
