"""An agent's use of models: grading its answers, reading metrics, comparing models.

Self-given grades are the weakest of all signals: they are calibrated against what really came of
the turns before they count at all.
"""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any, Literal

from pydantic import Field

from opencrab.actions.models.view import (
    model_analysis_action_result,
    model_comparison_action_result,
    model_row_result,
)
from opencrab.actions.registry import Group
from opencrab.domain.access.authority import Authority
from opencrab.domain.access.impact import Impact
from opencrab.domain.agents.agent import agent_selectable_aliases
from opencrab.domain.errors import Conflict, Invalid, NotFound, Refused
from opencrab.domain.insight.figures import weeks_of_analytics
from opencrab.domain.insight.recommendations import (
    Focus,
    analyze_calls_of_period,
    compare_models_for_analytics,
)
from opencrab.domain.learning.evidence import Evidence
from opencrab.domain.models.routing import ModelReference, Use
from opencrab.domain.turn.action import ActionResult, Effect
from opencrab.domain.usage.counters import DailyTally
from opencrab.domain.usage.ledger import Grouping, Judgement, Period, UsageRow, parse_usage_task_key
from opencrab.domain.value import ShortText, Value
from opencrab.ports.learning import load_current_learning_data
from opencrab.ports.models.model import ModelInfo, distinct_models, selectable_model_choices
from opencrab.ports.turn.action import PAGED_BYTES, ActionContext

STALE = timedelta(days=7)
"""Age from which an answer can no longer be graded."""

COMPARED = 6
"""Most models that one call compares."""

_ROWS = 50
_NEWEST = 100

group = Group("meta")

Purpose = Literal["thinking", "conversation", "analysis", "tool_calling", "creative"]


class EvaluateResponse(Value):
    quality_score: float = Field(description="0 to 1")
    task_success: bool
    evaluation: ShortText = Field(description="What was good or bad")
    metrics_id: ShortText = Field("", description="Empty: your latest answer")
    would_use_again: bool | None = None
    better_model_suggestion: ShortText = Field("", description="An alias that you may select")


class AnalyzeLlmUsage(Value):
    period: Period = Period.LAST_WEEK
    group_by: Grouping = Grouping.MODEL
    focus: Focus = Focus.ALL


class GetLlmMetrics(Value):
    period: Period = Period.LAST_DAY
    limit: int = Field(20, ge=1, le=_ROWS)
    after: ShortText = Field("", description="The metrics_id that the last page ended with")


class CompareModels(Value):
    models: tuple[ModelReference, ...] = Field(min_length=2, max_length=COMPARED)
    purpose: Purpose | None = None
    task_type: ShortText = ""


def _row(arguments: EvaluateResponse, context: ActionContext) -> dict[str, Any]:
    """Select the answer to grade, once for all retries.

    Raises NotFound, Refused if it is older than STALE, and Conflict if it has a grade.
    """
    require_insider_for_models(context)
    _judgement(arguments, context)
    wanted = arguments.metrics_id.strip()
    row = context.reach.usage.row(context.agent.id, wanted) if wanted else _latest(context)
    if context.clock.now() - row.at > STALE:
        raise Refused(
            f"answer {row.id!r} is older than {STALE.days} days and can no longer be rated",
            field="metrics_id",
            cure="rate an answer soon after it was given",
        )
    if row.quality_score is not None:
        raise Conflict(
            f"answer {row.id!r} was already rated",
            field="metrics_id",
            cure="an answer is rated once; the first rating counts",
        )
    return {"row": row.id}


@group.action(
    impact=Impact.SELF,
    effect=Effect.KEYED,
    sentences=("Judge its own answer: {quality_score}", "自分の答えを評価する: {quality_score}"),
    ja="自分の答えを正直に評価します(0から1)。実際の結果と照らして補正されます。",
    prepare=_row,
)
def evaluate_response(arguments: EvaluateResponse, context: ActionContext) -> ActionResult:
    """Grade one of your own answers honestly; grades are calibrated against later results."""
    judged = context.reach.usage.judge(
        context.agent.id, context.prepared["row"], _judgement(arguments, context)
    )
    return ActionResult.ok(
        metrics_id=judged.id,
        model=f"{judged.provider}:{judged.model}",
        quality_score=judged.quality_score,
    )


@group.action(
    impact=Impact.READ,
    effect=Effect.PURE,
    sentences=("Look at its use of models", "モデルの使い方を分析する"),
    ja="自分のモデルの使い方を分析します。費用、品質(区間つき)、速さ、提案。",
    result_bytes=PAGED_BYTES,
)
def analyze_llm_usage(arguments: AnalyzeLlmUsage, context: ActionContext) -> ActionResult:
    """Analyse your use of models: cost, quality with its interval, latency, recommendations."""
    require_insider_for_models(context)
    found = analyze_calls_of_period(
        _tallies(arguments.period, context),
        _evidence(context),
        period=arguments.period,
        now=context.clock.now(),
        group_by=arguments.group_by,
        focus=arguments.focus,
        choices={alias: info.name for alias, info in selectable_models(context).items()},
    )
    return ActionResult.ok(**model_analysis_action_result(found, context.agent.language))


@group.action(
    impact=Impact.READ,
    effect=Effect.PURE,
    sentences=("Look at its model calls", "モデル呼び出しの記録を見る"),
    ja="モデル呼び出しの記録を新しい順に見ます。next_after があれば続きがあります。",
    result_bytes=PAGED_BYTES,
    spills=False,
)
def get_llm_metrics(arguments: GetLlmMetrics, context: ActionContext) -> ActionResult:
    """List your model calls, the newest first; `next_after` tells where to go on."""
    require_insider_for_models(context)
    rows = context.reach.usage.rows(
        context.agent.id,
        since=arguments.period.since(context.clock.now()),
        after=arguments.after.strip() or None,
        limit=arguments.limit + 1,
    )
    shown = rows[: arguments.limit]
    told: dict[str, Any] = {"metrics": [model_row_result(row) for row in shown]}
    if len(rows) > len(shown):
        told["next_after"] = shown[-1].id
    return ActionResult.ok(**told)


@group.action(
    impact=Impact.READ,
    effect=Effect.PURE,
    sentences=("Compare {models}", "{models}を比べる"),
    ja="モデルを同じ種類の仕事で比べます。差と区間、データ不足ならそのことがわかります。",
    result_bytes=PAGED_BYTES,
)
def compare_models(arguments: CompareModels, context: ActionContext) -> ActionResult:
    """Compare models on the same kinds of work, or learn that there is too little data."""
    require_insider_for_models(context)
    evidence = _evidence(context)
    used = {parse_usage_task_key(key)[2] for key in evidence.models}
    names = dict.fromkeys(_resolve_model_name(each, used, context) for each in arguments.models)
    if len(names) < 2:  # noqa: PLR2004  - two sides of a comparison
        raise Invalid(
            f"all names mean the same model, {next(iter(names))!r}",
            field="models",
            cure="give another model",
        )
    found = compare_models_for_analytics(
        _tallies(Period.LAST_MONTH, context),
        evidence,
        tuple(names),
        purpose=Use(arguments.purpose) if arguments.purpose else None,
        task_type=arguments.task_type.strip() or None,
    )
    return ActionResult.ok(**model_comparison_action_result(found))


def selectable_models(context: ActionContext) -> dict[str, ModelInfo]:
    """Return the models that the agent may choose, keyed by the first alias of each."""
    return distinct_models(selectable_model_choices(context.reach.models, context.agent))


def require_insider_for_models(context: ActionContext) -> None:
    """Raise Refused for public and peer turns: figures of models concern the owner's money."""
    if context.turn.authority in {Authority.PUBLIC, Authority.PEER}:
        raise Refused(
            "only your owner, your users and you may read your model usage",
            cure="answer without it",
        )


def _judgement(arguments: EvaluateResponse, context: ActionContext) -> Judgement:
    score, suggested = arguments.quality_score, arguments.better_model_suggestion.strip()
    if not 0 <= score <= 1:
        raise Invalid(
            f"quality_score is {score:g}; it must be from 0 to 1",
            field="quality_score",
            cure="0 is useless, 0.5 average, 1 excellent",
        )
    allowed = agent_selectable_aliases(context.agent, context.reach.models.routing)
    if suggested and suggested not in allowed:
        raise Refused(
            f"{suggested[:100]!r} is not a model that you may select",
            field="better_model_suggestion",
            cure=f"one of {', '.join(allowed)}" if allowed else "omit it",
        )
    return Judgement(
        quality_score=score,
        task_success=arguments.task_success,
        self_evaluation=arguments.evaluation,
        would_use_again=arguments.would_use_again,
        better_model_suggestion=suggested or None,
    )


def _latest(context: ActionContext) -> UsageRow:
    """Return this turn's last completed model call; raises NotFound."""
    rows = context.reach.usage.rows(
        context.agent.id, since=context.turn.created_at - timedelta(minutes=1), limit=_NEWEST
    )
    for row in rows:
        if row.turn_id == context.turn.id:
            return row
    raise NotFound(
        "no model call of this turn has ended",
        field="metrics_id",
        cure="use an ID from get_llm_metrics",
    )


def _tallies(period: Period, context: ActionContext) -> Iterator[DailyTally]:
    """Yield a period's daily tallies, read week by week to bound memory."""
    for first, last in weeks_of_analytics(period, context.clock.now()):
        yield from context.reach.tallies.between(context.agent.id, first, last)


def _evidence(context: ActionContext) -> Evidence:
    return load_current_learning_data(
        context.reach.facts, context.agent.id, context.clock.now()
    ).evidence


def _resolve_model_name(reference: str, used: set[str], context: ActionContext) -> str:
    """Return the full name of a model that was used or is configured; raises Invalid."""
    if reference in used:
        return reference
    return context.reach.models.get(reference).info.name
