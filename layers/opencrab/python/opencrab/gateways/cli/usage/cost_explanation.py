"""Explaining: a turn's money in plain lines, from what was drawn to what was given back."""

from typing import Any

from rich.text import Text

from opencrab.domain.amounts import format_micro_usd
from opencrab.gateways.cli.terminal.tables import draw_fact_table_on_terminal, indent_terminal_text
from opencrab.gateways.cli.terminal.terminal import Terminal
from opencrab.gateways.cli.terminal.text import clean_terminal_text

_GROUNDS = (
    "counted",
    "reported",
    "free",
    "uncounted",
    "unknown",
    "perhaps_billed",
    "not_billed",
    "settled",
    "running",
)
"""Why a call cost what it did, as far as this program knows."""


def print_usage_costs_of_turn(terminal: Terminal, explanation: dict[str, Any]) -> None:
    """Print every call of a turn with its costs, the sums, and whether they match if complete."""
    words = terminal.words
    status = words.term(explanation["status"])
    title = words("explain_title", id=explanation["turn_id"], status=status)
    terminal.draw(Text(clean_terminal_text(title), style="bold"))
    for number, call in enumerate(explanation["calls"], 1):
        terminal.line()
        _call(terminal, number, call)
    terminal.line()
    _sums(terminal, explanation)
    if not explanation["complete"]:
        terminal.print_note("explain_incomplete")
    elif explanation["adds_up"]:
        terminal.print_sentence("explain_holds")
    else:
        terminal.print_note("explain_broken")


def _call(terminal: Terminal, number: int, call: dict[str, Any]) -> None:
    words = terminal.words
    state = words.term(call["state"])
    if call["fault"]:
        state = f"{state} ({words.term(call['fault'])})"
    title = [
        str(number),
        f"{call['provider']}:{call['model']}",
        words.term(call["purpose"]),
        state,
        words("explain_chosen", by=words.term(call["chosen_by"])),
    ]
    terminal.draw(Text(clean_terminal_text(" · ".join(title)), style="bold"))
    counted = [share for share in call["shares"] if share["tokens"]]
    for share in call["shares"]:
        _detail(terminal, _share(terminal, share))
    if not counted and call["ground"] in _GROUNDS:
        _detail(terminal, words(f"ground_{call['ground']}"))
    cost, reserved = (
        format_micro_usd(call["cost_micro_usd"]),
        format_micro_usd(call["reserved_micro_usd"]),
    )
    _detail(terminal, words("explain_cost", cost=cost, reserved=reserved))


def _share(terminal: Terminal, share: dict[str, Any]) -> str:
    words, cost = terminal.words, format_micro_usd(share["micro_usd"])
    kind = words.term(share["kind"])
    if not share["tokens"]:
        return f"{kind}: {cost}"
    price = format_micro_usd(share["per_million"])
    return words("explain_share", kind=kind, tokens=f"{share['tokens']:,}", price=price, cost=cost)


def _sums(terminal: Terminal, explanation: dict[str, Any]) -> None:
    words = terminal.words
    days = ", ".join(
        f"{one['day']} {format_micro_usd(one['micro_usd'])}" for one in explanation["drawn"]
    )
    scopes = ", ".join(explanation["scopes"])
    drawn = format_micro_usd(explanation["drawn_micro_usd"])
    returned = explanation["returned_micro_usd"]
    back = words("sum_returned") if returned >= 0 else words("sum_taken")
    pairs = [
        (words("sum_drawn"), f"{drawn} ({days}; {scopes})" if days else drawn),
        (words("sum_spent"), format_micro_usd(explanation["spent_micro_usd"])),
        (words("sum_held"), format_micro_usd(explanation["held_micro_usd"])),
        (back, format_micro_usd(abs(returned))),
    ]
    draw_fact_table_on_terminal(terminal.console, pairs)


def _detail(terminal: Terminal, text: str) -> None:
    terminal.draw(indent_terminal_text(Text(clean_terminal_text(text))))
