"""Choosing the language model that an agent thinks with, and listing the available ones."""

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from pydantic import Field

from opencrab.actions.models.text import action_text_for_models
from opencrab.actions.registry import Group
from opencrab.domain.access.impact import Impact
from opencrab.domain.agents.agent import agent_selectable_aliases
from opencrab.domain.errors import Conflict, Invalid, Refused
from opencrab.domain.models.availability import is_free_model_price, model_listed_by_provider
from opencrab.domain.models.routing import Duration, ModelChosen, ModelReference, Use
from opencrab.domain.turn.action import ActionResult, Effect
from opencrab.domain.value import ShortText, Value
from opencrab.ports.models.model import ModelInfo
from opencrab.ports.models.readiness import ProviderHealth
from opencrab.ports.turn.action import ActionContext, may_agent_select_models

group = Group("llm")

_MOST_OTHERS = 30
"""Most free models without an alias in one result; the others are counted."""

_STAND_IN = "scripted"
_MOST_SECONDS = 0.5
"""How long an agent waits for providers that nobody asked lately."""


class SelectLlm(Value):
    purpose: Literal["thinking", "conversation", "analysis", "tool_calling", "creative"]
    model_alias: ModelReference = Field(description="One of the aliases that you may select")
    reason: ShortText
    duration: Duration = Duration.THIS_TURN


class GetAvailableModels(Value):
    pass


class GetCurrentLlmConfig(Value):
    pass


def _version(arguments: SelectLlm, context: ActionContext) -> dict[str, Any]:
    """Return the agent's version if the choice is permanent; saving requires the same version."""
    if arguments.duration is not Duration.PERMANENT:
        return {}
    return {"version": context.reach.agents.get(context.agent.id).agent.version}


@group.action(
    impact=Impact.SELF,
    effect=Effect.KEYED,
    sentences=("Think with {model_alias} for {purpose}", "{purpose}に{model_alias}を使う"),
    ja="用途ごとに使う言語モデルを選びます。このターンの残りは、用途にかかわらずそのモデルです。",
    prepare=_version,
    offered=may_agent_select_models,
)
def select_llm(arguments: SelectLlm, context: ActionContext) -> ActionResult:
    """Choose a language model for a purpose; the rest of this turn has it, whatever its purpose."""
    _check(arguments, context)
    if arguments.duration is Duration.PERMANENT:
        _remember(arguments, context)
    choice = ModelChosen(
        use=Use(arguments.purpose),
        model=arguments.model_alias,
        duration=arguments.duration,
        reason=arguments.reason,
    )
    return ActionResult.ok(
        choice,
        selected=arguments.model_alias,
        purpose=arguments.purpose,
        duration=arguments.duration.value,
        reason=arguments.reason,
    )


@group.action(
    impact=Impact.READ,
    effect=Effect.PURE,
    sentences=("Look at the language models", "言語モデルの一覧を見る"),
    ja="選べる言語モデルの一覧と、それぞれの料金(百万トークンあたりの米ドル)や上限を見ます。",
    offered=may_agent_select_models,
)
def get_available_models(arguments: GetAvailableModels, context: ActionContext) -> ActionResult:
    """List the models that you may select, with prices (USD per million tokens) and limits."""
    found = {alias: _model_info(alias, context) for alias in _selectable(context)}
    answers = _answers(context)
    named = {info.name for info in found.values() if isinstance(info, ModelInfo)}
    others = [name for name in _listed_free(answers, context) if name not in named]
    more: dict[str, Any] = {}
    if others:
        note = action_text_for_models("free_others", context.agent.language)
        more = {"free_others": others[:_MOST_OTHERS], "note": note}
    if len(others) > _MOST_OTHERS:
        more["free_others_left_out"] = len(others) - _MOST_OTHERS
    return ActionResult.ok(
        models=[_describe_model(alias, info, answers) for alias, info in found.items()], **more
    )


@group.action(
    impact=Impact.READ,
    effect=Effect.PURE,
    sentences=("Look at the models in use", "使用中のモデルを見る"),
    ja="いま用途ごとにどの言語モデルを使っているか、誰が選んだかを見ます。",
    offered=may_agent_select_models,
)
def get_current_llm_config(arguments: GetCurrentLlmConfig, context: ActionContext) -> ActionResult:
    """See which model you think with for each purpose, and who chose it."""
    routing = context.reach.models.routing
    return ActionResult.ok(
        default=routing.default,
        models={use.value: _current(use, context) for use in Use if use is not Use.EMBEDDING},
        selectable=list(_selectable(context)),
        private=context.agent.llm.private,
    )


def _selectable(context: ActionContext) -> tuple[str, ...]:
    return agent_selectable_aliases(context.agent, context.reach.models.routing)


def _check(arguments: SelectLlm, context: ActionContext) -> None:
    allowed = _selectable(context)
    if arguments.model_alias not in allowed:
        raise Refused(
            f"the model {arguments.model_alias!r} may not be selected",
            field="model_alias",
            cure=f"select one of {', '.join(allowed)}",
        )
    info = context.reach.models.get(arguments.model_alias).info
    if info.price is None:
        raise Invalid(
            f"{info.name!r} cannot be selected: its price is unknown",
            field="model_alias",
            cure="select another one; get_available_models shows prices",
        )
    if context.agent.llm.private and not info.private:
        raise Refused(
            f"{info.name!r} is not private; you may use private models only",
            field="model_alias",
            cure="select a private model; get_available_models lists them",
        )
    if not info.functions:
        raise Invalid(
            f"{info.name!r} does not support tool calls",
            field="model_alias",
            cure="select a model that does; get_available_models lists them",
        )


def _remember(arguments: SelectLlm, context: ActionContext) -> None:
    """Save the choice with the agent; a retry saves nothing. Raises Conflict on another change."""
    agent, use = context.reach.agents.get(context.agent.id).agent, Use(arguments.purpose)
    if agent.llm.models.get(use) == arguments.model_alias:
        return
    if agent.version != context.prepared["version"]:
        raise Conflict(
            "your agent's settings were changed concurrently", cure="call select_llm again"
        )
    models = agent.llm.models | {use: arguments.model_alias}
    changed = agent.replaced(llm=agent.llm.replaced(models=models), updated_at=context.clock.now())
    context.reach.agents.save(changed)


def _model_info(alias: str, context: ActionContext) -> ModelInfo | Invalid:
    try:
        return context.reach.models.get(alias).info
    except Invalid as error:
        return error


def _answers(context: ActionContext) -> Mapping[str, ProviderHealth] | None:
    """Return what the providers answered lately, with their lists; None if nobody asks them."""
    if context.reach.readiness is None:
        return None
    return context.reach.readiness.readiness(wait_seconds=_MOST_SECONDS)


def _listed_free(
    answers: Mapping[str, ProviderHealth] | None, context: ActionContext
) -> Iterator[str]:
    """Yield the models that providers list now and that cost nothing, such as Ollama's."""
    for provider, answer in sorted((answers or {}).items()):
        for model in answer.models or () if answer.ok and provider != _STAND_IN else ():
            info = _model_info(f"{provider}:{model}", context)
            if isinstance(info, Invalid) or not is_free_model_price(info.price):
                continue
            if info.private or not context.agent.llm.private:
                yield info.name


def _describe_model(
    alias: str, info: ModelInfo | Invalid, answers: Mapping[str, ProviderHealth] | None
) -> dict[str, Any]:
    if isinstance(info, Invalid):
        return {"alias": alias, "available": False, "why": info.message}
    price = info.price
    told = {} if answers is None else _readiness(info, answers.get(info.provider))
    return {
        "alias": alias,
        "available": price is not None,
        "model": info.name,
        "input_usd": None if price is None else price.input_per_million / 1_000_000,
        "output_usd": None if price is None else price.output_per_million / 1_000_000,
        "max_input_tokens": info.max_input_tokens,
        "actions": info.functions,
        "vision": info.vision,
        "private": info.private,
        **told,
    }


def _readiness(info: ModelInfo, health: ProviderHealth | None) -> dict[str, Any]:
    """Return whether a provider answered; one that says no is not available, whatever it costs.

    Of a free model its provider's list says whether it is there: what is not installed cannot run.
    """
    if health is None:
        return {"ready": False}
    if not health.ok:
        return {"ready": False, "available": False, "why": health.problem}
    name, listed = info.name.partition(":")[2], health.models
    here = listed is None or model_listed_by_provider(name, listed)
    if here or not is_free_model_price(info.price) or info.provider == _STAND_IN:
        return {"ready": True}
    return {"ready": False, "available": False, "why": f"{info.provider} does not have it now"}


def _current(use: Use, context: ActionContext) -> dict[str, Any]:
    """Return the model for a use, and those that traffic splits chose for this turn."""
    routing, basis, choices = context.reach.models.routing, context.basis, context.choices
    chosen = routing.chosen(use, basis, choices)
    learned = {
        lot.task_type: lot.model
        for lot in basis.lots
        if lot.use is use and routing.chosen(use, basis, choices, lot.task_type).by == "learned"
    }
    told = {"learned": learned} if learned else {}
    return {"model": chosen.model, "chosen_by": chosen.by, **told}
