"""What-if: cost, quality and time of a period's calls, replayed with other models.

Token counts stay the same, though another model may need more or fewer for the same work. Cost is
replayed call by call; quality and time are those measured for the other model with the same purpose
and type of task, and None if there are none.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from itertools import islice
from typing import Annotated

from pydantic import Field

from opencrab.domain.errors import Invalid
from opencrab.domain.insight.figures import analytics_counts_of_days, analytics_task_key
from opencrab.domain.learning.evidence import Evidence, ModelEvidence
from opencrab.domain.models.routing import ModelReference, Use
from opencrab.domain.money.budget import Price
from opencrab.domain.statistics.confidence import Estimate, estimate_mean
from opencrab.domain.usage.counters import DailyTally, usage_tally_day
from opencrab.domain.usage.ledger import Period, UsageRow
from opencrab.domain.value import MicroUsd, Unit, Value
from opencrab.engine.insight.costs import insight_calls_listed_since
from opencrab.engine.insight.measures import model_name_for_evidence, read_learning_tallies
from opencrab.engine.models.preferences import (
    current_model_preferences,
    require_directory_of_models,
)
from opencrab.engine.models.price_list import model_price_on_day
from opencrab.engine.runtime import Runtime
from opencrab.ports.documents import Documents
from opencrab.ports.learning import load_current_learning_data
from opencrab.ports.models.directory import ProviderDirectory
from opencrab.ports.models.model import Models
from opencrab.ports.paging import paginate
from opencrab.ports.usage.ledger import UsageLedger

MOST_ROWS = 20_000
"""Most calls that are replayed, the newest."""

_PAGE = 500

Aliases = Annotated[dict[ModelReference, ModelReference], Field(min_length=1, max_length=20)]
PriceOf = Callable[[str, date], Price]
"""Function that returns the price of a model on a day."""


class AliasChange(Value):
    """An alias: its model now, the other model, and the other model's price now."""

    alias: str
    model: str
    other: str
    price: Price


class CallTotals(Value):
    """Cost, quality and mean time of some calls; null is unknown."""

    cost_micro_usd: MicroUsd
    quality: Estimate | None = None
    latency_ms: float | None = None


class Replayed(Value):
    """The calls for one purpose and type of task that another model would have answered.

    The tokens of `uncounted` calls are unknown: their recorded cost is used in `then` as well.
    """

    purpose: Use
    task_type: str
    model: str
    other: str
    calls: int
    uncounted: int
    now: CallTotals
    then: CallTotals


class WhatIf(Value):
    """A period as it was, and with other models; costs are those of all its calls.

    `quality` and `latency_ms` are those of the moved calls for which both are known on both sides;
    `quality_share` and `latency_share` are the shares of these calls. `complete` is false if there
    were more than 20,000 calls: these are the newest. `since` is also set for the period `all` if
    older calls were deleted after `retention.calls_days`. `as_of` is the last day whose turns are
    part of the evidence.
    """

    agent_id: str
    period: Period
    since: datetime | None
    until: datetime
    as_of: str | None
    meant: tuple[AliasChange, ...]
    calls: int
    moved: int
    uncounted: int
    complete: bool
    now: CallTotals
    then: CallTotals
    saved_micro_usd: MicroUsd
    quality_share: Unit
    latency_share: Unit
    tasks: tuple[Replayed, ...]


def what_if(runtime: Runtime, agent_id: str, aliases: Mapping[str, str], period: Period) -> WhatIf:
    """Replay an agent's ledger with other models, at the prices of each call's day.

    Raises NotFound for an unknown agent. Raises Invalid, naming the alias, for a model that is
    unknown or has no price, and for two aliases of the same model.
    """
    agent = runtime.home.agents.get(agent_id).agent
    current_model_preferences(runtime)
    until = runtime.clock.now()
    since = period.since(until)
    if since is None:
        since = insight_calls_listed_since(runtime, until, usage_tally_day(agent.created_at))
    meant = _resolve_replacements(runtime.models, runtime.directory, aliases)
    learned = load_current_learning_data(runtime.home.facts, agent_id, until)
    rows = _rows(runtime.home.usage, agent_id, since, until)
    found = compute_what_if_costs(
        islice(rows, MOST_ROWS), meant, _prices(runtime.home.facts, meant)
    )
    tasks = _tasks(
        found, learned.evidence, read_learning_tallies(runtime, agent_id, Period.LAST_MONTH)
    )
    quality_now, quality_then, quality_share = _qualities(tasks)
    latency_now, latency_then, latency_share = _latencies(tasks)
    spent = found.cost + sum(task.then.cost_micro_usd - task.now.cost_micro_usd for task in tasks)
    return WhatIf(
        agent_id=agent_id,
        period=period,
        since=since,
        until=until,
        as_of=learned.as_of or None,
        meant=meant,
        calls=found.calls,
        moved=sum(task.calls for task in tasks),
        uncounted=sum(task.uncounted for task in tasks),
        complete=next(rows, None) is None,
        now=CallTotals(cost_micro_usd=found.cost, quality=quality_now, latency_ms=latency_now),
        then=CallTotals(cost_micro_usd=spent, quality=quality_then, latency_ms=latency_then),
        saved_micro_usd=found.cost - spent,
        quality_share=quality_share,
        latency_share=latency_share,
        tasks=tasks,
    )


@dataclass
class CallSum:
    """Sums over the calls of one purpose, type of task and model."""

    other: str
    calls: int = 0
    uncounted: int = 0
    cost: int = 0
    other_cost: int = 0
    latency: int = 0
    timed: int = 0


@dataclass
class ReplayedLedger:
    """A replayed ledger: all of its calls, and those that another model would have answered."""

    calls: int = 0
    cost: int = 0
    sums: dict[tuple[Use, str, str], CallSum] = field(default_factory=dict)


def compute_what_if_costs(
    rows: Iterable[UsageRow], meant: Sequence[AliasChange], price: PriceOf
) -> ReplayedLedger:
    """Sum up a ledger; cached tokens stay cached, at the other model's price for them."""
    others = {each.model: each.other for each in meant}
    ledger = ReplayedLedger()
    for row in rows:
        ledger.calls += 1
        ledger.cost += row.cost
        name = f"{row.provider}:{row.model}"
        if name in others:
            found = ledger.sums.setdefault(
                (row.purpose, row.task_type, name), CallSum(other=others[name])
            )
            _add(found, row, price)
    return ledger


def _add(found: CallSum, row: UsageRow, price: PriceOf) -> None:
    found.calls += 1
    found.cost += row.cost
    if row.latency_ms is not None:
        found.latency += row.latency_ms
        found.timed += 1
    if max(row.usage.input_tokens, row.usage.output_tokens) > 0:
        # The cost that the vendor reported holds for that vendor alone.
        tokens = row.usage.replaced(reported_micro_usd=None)
        found.other_cost += price(found.other, row.at.date()).cost(tokens)
    else:
        found.other_cost += row.cost
        found.uncounted += row.cost > 0


def _resolve_replacements(
    models: Models, directory: ProviderDirectory | None, aliases: Mapping[str, str]
) -> tuple[AliasChange, ...]:
    found = dict[str, AliasChange]()
    for alias, wanted in aliases.items():
        place = f"aliases.{alias}"
        model, other = (
            _resolve_model_name(models, alias, place),
            _resolve_model_name(models, wanted, place),
        )
        if model in found:
            raise Invalid(
                f"{found[model].alias!r} and {alias!r} both mean {model!r} now",
                field=place,
                cure="use one of them",
            )
        price = require_directory_of_models(directory).price(other)
        if price is None:
            raise Invalid(
                f"the price of {other!r} is unknown",
                field=place,
                cure="set it in config/pricing.toml, or use a model that `opencrab models` lists",
            )
        found[model] = AliasChange(alias=alias, model=model, other=other, price=price)
    return tuple(found.values())


def _resolve_model_name(models: Models, reference: str, place: str) -> str:
    """Return the full name of a model, configured or not; raises Invalid if it has no provider."""
    name = model_name_for_evidence(models, reference)
    if name is not None:
        return name
    aliases = models.routing.aliases
    name = aliases.get(reference, reference)
    if ":" not in name:
        raise Invalid(
            f"{reference!r} is not a known model",
            field=place,
            cure=f"use PROVIDER:MODEL or an alias: {', '.join(sorted(aliases)) or 'none is set'}",
        )
    return name


def _prices(facts: Documents, meant: Sequence[AliasChange]) -> PriceOf:
    today = {each.other: each.price for each in meant}
    found = dict[tuple[str, date], Price]()

    def price(name: str, day: date) -> Price:
        if (name, day) not in found:
            known_then = model_price_on_day(facts, name, day, now=today[name])
            found[name, day] = known_then or today[name]
        return found[name, day]

    return price


def _rows(
    usage: UsageLedger, agent_id: str, since: datetime | None, until: datetime
) -> Iterator[UsageRow]:
    """Yield the rows of a period, newest first, page by page."""
    rows = usage.rows
    return paginate(rows, agent_id, limit=_PAGE, since=since, until=until)


def _tasks(
    ledger: ReplayedLedger, evidence: Evidence, tallies: Iterable[DailyTally]
) -> tuple[Replayed, ...]:
    """Return the replayed calls by purpose, type of task and model, most expensive first."""
    latencies = _mean_latencies(tallies)
    tasks = []
    for (purpose, task_type, model), found in ledger.sums.items():
        now, then = (analytics_task_key(purpose, task_type, name) for name in (model, found.other))
        tasks.append(
            Replayed(
                purpose=purpose,
                task_type=task_type,
                model=model,
                other=found.other,
                calls=found.calls,
                uncounted=found.uncounted,
                now=CallTotals(
                    cost_micro_usd=found.cost,
                    quality=_quality(evidence, now),
                    latency_ms=found.latency / found.timed if found.timed else None,
                ),
                then=CallTotals(
                    cost_micro_usd=found.other_cost,
                    quality=_quality(evidence, then),
                    latency_ms=latencies.get(then),
                ),
            )
        )
    return tuple(sorted(tasks, key=lambda task: (-task.now.cost_micro_usd, -task.calls)))


def _quality(evidence: Evidence, key: str) -> Estimate | None:
    """Return the mean value of turns with a model; turns without an answer from it count as 0."""
    found = evidence.models.get(key, ModelEvidence())
    return estimate_mean(found.value_sums)


def _mean_latencies(tallies: Iterable[DailyTally]) -> dict[str, float]:
    """Return the mean latency of calls in milliseconds by purpose, type of task and model."""
    taken = dict[str, tuple[int, int]]()
    for cell, counts in analytics_counts_of_days(tallies).items():
        key = analytics_task_key(cell.purpose, cell.task_type, cell.name)
        latency, timed = taken.get(key, (0, 0))
        taken[key] = latency + counts.get("latency", 0), timed + counts.get("timed", 0)
    return {key: latency / timed for key, (latency, timed) in taken.items() if timed}


def _qualities(tasks: Sequence[Replayed]) -> tuple[Estimate | None, Estimate | None, float]:
    """Return the mean quality now and then, and the share of calls for which both are known."""
    pairs = [
        (task.calls, task.now.quality, task.then.quality)
        for task in tasks
        if task.now.quality is not None and task.then.quality is not None
    ]
    calls = sum(count for count, _, _ in pairs)
    if not calls:
        return None, None, 0.0
    now = _mean([(count / calls, first) for count, first, _ in pairs])
    then = _mean([(count / calls, second) for count, _, second in pairs])
    return now, then, calls / sum(task.calls for task in tasks)


def _mean(parts: Sequence[tuple[float, Estimate]]) -> Estimate:
    """Return the weighted mean of estimates that may rest on the same turns.

    A turn calls models for several purposes, so the parts may depend on each other. The limits of
    their intervals are averaged, which is conservative under any dependence, since the standard
    deviation of a sum is at most the sum of the standard deviations. `n` is the largest n of a
    part.
    """
    return Estimate(
        n=max(each.n for _, each in parts),
        mean=sum(weight * each.mean for weight, each in parts),
        low=sum(weight * each.low for weight, each in parts),
        high=sum(weight * each.high for weight, each in parts),
    )


def _latencies(tasks: Sequence[Replayed]) -> tuple[float | None, float | None, float]:
    pairs = [
        (task.calls, task.now.latency_ms, task.then.latency_ms)
        for task in tasks
        if task.now.latency_ms is not None and task.then.latency_ms is not None
    ]
    calls = sum(count for count, _, _ in pairs)
    if not calls:
        return None, None, 0.0
    now = sum(count * first for count, first, _ in pairs) / calls
    then = sum(count * second for count, _, second in pairs) / calls
    return now, then, calls / sum(task.calls for task in tasks)
