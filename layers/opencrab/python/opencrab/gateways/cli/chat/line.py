"""Commands that set LINE up: its doctor."""

from opencrab.gateways.cli.discord.discord import print_setup_checks
from opencrab.gateways.cli.terminal.command import cli_command
from opencrab.gateways.cli.terminal.terminal import Terminal


@cli_command
def check_line_setup(terminal: Terminal) -> None:
    """Check LINE's secrets, webhook, quota and agent, and say how to fix them."""
    print_setup_checks(terminal, terminal.client.get("chats", "line")["checks"])


COMMANDS = {"doctor": check_line_setup}
