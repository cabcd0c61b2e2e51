"""The command that settles calls which were perhaps billed."""

from decimal import Decimal
from typing import Annotated, Any

import typer

from opencrab.domain.amounts import format_micro_usd
from opencrab.gateways.cli.terminal.amounts import parse_terminal_amount
from opencrab.gateways.cli.terminal.arguments import PeriodOption, cli_option
from opencrab.gateways.cli.terminal.command import cli_command
from opencrab.gateways.cli.terminal.dates import format_time_for_terminal
from opencrab.gateways.cli.terminal.lookup import find_agent_for_terminal
from opencrab.gateways.cli.terminal.terminal import Terminal
from opencrab.gateways.cli.usage.usage import Agent

_MOST, _STEP = Decimal(1_000_000), Decimal("0.000001")


@cli_command
def reconcile_usage_costs(
    terminal: Terminal,
    agent: Agent = None,
    period: Annotated[PeriodOption, cli_option("How far back.")] = PeriodOption.LAST_MONTH,
    call: Annotated[str | None, cli_option("Settle only this call.", "ID")] = None,
    cost: Annotated[
        str | None, cli_option("Its cost in US dollars, as the provider's bill says.", "USD")
    ] = None,
    *,
    not_billed: Annotated[bool, cli_option("It is not on the provider's bill.")] = False,
    above_reservation: Annotated[
        bool, cli_option("Accept a cost above what was reserved for the call.")
    ] = False,
) -> None:
    """Settle calls that may have been billed: ask their providers, or say what the bill says."""
    if call is None:
        if cost is not None or not_billed or above_reservation:
            raise typer.BadParameter(terminal.words("reconcile_needs_call"), param_hint="--call")
        _ask_for_all(terminal, agent, period)
        return
    if cost is not None and not_billed:
        raise typer.BadParameter(terminal.words("reconcile_one_cost"), param_hint="--not-billed")
    amount = 0 if not_billed else None if cost is None else _amount(terminal, cost)
    found = _post(terminal, call, amount, above_reservation=above_reservation)
    terminal.show(found, _draw_outcome)


def _amount(terminal: Terminal, text: str) -> int:
    amount = parse_terminal_amount(text.strip(), _STEP, _MOST)
    if amount is None:
        raise typer.BadParameter(terminal.words("reconcile_amount"), param_hint="--cost")
    return amount


def _ask_for_all(terminal: Terminal, agent: str | None, period: PeriodOption) -> None:
    """Ask the providers of all unconfirmed calls, and show what was settled and what is held."""
    agents = (
        [find_agent_for_terminal(terminal, agent)]
        if agent
        else list(terminal.client.items("agents"))
    )
    settled, held, complete = list[Any](), list[Any](), True
    for one in agents:
        listed = terminal.client.get("costs", "unconfirmed", agent=one["id"], period=period.value)
        complete = complete and listed["complete"]
        for each in listed["items"]:
            found = _post(terminal, each["metrics_id"], None)
            (settled if found["settled"] else held).append(found)
    if terminal.options.json:
        terminal.json({"settled": settled, "held": held, "complete": complete})
        return
    for found in (*settled, *held):
        _draw_outcome(terminal, found)
    if held:
        terminal.print_sentence("reconcile_how")
    if not settled and not held:
        terminal.print_sentence("reconcile_none")
    if not complete:
        terminal.print_note("costs_incomplete")


def _post(
    terminal: Terminal, call: str, amount: int | None, *, above_reservation: bool = False
) -> dict[str, Any]:
    body: dict[str, Any] = {"call": call, "above_reservation": above_reservation}
    if amount is not None:
        body["cost_micro_usd"] = amount
    found: dict[str, Any] = terminal.client.post("costs", "reconcile", body=body)
    return found


def _draw_outcome(terminal: Terminal, found: dict[str, Any]) -> None:
    """Print one call: what it cost after all, or why its money stays held."""
    call, words = found["call"], terminal.words
    terminal.print_fields(
        [
            ("id", call["metrics_id"]),
            ("reconcile_time", format_time_for_terminal(call["at"])),
            ("model", f"{call['provider']}:{call['model']}"),
            ("reconcile_turn", call["turn_id"]),
        ]
    )
    if not found["settled"]:
        held = format_micro_usd(call["held_micro_usd"])
        if call["held_micro_usd"]:
            terminal.print_dim(
                words("reconcile_held", amount=held, why=terminal.error_text(found["problem"]))
            )
        else:
            terminal.print_dim(words("reconcile_nothing_held"))
        terminal.line()
        return
    cost, back = found["cost_micro_usd"], found["returned_micro_usd"]
    key = "reconcile_settled" if back >= 0 else "reconcile_above"
    amounts = {"cost": format_micro_usd(cost), "back": format_micro_usd(abs(back))}
    terminal.print_dim(words(key, by=found["settled_by"], **amounts))
    terminal.line()
