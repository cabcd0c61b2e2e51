"""Figures of models for tests: tallies of made-up calls, and evidence of made-up turns."""

from datetime import UTC, datetime, timedelta
from typing import Any

from opencrab.domain.learning.evidence import ALL, Evidence, ModelEvidence, worth_key
from opencrab.domain.money.budget import Usage
from opencrab.domain.statistics.confidence import MomentSums
from opencrab.domain.turn.record import CallState
from opencrab.domain.usage.counters import DailyTally, merge_usage_tallies, usage_tally_of_call
from opencrab.domain.usage.ledger import Grouping, parse_usage_task_key
from tests.contract.example import usage_row

NOW = datetime(2026, 11, 22, 10, 30, tzinfo=UTC)
GPT, MINI, LOCAL = "openai:gpt", "openai:mini", "ollama:meta/llama"


def calls(
    model: str, n: int, *, at: datetime = NOW, cost: int = 1_000, **changes: Any
) -> tuple[DailyTally, ...]:
    """The tally of so many equal calls of 100 tokens in and 10 out."""
    provider, _, name = model.partition(":")
    rows = (
        usage_row(
            place,
            at=at,
            provider=provider,
            model=name,
            cost=cost,
            usage=Usage(input_tokens=100, output_tokens=10),
            **({"state": CallState.COMPLETED, "latency_ms": 500} | changes),
        )
        for place in range(1, n + 1)
    )
    return merge_usage_tallies(map(usage_tally_of_call, rows))


def worth(n: int, mean: float) -> MomentSums:
    """So many turns that were worth 0 or 1, with about this mean."""
    good = round(n * mean)
    return MomentSums(n=n, total=float(good), squares=float(good))


def of(n: int, mean: float, *, cost: float = 1_000.0, latency: float = 500.0) -> ModelEvidence:
    """What so many judged turns with a model tell."""
    return ModelEvidence(
        quality=worth(n, mean),
        cost=MomentSums(n=n, total=n * cost, squares=n * cost * cost),
        latency=MomentSums(n=n, total=n * latency, squares=n * latency * latency),
        turns=n,
    )


def evidence(**by_model: ModelEvidence) -> Evidence:
    """Evidence of conversations with gpt, mini and local."""
    names = {"gpt": GPT, "mini": MINI, "local": LOCAL}
    return apart(
        {f"conversation/conversation/{names[key]}": each for key, each in by_model.items()}
    )


def apart(models: dict[str, ModelEvidence]) -> Evidence:
    """Evidence of turns each of which had one model, for one purpose and type of task."""
    answers, worths = dict[str, ModelEvidence](), dict[str, MomentSums]()
    for key, each in models.items():
        purpose, task_type, model = parse_usage_task_key(key)
        answer = f"{task_type}/{model}"
        answers[answer] = answers.get(answer, ModelEvidence()) + each
        groups = {Grouping.PURPOSE: purpose, Grouping.TASK_TYPE: task_type}
        for group in (ALL, *(worth_key(by, name) for by, name in groups.items())):
            worths[group] = worths.get(group, MomentSums()) + each.value_sums
    n = worths.get(ALL, MomentSums()).n
    return Evidence(turns=n, judged=n, models=models, answers=answers, worths=worths)


def ago(hours: float) -> datetime:
    """Before now."""
    return NOW - timedelta(hours=hours)
