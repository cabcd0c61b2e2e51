"""The servers that keep Discord's files, without a socket, and messages as a relay reads them."""

import json
from collections.abc import Iterable
from typing import Any, cast
from urllib.parse import urlsplit

import hikari
from hikari.impl import EntityFactoryImpl

from opencrab.bootstrap.discord.channel import FILE_HOSTS
from opencrab.engine.discord.ambient_messages import ReceivedMessage
from opencrab.gateways.discord_relay.reading import message_for_discord_relay
from tests.discord.state import File, Message, Place
from tests.unit.adapters.web.net import Net, reply


class Cdn:
    """Answers for the files that it holds; `answers` go before them, once each, by a file's id."""

    def __init__(self) -> None:
        self.files: dict[str, File] = {}
        self.answers: dict[str, list[Iterable[bytes]]] = {}
        self.net = Net(self._answer)
        self.source = self.net.files(*FILE_HOSTS)

    def file(self, name: str, content: bytes, **told: Any) -> File:
        """Keep a file that somebody is about to send."""
        file = File(str(9_000_000_000_000_000_000 + len(self.files)), name, content, **told)
        self.files[file.id] = file
        return file

    def _answer(self, url: str) -> Iterable[bytes]:
        found = [each for each in self.files if f"/{each}/" in urlsplit(url).path]
        waiting = self.answers.get(found[0]) if found else None
        if waiting:
            return waiting.pop(0)
        return reply(self.files[found[0]].content) if found else reply(status=404)


def relayed(message: Message, place: Place, application_id: str) -> ReceivedMessage:
    """A message as the relay brings it, read by hikari and sent as JSON."""
    told = {**message.json(application_id), "type": 0}
    if place.guild_id is not None:
        told["guild_id"] = place.guild_id
    read = EntityFactoryImpl(cast(hikari.RESTAware, None)).deserialize_message(told)
    heard = message_for_discord_relay(read, application_id)
    assert heard is not None
    return ReceivedMessage.model_validate_json(json.dumps(heard.body), strict=True)
