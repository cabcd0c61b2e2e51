"""Commands about what an installation on AWS costs; they ask no server."""

from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any

from opencrab.domain.errors import Invalid
from opencrab.gateways.cli.terminal.arguments import cli_option
from opencrab.gateways.cli.terminal.command import cli_command
from opencrab.gateways.cli.terminal.terminal import Terminal

if TYPE_CHECKING:
    from opencrab.domain.usage.aws_cost import Bill, CostEstimate, MeterCost, PriceSheet

_MOST_TURNS = 1_000_000_000
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
}


@cli_command
def estimate_aws_usage(
    terminal: Terminal,
    turns: Annotated[int, cli_option("Turns per month.", min=0, max=_MOST_TURNS)] = 1_000,
    model_seconds: Annotated[
        int | None,
        cli_option(
            "Total time of a turn's model calls.",
            min=0,
            max=_LONGEST_SECONDS,
            show_default=False,
        ),
    ] = None,
    *,
    waiting: Annotated[bool, cli_option("Clients wait for the answer (Prefer: wait).")] = False,
) -> None:
    """Estimate what an installation on AWS costs, without model tokens."""
    from opencrab.domain.usage.aws_cost import estimate_aws_usage_cost

    sheet = _sheet(terminal)
    seconds = sheet.model_seconds if model_seconds is None else model_seconds
    found = estimate_aws_usage_cost(sheet, turns, model_seconds=seconds, waiting=waiting)
    if terminal.options.json:
        given = {"turns": turns, "model_seconds": seconds, "waiting": waiting}
        terminal.json({**_of_sheet(sheet), **given, **_of_estimate(found)})
        return
    terminal.print_sentence("cost_prices", region=sheet.region, as_of=sheet.as_of)
    terminal.line()
    terminal.print_sentence("cost_idle")
    _draw(terminal, found.idle)
    terminal.line()
    terminal.print_sentence("cost_beating", seconds=sheet.beat_seconds)
    _draw(terminal, found.beating)
    terminal.line()
    key = "cost_turns_waiting" if waiting else "cost_turns"
    terminal.print_sentence(key, count=f"{1_000:,}", seconds=seconds)
    _draw(terminal, found.thousand_turns)
    terminal.line()
    if found.thousand_visits.parts:
        terminal.print_sentence("cost_visits", count=f"{1_000:,}")
        _draw(terminal, found.thousand_visits)
        terminal.line()
    month = found.month
    all_of_it, rest = _dollars(month.micro_usd), _dollars(month.after_free_micro_usd)
    terminal.print_sentence("cost_month", count=f"{turns:,}", cost=all_of_it, rest=rest)
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
