"""Commands: what an application has registered, everywhere and for single servers."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from tests.discord.command_rules import check_commands, check_creates
from tests.discord.refusals import Refusal, not_found
from tests.discord.world import World

EVERYWHERE = ""
SPELT = ("name_localizations", "description_localizations")


class Commands:
    """Registered commands, and the application's own settings."""

    def __init__(self, world: World, public_key: str, owner_id: str) -> None:
        self._world = world
        self._public_key = public_key
        self._owner_id = owner_id
        self._scopes: dict[str, list[dict[str, Any]]] = {}
        self._creates: Counter[tuple[str, str]] = Counter()
        self.settings: dict[str, Any] = {"interactions_endpoint_url": None}

    def told(self, parameters: Mapping[str, str], *, spelt: bool) -> list[dict[str, Any]]:
        """The commands of a scope; localised names only for those who ask for them."""
        commands = self._scopes.get(self._scope(parameters), [])
        return [each if spelt else _plain(each) for each in commands]

    def overwrite(self, parameters: Mapping[str, str], body: Any) -> list[dict[str, Any]]:
        """Replace all commands of a scope; those with a known name keep their id."""
        scope = self._scope(parameters)
        check_commands(body)
        present = {(each["type"], each["name"]): each["id"] for each in self._scopes.get(scope, [])}
        fresh = [each for each in body if (each.get("type") or 1, each["name"]) not in present]
        day = self._world.clock.now().date().isoformat()
        check_creates(self._creates[scope, day] + len(fresh))
        self._creates[scope, day] += len(fresh)
        made = [self._registered(each, present, scope) for each in body]
        self._scopes[scope] = made
        return made

    def named(self, name: str, kind: int, guild_id: str | None) -> dict[str, Any] | None:
        """The command of this name that a user in this server would be offered."""
        for each in self.listed(guild_id):
            if (each["name"], each["type"]) == (name, kind):
                return each
        return None

    def listed(self, guild_id: str | None) -> list[dict[str, Any]]:
        """What a user in this server is offered."""
        return [*self._scopes.get(guild_id or EVERYWHERE, []), *self._scopes.get(EVERYWHERE, [])]

    @property
    def is_empty(self) -> bool:
        """Whether nothing was ever registered."""
        return not self._scopes

    def application(self) -> dict[str, Any]:
        """Discord's application object, as its own bot sees it."""
        world = self._world
        return {
            "id": world.application_id,
            "name": "OpenCrab",
            "icon": None,
            "description": "",
            "type": None,
            "bot": world.bot.user,
            "bot_public": True,
            "bot_require_code_grant": False,
            "verify_key": self._public_key,
            "flags": 0,
            "flags_new": "0",
            "redirect_uris": [],
            "interactions_endpoint_url": None,
            "role_connections_verification_url": None,
            "owner": {**world.bot.user, "id": self._owner_id, "bot": False},
            "approximate_guild_count": len(world.guilds),
            "approximate_user_install_count": 0,
            "approximate_user_authorization_count": 0,
            "explicit_content_filter": 0,
            "team": None,
            "eligible_oauth2_scopes": ["bot", "applications.commands"],
            "integration_types_config": {"0": {}, "1": {}},
            **self.settings,
        }

    def _scope(self, parameters: Mapping[str, str]) -> str:
        if parameters["application_id"] != self._world.application_id:
            raise Refusal(403, 20012)
        guild_id = parameters.get("guild_id", EVERYWHERE)
        if guild_id and guild_id not in self._world.guilds:
            raise Refusal(403, 50001) if guild_id.isdecimal() else not_found(10004)
        return guild_id

    def _registered(
        self, body: Mapping[str, Any], present: Mapping[tuple[int, str], str], scope: str
    ) -> dict[str, Any]:
        kind = body.get("type") or 1
        command = {
            **dict.fromkeys(SPELT),
            "default_member_permissions": None,
            "integration_types": [0],
            "contexts": [0, 1, 2],
            "nsfw": False,
            **{name: value for name, value in body.items() if value is not None},
            "type": kind,
            "description": body.get("description") or "",
            "id": present.get((kind, body["name"])) or self._world.new_id(),
            "application_id": self._world.application_id,
            "version": self._world.new_id(),
        }
        if scope:
            del command["contexts"]
            command["guild_id"] = scope
        return command


def options_of(command: Mapping[str, Any], path: tuple[str, ...]) -> list[dict[str, Any]] | None:
    """The options of a command at a subcommand, or None where there is no such one."""
    options: list[dict[str, Any]] = list(command.get("options") or [])
    for name in path:
        inner = [each for each in options if each["name"] == name and each["type"] in (1, 2)]
        if not inner:
            return None
        options = list(inner[0].get("options") or [])
    return options


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return dict(_without(value))
    return [_plain(each) for each in value] if isinstance(value, list) else value


def _without(value: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, inner in value.items():
        if name not in SPELT:
            yield name, _plain(inner)
