"""Results of the model actions as a model reads them: dollars, means and their intervals."""

from collections.abc import Mapping
from typing import Any

from opencrab.actions.models.text import action_text_for_models
from opencrab.domain.insight.figures import Figures
from opencrab.domain.insight.recommendations import (
    Analysis,
    Comparison,
    QualityDifference,
    Recommendation,
)
from opencrab.domain.statistics.confidence import Estimate
from opencrab.domain.usage.ledger import Grouping, UsageRow
from opencrab.domain.value import Language, MicroUsd

GROUPS = 12
"""Most groups in one result; the others are counted."""

RECOMMENDED = 10
_MILLION = 1_000_000


def model_analysis_action_result(found: Analysis, language: Language) -> dict[str, Any]:
    """Convert an analysis to a result; `since` is the start that was really counted."""
    totals = found.totals
    told: dict[str, Any] = {
        "period": found.period.value,
        "since": found.since.isoformat() if found.since else None,
        "calls": totals.calls,
        "total_cost": model_action_cost_dollars(totals.cost_micro_usd),
        "total_tokens": totals.total_tokens,
        "success_rate": None if totals.success_rate is None else round(totals.success_rate, 3),
        "avg_latency": totals.mean_latency_ms,
        "avg_quality": model_quality_action_result(totals.quality),
        "cost_efficiency": totals.cost_efficiency,
        "by_model": _groups(found.by_model),
        "by_purpose": _groups(found.by_purpose),
        "quality_by_model": {
            model: model_quality_action_result(known)
            for model, known in list(found.quality_by_model.items())[:GROUPS]
        },
        "recommendations": [_recommendation(each) for each in found.recommendations[:RECOMMENDED]],
    }
    if found.group_by in {Grouping.TASK_TYPE, Grouping.COMPLEXITY}:
        told[f"by_{found.group_by.value}"] = _groups(found.groups)
    if not totals.calls:
        told["note"] = action_text_for_models("no_calls", language)
    elif totals.quality is None:
        told["note"] = action_text_for_models("no_quality", language)
    return told


def model_comparison_action_result(found: Comparison) -> dict[str, Any]:
    """Convert a comparison to a result: figures of each model and of each pair."""
    return {
        "models": {name: _figures(each) for name, each in found.models.items()},
        "differences": [_difference(each) for each in found.differences],
    }


def model_row_result(row: UsageRow) -> dict[str, Any]:
    """Convert a ledger row to a result, without the person; unknown values are left out."""
    told: dict[str, Any] = {
        "metrics_id": row.id,
        "at": row.at.isoformat(timespec="seconds"),
        "model": f"{row.provider}:{row.model}",
        "purpose": row.purpose.value,
        "task_type": row.task_type,
        "state": row.state.value,
        "input_tokens": row.usage.input_tokens,
        "output_tokens": row.usage.output_tokens,
        "cost_usd": model_action_cost_dollars(row.cost),
        "latency_ms": row.latency_ms,
        "quality_score": row.quality_score,
    }
    return {name: value for name, value in told.items() if value is not None}


def model_quality_action_result(known: Estimate | None) -> dict[str, Any] | None:
    """Convert a mean to a result with its 95 % interval and sample size; None stays None."""
    if known is None:
        return None
    return {
        "mean": round(known.mean, 3),
        "low": round(known.low, 3),
        "high": round(known.high, 3),
        "turns": known.n,
    }


def model_action_cost_dollars(micro: MicroUsd | float) -> float:
    """Convert micro-dollars to dollars."""
    return round(micro / _MILLION, 6)


def _groups(parts: Mapping[str, Figures]) -> dict[str, Any]:
    shown: dict[str, Any] = {name: _figures(each) for name, each in list(parts.items())[:GROUPS]}
    if len(parts) > GROUPS:
        shown["…"] = {"left_out": len(parts) - GROUPS}
    return shown


def _figures(part: Figures) -> dict[str, Any]:
    return {
        "usage_count": part.calls,
        "total_cost": model_action_cost_dollars(part.cost_micro_usd),
        "avg_latency": part.mean_latency_ms,
        "avg_quality": model_quality_action_result(part.quality),
        "success_rate": None if part.success_rate is None else round(part.success_rate, 3),
        "cost_efficiency": part.cost_efficiency,
    }


def _recommendation(each: Recommendation) -> dict[str, Any]:
    told = each.expected_improvement
    expected = {
        "quality": round(told.quality, 3),
        "cost_saved": told.cost_saved,
        "latency_saved": told.latency_saved,
    }
    return {
        "category": each.category.value,
        "purpose": each.purpose.value,
        "task_type": each.task_type,
        "current": each.current,
        "suggestion": each.suggestion,
        "expected_improvement": {k: v for k, v in expected.items() if v is not None},
        "confidence": each.confidence,
    }


def _difference(each: QualityDifference) -> dict[str, Any]:
    return {
        "first": each.first,
        "second": each.second,
        "outcome": each.outcome.value,
        "quality": model_quality_action_result(each.quality),
        "judged_turns": list(each.judged),
    }
