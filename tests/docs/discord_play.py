"""Play: what the reader of a page does on Discord, and what is seen there afterwards.

A ```discord block begins with what is typed: `@NAME words` is a message that mentions the bot,
`/command option: value` a command, and `Interactions Endpoint URL: ADDRESS` is entered in the
developer portal, which saves the address only if its signatures are checked there.
"""

import re
from collections.abc import Mapping
from contextlib import ExitStack
from http.client import HTTPConnection
from threading import Event
from time import monotonic
from typing import Any, Self

from opencrab.adapters.system_clock import FakeClock, SystemClock
from tests.discord import payloads
from tests.discord.commands import options_of
from tests.discord.fake import OWNER, SERVER_CHANNEL, FakeDiscord
from tests.discord.signing import Signer
from tests.discord.state import Message, Person
from tests.unit.gateways.discord_relay.gateway import Gateway

SECONDS = 30.0
LOOK_EVERY_SECONDS = 0.02

ENDPOINT = "Interactions Endpoint URL: "
NOT_VERIFIED = "The specified interactions endpoint url could not be verified."
NOT_REGISTERED = "Discord offers no such command."

_PATH = "/discord/interactions"
_FORGER = Signer(b"somebody else's pair of keys, 32 ")
_NAMES = {"en": "Yui", "ja": "結衣"}


class DiscordPlay:
    """One server with one channel, its owner, and the bot; OpenCrab listens on a local port."""

    def __init__(self, port: int, language: str) -> None:
        self._port, self._language = port, language
        self._owner = Person(OWNER.id, _NAMES[language])
        self._open = ExitStack()
        self._discord = FakeDiscord(FakeClock(SystemClock().now()), self._door)
        self._gateway = Gateway(bot=self._discord.bot.user)

    def __enter__(self) -> Self:
        self._open.enter_context(self._discord)
        self._open.enter_context(self._gateway)
        world = self._discord.world
        world.gateway_url = self._gateway.websocket_url
        world.places[SERVER_CHANNEL.channel_id].name = "general"
        return self

    def __exit__(self, *error: object) -> None:
        self._open.close()

    @property
    def environment(self) -> dict[str, str]:
        """What leads OpenCrab here."""
        return {"OPENCRAB_GATEWAY__DISCORD__API": self._discord.url}

    @property
    def complaints(self) -> list[str]:
        """What OpenCrab sent that Discord never should be sent."""
        return self._discord.complaints

    def play(self, typed: str) -> list[str]:
        """Do what is typed; the lines that are seen afterwards."""
        self._catch_up()
        if typed.startswith(ENDPOINT):
            return self._save_endpoint(typed.removeprefix(ENDPOINT))
        known = set(self._discord.world.messages)
        if not typed.startswith("/"):
            self._mention(typed)
        elif not self._send_command(typed):
            return [NOT_REGISTERED]
        return self._wait_for_answer(known)

    def _catch_up(self) -> None:
        """Let it be now on Discord: OpenCrab's clock is that of the computer."""
        behind = (SystemClock().now() - self._discord.clock.now()).total_seconds()
        self._discord.wait(max(behind, 0))

    def _save_endpoint(self, url: str) -> list[str]:
        body = b'{"type":1}'
        forged = _FORGER.headers(str(int(self._discord.clock.now().timestamp())), body)
        is_verified = (
            url.startswith("https://")
            and url.endswith(_PATH)
            and self._discord.ping() == (200, {"type": 1})
            and self._door(forged, body)[0] == 401
        )
        if not is_verified:
            return [NOT_VERIFIED]
        self._discord.commands.settings["interactions_endpoint_url"] = url
        return []

    def _mention(self, typed: str) -> None:
        bot = self._discord.bot
        words = typed.replace(f"@{bot.name}", f"<@{bot.id}>", 1)
        message = self._discord.say(words, by=self._owner)
        told = message.json(self._discord.application_id)
        here = {"guild_id": SERVER_CHANNEL.guild_id, "member": payloads.member(self._owner)}
        self._gateway.tell("MESSAGE_CREATE", {**told, **here})

    def _send_command(self, typed: str) -> bool:
        """Send a command, whose names are in the reader's language; False where there is none."""
        shown, _, rest = typed.removeprefix("/").partition(" ")
        listed = self._discord.commands.listed(SERVER_CHANNEL.guild_id)
        found = next((each for each in listed if self._shown_name(each) == shown), None)
        if found is None:
            return False
        options = options_of(found, ()) or []
        names = {self._shown_name(each): str(each["name"]) for each in options}
        pieces = re.split(f"(?:^| )({'|'.join(names)}): ", rest)[1:]
        given = {names[name]: value for name, value in zip(pieces[::2], pieces[1::2], strict=True)}
        self._discord.command(found["name"], given, by=self._owner, locale=self._language)
        return True

    def _shown_name(self, named: Mapping[str, Any]) -> str:
        translated = named.get("name_localizations") or {}
        return str(translated.get(self._language, named["name"]))

    def _wait_for_answer(self, known: set[str]) -> list[str]:
        deadline = monotonic() + SECONDS
        while monotonic() < deadline:
            with self._discord.world.lock:
                shown = self._discord.shown(SERVER_CHANNEL, self._owner)
                new = [each for each in shown if each.author.is_bot and each.id not in known]
            if new and not any(each.is_loading for each in new):
                return [line for each in new for line in _lines(each)]
            Event().wait(LOOK_EVERY_SECONDS)
        return ["nobody answers"]

    def _door(
        self, headers: Mapping[str, str], body: bytes
    ) -> tuple[int, Mapping[str, str], bytes]:
        """OpenCrab, at the other end of the tunnel."""
        connection = HTTPConnection("127.0.0.1", self._port, timeout=SECONDS)
        try:
            connection.request("POST", _PATH, body, dict(headers))
            with connection.getresponse() as answer:
                return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            connection.close()


def _lines(message: Message) -> list[str]:
    """A message as it is seen: who wrote it, and the words."""
    return [message.author.name, *(f"  {line}" for line in message.content.splitlines())]
