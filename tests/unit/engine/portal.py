"""A portal: the part of Discord where a bot is set up, kept in memory behind the port's `ask`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from opencrab.domain.discord.community import InteractionReply
from opencrab.domain.errors import NotFound, OpenCrabError
from opencrab.ports.discord import Attachment, Payload

BOT, GUILD, CHANNEL = "1000", "42", "555"
KEY = "ab" * 32
DOOR = "https://crab.example/discord/interactions"
ALL = (1 << 10) | (1 << 11) | (1 << 14) | (1 << 15) | (1 << 16) | (1 << 38)


def application() -> dict[str, Any]:
    """An application that is set up well."""
    return {
        "id": BOT,
        "name": "OpenCrab",
        "verify_key": KEY,
        "interactions_endpoint_url": DOOR,
        "bot_public": False,
        "flags": 1 << 19,
        "integration_types_config": {"0": {}, "1": {}},
        "something_new": True,
    }


def places() -> dict[str, Any]:
    """A server with one channel in which the bot has a role of its own."""
    return {
        f"/channels/{CHANNEL}": {
            "id": CHANNEL,
            "type": 0,
            "guild_id": GUILD,
            "name": "crabs",
            "permission_overwrites": [],
        },
        f"/guilds/{GUILD}/members/{BOT}": {"roles": ["7"]},
        f"/guilds/{GUILD}/roles": [
            {"id": GUILD, "permissions": "0"},
            {"id": "7", "permissions": str(ALL)},
            {"id": "8", "permissions": "8"},
        ],
    }


@dataclass
class Portal:
    """Answers `ask` as Discord would; `troubles` are errors by path, `asked` is what it was."""

    application: dict[str, Any] = field(default_factory=application)
    found: dict[str, Any] = field(default_factory=places)
    commands: dict[str, list[Mapping[str, Any]]] = field(default_factory=dict)
    troubles: dict[str, OpenCrabError] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """What is there, or what was put there."""
        path = urlsplit(path).path
        self.asked.append(f"{method} {path}")
        if path in self.troubles:
            raise self.troubles[path]
        if path.endswith("/commands"):
            return self._commands(method, path, body)
        known = {
            "/users/@me": {"id": BOT, "username": "opencrab"},
            "/applications/@me": self.application,
            **self.found,
        }
        if path not in known:
            raise NotFound(f"Unknown {path}")
        return known[path]

    def _commands(self, method: str, path: str, body: Any) -> Any:
        if method == "PUT":
            self.commands[path] = [
                {
                    "id": str(number),
                    "application_id": BOT,
                    "version": "1",
                    "type": 1,
                    "default_permission": True,
                    "default_member_permissions": None,
                    "nsfw": False,
                    "integration_types": [0],
                    "contexts": None,
                    **each,
                }
                for number, each in enumerate(body, start=1)
            ]
        return self.commands.get(path, [])

    def edit_reply(self, reply: InteractionReply, message: Payload, *files: Attachment) -> str:
        raise AssertionError("nothing is answered while setting up")

    def find_reply(self, reply: InteractionReply) -> str:
        raise AssertionError("nothing is answered while setting up")

    def update_reply(self, reply: InteractionReply, message: Payload) -> str:
        raise AssertionError("nothing is answered while setting up")

    def delete_reply(self, reply: InteractionReply) -> None:
        raise AssertionError("nothing is answered while setting up")

    def follow_up(self, reply: InteractionReply, message: Payload, *files: Attachment) -> str:
        raise AssertionError("nothing is answered while setting up")

    def post(
        self, channel_id: str, message: Payload, *files: Attachment, nonce: str, token: str | None
    ) -> str:
        raise AssertionError("nothing is posted while setting up")

    def edit(
        self,
        channel_id: str,
        message_id: str,
        message: Payload,
        *files: Attachment,
        token: str | None = None,
    ) -> None:
        raise AssertionError("nothing is posted while setting up")

    def delete(self, channel_id: str, message_id: str) -> None:
        raise AssertionError("nothing is posted while setting up")
