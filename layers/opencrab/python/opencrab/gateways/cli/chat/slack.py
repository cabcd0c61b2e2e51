"""Commands that set Slack up: its doctor."""

from opencrab.gateways.cli.discord.discord import print_setup_checks
from opencrab.gateways.cli.terminal.command import cli_command
from opencrab.gateways.cli.terminal.terminal import Terminal


@cli_command
def check_slack_setup(terminal: Terminal) -> None:
    """Check Slack's secrets, scopes and agent, and say how to fix them."""
    print_setup_checks(terminal, terminal.client.get("chats", "slack")["checks"])


COMMANDS = {"doctor": check_slack_setup}
