"""Router: chooses the next call's model, by preferences, failures and health, and its sampling.

It is a function of the configuration, the turn's records and the shared health of the providers:
any worker that continues a turn chooses the same model. Failures are classified by their fault,
never by a status code.
"""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import ceil
from typing import Any

from opencrab.domain.agents.agent import Agent
from opencrab.domain.errors import Invalid
from opencrab.domain.identifier import content_hash
from opencrab.domain.learning.settings import TrialSettings
from opencrab.domain.models.fault import Fault, FaultResponse, ModelCallFailed
from opencrab.domain.models.health import BreakerState
from opencrab.domain.models.optimization import LearningMode
from opencrab.domain.models.routing import (
    LlmConfig,
    ModelAssignment,
    ModelChosen,
    ReasoningEffort,
    RoutingBasis,
    Sampling,
    Use,
)
from opencrab.domain.models.traffic_split import Mix
from opencrab.domain.statistics.hash_bucket import draw_hash_bucket
from opencrab.domain.turn.task_type import ThinkContext
from opencrab.domain.turn.transcript import ModelAttempt
from opencrab.ports.models.model import (
    ChatModel,
    ModelInfo,
    Models,
    distinct_models,
    selectable_model_choices,
)

RETRIES = 2
"""The most retries of a model that rejected a request for a temporary reason."""

LAST_RETRIES = 3
"""The most retries of a failed model when no other is left.

Four calls in all: by the third retry the mean wait has bridged 7 s, a restart of most servers, and
the fourth try of a vendor that fails half of its calls succeeds in 94 % of the steps. More would
bill a timed out call a fifth time, and a person waits.
"""

NONSENSE_RETRIES = 2
"""The most retries of a step after unreadable answers, when no other model is left."""

LONGEST_WAIT_SECONDS = 60.0
"""The longest wait before a retry, in seconds, because a person waits for the answer."""

_CHOSEN_BY = {
    "permanent": "in the agent's llm config",
    "agent": "the agent's own",
    "use": "in [llm.models]",
}

_LEVELS = ("minimal", *ReasoningEffort, "xhigh")
"""The efforts of all vendors, the least first."""


@dataclass(frozen=True)
class ModelPick:
    """The model to call next.

    `again` counts its failures in this step; `probe` is its provider's health when the circuit
    breaker's pause is over, so that only one caller tries it; `health` is the current one.
    """

    model: ChatModel
    again: int = 0
    probe: BreakerState | None = None
    health: BreakerState | None = None


def use_of_model_call(
    models: Models, context: ThinkContext, basis: RoutingBasis, choices: Sequence[ModelChosen]
) -> Use:
    """Return the use of a call: its turn's, or `tool_calling` for a conversation that acts.

    That only if a model is named for it. Thought, analysis and creative work stay with the model
    that began them.
    """
    if not context.acting or context.use is not Use.CONVERSATION:
        return context.use
    return models.routing.use_of_call(context.use, basis, choices, context.task_type.value)


def first_routed_model(
    models: Models,
    use: Use,
    basis: RoutingBasis,
    choices: Sequence[ModelChosen],
    task_type: str = "",
) -> tuple[ChatModel, str]:
    """Return the first model for a use and a type of task, and who chose it.

    A choice of the agent itself (turn or session) or of its traffic split is skipped if the model
    is unavailable. A choice made by a person is never replaced silently: raises Invalid, saying
    what is missing and where.
    """
    chosen = models.routing.chosen(use, basis, choices, task_type)
    try:
        return models.get(chosen.model), chosen.by
    except Invalid as error:
        if chosen.by == "turn":
            return first_routed_model(models, use, basis, (), task_type)
        if chosen.by == "session":
            return first_routed_model(models, use, basis.replaced(session={}), (), task_type)
        if chosen.by == "learned":
            return first_routed_model(models, use, basis.replaced(lots=()), (), task_type)
        where = _CHOSEN_BY.get(chosen.by)
        if where is None:
            raise
        message = f"{error.message}; model {chosen.model!r} is {where}"
        raise Invalid(message, field="model", cure=error.cure) from None


def fallback_models(
    models: Models, leader: ChatModel, agent: Agent, tried_for: Use | None = None
) -> tuple[ChatModel, ...]:
    """Return the chosen model and its possible replacements, in order.

    For a use in which a traffic split drew the model, the configured model is the first of them.

    A private model is replaced by private ones only, and a private agent uses no other. A
    replacement must have a price and support tool calls. Raises Invalid when a private agent has no
    private model.
    """
    names, usual = models.routing.fallback, leader
    if tried_for is not None:
        basis = RoutingBasis(model=agent.model, models=agent.llm.models)
        names = (models.routing.chosen(tried_for, basis).model, *names)
        usual = _find_model(models, names[0]) or leader
    others = (_find_model(models, name) for name in names)
    able = [model for model in others if model is not None and _stands_in(model)]
    confined = usual.info.private or agent.llm.private
    listed = [leader, *able]
    if confined:
        listed = [model for model in listed if model.info.private]
    if not listed:
        raise Invalid(
            f"agent {agent.id!r} is private, and {leader.info.name!r} is not",
            field="model",
            cure="choose a local model for it, or mark the provider as private",
        )
    distinct = {model.info.name: model for model in listed}
    return tuple(distinct.values())


def pick_model(
    listed: Sequence[ChatModel],
    attempts: Sequence[ModelAttempt],
    health: Mapping[str, BreakerState],
    now: datetime,
) -> ModelPick | None:
    """Return the model to call next; None when all of them have failed.

    A model with a temporary failure is retried a few times. Then come the others, without those of
    a failing provider; models whose provider is paused come last.
    """
    last = attempts[-1] if attempts else None
    by_name = {model.info.name: model for model in listed}
    if last is not None:
        if last.fault.response is FaultResponse.STOP:
            return None
        failures = _failures(attempts, last.model)
        again = by_name.get(last.model)
        if again is not None and last.fault.response is FaultResponse.RETRY and failures <= RETRIES:
            return ModelPick(again, failures)
    rest = _untried_models(listed, attempts)
    well = [model for model in rest if not _is_paused(model, health, now)]
    for model in (*well, *rest):
        known = health.get(model.info.provider)
        probe = known if known is not None and known.needs_probe(now) else None
        return ModelPick(model, probe=probe)
    return _last_again(by_name, attempts)


def seconds_before_model_retry(pick_: ModelPick, turn_id: str, asked_for: float | None) -> int:
    """Return how many whole seconds to wait before a retry; 0 for a first try.

    Exponential backoff with full jitter (AWS Architecture Blog, "Exponential Backoff And Jitter"):
    the turn's id draws a wait between 0 and 2, 4, 8 s ..., so turns that failed together do not
    return together. It starts when the wait that the provider asked for is over; the sum is limited
    to LONGEST_WAIT_SECONDS and rounded up to a whole second, the queue's unit.
    """
    if not pick_.again:
        return 0
    drawn = int(content_hash(f"{turn_id} {pick_.again}".encode())[:8], 16) / 0xFFFFFFFF
    wait = (asked_for or 0.0) + drawn * (1 << pick_.again)
    return max(1, ceil(min(wait, LONGEST_WAIT_SECONDS)))


def _stands_in(model: ChatModel) -> bool:
    return model.info.functions and model.info.price is not None


def _find_model(models: Models, name: str) -> ChatModel | None:
    try:
        return models.get(name)
    except Invalid:
        return None


def _untried_models(
    listed: Sequence[ChatModel], attempts: Sequence[ModelAttempt]
) -> list[ChatModel]:
    failed = {attempt.model for attempt in attempts}
    ill = {a.model.partition(":")[0] for a in attempts if a.fault.is_provider_fault}
    return [
        model
        for model in listed
        if model.info.name not in failed and model.info.provider not in ill
    ]


def _is_paused(model: ChatModel, health: Mapping[str, BreakerState], now: datetime) -> bool:
    known = health.get(model.info.provider)
    return known is not None and known.is_paused(now)


def _last_again(
    by_name: Mapping[str, ChatModel], attempts: Sequence[ModelAttempt]
) -> ModelPick | None:
    """Return the last model again if its failure may be temporary, else None.

    Unreadable answers are counted over the whole step, from all models.
    """
    last = attempts[-1] if attempts else None
    model = None if last is None else by_name.get(last.model)
    if last is None or model is None or not last.fault.may_pass:
        return None
    failures = _failures(attempts, last.model)
    if last.fault is Fault.NONSENSE:
        misread = sum(attempt.fault is Fault.NONSENSE for attempt in attempts)
        again = misread <= NONSENSE_RETRIES and failures <= RETRIES
        return ModelPick(model, failures) if again else None
    return ModelPick(model, failures) if failures <= LAST_RETRIES else None


def _failures(attempts: Sequence[ModelAttempt], model: str) -> int:
    return sum(attempt.model == model for attempt in attempts)


def assign_models_to_turn(
    models: Models, agent: Agent, mixes: Iterable[Mix], turn_id: str
) -> tuple[ModelAssignment, ...]:
    """Assign models to a turn by the traffic splits; the same turn gets the same models.

    The probability is the model's whole share of the split, over all its aliases. Nothing is
    assigned if no model of a split is left, or while the owner has switched learning off.
    """
    if agent.llm.aim.leave is LearningMode.OFF:
        return ()
    return tuple(_draw_assignments(models, agent, mixes, turn_id))


def models_to_try(models: Models, agent: Agent, trials: TrialSettings) -> dict[str, ModelInfo]:
    """Return the models among which turns of an agent may try one unasked, by alias.

    {} if the settings leave that off, of fewer than two, or if its owner chose how models are
    learned.
    """
    if not trials.model_percent:
        return {}
    found = distinct_models(selectable_model_choices(models, agent))
    return found if len(found) > 1 and not agent.llm.aim.is_chosen else {}


def model_traffic_split_shares(models: Models, agent: Agent, mix: Mix) -> dict[str, float]:
    """Return the current probability of each alias of a split; {} if none can be used.

    Only aliases that the agent may still choose count (`choices`); they share the weight of the
    others.
    """
    return _shares(mix, selectable_model_choices(models, agent, mix.weights))


def _draw_assignments(
    models: Models, agent: Agent, mixes: Iterable[Mix], turn_id: str
) -> Iterator[ModelAssignment]:
    for mix in mixes:
        known = selectable_model_choices(models, agent, mix.weights)
        left = _shares(mix, known)
        if not left:
            continue
        alias = draw_hash_bucket(left, "model", turn_id, mix.subject)
        name = known[alias].name
        same = sum(share for other, share in left.items() if known[other].name == name)
        yield ModelAssignment(
            use=mix.purpose, task_type=mix.task_type, model=alias, probability=min(same, 1.0)
        )


def _shares(mix: Mix, known: Container[str]) -> dict[str, float]:
    usable = [alias for alias in mix.weights if alias in known]
    whole = sum(mix.weights[alias] for alias in usable)
    return {alias: mix.weights[alias] / whole for alias in usable} if whole > 0 else {}


def model_fault_to_record(error: ModelCallFailed) -> Fault:
    """Return the fault; a wait beyond 60 s counts as quota_spent, so another model is called."""
    wait = error.retry_after_seconds or 0.0
    too_late = error.fault.may_pass and wait > LONGEST_WAIT_SECONDS
    return Fault.QUOTA_SPENT if too_late else error.fault


def sampling_of_call(info: ModelInfo, wanted: Sampling) -> dict[str, Any]:
    """Return temperature, top_p and reasoning effort as a model accepts them; None leaves one out.

    A fallback may be a model that accepts less than the chosen one: its highest temperature and its
    nearest effort are used.
    """
    temperature, top_p = wanted.temperature, wanted.top_p
    if not info.temperature:
        temperature = top_p = None
    elif temperature is not None:
        temperature = min(temperature, info.most_temperature)
    return {
        "temperature": temperature,
        "top_p": top_p,
        "reasoning_effort": _effort(info, wanted.reasoning_effort),
    }


def require_sampling_of_agent(models: Models, config: LlmConfig, model: str | None) -> None:
    """Raise Invalid for sampling that the model of its use refuses, naming the limit.

    What a model does not take at all is no error: it is left out of its calls.
    """
    for use, wanted in config.sampling.items():
        field = f"sampling.{use}"
        if use is Use.EMBEDDING:
            raise Invalid("embeddings have no sampling", field=field, cure="leave embedding out")
        chosen = models.routing.chosen(use, RoutingBasis(model=model, models=config.models))
        try:
            info = models.get(chosen.model).info
        except Invalid:
            continue  # The installation names it, and it is missing for now.
        _require_accepted(info, wanted, field)


def _require_accepted(info: ModelInfo, wanted: Sampling, field: str) -> None:
    heat, length = wanted.temperature, wanted.max_output_tokens
    if heat is not None and info.temperature and heat > info.most_temperature:
        raise Invalid(
            f"{info.name!r} takes a temperature of at most {info.most_temperature}, not {heat:g}",
            field=f"{field}.temperature",
            cure=f"set {info.most_temperature} or less, or choose another model for this use",
        )
    if length is not None and length > info.max_output_tokens:
        raise Invalid(
            f"{info.name!r} answers with at most {info.max_output_tokens} tokens, not {length}",
            field=f"{field}.max_output_tokens",
            cure=f"set {info.max_output_tokens} or less, or choose another model for this use",
        )


def _effort(info: ModelInfo, wanted: ReasoningEffort | None) -> str | None:
    """Return the effort itself, else the next higher one that a model takes, else its highest."""
    if wanted is None:
        return None
    if info.thinking_budget:
        return wanted.value
    return _nearest(info.efforts, wanted)


def _nearest(levels: Sequence[str], wanted: str) -> str | None:
    known = sorted((level for level in levels if level in _LEVELS), key=_LEVELS.index)
    higher = (level for level in known if _LEVELS.index(level) >= _LEVELS.index(wanted))
    return next(higher, known[-1] if known else None)
