"""Setting Discord up: the commands registered there, the difference to ours, and the invitation.

What the commands are is none of its business: they come as data, as Discord describes them.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from opencrab.domain.errors import NotFound
from opencrab.domain.value import Value
from opencrab.ports.discord import Discord

Command = Mapping[str, Any]
"""A command as Discord describes it."""

VIEW, SEND, EMBED, ATTACH, HISTORY = 1 << 10, 1 << 11, 1 << 14, 1 << 15, 1 << 16
IN_THREADS = 1 << 38
PERMISSIONS = VIEW | SEND | EMBED | ATTACH | HISTORY | IN_THREADS
"""What the bot must be allowed to do in a channel, as Discord's bits."""

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
    """The bot as it is configured here, and the commands that it should have.

    `public_key` may be several, parted by commas. `endpoint` is where Discord must send
    interactions, None where that is not known here.
    """

    application_id: str = ""
    public_key: str = ""
    endpoint: str | None = None
    commands: Callable[[], Iterable[Command]] = tuple


class Difference(Value):
    """How the registered commands differ from the expected ones, by their names."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    same: tuple[str, ...] = ()

    @property
    def is_none(self) -> bool:
        """Whether everything is as it should be."""
        return not (self.added or self.changed or self.removed)


class Invitation(Value):
    """Links that invite the bot to a server, or install it for one user."""

    server: str
    user: str
    permissions: int


def require_discord(discord: Discord | None) -> Discord:
    """Discord's API; raises NotFound where it is switched off."""
    if discord is None:
        raise NotFound(
            "Discord is disabled",
            cure="set gateway.discord.enabled and its keys; "
            "docs/how-to/set-up-a-discord-bot.md says how",
        )
    return discord


def command_registration_difference(
    discord: Discord | None, application: BotApplication, guild_id: str | None
) -> Difference:
    """What registering the commands would change, everywhere or in one server.

    Raises NotFound where Discord is switched off, and what Discord says.
    """
    path = _place(application, guild_id)
    found = require_discord(discord).ask("GET", f"{path}?with_localizations=true")
    return compare_commands(found or (), _expected_commands(application, guild_id))


def register_commands(
    discord: Discord | None, application: BotApplication, guild_id: str | None
) -> Difference:
    """Register the commands in place of all that are there, unless nothing would change.

    Raises as `difference` does.
    """
    found = command_registration_difference(discord, application, guild_id)
    if not found.is_none:
        path = _place(application, guild_id)
        require_discord(discord).ask("PUT", path, list(_expected_commands(application, guild_id)))
    return found


def compare_commands(registered: Iterable[Command], wanted: Iterable[Command]) -> Difference:
    """How registered commands differ from wanted ones; what Discord adds by itself is no matter."""
    there = {_name(each): _plain(each) for each in registered}
    ours = {_name(each): _plain(each) for each in wanted}
    return Difference(
        added=tuple(name for name in ours if name not in there),
        changed=tuple(name for name in ours if name in there and ours[name] != there[name]),
        removed=tuple(name for name in there if name not in ours),
        same=tuple(name for name in ours if ours[name] == there.get(name)),
    )


def bot_invitation(discord: Discord | None, application: BotApplication) -> Invitation:
    """The links that invite the bot; raises NotFound where Discord is switched off."""
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
    """The commands as they are sent; only global ones tell where they can be used."""
    commands = tuple(application.commands())
    if guild_id is None:
        return commands
    return tuple(
        {name: value for name, value in each.items() if name not in _GLOBAL_ONLY}
        for each in commands
    )


def _name(command: Command) -> str:
    """What no two commands have in common: only chat commands begin with a slash."""
    name = str(command.get("name"))
    return f"/{name}" if (command.get("type") or 1) == 1 else name


def _plain(part: Any) -> Any:
    """A command, or a part of one, without what is given by default and by Discord itself."""
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
