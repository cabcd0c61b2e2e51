"""Commands about what an installation on AWS costs; they ask no server."""

from decimal import Decimal
from enum import StrEnum
from inspect import Parameter
from typing import TYPE_CHECKING, Annotated, Any

from opencrab.domain.errors import Invalid
from opencrab.gateways.cli.terminal.arguments import cli_option
from opencrab.gateways.cli.terminal.command import cli_command_with
from opencrab.gateways.cli.terminal.terminal import Terminal

if TYPE_CHECKING:
    from opencrab.domain.usage.aws_cost import Bill, CostEstimate, MeterCost, PriceSheet
    from opencrab.domain.usage.aws_workload import AwsWorkload

_MOST = 1_000_000_000
_LONGEST_SECONDS = 300
_MICRO = 1_000_000
_NAMES = {
    "gb": "GB",
    "sqs": "SQS",
    "http": "HTTP",
    "s3": "S3",
    "lambda": "Lambda",
    "kms": "KMS",
    "cloudfront": "CloudFront",
    "websocket": "WebSocket",
    "usd": "USD",
}


class SwitchOption(StrEnum):
    """A parameter of the stack that is on or off."""

    ON = "on"
    OFF = "off"


class SearchOption(StrEnum):
    """The stack's parameter SearchBackend."""

    SQLITE = "sqlite"
    OPENSEARCH = "opensearch"
    EFS = "efs"


_Turns = Annotated[int, cli_option("Turns per month.", min=0, max=_MOST)]
_ModelSeconds = Annotated[
    int | None,
    cli_option(
        "Total time of a turn's model calls.", min=0, max=_LONGEST_SECONDS, show_default=False
    ),
]
_Waiting = Annotated[bool, cli_option("Clients wait for the answer (Prefer: wait).")]
_Agents = Annotated[int, cli_option("Agents with a heartbeat.", min=0, max=_MOST)]
_OwnTurns = Annotated[
    float, cli_option("Turns that each agent starts by itself a day.", min=0, max=1_000)
]
_ModelUsd = Annotated[float, cli_option("Model cost of one turn in US dollars.", min=0, max=1_000)]
_WatchHours = Annotated[
    int, cli_option("Hours per month that clients watch sessions live.", min=0, max=_MOST)
]
_Visits = Annotated[
    int, cli_option("Visits per month to the dashboard behind CloudFront.", min=0, max=_MOST)
]
_Alarms = Annotated[SwitchOption, cli_option("AlarmMail or AlarmTopic is set.")]
_Switch = Annotated[SwitchOption, cli_option("The stack's parameter of that name.")]
_Search = Annotated[SearchOption, cli_option("The stack's parameter SearchBackend.")]
_OFF = SwitchOption.OFF
_OPTIONS: dict[str, tuple[Any, Any]] = {
    "agents": (_Agents, 0),
    "own_turns": (_OwnTurns, 0.0),
    "model_usd": (_ModelUsd, 0.0),
    "watch_hours": (_WatchHours, 0),
    "visits": (_Visits, 0),
    "search": (_Search, SearchOption.SQLITE),
}
_SWITCHES = {"alarms": _Alarms} | dict.fromkeys(
    ("dashboard", "tracing", "discord", "websocket", "world"), _Switch
)
_OPTIONS |= {name: (kind, _OFF) for name, kind in _SWITCHES.items()}


@cli_command_with(
    {
        name: Parameter(name, Parameter.KEYWORD_ONLY, default=usual, annotation=kind)
        for name, (kind, usual) in _OPTIONS.items()
    }
)
def estimate_aws_usage(
    terminal: Terminal,
    /,
    turns: _Turns = 1_000,
    model_seconds: _ModelSeconds = None,
    *,
    waiting: _Waiting = False,
    **more: Any,
) -> None:
    """Estimate what an installation on AWS costs in a month."""
    from opencrab.domain.usage.aws_cost import estimate_aws_usage_cost
    from opencrab.domain.usage.aws_workload import AwsSearchBackend, AwsWorkload

    sheet = _sheet(terminal)
    workload = AwsWorkload(
        turns=turns,
        model_seconds=sheet.model_seconds if model_seconds is None else model_seconds,
        waiting=waiting,
        agents=more["agents"],
        own_turns=Decimal(str(more["own_turns"])),
        model_usd=Decimal(str(more["model_usd"])),
        watch_hours=more["watch_hours"],
        visits=more["visits"],
        search=AwsSearchBackend(more["search"].value),
        **{name: more[name] is SwitchOption.ON for name in _SWITCHES},
    )
    found = estimate_aws_usage_cost(sheet, workload)
    if terminal.options.json:
        terminal.json(
            {**_of_sheet(sheet), **workload.model_dump(mode="json"), **_of_estimate(found)}
        )
        return
    _print_estimate(terminal, sheet, workload, found)


def _print_estimate(
    terminal: Terminal, sheet: "PriceSheet", workload: "AwsWorkload", found: "CostEstimate"
) -> None:
    terminal.print_sentence("cost_prices", region=sheet.region, as_of=sheet.as_of)
    terminal.line()
    terminal.print_sentence("cost_idle")
    _draw(terminal, found.idle)
    terminal.line()
    terminal.print_sentence("cost_beating", seconds=sheet.beat_seconds)
    _draw(terminal, found.beating)
    terminal.line()
    key = "cost_turns_waiting" if workload.waiting else "cost_turns"
    terminal.print_sentence(key, count=f"{1_000:,}", seconds=workload.model_seconds)
    _draw(terminal, found.thousand_turns)
    terminal.line()
    if found.watcher_hour.parts:
        terminal.print_sentence("cost_watching")
        _draw(terminal, found.watcher_hour)
        terminal.line()
    if found.thousand_visits.parts:
        terminal.print_sentence("cost_visits", count=f"{1_000:,}")
        _draw(terminal, found.thousand_visits)
        terminal.line()
    month = found.month
    if workload.agents or workload.watch_hours or workload.visits or workload.choices:
        terminal.print_sentence("cost_all")
        _draw(terminal, month)
        terminal.line()
    all_of_it, rest = _dollars(month.micro_usd), _dollars(month.after_free_micro_usd)
    terminal.print_sentence("cost_month", count=f"{workload.turns:,}", cost=all_of_it, rest=rest)
    terminal.print_sentence("cost_free")


def _sheet(terminal: Terminal) -> "PriceSheet":
    if terminal.options.sheet is None:
        raise Invalid(terminal.words("no_prices"), cure=terminal.words("no_prices_cure"))
    return terminal.options.sheet()


def _draw(terminal: Terminal, bill: "Bill") -> None:
    words = terminal.words
    rows = [
        (_name(terminal, part.meter), _number(part.amount), *_costs(part)) for part in bill.parts
    ]
    terminal.table(
        ("part", "amount", "cost", "rest"), [*rows, (words("cost_total"), "", *_costs(bill))]
    )


def _name(terminal: Terminal, meter: str) -> str:
    """Return the name of a meter; in English its own name, with the usual case of abbreviations."""
    return " ".join(_NAMES.get(word, word) for word in terminal.words.term(meter).split(" "))


def _costs(of: "MeterCost | Bill") -> tuple[str, str]:
    return _dollars(of.micro_usd), _dollars(of.after_free_micro_usd)


def _number(amount: Decimal) -> str:
    """Format an amount with at most three decimals and no trailing zeros."""
    whole, _, places = f"{amount:,.3f}".partition(".")
    places = places.rstrip("0")
    return f"{whole}.{places}" if places else whole


def _dollars(micro_usd: int) -> str:
    return f"${Decimal(micro_usd) / _MICRO:,.4f}"


def _of_sheet(sheet: "PriceSheet") -> dict[str, Any]:
    return {"region": sheet.region, "as_of": sheet.as_of.isoformat()}


def _of_estimate(found: "CostEstimate") -> dict[str, Any]:
    bills = {
        "idle": found.idle,
        "agent_day": found.beating,
        "thousand_turns": found.thousand_turns,
        "month": found.month,
        "thousand_visits": found.thousand_visits,
        "watcher_hour": found.watcher_hour,
    }
    return {name: _of_bill(bill) for name, bill in bills.items()}


def _of_bill(bill: "Bill") -> dict[str, Any]:
    """Return a bill as JSON: money in micro-dollars, exact amounts as text."""
    return {
        "micro_usd": bill.micro_usd,
        "after_free_micro_usd": bill.after_free_micro_usd,
        "parts": [
            {
                "meter": part.meter.value,
                "amount": f"{part.amount:f}",
                "micro_usd": part.micro_usd,
                "after_free_micro_usd": part.after_free_micro_usd,
            }
            for part in bill.parts
        ],
    }
