"""Commands that set Telegram up: its doctor, and where it posts messages."""

from typing import Annotated

from opencrab.domain.errors import Invalid
from opencrab.gateways.cli.discord.discord import print_setup_checks
from opencrab.gateways.cli.terminal.arguments import cli_option
from opencrab.gateways.cli.terminal.command import cli_command
from opencrab.gateways.cli.terminal.terminal import Terminal


@cli_command
def check_telegram_setup(terminal: Terminal) -> None:
    """Check Telegram's secrets, webhook and agent, and say how to fix them."""
    print_setup_checks(terminal, terminal.client.get("chats", "telegram")["checks"])


@cli_command
def set_telegram_webhook(
    terminal: Terminal,
    *,
    url: Annotated[str, cli_option("The address of this server: https://….", "URL")] = "",
    remove: Annotated[bool, cli_option("Have messages posted nowhere: a server polls.")] = False,
) -> None:
    """Have Telegram post messages to this server, or nowhere."""
    if bool(url) is remove:
        raise Invalid(
            terminal.words("telegram_webhook_which"),
            field="url",
            cure=terminal.words("telegram_webhook_cure"),
        )
    told = terminal.client.post("chats", "telegram", "webhook", body={"url": url})
    sentence = "telegram_webhook_set" if told["url"] else "telegram_webhook_none"
    terminal.print_result(told, sentence, url=told["url"])


COMMANDS = {"doctor": check_telegram_setup, "webhook": set_telegram_webhook}
