"""The command that tries models out on an agent's work, live: answers, checks, cost and time.

Every task is a real turn in a session of its own, so all that holds for turns holds here: no call
without money set aside, no action without leave. Answers are checked by the tasks' own rules.
"""

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

import typer

from opencrab.gateways.cli.terminal.amounts import (
    UNKNOWN,
    format_dollars_for_terminal,
    format_estimate_for_terminal,
    format_percent_for_terminal,
    format_seconds_for_terminal,
    parse_terminal_amount,
)
from opencrab.gateways.cli.terminal.arguments import Yes, cli_option
from opencrab.gateways.cli.terminal.command import cli_command
from opencrab.gateways.cli.terminal.input import ask_yes_or_no_on_terminal
from opencrab.gateways.cli.terminal.lookup import AgentView, find_agent_for_terminal
from opencrab.gateways.cli.terminal.terminal import Terminal

Found = dict[str, Any]

_MOST_USD, _STEP = Decimal(1_000), Decimal("0.000001")
_MODELS = 10


@cli_command
def run_learning_trial_of_models(
    terminal: Terminal,
    *,
    persona: Annotated[str, cli_option("The agent: an id or name.", "AGENT")],
    models: Annotated[
        str | None, cli_option("Aliases or provider:model; default: all selectable ones.", "A,B")
    ] = None,
    tasks: Annotated[Path | None, cli_option("A TOML file with your own tasks.")] = None,
    budget_usd: Annotated[str, cli_option("Start no more tasks after this is spent.")] = "0.50",
    yes: Yes = False,
) -> None:
    """Let several models do an agent's tasks; compare answers, cost and time. Costs money."""
    from opencrab.gateways.cli.learning.model_trial_tasks import SHIPPED, read_learning_trial_tasks

    budget = _budget(terminal, budget_usd)
    asked = read_learning_trial_tasks(tasks or SHIPPED)
    agent = find_agent_for_terminal(terminal, persona)
    aliases = terminal.client.get("llm", "aliases")
    wanted = _parse_model_names(terminal, models, aliases["selectable"])
    if not yes:
        _agree(terminal, agent, wanted, len(asked), budget)
    from opencrab.gateways.cli.learning.model_trial_run import ModelTrial

    trial = ModelTrial(terminal, agent, asked, budget, aliases["aliases"])
    terminal.show(trial.run(wanted), _draw)


COMMANDS: dict[str, Callable[..., None]] = {"models": run_learning_trial_of_models}


def _budget(terminal: Terminal, text: str) -> int:
    budget = parse_terminal_amount(text, _STEP, _MOST_USD)
    if not budget:
        raise typer.BadParameter(terminal.words("eval_budget"), param_hint="--budget-usd")
    return budget


def _parse_model_names(
    terminal: Terminal, models: str | None, selectable: Sequence[str]
) -> tuple[str, ...]:
    """Return the names of the models to try, without duplicates."""
    named = selectable if models is None else [name.strip() for name in models.split(",")]
    wanted = tuple(dict.fromkeys(name for name in named if name))
    if not wanted:
        raise typer.BadParameter(terminal.words("eval_no_models"), param_hint="--models")
    if len(wanted) > _MODELS:
        said = terminal.words("eval_many_models", most=_MODELS)
        raise typer.BadParameter(said, param_hint="--models")
    return wanted


def _agree(
    terminal: Terminal, agent: AgentView, wanted: Sequence[str], tasks: int, budget: int
) -> None:
    """Show the maximum cost and ask for consent; exits if it is refused."""
    if not terminal.interactive or terminal.options.json:
        raise typer.BadParameter(terminal.words("eval_yes_needed"), param_hint="--yes")
    turn = terminal.client.get("budgets", agent=agent["id"])["limits"]["turn_micro_usd"]
    most = min(len(wanted) * tasks * turn, budget + turn)
    terminal.print_sentence(
        "eval_plan",
        name=agent["name"],
        tasks=tasks,
        models=", ".join(wanted),
        most=format_dollars_for_terminal(most),
        budget=format_dollars_for_terminal(budget),
    )
    if not ask_yes_or_no_on_terminal(terminal.words("eval_really"), default=False):
        terminal.print_sentence("eval_not_run")
        raise typer.Exit


def _draw(terminal: Terminal, found: Mapping[str, Any]) -> None:
    from opencrab.gateways.cli.terminal.tables import draw_table_on_terminal

    words, models = terminal.words, found["models"]
    rows = [
        (
            each["model"],
            format_estimate_for_terminal(words, each["score"]),
            f"{each['scored']} / {len(each['tasks'])}",
            format_dollars_for_terminal(each["cost_micro_usd"]),
            format_seconds_for_terminal(each["latency_ms"]),
            each["calls"],
            each["failed"] or "",
        )
        for each in models
    ]
    heads = ("model", "checks_passed", "scored", "cost", "task_time", "calls", "failed")
    terminal.table(heads, rows)
    terminal.line()
    by_task = [
        (
            task["id"],
            *(format_percent_for_terminal(each["tasks"][place]["score"]) for each in models),
        )
        for place, task in enumerate(models[0]["tasks"])
    ]
    columns = [*terminal.column_headings("task_id"), *(each["model"] for each in models)]
    draw_table_on_terminal(terminal.console, columns, by_task)
    if any(task["score"] is None for each in models for task in each["tasks"]):
        terminal.print_sentence("eval_unscored", mark=UNKNOWN)
    terminal.print_sentence(
        "eval_spent",
        spent=format_dollars_for_terminal(found["spent_micro_usd"]),
        budget=format_dollars_for_terminal(found["budget_micro_usd"]),
    )
    terminal.print_sentence("eval_remembered", name=found["agent"])
