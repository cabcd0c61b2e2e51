"""The command that replays an agent's calls with other models: costs, quality and time expected."""

from typing import Annotated, Any

import typer

from opencrab.gateways.cli.terminal.amounts import (
    format_dollars_for_terminal,
    format_estimate_for_terminal,
    format_percent_for_terminal,
    format_seconds_for_terminal,
)
from opencrab.gateways.cli.terminal.arguments import AgentName, PeriodOption, cli_option
from opencrab.gateways.cli.terminal.command import cli_command
from opencrab.gateways.cli.terminal.lookup import find_agent_for_terminal
from opencrab.gateways.cli.terminal.terminal import Terminal

Found = dict[str, Any]


@cli_command
def what_if(
    terminal: Terminal,
    agent: AgentName,
    *,
    alias: Annotated[
        list[str],
        cli_option(
            "Map an alias to another model, for example smart=openai:gpt-5-mini; repeatable.",
            "ALIAS=PROVIDER:MODEL",
        ),
    ],
    period: Annotated[PeriodOption, cli_option("How far back.")] = PeriodOption.LAST_WEEK,
) -> None:
    """Estimate what an agent's calls would have cost with other models, and their quality."""
    aliases = dict(_meaning(terminal, text) for text in alias)
    found = find_agent_for_terminal(terminal, agent)
    body = {"aliases": aliases, "period": period.value}
    shown = terminal.client.post("agents", found["id"], "whatif", body=body)
    terminal.show(shown, lambda terminal, shown: _draw(terminal, found["name"], shown))


def _meaning(terminal: Terminal, text: str) -> tuple[str, str]:
    alias, _, model = text.partition("=")
    alias, model = alias.strip(), model.strip()
    if not alias or not model:
        raise typer.BadParameter(terminal.words("alias_form"), param_hint="--alias")
    return alias, model


def _draw(terminal: Terminal, name: str, shown: Found) -> None:
    terminal.print_sentence(
        "whatif_calls", name=name, calls=f"{shown['calls']:,}", moved=f"{shown['moved']:,}"
    )
    for each in shown["meant"]:
        terminal.print_sentence(
            "whatif_meant", **{key: each[key] for key in ("alias", "model", "other")}
        )
    if not shown["moved"]:
        terminal.print_sentence("whatif_none")
        return
    _tasks(terminal, shown["tasks"])
    _totals(terminal, shown)
    if shown["uncounted"]:
        terminal.print_sentence("whatif_uncounted", count=shown["uncounted"])
    if not shown["complete"]:
        terminal.print_note("whatif_incomplete", count=f"{shown['calls']:,}")
    terminal.print_sentence("whatif_tokens")


def _tasks(terminal: Terminal, tasks: list[Found]) -> None:
    """Print two rows per task: the actual model, and below it the alternative."""
    words, rows = terminal.words, []
    for task in tasks:
        kinds = dict.fromkeys(map(words.term, (task["purpose"], task["task_type"])))
        first = (" / ".join(kinds), f"{task['calls']:,}")
        for label, of in ((first, "now"), (("", ""), "then")):
            done = task[of]
            rows.append(
                (
                    *label,
                    task["model"] if of == "now" else f"→ {task['other']}",
                    format_dollars_for_terminal(done["cost_micro_usd"]),
                    format_estimate_for_terminal(words, done["quality"]),
                    format_seconds_for_terminal(done["latency_ms"]),
                )
            )
    heads = ("for", "calls", "model", "cost", "quality", "latency")
    terminal.table(heads, rows)


def _totals(terminal: Terminal, shown: Found) -> None:
    words, now, then = terminal.words, shown["now"], shown["then"]
    saved = shown["saved_micro_usd"]
    key = "whatif_saves" if saved > 0 else "whatif_same" if saved == 0 else "whatif_adds"
    terminal.print_sentence(
        key,
        now=format_dollars_for_terminal(now["cost_micro_usd"]),
        then=format_dollars_for_terminal(then["cost_micro_usd"]),
        difference=format_dollars_for_terminal(abs(saved)),
    )
    if then["quality"] is None:
        terminal.print_sentence("whatif_no_quality")
    else:
        terminal.print_sentence(
            "whatif_quality",
            now=format_estimate_for_terminal(words, now["quality"]),
            then=format_estimate_for_terminal(words, then["quality"]),
            share=format_percent_for_terminal(shown["quality_share"]),
        )
    if then["latency_ms"] is not None:
        terminal.print_sentence(
            "whatif_latency",
            now=format_seconds_for_terminal(now["latency_ms"]),
            then=format_seconds_for_terminal(then["latency_ms"]),
            share=format_percent_for_terminal(shown["latency_share"]),
        )
