"""Commands that steer learning: end and pin experiments, apply and undo changes."""

from collections.abc import Callable
from typing import Annotated

from opencrab.gateways.cli.learning.learning import (
    decide_learned_change,
    run_learning_review,
    show_learned_changes,
    show_learning_experiments,
    steer_experiment,
)
from opencrab.gateways.cli.terminal.arguments import AgentName, IdList, cli_argument
from opencrab.gateways.cli.terminal.command import cli_command
from opencrab.gateways.cli.terminal.terminal import Terminal

Subject = Annotated[str, cli_argument("An experiment's subject, as the list shows it.", "SUBJECT")]
ChangeId = Annotated[str, cli_argument("A change's id.", "ID"), IdList(("changes",), of_agent=True)]


@cli_command
def stop_experiment(terminal: Terminal, agent: AgentName, subject: Subject) -> None:
    """End an experiment and keep what is best now."""
    steer_experiment(terminal, agent, "stop", subject)


@cli_command
def pin_learning_subject(terminal: Terminal, agent: AgentName, subject: Subject) -> None:
    """Pin a subject: learning does not change it."""
    steer_experiment(terminal, agent, "pin", subject)


@cli_command
def unpin_learned_subject(terminal: Terminal, agent: AgentName, subject: Subject) -> None:
    """Unpin a subject."""
    steer_experiment(terminal, agent, "unpin", subject)


@cli_command
def apply_change(terminal: Terminal, agent: AgentName, change: ChangeId) -> None:
    """Apply a proposed change."""
    decide_learned_change(terminal, agent, "apply", change)


@cli_command
def undo_change(terminal: Terminal, agent: AgentName, change: ChangeId) -> None:
    """Undo a change."""
    decide_learned_change(terminal, agent, "undo", change)


COMMANDS: dict[str, Callable[..., None]] = {
    "experiments": show_learning_experiments,
    "stop": stop_experiment,
    "pin": pin_learning_subject,
    "unpin": unpin_learned_subject,
    "changes": show_learned_changes,
    "apply": apply_change,
    "undo": undo_change,
    "run": run_learning_review,
}
