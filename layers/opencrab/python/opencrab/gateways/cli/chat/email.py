"""Commands that set e-mail up: its doctor."""

from opencrab.gateways.cli.discord.discord import print_setup_checks
from opencrab.gateways.cli.terminal.command import cli_command
from opencrab.gateways.cli.terminal.terminal import Terminal


@cli_command
def check_email_setup(terminal: Terminal) -> None:
    """Check the mailbox, the sending of mails and the agents, and say how to fix them."""
    print_setup_checks(terminal, terminal.client.get("chats", "email")["checks"])


COMMANDS = {"doctor": check_email_setup}
