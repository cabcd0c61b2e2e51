"""Commands about API keys: create, list and revoke them."""

from enum import StrEnum
from typing import Annotated

from opencrab.gateways.cli.terminal.arguments import cli_argument, cli_option
from opencrab.gateways.cli.terminal.command import cli_command
from opencrab.gateways.cli.terminal.dates import format_time
from opencrab.gateways.cli.terminal.terminal import Terminal


class KeyScope(StrEnum):
    """What a key may do; each includes the ones before it."""

    READ = "read"
    CHAT = "chat"
    OWNER = "owner"


@cli_command
def create_key(
    terminal: Terminal,
    name: Annotated[str, cli_option("What the key is for.")],
    scope: Annotated[KeyScope, cli_option("What it may do: owner or chat.")] = KeyScope.CHAT,
) -> None:
    """Create an API key and show its secret once."""
    created = terminal.client.post("keys", body={"name": name, "scope": scope.value})
    if terminal.options.json:
        terminal.json(created)
        return
    terminal.note("key_created", name=created["name"], scope=scope.value, id=created["id"])
    terminal.line(created["secret"])
    terminal.note("key_shown_once")


@cli_command
def list_keys(terminal: Terminal) -> None:
    """List the API keys, without their secrets."""
    keys = list(terminal.client.items("keys"))
    if terminal.options.json:
        terminal.json(keys)
        return

    heads = ("id", "name", "scope", "created", "revoked")
    rows = [
        (
            key["id"],
            key["name"],
            key["scope"],
            format_time(key["created_at"]),
            format_time(key["revoked_at"]),
        )
        for key in keys
    ]
    terminal.table(heads, rows)


@cli_command
def revoke_key(
    terminal: Terminal, key_id: Annotated[str, cli_argument("A key's id.", "ID")]
) -> None:
    """Revoke an API key, immediately and for good."""
    revoked = terminal.client.delete("keys", key_id)
    terminal.answer(revoked, "key_revoked", name=revoked["name"])
