"""Commands that set the budgets' limits and reset them to the configuration."""

from typing import Annotated

from opencrab.gateways.cli.terminal.arguments import cli_argument
from opencrab.gateways.cli.terminal.command import cli_command
from opencrab.gateways.cli.terminal.terminal import Terminal
from opencrab.gateways.cli.usage.usage import change_usage_budgets

_LIMITS = (
    "A limit in US dollars (heartbeat: percent; session=0: no limit); "
    "`opencrab costs budgets` lists the names."
)


@cli_command
def set_limits_of_usage(
    terminal: Terminal, limits: Annotated[list[str], cli_argument(_LIMITS, "NAME=USD...")]
) -> None:
    """Set limits of the budgets; the others stay."""
    change_usage_budgets(terminal, None, limits, reset=False, option="NAME=USD")


@cli_command
def reset_limits_of_usage(terminal: Terminal) -> None:
    """Reset all limits to the configuration."""
    change_usage_budgets(terminal, None, None, reset=True)
