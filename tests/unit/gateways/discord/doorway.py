"""Doorway: the door with everything around it written down, and interactions that we sign."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from opencrab.adapters.door.discord import DiscordPublicKeys
from opencrab.domain.errors import Unavailable
from opencrab.gateways.discord.interactions.door import Door, DoorResponse
from tests.discord.signing import Signer

NOW = 1_795_000_000.0
CHANNEL, PERSON = "1500000000000000001", "1100000000000000002"
TOKEN = "aW50ZXJhY3Rpb246-._=:+/" * 8
GONE = Unavailable("it does not answer")


def interaction(kind: int | None = 2, number: int = 1, **changes: Any) -> dict[str, Any]:
    """What Discord sends: `/ask` in Japanese from a server, unless something is said."""
    told: dict[str, Any] = {
        "id": str(1_400_000_000_000_000_000 + number),
        "application_id": "1400000000000000001",
        "type": kind,
        "token": TOKEN,
        "version": 1,
        "channel_id": CHANNEL,
        "guild_id": "1300000000000000001",
        "locale": "ja",
        "member": {"user": {"id": PERSON, "username": "海"}, "roles": []},
        "data": {"id": "1", "name": "ask", "options": []},
    }
    return {name: value for name, value in (told | changes).items() if value is not None}


@dataclass
class Doorway:
    """The door, what it did in its order, and what shall go wrong."""

    signer: Signer = field(default_factory=Signer)
    done: list[tuple[Any, ...]] = field(default_factory=list)
    queue_fails: bool = False
    discord_fails: bool = False
    choices: Any = None
    choices_fail: bool = False

    def __post_init__(self) -> None:
        keys = DiscordPublicKeys(
            [Signer(b"an older key of the application!").public_key, self.public_key]
        )
        self.door = Door(keys.verify, self._send, self._acknowledge, self._choices)

    @property
    def public_key(self) -> str:
        """Our Discord's."""
        return self.signer.public_key

    def ask(self, told: Any, *, now: float = NOW, at: float = NOW) -> DoorResponse:
        """The answer to a signed interaction, or to a body as it is."""
        body = told if isinstance(told, bytes) else json.dumps(told, ensure_ascii=False).encode()
        return self.door.answer(self.signer.headers(str(int(at)), body), body, now)

    def answer(self, headers: Mapping[str, str], body: bytes, now: float = NOW) -> DoorResponse:
        """The answer to a request as it is."""
        return self.door.answer(headers, body, now)

    def _send(self, body: str, *, group: str, deduplication: str) -> None:
        if self.queue_fails:
            raise GONE
        self.done.append(("kept", body, group, deduplication))

    def _acknowledge(self, interaction_id: str, token: str, answer: Mapping[str, object]) -> None:
        if self.discord_fails:
            raise GONE
        self.done.append(("acknowledged", interaction_id, token, answer))

    def _choices(self) -> Any:
        if self.choices_fail:
            raise GONE
        return self.choices
