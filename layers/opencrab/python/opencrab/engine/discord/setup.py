"""Discord setup: registered commands, their difference from ours, and the invitation.

The commands come as data in Discord's format; this module does not know what they do.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from opencrab.domain.errors import NotFound
from opencrab.domain.value import Value
from opencrab.ports.discord import Discord

Command = Mapping[str, Any]
"""A command in Discord's format."""

VIEW, SEND, EMBED, ATTACH, HISTORY = 1 << 10, 1 << 11, 1 << 14, 1 << 15, 1 << 16
IN_THREADS = 1 << 38
PERMISSIONS = VIEW | SEND | EMBED | ATTACH | HISTORY | IN_THREADS
"""The permissions that the bot needs in a channel, as Discord's bits."""

_AUTHORIZE = "https://discord.com/oauth2/authorize"
_IN_GUILD, _WITH_USER = 0, 1
_GLOBAL_ONLY = ("integration_types", "contexts")
_GIVEN_BY_DISCORD = {
    "id", "application_id", "version", "guild_id", "default_permission", "dm_permission",
    "name_localized", "description_localized", "handler",
}  # fmt: skip
_DEFAULTS: Mapping[str, Any] = {
    "type": 1,
    "description": "",
    "nsfw": False,
    "default_member_permissions": None,
    "required": False,
    "autocomplete": False,
    "integration_types": [_IN_GUILD],
    "contexts": [0, 1, 2],
}


@dataclass(frozen=True)
class BotApplication:
    """The configuration of the bot, and the commands that it should have.

    `public_key` may be several keys, separated by commas. `endpoint` is the URL to which Discord
    must send interactions, None if it is not known here.
    """

    application_id: str = ""
    public_key: str = ""
    endpoint: str | None = None
    commands: Callable[[], Iterable[Command]] = tuple


class CommandsDifference(Value):
    """The difference between the registered and the expected commands, by their names.

    `added` are expected but not registered, `removed` are registered but no longer expected.
    """

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    same: tuple[str, ...] = ()

    @property
    def is_none(self) -> bool:
        """True if the registered commands are as expected."""
        return not (self.added or self.changed or self.removed)


class Invitation(Value):
    """Links that invite the bot to a server, or install it for one user."""

    server: str
    user: str
    permissions: int


def require_discord(discord: Discord | None) -> Discord:
    """Return Discord's API; raise NotFound if it is disabled."""
    if discord is None:
        raise NotFound(
            "Discord is disabled",
            cure="set gateway.discord.enabled and its keys; "
            "docs/how-to/set-up-a-discord-bot.md says how",
        )
    return discord


def discord_registration_difference(
    discord: Discord | None, application: BotApplication, guild_id: str | None
) -> CommandsDifference:
    """Return what registering the commands would change, globally or in one server.

    Raises NotFound if Discord is disabled, and the errors of Discord's API.
    """
    path = _place(application, guild_id)
    found = require_discord(discord).ask("GET", f"{path}?with_localizations=true")
    return compare_discord_commands(found or (), _expected_commands(application, guild_id))


def register_all_discord_commands(
    discord: Discord | None, application: BotApplication, guild_id: str | None
) -> CommandsDifference:
    """Replace all registered commands by ours, unless nothing would change.

    Returns the difference. Raises NotFound if Discord is disabled, and the errors of Discord's API.
    """
    found = discord_registration_difference(discord, application, guild_id)
    if not found.is_none:
        path = _place(application, guild_id)
        require_discord(discord).ask("PUT", path, list(_expected_commands(application, guild_id)))
    return found


def compare_discord_commands(
    registered: Iterable[Command], wanted: Iterable[Command]
) -> CommandsDifference:
    """Compare registered commands with wanted ones, ignoring what Discord adds by itself."""
    there = {_name(each): _plain(each) for each in registered}
    ours = {_name(each): _plain(each) for each in wanted}
    return CommandsDifference(
        added=tuple(name for name in ours if name not in there),
        changed=tuple(name for name in ours if name in there and ours[name] != there[name]),
        removed=tuple(name for name in there if name not in ours),
        same=tuple(name for name in ours if ours[name] == there.get(name)),
    )


def discord_bot_invitation(discord: Discord | None, application: BotApplication) -> Invitation:
    """Return the links that invite the bot; raise NotFound if Discord is disabled."""
    require_discord(discord)
    shared = {"client_id": application.application_id}
    server = shared | {
        "scope": "bot applications.commands",
        "permissions": str(PERMISSIONS),
        "integration_type": str(_IN_GUILD),
    }
    user = shared | {"scope": "applications.commands", "integration_type": str(_WITH_USER)}
    return Invitation(
        server=f"{_AUTHORIZE}?{urlencode(server)}",
        user=f"{_AUTHORIZE}?{urlencode(user)}",
        permissions=PERMISSIONS,
    )


def _place(application: BotApplication, guild_id: str | None) -> str:
    where = "" if guild_id is None else f"/guilds/{guild_id}"
    return f"/applications/{application.application_id}{where}/commands"


def _expected_commands(application: BotApplication, guild_id: str | None) -> tuple[Command, ...]:
    """Return the commands to send; only global ones say where they can be used."""
    commands = tuple(application.commands())
    if guild_id is None:
        return commands
    return tuple(
        {name: value for name, value in each.items() if name not in _GLOBAL_ONLY}
        for each in commands
    )


def _name(command: Command) -> str:
    """Return the unique name of a command: chat commands begin with a slash, others do not."""
    name = str(command.get("name"))
    return f"/{name}" if (command.get("type") or 1) == 1 else name


def _plain(part: Any) -> Any:
    """Remove from a command, or a part of one, defaults and fields that Discord adds."""
    if isinstance(part, Mapping):
        fields = {name: _plain(value) for name, value in part.items()}
        return {name: value for name, value in fields.items() if _is_said(name, value)}
    if isinstance(part, list | tuple):
        items = [_plain(each) for each in part]
        return sorted(items) if all(isinstance(each, int) for each in items) else items
    return part


def _is_said(name: str, value: Any) -> bool:
    if name in _GIVEN_BY_DISCORD or value in (None, [], {}):
        return False
    return name not in _DEFAULTS or value != _DEFAULTS[name]
