"""Commands about API keys: create, list and revoke them."""

from enum import StrEnum
from typing import Annotated, Any

from opencrab.gateways.cli.terminal.arguments import IdList, cli_argument, cli_option
from opencrab.gateways.cli.terminal.command import cli_command
from opencrab.gateways.cli.terminal.dates import format_time_for_terminal
from opencrab.gateways.cli.terminal.terminal import Terminal


class KeyScope(StrEnum):
    """The scopes of an API key: `read` what its grants name, `chat` own sessions, `owner` all."""

    READ = "read"
    CHAT = "chat"
    OWNER = "owner"


@cli_command
def create_key(
    terminal: Terminal,
    name: Annotated[str, cli_option("What the key is for.")],
    scope: Annotated[KeyScope, cli_option("What it may do: owner, chat or read.")] = KeyScope.CHAT,
    principal: Annotated[
        str | None, cli_option("Another key of this person; by default a new person.", "ID")
    ] = None,
    grant: Annotated[
        list[str] | None,
        cli_option(
            "What a read key may see: sessions:ID, agent:ID, metrics or all; repeatable.", "GRANT"
        ),
    ] = None,
) -> None:
    """Create an API key and show its secret once."""
    body: dict[str, Any] = {"name": name, "scope": scope.value}
    if principal is not None:
        body["principal_id"] = principal
    if grant:
        body["grants"] = grant
    created = terminal.client.post("keys", body=body)
    if terminal.options.json:
        terminal.json(created)
        return
    terminal.print_note("key_created", name=created["name"], scope=scope.value, id=created["id"])
    terminal.line(created["secret"])
    terminal.print_note("key_principal", id=created["principal_id"])
    terminal.print_note("key_shown_once")


@cli_command
def list_keys(terminal: Terminal) -> None:
    """List the API keys, without their secrets."""
    keys = list(terminal.client.items("keys"))
    if terminal.options.json:
        terminal.json(keys)
        return

    heads = ("id", "name", "scope", "principal", "grants", "created", "revoked")
    rows = [
        (
            key["id"],
            key["name"],
            key["scope"],
            key["principal_id"],
            _format_grants(terminal, key["grants"]),
            format_time_for_terminal(key["created_at"]),
            format_time_for_terminal(key["revoked_at"]),
        )
        for key in keys
    ]
    terminal.table(heads, rows)


def _format_grants(terminal: Terminal, grants: list[str]) -> str:
    """Return what a read key may see; a key of an earlier release says so."""
    return terminal.words("grants_legacy") if grants == ["legacy"] else ", ".join(grants) or "-"


@cli_command
def revoke_key(
    terminal: Terminal,
    key_id: Annotated[str, cli_argument("A key's id.", "ID"), IdList(("keys",))],
) -> None:
    """Revoke an API key, immediately and for good."""
    revoked = terminal.client.delete("keys", key_id)
    terminal.print_result(revoked, "key_revoked", name=revoked["name"])
