"""Model calls: choose a model, reserve its cost, call it, save the answer; nowhere else."""

import logging
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime

from opencrab.domain.errors import Exhausted, Invalid, OpenCrabError, Refused, Stopped, Unavailable
from opencrab.domain.identifier import content_hash
from opencrab.domain.models.fault import Fault, ModelCallFailed
from opencrab.domain.models.health import BreakerState, record_model_failure
from opencrab.domain.models.routing import CallOptions, RoutingBasis, Use
from opencrab.domain.money.budget import BudgetDraw, Limits
from opencrab.domain.turn.record import CallState, ModelAnswer, ModelIntent, ModelResult
from opencrab.domain.turn.task_type import ThinkContext, turn_think_context
from opencrab.domain.turn.transcript import ModelAttempt
from opencrab.domain.turn.turn import Block, Turn, TurnStatus
from opencrab.domain.value import MicroUsd
from opencrab.engine.consequence import ExtraWrites
from opencrab.engine.models import router
from opencrab.engine.money import reservation
from opencrab.engine.phrases import phrase_for_used_up_budget, system_phrase
from opencrab.engine.turn.call_watch import (
    end_interrupted_call,
    result_of_interrupted_turn_call,
    watch_turn_model_call,
)
from opencrab.engine.turn.close import (
    close_empty_turn,
    close_failed_turn,
    close_idle_turn,
    close_turn,
)
from opencrab.engine.turn.observe import label_of_turn_reading
from opencrab.engine.turn.prompt.request import build_turn_prompt_request
from opencrab.engine.turn.work import PreCallState, TurnWork
from opencrab.ports.models.model import ChatModel, ChatRequest, is_model_request_tainted
from opencrab.ports.turn.journal import StepState

log = logging.getLogger(__name__)

_DRAWN, _REPLACED = ("learned",), ("learned", "fallback")
_LEAST_SHARE = 0.25
"""The smallest share of the usual history; a turn that cannot pay for that is asked without any."""

_TOLD = 300
"""The number of characters of each model's error that a person sees."""


@dataclass(frozen=True)
class _Call:
    """A model call that is about to be made.

    `listed` are the models that may answer, in order; `amount` is the most that the call can cost;
    `health` is its provider's, None if nothing bad is known.
    """

    model: ChatModel
    listed: tuple[ChatModel, ...]
    request: ChatRequest
    body: bytes
    amount: MicroUsd
    context: ThinkContext
    use: Use
    chosen_by: str
    health: BreakerState | None


def call_model(work: TurnWork) -> int | None:
    """Make one model call, from the check for a freeze to the saved answer; may close the turn.

    Returns the seconds to wait before the call is retried, or None if it was made or the turn has
    ended. Raises Stopped when the turn was asked to stop before the call.
    """
    language = work.profile.agent.language
    # One read for all that may have changed since: switches, limits, health, guidance (ADR 0014).
    step_state = work.runtime.home.journal.read_step_state(work.turn)
    work.looked_ms, now = work.runtime.clock.monotonic_ms(), work.runtime.clock.now()
    if step_state.frozen is not None:
        close_turn(work, TurnStatus.STOPPED, notice=system_phrase("frozen", language))
        return None
    try:
        work.runtime.models.refresh(step_state.settings_version)
        seconds = _ask_next_model(work, step_state, now)
    except Exhausted as error:
        own_day = work.profile.agent.day_limit_micro_usd
        limits, drawn = work.limits_to_tell, error.drawn_micro_usd
        notice = phrase_for_used_up_budget(error.field, language, limits, own_day, drawn)
        # Retries reserve too: if the money ends between two, the model's error is the cause.
        note = "; ".join(filter(None, (error.message, _describe_last_errors(work))))
        close_turn(work, TurnStatus.EXHAUSTED, notice=notice, note=note[:1_000])
        return None
    except Stopped:
        raise
    except (Invalid, Refused) as error:
        close_failed_turn(work, error)
        return None
    return seconds


def _ask_next_model(work: TurnWork, step_state: StepState, now: datetime) -> int | None:
    """Call the model whose turn it is, or return how many seconds to wait before its retry."""
    models, context, choices = work.runtime.models, _context(work), work.transcript.choices
    work.limits = _limits(work, step_state)
    look = work.look(step_state, now, context)
    use = router.use_of_model_call(models, context, look.basis, choices)
    agent, task_type = work.profile.agent, context.task_type.value
    leader, chosen_by = router.first_routed_model(models, use, look.basis, choices, task_type)
    listed = router.fallback_models(models, leader, agent, use if chosen_by == "learned" else None)
    manner = models.routing.call_options(use).with_sampling(agent.llm.sampling.get(use))
    # Read once: after the wait the call is made at once.
    wished, work.retry_after_seconds = work.retry_after_seconds, None
    while True:
        pick = router.pick_model(listed, work.transcript.attempts, step_state.health, look.at)
        picked = _claim_probe(work, listed, look, pick)
        if wished is not None and (
            seconds := router.seconds_before_model_retry(picked, work.turn.id, wished)
        ):
            return seconds
        by = chosen_by if picked.model.info.name == leader.info.name else "fallback"
        try:
            asked = _request(work, picked.model, manner, look)
            call = _Call(picked.model, listed, *asked, context, use, by, picked.health)
            intent = _reserve_or_release_probe(work, call, picked, look)
        except (Invalid, Exhausted) as error:
            # What learning drew may be too long or too dear, a fallback too long: the next one.
            if len(listed) == 1 or by not in (_REPLACED if isinstance(error, Invalid) else _DRAWN):
                raise
            listed = tuple(other for other in listed if other is not picked.model)
            continue
        _ask(work, call, intent)
        return None


def _limits(work: TurnWork, step_state: StepState) -> Limits:
    """Return the limits of this call: the installation's, or what is left of the goal's if less."""
    limits = work.runtime.rules.limits.changed(step_state.limits)
    if work.job is not None:
        return work.job.limits(work, limits)
    goal = work.served
    left = None if goal is None else goal.left_micro_usd
    if left is None or left >= limits.turn_micro_usd:
        return limits
    return limits.replaced(turn_micro_usd=left)


def _request(
    work: TurnWork, model: ChatModel, manner: CallOptions, look: PreCallState
) -> tuple[ChatRequest, bytes, MicroUsd]:
    """Return the request, its bytes and its reservation, with the history that the turn can pay.

    The turn is tainted before a tainted request is sent: whatever the model answers, it has read
    the words (ADR 0017).
    """
    room, share = work.limits.turn_micro_usd - work.turn.spent, 1.0
    while True:
        if work.job is not None:
            request, share = work.job.request(work, model.info, manner), 0.0
        else:
            request = build_turn_prompt_request(work, model.info, manner, look, share)
        body = model.encode(request)
        amount = reservation.model_call_reservation(model.info, request, body)
        if amount <= room or not share:
            break
        share = share / 2 if share > _LEAST_SHARE else 0.0
    if not work.turn.taint and is_model_request_tainted(request):
        work.turn = work.turn.replaced(taint=True)
    return request, body, amount


def _reserve_or_release_probe(
    work: TurnWork, call: _Call, picked: router.ModelPick, look: PreCallState
) -> ModelIntent:
    """Reserve the call's cost; if that fails, leave a claimed probe to another worker."""
    heard = set(work.transcript.heard)
    told = () if work.job is not None else look.step_state.instructions
    fresh = tuple(item.id for item in told if item.id not in heard)
    try:
        return _reserve(work, call, look, fresh)
    except (Exhausted, Stopped):
        if picked.probe is not None and picked.health is not None:
            _replace_provider_health(work, call.model.info.provider, picked.probe, picked.health)
        raise


def _context(work: TurnWork) -> ThinkContext:
    """Return what the next call is about; a turn for a task acts from its first call on."""
    trigger = work.trigger
    acting = bool(work.turn.task) or any(step.answer.calls for step in work.transcript.steps)
    return turn_think_context(trigger.text if trigger else "", work.turn.trigger, acting=acting)


def _claim_probe(
    work: TurnWork,
    listed: tuple[ChatModel, ...],
    look: PreCallState,
    picked: router.ModelPick | None,
) -> router.ModelPick:
    """Return the picked model with its provider's health, or another if its probe is taken.

    When a provider's pause is over, one worker probes it: the one that replaces its stored health
    by `probed`. The others pick again, as if the provider were still paused. Raises Invalid when
    the choice of models has changed since the last one failed, so that none is left.
    """
    health = look.step_state.health
    if picked is not None and picked.probe is not None:
        provider, probed = picked.model.info.provider, picked.probe.with_probe(look.at)
        health = {**health, provider: probed}
        if not _replace_provider_health(work, provider, probed, picked.probe):
            picked = router.pick_model(listed, work.transcript.attempts, health, look.at)
    if picked is None:
        told = _describe_last_errors(work) or "no model is available"
        raise Invalid(
            told, cure="the model choice was changed concurrently; send the message again"
        )
    known = health.get(picked.model.info.provider)
    return picked if known is None else replace(picked, health=known)


def _replace_provider_health(
    work: TurnWork, provider: str, health: BreakerState, before: BreakerState | None
) -> bool:
    """Store a provider's health for all workers if it still is `before`; False if it was changed.

    True also when the store is unavailable: the health is advice, so the call goes on without it.
    """
    with suppress(Unavailable):
        return work.runtime.home.health.put(provider, health, before)
    return True


def _reserve(
    work: TurnWork, call: _Call, look: PreCallState, heard: tuple[str, ...]
) -> ModelIntent:
    """Save the intent with its reservation, drawing a block from the day's budgets if needed."""
    info, context = call.model.info, call.context
    intent = ModelIntent(
        n=work.next_n,
        model=info.name,
        request_hash=content_hash(call.body),
        reserved=call.amount,
        heard=heard,
        purpose=call.use,
        task_type=context.task_type.value,
        complexity=context.complexity,
        tier=context.tier,
        chosen_by=call.chosen_by,
        probability=_probability(call, look.basis),
        price=info.price,
        basis=look.basis if work.transcript.basis is None else None,
        skills=work.prompt.skills,
        skills_held=work.prompt.skills_held,
        skills_offered=work.prompt.skills_offered,
    )
    block = work.turn.block_for(call.amount, look.at.strftime("%Y-%m-%d"), work.limits)
    try:
        _save_intent(work, intent, block, look.at)
    except Exhausted:
        missing = call.amount - work.turn.allowance
        if block is None or block.micro_usd <= missing:
            raise
        # A block is drawn ahead to spare writes; near a limit just what is missing may still fit.
        _save_intent(work, intent, block.replaced(micro_usd=missing), look.at)
    return intent


def _probability(call: _Call, basis: RoutingBasis) -> float:
    """Return the probability with which a traffic split drew the model; 1 if it was not drawn."""
    lot = basis.assignment_for(call.use, call.context.task_type.value)
    return lot.probability if lot is not None and call.chosen_by == "learned" else 1.0


def _save_intent(work: TurnWork, intent: ModelIntent, block: Block | None, now: datetime) -> None:
    draws, agents, agent = tuple[BudgetDraw, ...](), work.runtime.home.agents, work.profile.agent
    if block is not None:
        draws = reservation.draw_budget_block(agents, work.turn, agent, block, work.limits)
    clearance = work.clearance
    is_new = clearance.label != work.readers
    label = (label_of_turn_reading(work.turn, clearance, now),) if is_new else ()
    work.save(
        work.turn.with_reservation(intent.reserved, block),
        intent,
        beside=ExtraWrites(draws=draws, facts=label),
        unless_stopped=True,
        at=now,
    )
    work.readers = clearance.label


def _ask(work: TurnWork, call: _Call, intent: ModelIntent) -> None:
    clock = work.runtime.clock
    started = clock.monotonic_ms()
    watch = watch_turn_model_call(work, intent.n, started)
    answer: ModelAnswer | None = None
    try:
        # The intent is stored with its reservation: whatever happens now, the cost is counted.
        answer = call.model.chat(call.request, call.body, watch)
    except ModelCallFailed as error:
        _record_failed_call(work, call, intent, error, round(clock.monotonic_ms() - started))
        return
    finally:
        watch.end(answer)
    latency_ms, ended_at = round(clock.monotonic_ms() - started), clock.now()
    if watch.interruption:
        cost = reservation.cost_of_interrupted_call(
            call.model.info, call.request, call.body, answer
        )
        ended = result_of_interrupted_turn_call(
            intent, answer, cost, latency_ms=latency_ms, at=ended_at
        )
        end_interrupted_call(work, intent, ended, watch.interruption)
        return
    cost = intent.cost_of(answer)
    result = ModelResult(
        n=intent.n,
        state=CallState.COMPLETED,
        answer=answer.with_turn_call_ids(intent.n),
        cost=cost,
        latency_ms=latency_ms,
        at=ended_at,
    )
    _apply_model_answer(work, result, work.turn.with_cost(reserved=intent.reserved, cost=cost))
    # Only after the answer that was paid for is saved: this write may fail.
    if call.health is not None:
        with suppress(Unavailable):
            work.runtime.home.health.forget(call.model.info.provider)


def _apply_model_answer(work: TurnWork, result: ModelResult, turn: Turn) -> None:
    if work.job is not None:
        work.job.end_with_answer(work, result, turn)
        return
    answer = result.answer or ModelAnswer()
    if answer.calls:
        work.save(turn, result, progress=True, at=result.at)
        return
    if text := answer.text.strip():
        close_turn(work, TurnStatus.COMPLETED, result, turn=turn, speech=text, at=result.at)
        return
    close_empty_turn(work, result, turn)


def _record_failed_call(
    work: TurnWork, call: _Call, intent: ModelIntent, error: ModelCallFailed, latency_ms: int
) -> None:
    """Record a failed call, charge what it may have cost, and go on or end the turn."""
    now, info = work.runtime.clock.now(), call.model.info
    told = (info.name, error.fault.value, latency_ms, work.turn.id)
    log.warning("model call failed: model=%s, fault=%s, latency_ms=%s, turn=%s", *told)
    # Before the result is saved: counted twice after a crash, it only sends others elsewhere.
    if error.fault.is_provider_fault:
        after = record_model_failure(call.health, now, at_once=error.fault is Fault.QUOTA_SPENT)
        _replace_provider_health(work, info.provider, after, call.health)
    cost = intent.cost_of_failure(error)
    turn = work.turn.with_cost(reserved=intent.reserved, cost=cost)
    result = ModelResult(
        n=intent.n,
        state=CallState.FAILED,
        error=error.message[:2_000],
        fault=router.model_fault_to_record(error),
        cause=error.fault,
        usage=error.usage,
        provider_call_id=error.provider_call_id,
        cost=cost,
        latency_ms=latency_ms,
        at=now,
    )
    if _is_last(work, call, result, now):
        combined = _combine_model_errors(work, call, error)
        if error.fault is Fault.NONSENSE and work.job is None:
            close_idle_turn(work, combined, result, turn)
        else:
            close_failed_turn(work, combined, result, turn=turn)
        return
    work.save(turn, result, progress=True, at=now)
    work.retry_after_seconds = error.retry_after_seconds or 0.0


def _combine_model_errors(work: TurnWork, call: _Call, last: ModelCallFailed) -> OpenCrabError:
    """Return the error of a step that no model answered: the last error of each model."""
    name = call.model.info.name
    if all(attempt.model == name for attempt in work.transcript.attempts):
        return last
    words = f"{_describe_last_errors(work, except_model=name)}; {name}: {last.message[:_TOLD]}"
    return ModelCallFailed(words, last.fault, cure=last.cure)


def _describe_last_errors(work: TurnWork, *, except_model: str = "") -> str:
    """Return the last error of each model that failed in this step, for people."""
    words = {attempt.model: attempt.error for attempt in work.transcript.attempts}
    return "; ".join(
        f"{model}: {error[:_TOLD]}" for model, error in words.items() if model != except_model
    )


def _is_last(work: TurnWork, call: _Call, result: ModelResult, now: datetime) -> bool:
    """Check whether no model is left to call after this failure."""
    assert result.fault is not None  # noqa: S101  - a failed call has one
    attempts = (*work.transcript.attempts, ModelAttempt(call.model.info.name, result.fault))
    return router.pick_model(call.listed, attempts, {}, now) is None
