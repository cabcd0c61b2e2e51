"""Calling: Discord's API called by hand, rightly or wrongly, as no product would."""

import json
from dataclasses import dataclass
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

from tests.discord.fake import FakeDiscord
from tests.discord.request import BASE
from tests.discord.state import Interaction

AGENT = "DiscordBot (https://github.com/opencrab/opencrab, 0.2.0)"
SILENT: dict[str, Any] = {"allowed_mentions": {"parse": []}}


@dataclass(frozen=True)
class Heard:
    """An answer."""

    status: int
    headers: dict[str, str]
    json: Any

    @property
    def code(self) -> int:
        """Discord's own number for an error."""
        return int(self.json["code"])

    @property
    def told(self) -> str:
        """The answer as text."""
        return json.dumps(self.json)


class Caller:
    """A client of one fake."""

    def __init__(self, discord: FakeDiscord) -> None:
        self._discord = discord

    def __call__(
        self, method: str, path: str, body: Any = None, *, as_bot: bool = False, **headers: str
    ) -> Heard:
        content = None if body is None else json.dumps(body).encode()
        told = {"user-agent": AGENT, "content-type": "application/json"}
        if as_bot:
            told["authorization"] = f"Bot {self._discord.token}"
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.raw(method, path, content, {**told, **given})

    def raw(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> Heard:
        """A request with exactly these headers."""
        connection = HTTPConnection(urlsplit(self._discord.url).netloc, timeout=10)
        try:
            connection.request(method, BASE + path, body, headers)
            with connection.getresponse() as answer:
                content = answer.read()
                named = {name.lower(): value for name, value in answer.getheaders()}
                is_json = content and named["content-type"] == "application/json"
                value = json.loads(content) if is_json else content.decode()
                return Heard(answer.status, named, value)
        finally:
            connection.close()

    def acknowledge(self, interaction: Interaction, answer: Any) -> Heard:
        """A first answer by the callback."""
        return self("POST", f"/interactions/{interaction.id}/{interaction.token}/callback", answer)

    def edit(self, interaction: Interaction, **message: Any) -> Heard:
        """The first answer replaced."""
        return self("PATCH", self.original(interaction), {**SILENT, **message})

    def follow(self, interaction: Interaction, **message: Any) -> Heard:
        """A further answer."""
        return self("POST", self.hook(interaction), {**SILENT, **message})

    def post(self, channel_id: str, nonce: str, **message: Any) -> Heard:
        """A post of the bot."""
        body = {**SILENT, "nonce": nonce, "enforce_nonce": True, **message}
        return self("POST", f"/channels/{channel_id}/messages", body, as_bot=True)

    def hook(self, interaction: Interaction) -> str:
        """The address of an interaction's webhook."""
        return f"/webhooks/{self._discord.application_id}/{interaction.token}"

    def original(self, interaction: Interaction) -> str:
        """The address of its first answer."""
        return f"{self.hook(interaction)}/messages/@original"
