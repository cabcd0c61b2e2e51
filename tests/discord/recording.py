"""A Discord that only remembers what it was told, and interactions as Discord sends them."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from opencrab.domain.discord.community import InteractionReply
from opencrab.domain.errors import OpenCrabError
from opencrab.ports.discord import Attachment, Payload

APPLICATION = "775799577604522054"
GUILD, CHANNEL = "290926798626357999", "645027906669510667"
TARO, HANA = "53908232506183680", "167348773423415296"
_EPOCH_MILLISECONDS = 1_420_070_400_000


@dataclass(frozen=True)
class Told:
    """One call: its kind, whose answer or which channel, and what was said."""

    how: str
    to: str
    message: Payload

    @property
    def text(self) -> str:
        """The plain text of it."""
        return str(self.message.get("content", ""))


@dataclass
class RecordingDiscord:
    """`ports.discord.Discord`; the next calls raise what `failing` lists, before anything is told.

    What `lost` lists is raised after it was told, as when an answer gets lost. `answers` are what
    `ask` returns, by method and path.
    """

    told: list[Told] = field(default_factory=list)
    failing: list[OpenCrabError] = field(default_factory=list)
    lost: list[OpenCrabError] = field(default_factory=list)
    answers: dict[str, Any] = field(default_factory=dict)

    def edit_reply(self, reply: InteractionReply, message: Payload, *files: Attachment) -> str:
        return self._call("edit_reply", reply.id, message)

    def find_reply(self, reply: InteractionReply) -> str:
        return self._call("find_reply", reply.id, {})

    def update_reply(self, reply: InteractionReply, message: Payload) -> str:
        return self._call("update_reply", reply.id, message)

    def delete_reply(self, reply: InteractionReply) -> None:
        self._call("delete_reply", reply.id, {})

    def follow_up(self, reply: InteractionReply, message: Payload, *files: Attachment) -> str:
        return self._call("follow_up", reply.id, message)

    def post(
        self, channel_id: str, message: Payload, *files: Attachment, nonce: str, token: str | None
    ) -> str:
        return self._call("post", channel_id, message)

    def edit(
        self,
        channel_id: str,
        message_id: str,
        message: Payload,
        *files: Attachment,
        token: str | None = None,
    ) -> None:
        self._call("edit", f"{channel_id}/{message_id}", message)

    def delete(self, channel_id: str, message_id: str) -> None:
        self._call("delete", f"{channel_id}/{message_id}", {})

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        self._call(method, path, {} if body is None else body)
        return self.answers.get(f"{method} {path}", {})

    @property
    def texts(self) -> list[str]:
        """What was said, in order."""
        return [each.text for each in self.told]

    def _call(self, how: str, to: str, message: Payload) -> str:
        if self.failing:
            raise self.failing.pop(0)
        self.told.append(Told(how, to, message))
        if self.lost:
            raise self.lost.pop(0)
        return str(len(self.told))


def snowflake(at: datetime, n: int = 1) -> str:
    """An id that was made then."""
    milliseconds = int(at.timestamp() * 1_000) - _EPOCH_MILLISECONDS
    return str((milliseconds << 22) | n)


@dataclass
class Door:
    """Makes interactions of one person after another, each with an id of its own."""

    at: datetime
    count: int = 0

    def raw(
        self,
        kind: int,
        data: dict[str, Any],
        *,
        user: str = TARO,
        name: str = "太郎",
        roles: tuple[str, ...] = (),
        guild: str | None = GUILD,
        **more: Any,
    ) -> dict[str, Any]:
        """An interaction as Discord sends it."""
        self.count += 1
        person = {"id": user, "username": "taro", "global_name": name, "discriminator": "0"}
        who: dict[str, Any] = {"user": person}
        if guild is not None:
            who = {"member": {"user": person, "roles": list(roles)}, "guild_id": guild}
        owners = {"0": guild or "0"}
        return {
            "id": snowflake(self.at, self.count),
            "application_id": APPLICATION,
            "type": kind,
            "token": f"token-{self.count}",
            "version": 1,
            "channel_id": CHANNEL,
            "locale": "ja",
            "context": 1 if guild is None else 0,
            "authorizing_integration_owners": owners,
            "data": data,
            **who,
            **more,
        }

    def command(self, name: str, /, **options: Any) -> dict[str, Any]:
        """A command such as `session start`; options of the interaction go in `of`."""
        more = options.pop("of", {})
        first, *parts = name.split(" ")
        given = [{"type": 3, "name": key, "value": value} for key, value in options.items()]
        for part in reversed(parts):
            given = [{"type": 1, "name": part, "options": given}]
        data = {"id": "771825006014889984", "name": first, "type": 1, "options": given}
        return self.raw(2, data, **more)

    def menu(self, name: str, text: str, *, author: str = HANA, **more: Any) -> dict[str, Any]:
        """A command of a message's menu."""
        target = snowflake(self.at)
        message = {
            "id": target,
            "content": text,
            "author": {"id": author, "username": "花子"},
            "attachments": more.pop("attachments", []),
        }
        data = {
            "id": "866818195033292851",
            "name": name,
            "type": 3,
            "target_id": target,
            "resolved": {"messages": {target: message}},
        }
        return self.raw(2, data, **more)

    def press(self, custom_id: str, *, content: str = "?", **more: Any) -> dict[str, Any]:
        """A button under a message."""
        button = {"type": 2, "style": 3, "label": "ok", "custom_id": custom_id}
        shown = {
            "id": snowflake(self.at),
            "content": content,
            "components": [{"type": 1, "components": [button]}],
            "flags": 0,
        }
        data = {"component_type": 2, "custom_id": custom_id}
        return self.raw(3, data, message=shown, **more)

    def form(self, custom_id: str, text: str, **more: Any) -> dict[str, Any]:
        """A form that was sent, with one field."""
        field_ = {"type": 4, "id": 2, "custom_id": "text", "value": text}
        data = {"custom_id": custom_id, "components": [{"type": 18, "id": 1, "component": field_}]}
        return self.raw(5, data, **more)


def bodies(*interactions: dict[str, Any]) -> Iterator[str]:
    """What the door queues of them."""
    return (json.dumps(each, ensure_ascii=False) for each in interactions)
