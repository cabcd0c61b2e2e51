"""Commands that set Discord up: the bot's commands, its invitation, its doctor, who is where."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from opencrab.domain.errors import Unavailable
from opencrab.gateways.cli.terminal.arguments import AgentName, Yes, cli_option
from opencrab.gateways.cli.terminal.command import cli_command, cli_command_with, cli_parameter
from opencrab.gateways.cli.terminal.input import confirm_on_terminal
from opencrab.gateways.cli.terminal.lookup import find_agent_for_terminal
from opencrab.gateways.cli.terminal.options import RelayWay
from opencrab.gateways.cli.terminal.terminal import Terminal

_MARKS = {"ok": "✓", "warning": "·", "problem": "✗"}
_CHANGES = (("added", "+"), ("changed", "~"), ("removed", "-"))
_LINKS = {"server": "discord_invite_server", "user": "discord_invite_user"}
_TOLD = {"ready": "relay_ready", "waits": "relay_waits", "refused": "relay_refused"}
_MEMORY = "discord-relay.json"

Ids = list[str] | None

_LISTS = {
    **cli_parameter("owner", Ids, metavar="ID", help="A Discord user id of an owner; repeatable."),
    **cli_parameter(
        "user", Ids, metavar="ID", help="A Discord user id of a known user; repeatable."
    ),
    **cli_parameter(
        "role", Ids, metavar="ID", help="A role whose members are known users; repeatable."
    ),
}


@cli_command
def register_discord_commands(
    terminal: Terminal,
    *,
    guild: Annotated[
        str | None, cli_option("Only in this server, effective immediately.", "ID")
    ] = None,
    yes: Yes = False,
) -> None:
    """Register the bot's commands; shows the difference first."""
    place = ("discord", "commands")
    found = terminal.client.get(*place, guild_id=guild)
    changes = any(found[kind] for kind, _ in _CHANGES)
    if not terminal.options.json:
        _draw_difference(terminal, found)
    if changes:
        question, needed = terminal.words("discord_really_register"), "discord_yes_needed"
        if not confirm_on_terminal(terminal, question, yes=yes, needed=needed, default=True):
            terminal.print_sentence("discord_not_registered")
            return
        body = {} if guild is None else {"guild_id": guild}
        found = terminal.client.put(*place, body=body)
    terminal.print_result(found, "discord_registered" if changes else "discord_same")


@cli_command
def show_discord_invite_links(terminal: Terminal) -> None:
    """Show the links that invite the bot."""
    links = terminal.client.get("discord", "invite")
    if terminal.options.json:
        terminal.json(links)
        return
    for kind, sentence in _LINKS.items():
        terminal.print_sentence(sentence)
        terminal.line(f"  {links[kind]}")


@cli_command
def check_discord_bot_setup(terminal: Terminal) -> None:
    """Check the bot's token, keys, endpoint and permissions, and say how to fix them."""
    print_setup_checks(terminal, terminal.client.get("discord")["checks"])


@cli_command_with(_LISTS)
def show_or_change_discord_presence(
    terminal: Terminal,
    /,
    agent: AgentName,
    *,
    channel: Annotated[
        Ids, cli_option("A channel in which the agent takes part; repeatable.", "ID")
    ] = None,
    everything: Annotated[
        bool, cli_option("Hear every message in its channels, not only mentions.")
    ] = False,
    token_secret: Annotated[
        str | None, cli_option("The name of the secret with the token of its own bot.", "NAME")
    ] = None,
    off: Annotated[bool, cli_option("Remove all of these settings.")] = False,
    **lists: Any,
) -> None:
    """Show or change an agent's Discord channels, owners and users."""
    found = find_agent_for_terminal(terminal, agent)
    place = ("agents", found["id"], "discord")
    changes = {
        "spots": _spots(channel, everything=everything),
        "token_secret": token_secret,
        **{f"{name}_ids": ids for name, ids in lists.items()},
    }
    given = {name: value for name, value in changes.items() if value}
    if off and given:
        raise typer.BadParameter(terminal.words("discord_off_alone"), param_hint="--off")
    if everything and not channel:
        raise typer.BadParameter(terminal.words("discord_where"), param_hint="--everything")
    if off:
        shown = terminal.client.delete(*place)
    else:
        shown = terminal.client.get(*place)
        if given:
            kept = {name: value for name, value in shown.items() if name != "agent_id"}
            shown = terminal.client.put(*place, body=kept | given)
    _draw_presence(terminal, found["name"], shown)


@cli_command
def run_discord_relay_command(terminal: Terminal) -> None:
    """Relay ordinary messages from Discord to OpenCrab, until stopped."""
    launch = terminal.options.relay
    if launch is None:
        raise Unavailable(terminal.words("relay_none"), cure=terminal.words("relay_none_cure"))
    client = terminal.client
    client.get("discord", "presences")  # whether OpenCrab answers, and knows this key
    terminal.print_sentence("relay_starts", url=client.address.url)

    def bring(what: str, body: Mapping[str, Any], /, *, key: str) -> Mapping[str, Any]:
        return client.post("discord", what, body=body, key=key)

    def presences() -> list[dict[str, Any]]:
        return list(client.get("discord", "presences")["items"])

    def tell(what: str, **facts: object) -> None:
        terminal.print_note(_TOLD[what], **facts)

    data = terminal.options.data
    places = terminal.options.places
    launch(RelayWay(bring, presences, tell, data, data / _MEMORY, places))


COMMANDS = {
    "register": register_discord_commands,
    "invite": show_discord_invite_links,
    "doctor": check_discord_bot_setup,
    "agent": show_or_change_discord_presence,
    "relay": run_discord_relay_command,
}


def print_setup_checks(terminal: Terminal, checks: Sequence[Mapping[str, Any]]) -> None:
    """Print the checks of a setup, each with its cure; exit with 1 if there is a problem."""
    if terminal.options.json:
        terminal.json(checks)
    else:
        for check in checks:
            kind, _, which = check["name"].partition(" ")
            name = f"{terminal.words.term(kind)} {which}".rstrip()
            terminal.line(f"{_MARKS[check['state']]} {name}: {check['what']}")
            if check["cure"]:
                terminal.line(f"  → {check['cure']}")
    if any(check["state"] == "problem" for check in checks):
        raise typer.Exit(1)


def _spots(channels: Ids, *, everything: bool) -> list[dict[str, Any]]:
    return [{"channel_id": each, "mentions_only": not everything} for each in channels or ()]


def _draw_difference(terminal: Terminal, difference: Mapping[str, Any]) -> None:
    for kind, mark in _CHANGES:
        for name in difference[kind]:
            terminal.line(f"{mark} {name}")
    if difference["same"]:
        terminal.print_sentence("discord_unchanged", count=len(difference["same"]))


def _draw_presence(terminal: Terminal, name: str, shown: Mapping[str, Any]) -> None:
    if terminal.options.json:
        terminal.json(shown)
        return
    words = terminal.words
    spots = [_spot(terminal, spot) for spot in shown["spots"]]
    pairs = [
        ("agent", name),
        ("channels", "\n".join(spots) or words("discord_anywhere")),
        ("owner_ids", ", ".join(shown["owner_ids"])),
        ("user_ids", ", ".join(shown["user_ids"])),
        ("role_ids", ", ".join(shown["role_ids"])),
        ("token_secret", shown["token_secret"]),
    ]
    terminal.print_fields(pairs, exact=True)


def _spot(terminal: Terminal, spot: Mapping[str, Any]) -> str:
    words = terminal.words
    hears = "discord_mentions" if spot["mentions_only"] else "discord_everything"
    parts = [words(hears)] if spot["reads"] else []
    parts += [words("discord_writes")] if spot["writes"] else []
    return f"{spot['channel_id']} ({', '.join(parts)})" if parts else spot["channel_id"]
