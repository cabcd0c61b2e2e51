"""Cost: what an installation on AWS uses in a month, and what AWS asks for it.

Amounts are decimals and money is integer micro-dollars, rounded up part by part, so that an
estimate is never flattered and a total is the sum of what is shown.
"""

from collections.abc import Iterable, Mapping
from datetime import date
from decimal import Decimal
from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidationError, model_validator

from opencrab.domain.agents.heartbeat import DEFAULT_SECONDS
from opencrab.domain.errors import Invalid
from opencrab.domain.usage.aws_meter import Amount, Meter, MeterPrice, Usage
from opencrab.domain.usage.aws_workload import AwsWorkload
from opencrab.domain.value import MicroUsd, Value

HOURS_PER_MONTH = 730
"""The hours of a month in AWS's own calculator."""

MINUTES_PER_MONTH = HOURS_PER_MONTH * 60

SECONDS_PER_DAY = 86_400

_THOUSAND = 1_000
_MB_PER_GB = 1_024


class FunctionRuns(Value):
    """One function's part in a piece of work: all its invocations together.

    Time in which it waits for a model, or for a client's answer, is added.
    """

    invocations: Amount
    milliseconds: Amount
    memory_mb: Annotated[int, Field(ge=128, le=10_240)]
    waits_for: Literal["nothing", "model", "answer"] = "nothing"


class WorkUsage(Value):
    """The resources that one sweep, heartbeat or turn uses, in all and by function."""

    uses: dict[Meter, Amount] = Field(default_factory=dict)
    functions: dict[str, FunctionRuns]

    def usage(
        self, *, model_ms: Decimal = Decimal(0), waiting: bool = False
    ) -> dict[Meter, Decimal]:
        """Sum up the usage, with `model_ms` milliseconds of waiting for a model.

        `waiting` says that a client waits for the answer.
        """
        thinking = [run for run in self.functions.values() if run.waits_for == "model"]
        answer_ms = sum((run.milliseconds for run in thinking), model_ms)
        usage = dict(self.uses)
        for run in self.functions.values():
            waited = {"nothing": Decimal(0), "model": model_ms, "answer": answer_ms * waiting}
            seconds = (run.milliseconds + waited[run.waits_for]) / _THOUSAND
            for meter, amount in (
                (Meter.LAMBDA_REQUESTS, run.invocations),
                (Meter.LAMBDA_GB_SECONDS, seconds * run.memory_mb / _MB_PER_GB),
            ):
                usage[meter] = usage.get(meter, Decimal(0)) + amount
        return usage


class Polling(Value):
    """The requests by which Lambda polls empty queues: each poller repeats after a wait.

    `queues` are FIFO queues, which cost more.
    """

    queues: Annotated[int, Field(ge=0)]
    standard_queues: Annotated[int, Field(ge=0)] = 0
    pollers: Annotated[int, Field(ge=0)]
    wait_seconds: Annotated[int, Field(gt=0)]

    @property
    def usage(self) -> Usage:
        """Requests in a month without messages."""
        of_one = Decimal(MINUTES_PER_MONTH * 60 * self.pollers) / self.wait_seconds
        return {
            Meter.SQS_REQUESTS: of_one * self.queues,
            Meter.STANDARD_SQS_REQUESTS: of_one * self.standard_queues,
        }


class ChoiceUsage(Value):
    """What a parameter of the stack adds when it is on: all month, and with each turn."""

    standing: dict[Meter, Amount] = Field(default_factory=dict)
    queues: Annotated[int, Field(ge=0)] = 0
    standard_queues: Annotated[int, Field(ge=0)] = 0
    turn: WorkUsage = WorkUsage(functions={})


class PriceSheet(Value):
    """AWS's prices in one region, and the measured usage of an installation by meter.

    `heartbeat` is the sweep of each minute, `beat` an agent's own heartbeat, every `beat_seconds`,
    which finds nothing to do, and `night` the hourly check for a nightly review. `summaries` is the
    look for summaries that wait, each minute. `memory` is the
    work after a turn's end: lines are indexed, and sometimes summarised. `visit` is a visit to the
    dashboard behind CloudFront. `watch` is an hour of a client that polls `/events`, `live` one of
    a client with a WebSocket. `cold` is the init of all functions of a turn, of which `cold_share`
    is paid on average. `choices` are parameters of the stack by name.
    """

    region: str
    prices: dict[Meter, MeterPrice]
    standing: dict[Meter, Amount]
    polling: Polling
    heartbeat: WorkUsage
    beat: WorkUsage = WorkUsage(functions={})
    beat_seconds: Annotated[int, Field(gt=0)] = DEFAULT_SECONDS
    night: WorkUsage = WorkUsage(functions={})
    summaries: WorkUsage = WorkUsage(functions={})
    turn: WorkUsage
    memory: WorkUsage = WorkUsage(functions={})
    visit: WorkUsage = WorkUsage(functions={})
    watch: WorkUsage = WorkUsage(functions={})
    live: WorkUsage = WorkUsage(functions={})
    cold: WorkUsage = WorkUsage(functions={})
    cold_share: Annotated[Decimal, Field(ge=0, le=1)] = Decimal(0)
    choices: dict[str, ChoiceUsage] = Field(default_factory=dict)
    model_seconds: Annotated[int, Field(ge=0)]

    @model_validator(mode="after")
    def _every_meter_has_a_price(self) -> Self:
        missing = sorted(set(Meter) - set(self.prices))
        unknown = (
            sorted(set(AwsWorkload.choice_names()) - set(self.choices)) if self.choices else []
        )
        if unknown:
            raise ValueError(f"there is no usage for {', '.join(unknown)}: add it to choices")
        if missing:
            raise ValueError(f"there is no price for {', '.join(missing)}: add it to prices")
        return self

    @classmethod
    def of(cls, table: Mapping[str, Any]) -> Self:
        """Parse a price sheet; raises Invalid, naming the first place that is wrong."""
        try:
            return cls.model_validate(table)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            place = ".".join(map(str, first["loc"])) or "prices"
            raise Invalid(
                f"the price sheet cannot be used: {place!r}: {first['msg']}",
                field=place,
                cure="correct config/aws-pricing.toml, or install OpenCrab again",
            ) from None

    @property
    def as_of(self) -> date:
        """The day of the oldest price."""
        return min(tariff.as_of for tariff in self.prices.values())

    def idle_month_usage(self, chosen: Iterable[str] = ()) -> dict[Meter, Decimal]:
        """Return the usage of a month without messages: storage, polling, sweeps and checks."""
        looking = _times(self.night.usage(), HOURS_PER_MONTH)
        minute = _plus(self.heartbeat.usage(), self.summaries.usage())
        usage = _plus(_times(minute, MINUTES_PER_MONTH), looking)
        polling = self.polling
        for choice in self._chosen(chosen):
            usage = _plus(usage, choice.standing)
            polling = polling.replaced(
                queues=polling.queues + choice.queues,
                standard_queues=polling.standard_queues + choice.standard_queues,
            )
        return _plus(_plus(usage, self.standing), polling.usage)

    def _chosen(self, names: Iterable[str]) -> list[ChoiceUsage]:
        return [self.choices[name] for name in names if name in self.choices]

    def agent_day_usage(self) -> dict[Meter, Decimal]:
        """Return the usage of a day of one agent that has nothing to do."""
        return _times(self.beat.usage(), Decimal(SECONDS_PER_DAY) / self.beat_seconds)

    def turns(
        self,
        count: int | Decimal,
        model_seconds: int,
        *,
        waiting: bool,
        chosen: Iterable[str] = (),
    ) -> dict[Meter, Decimal]:
        """Return the usage of turns of the standard shape: one action and two model calls."""
        model_ms = Decimal(model_seconds) * _THOUSAND
        turn = self.turn.usage(model_ms=model_ms, waiting=waiting)
        for more in (self.memory, *(choice.turn for choice in self._chosen(chosen))):
            turn = _plus(turn, more.usage())
        return _times(_plus(turn, _times(self.cold.usage(), self.cold_share)), count)

    def month(self, workload: AwsWorkload) -> dict[Meter, Decimal]:
        """Return the usage of a month with everything that a workload says."""
        agent_days = Decimal(workload.agents * HOURS_PER_MONTH) / 24
        own = agent_days * workload.own_turns
        seconds = workload.model_seconds
        waits = self.model_seconds if seconds is None else seconds
        chosen = workload.choices
        said = self.turns(workload.turns, waits, waiting=workload.waiting, chosen=chosen)
        return _sum(
            self.idle_month_usage(chosen),
            said,
            self.turns(own, waits, waiting=False, chosen=chosen),
            _times(self.agent_day_usage(), agent_days),
            _times(
                (self.live if "websocket" in chosen else self.watch).usage(), workload.watch_hours
            ),
            self.visits(workload.visits),
            {Meter.MODEL_USD: (own + workload.turns) * workload.model_usd},
        )

    def visits(self, count: int) -> dict[Meter, Decimal]:
        """Return what visits to the dashboard use of CloudFront and of the bucket behind it."""
        return _times(self.visit.usage(), count)


class MeterCost(Value):
    """The cost of one meter in a bill."""

    meter: Meter
    amount: Decimal
    micro_usd: MicroUsd
    after_free_micro_usd: MicroUsd


class Bill(Value):
    """The cost of some usage: without a free tier, and with an unused one."""

    parts: tuple[MeterCost, ...]

    @property
    def micro_usd(self) -> MicroUsd:
        """The total without a free tier, in micro-dollars."""
        return sum(part.micro_usd for part in self.parts)

    @property
    def after_free_micro_usd(self) -> MicroUsd:
        """The total after the free tier, in micro-dollars."""
        return sum(part.after_free_micro_usd for part in self.parts)


class CostEstimate(Value):
    """The cost of an idle month, and of an agent's idle day or a thousand turns on top of it.

    `month` is the cost of a month with all of a workload. `thousand_visits` is what the
    dashboard behind CloudFront costs, and `watcher_hour` a client that polls `/events`.
    """

    idle: Bill
    beating: Bill
    thousand_turns: Bill
    month: Bill
    thousand_visits: Bill
    watcher_hour: Bill


def estimate_aws_usage_cost(sheet: PriceSheet, workload: AwsWorkload) -> CostEstimate:
    """Estimate the cost of an installation whose turns are of the standard shape."""
    given = workload.model_seconds
    seconds, waiting = sheet.model_seconds if given is None else given, workload.waiting
    chosen = workload.choices
    idle = sheet.idle_month_usage(chosen)
    turns = sheet.turns(_THOUSAND, seconds, waiting=waiting, chosen=chosen)
    return CostEstimate(
        idle=_bill(sheet, idle),
        beating=_bill(sheet, sheet.agent_day_usage(), onto=idle),
        thousand_turns=_bill(sheet, turns, onto=idle),
        month=_bill(sheet, sheet.month(workload)),
        thousand_visits=_bill(sheet, sheet.visits(_THOUSAND), onto=idle),
        watcher_hour=_bill(sheet, sheet.watch.usage(), onto=idle),
    )


def _bill(sheet: PriceSheet, usage: Usage, onto: Usage | None = None) -> Bill:
    """Compute the bill of a usage; `onto` was used before and took the free tier first."""
    before = onto or {}
    parts = []
    for meter in Meter:
        amount, used = usage.get(meter, Decimal(0)), before.get(meter, Decimal(0))
        if amount:
            tariff = sheet.prices[meter]
            rest = tariff.after_free(used + amount) - tariff.after_free(used)
            cost = tariff.micro_usd(amount)
            parts.append(
                MeterCost(meter=meter, amount=amount, micro_usd=cost, after_free_micro_usd=rest)
            )
    return Bill(parts=tuple(parts))


def _times(usage: Usage, count: Decimal | int) -> dict[Meter, Decimal]:
    return {meter: amount * count for meter, amount in usage.items()}


def _sum(*usages: Usage) -> dict[Meter, Decimal]:
    found: dict[Meter, Decimal] = {}
    for usage in usages:
        found = _plus(found, usage)
    return found


def _plus(usage: Usage, more: Usage) -> dict[Meter, Decimal]:
    none = Decimal(0)
    meters = {*usage, *more}
    return {meter: usage.get(meter, none) + more.get(meter, none) for meter in meters}
