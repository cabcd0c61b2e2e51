"""Decide: reserve money, ask the model, save its answer; the only place that calls a model."""

from opencrab.domain.errors import (
    Exhausted,
    Invalid,
    NeverSent,
    OpenCrabError,
    Refused,
    Stopped,
    Unavailable,
)
from opencrab.domain.identifier import content_hash
from opencrab.domain.money import Draw
from opencrab.domain.record import Answer, CallState, ModelIntent, ModelResult
from opencrab.domain.turn import Block, Turn, TurnStatus, draws_for
from opencrab.domain.value import MicroUsd
from opencrab.engine.close import close
from opencrab.engine.context import build_request
from opencrab.engine.phrases import phrase
from opencrab.engine.work import Work
from opencrab.ports.model import ChatModel, ChatRequest

FAILURES = 2
"""Failed model calls in a row after which a turn ends as failed."""


def decide(work: Work) -> None:
    """One model call, from the switches to the saved answer; a final answer closes the turn.

    Raises Stopped when the turn was asked to stop before the call.
    """
    language = work.profile.agent.language
    boundary = work.runtime.home.journal.boundary(work.turn)
    if boundary.frozen is not None:
        close(work, TurnStatus.STOPPED, notice=phrase("frozen", language))
        return
    heard = set(work.transcript.heard)
    fresh = tuple(item for item in boundary.instructions if item.id not in heard)
    try:
        model = work.runtime.models.get(work.profile.agent.model)
        request = build_request(work, model.info, boundary.instructions)
        body = model.encode(request)
        intent = _reserve(work, model, request, body, tuple(item.id for item in fresh))
    except Exhausted as error:
        notice = phrase("budget", language, what=error.field or "budget")
        close(work, TurnStatus.EXHAUSTED, notice=notice, note=error.message)
        return
    except Stopped:
        raise
    except (Invalid, Refused) as error:
        _fail(work, error)
        return
    _ask(work, model, request, body, intent)


def _reserve(
    work: Work, model: ChatModel, request: ChatRequest, body: bytes, heard: tuple[str, ...]
) -> ModelIntent:
    """Write the intent with its reservation, drawing a block from the day's budgets if needed."""
    price = model.info.price
    if price is None:
        raise Invalid(
            f"the price of model {model.info.name!r} is unknown, so it may not be used",
            cure="set it in config/pricing.toml, or choose another model",
        )
    amount = price.reservation(request_bytes=len(body), max_output_tokens=request.max_output_tokens)
    intent = ModelIntent(
        n=work.next_n,
        model=model.info.name,
        request_hash=content_hash(body),
        reserved=amount,
        heard=heard,
    )
    day = work.runtime.clock.now().strftime("%Y-%m-%d")
    block = work.turn.block_for(amount, day, work.runtime.rules.limits)
    try:
        _intend(work, intent, block)
    except Exhausted:
        missing = amount - work.turn.allowance
        if block is None or block.micro_usd <= missing:
            raise
        _intend(work, intent, Block(day=day, micro_usd=missing))
    return intent


def _intend(work: Work, intent: ModelIntent, block: Block | None) -> None:
    agent, limits = work.profile.agent, work.runtime.rules.limits
    draws: tuple[Draw, ...] = ()
    if block is not None:
        own = agent.day_limit_micro_usd
        draws = draws_for(agent.id, block.day, block.micro_usd, limits, own)
    work.save(work.turn.reserving(intent.reserved, block), intent, draws=draws, unless_stopped=True)


def _ask(
    work: Work, model: ChatModel, request: ChatRequest, body: bytes, intent: ModelIntent
) -> None:
    clock = work.runtime.clock
    started = clock.monotonic_ms()
    try:
        answer = model.chat(request, body)
    except (NeverSent, Invalid, Refused) as error:
        _failed_call(work, intent, error, cost=0)
    except Unavailable as error:
        _failed_call(work, intent, error, cost=intent.reserved)
    else:
        latency_ms = round(clock.monotonic_ms() - started)
        cost = _cost(model, answer, intent)
        result = ModelResult(
            n=intent.n,
            state=CallState.COMPLETED,
            answer=_named(answer, intent.n),
            cost=cost,
            latency_ms=latency_ms,
        )
        _answered(work, result, work.turn.settled(reserved=intent.reserved, cost=cost))


def _cost(model: ChatModel, answer: Answer, intent: ModelIntent) -> MicroUsd:
    """What an answer cost; one that does not say how many tokens it took costs its reservation."""
    price, usage = model.info.price, answer.usage
    if price is None or (usage.input_tokens <= 0 and usage.output_tokens <= 0):
        return intent.reserved
    return price.cost(usage)


def _answered(work: Work, result: ModelResult, turn: Turn) -> None:
    answer = result.answer or Answer()
    if answer.calls:
        work.save(turn, result, progress=True)
    elif answer.text.strip():
        close(work, TurnStatus.COMPLETED, result, turn=turn, speech=answer.text.strip())
    else:
        status = TurnStatus.COMPLETED if work.transcript.speeches else TurnStatus.IDLE
        close(work, status, result, turn=turn, note="the model had nothing to say")


def _failed_call(work: Work, intent: ModelIntent, error: OpenCrabError, *, cost: MicroUsd) -> None:
    turn = work.turn.settled(reserved=intent.reserved, cost=cost)
    result = ModelResult(n=intent.n, state=CallState.FAILED, error=error.message[:2_000], cost=cost)
    hopeless = isinstance(error, Invalid | Refused)
    if hopeless or work.transcript.failures + 1 >= FAILURES:
        _fail(work, error, result, turn=turn)
    else:
        work.save(turn, result)


def _fail(
    work: Work, error: OpenCrabError, *records: ModelResult, turn: Turn | None = None
) -> None:
    why = error.message if error.cure is None else f"{error.message} ({error.cure})"
    notice = phrase("failed", work.profile.agent.language, why=why[:1_000])
    close(work, TurnStatus.FAILED, *records, turn=turn, notice=notice, note=why[:1_000])


def _named(answer: Answer, n: int) -> Answer:
    """The answer with call ids of our own: unique in the turn, whatever the provider sent."""
    calls = tuple(call.replaced(id=f"c{n}_{place}") for place, call in enumerate(answer.calls))
    return answer.replaced(calls=calls)
