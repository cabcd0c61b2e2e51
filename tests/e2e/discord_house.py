"""A house beside a Discord of our own: people ask there, and the real handlers answer.

Calls of Discord's API and of the door are points, too.
"""

from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar, cast

import httpx

from opencrab.adapters.discord.channel import DiscordChannel
from opencrab.adapters.discord.client import DiscordClient
from opencrab.adapters.discord.preview import DiscordPreviews
from opencrab.adapters.providers.transport.httpx_client import new_client
from opencrab.bootstrap.discord.door import build_discord_door
from opencrab.domain.discord.community import Community
from opencrab.domain.value import Language
from opencrab.engine.discord.ambient_messages import AmbientOutcome, answer_ambient_discord_message
from opencrab.engine.runtime import Rules
from opencrab.gateways.discord.commands import COMMANDS
from opencrab.gateways.discord.interactions import worker
from opencrab.ports.conversation.file_source import FileSource
from opencrab.ports.discord import Discord
from opencrab.ports.turn.queue import Delivery, MessageOutcome
from tests.contract.homes import OpenHome
from tests.crash.errand import RICH
from tests.crash.outside import Reply, Script
from tests.crash.scheduling import Killed
from tests.discord.cdn import Cdn, relayed
from tests.discord.fake import OWNER, SERVER_CHANNEL, FakeDiscord
from tests.discord.state import Interaction, Message, Person, Place
from tests.e2e.troubled_house import Pointed, TroubledHouse
from tests.unit.adapters.discord.speaking import run_at_once

USER = Person("1100000000000000007", "Yui")
OPENERS = Community(owner_ids=(OWNER.id,), user_ids=(USER.id,))


class OneToken:
    """The token of the installation's own bot."""

    def __init__(self, token: str) -> None:
        self._token = token

    def token(self, secret: str | None) -> str:
        """There is only one."""
        return self._token

    def forget(self) -> None:
        """It never changes."""


class DiscordHouse(TroubledHouse):
    """A house with an owner, a user and strangers on Discord."""

    def __init__(self, opens: OpenHome, folder: Path, rules: Rules = RICH) -> None:
        super().__init__(opens, folder, rules)
        self.discord = self._open.enter_context(FakeDiscord(self.clock, self._at_the_door))
        self.cdn = Cdn()
        self.begin()
        assert self.runtime.discord is not None
        path = f"/applications/{self.discord.application_id}/commands"
        self.runtime.discord.ask("PUT", path, list(COMMANDS))

    def begin(self) -> None:
        """A new process; what an earlier one knew is forgotten."""
        super().begin()
        home = self.runtime.home
        token = OneToken(self.discord.token)
        client = DiscordClient(self._connect, self.discord.url, token, self.clock, self.wait)
        api = cast(Discord, Pointed(client, "discord", self))
        channel = self.spoil(DiscordChannel(api, home.facts, self.clock))
        previews = DiscordPreviews(api, home.facts, self.clock, run_at_once)
        self.runtime = replace(
            self.runtime,
            channels={**self._bare.channels, "discord": channel},
            previews={"discord": previews},
            discord=api,
            discord_files=cast(FileSource, Pointed(self.cdn.source, "files", self)),
            community=OPENERS,
        )
        self.door = build_discord_door(self.runtime, self.discord.public_key, self.discord.url)

    def interact(self, delivery: Delivery) -> MessageOutcome:
        return worker.handle_interaction(self.runtime, delivery)

    def _connect(self) -> httpx.BaseTransport:
        return self._open.enter_context(closing(new_client()))

    def hear(self, message: Message, place: Place = SERVER_CHANNEL) -> AmbientOutcome:
        """Take a channel's message from the relay."""
        said = relayed(message, place, self.discord.application_id)
        own = frozenset({self.discord.application_id})
        return answer_ambient_discord_message(self.runtime, said, own_ids=own)

    def _at_the_door(
        self, headers: Mapping[str, str], body: bytes
    ) -> tuple[int, Mapping[str, str], bytes]:
        try:
            made = self.door(headers, body, self.clock.now().timestamp())
        except Killed:
            self.begin()
            return 500, {}, b""
        return made.status, {}, made.content

    def seen(self, place: Place, to: Person | None = None) -> list[str]:
        """The texts that somebody sees in a channel."""
        return [each.content for each in self.discord.shown(place, to)]

    def message(self, place: Place, to: Person | None = None) -> Message:
        """The newest message that somebody sees."""
        return self.discord.shown(place, to)[-1]


AnyHouse = TypeVar("AnyHouse", bound=DiscordHouse)


def opened(opens: OpenHome, folder: Path) -> Iterator[DiscordHouse]:
    """A house, and what nobody may hold against it at the end."""
    yield from opened_as(DiscordHouse, opens, folder)


def opened_as(kind: type[AnyHouse], opens: OpenHome, folder: Path) -> Iterator[AnyHouse]:
    """A house of a test's own kind, and what nobody may hold against it at the end."""
    house = kind(opens, folder)
    try:
        yield house
    finally:
        house.close()
    assert house.discord.complaints == []
    assert house.problems == []


def kani(house: DiscordHouse, *replies: Reply, **changes: Any) -> None:
    """An agent that answers so."""
    script: Script = replies or (Reply(text="やあ"),)
    agent = house.agent("kani", script, Language.JA)
    if changes:
        house.home.agents.save(agent.replaced(**changes))


def ask(
    house: DiscordHouse,
    text: str = "元気?",
    *,
    by: Person = OWNER,
    place: Place = SERVER_CHANNEL,
    locale: str = "ja",
) -> Interaction:
    """Somebody asks; nothing is done with it yet."""
    options = {"agent": "kani", "text": text}
    return house.discord.command("ask", options, by=by, place=place, locale=locale)
