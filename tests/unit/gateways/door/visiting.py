"""A door with a made-up installation behind it, and senders that sign."""

import base64
import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from opencrab.domain.errors import Unavailable
from opencrab.gateways.door.door import SignedRequestAnswer, SignedRequestDoor
from opencrab.gateways.door.request import QueuedEvent, SignedRequest, parse_queued_event

NOW = 1_767_225_600.0
SECRET, OLD, HUB = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_b2xkIGFuZCB3b3JuIGtleQ==", "hub"
TOKEN = "a-token-of-roblox"


@dataclass
class Visit:
    """The door; it fails where `broken` says."""

    webhooks: dict[str, Any] = field(default_factory=dict)
    queued: list[tuple[str, str, str]] = field(default_factory=list)
    looked_up: list[tuple[str, str, str]] = field(default_factory=list)
    broken: str = ""
    kinds: tuple[str, ...] = ("webhook",)

    def __post_init__(self) -> None:
        self.door = SignedRequestDoor(self.kinds, self, self._send)

    def ask(
        self, name: str, headers: Mapping[str, str], body: bytes, *, now: float = NOW
    ) -> SignedRequestAnswer:
        return self.door.answer(SignedRequest("webhook", name, headers, body, now))

    @property
    def events(self) -> list[QueuedEvent]:
        return [parse_queued_event(body) for body, _, _ in self.queued]

    def document(self, owner: str, kind: str, fact_id: str) -> Any:
        self.looked_up.append((owner, kind, fact_id))
        if self.broken == "document":
            raise Unavailable("the table does not answer", cure="wait")
        return self.webhooks.get(fact_id)

    def secret(self, name: str) -> str:
        raise AssertionError(name)

    def new_id(self) -> str:
        return f"fresh-{len(self.queued)}"

    def _send(self, body: str, *, group: str, deduplication: str) -> None:
        if self.broken == "send":
            raise Unavailable("the queue does not answer", cure="wait")
        self.queued.append((body, group, deduplication))


def standard(**changes: Any) -> dict[str, Any]:
    """The document of a webhook that is signed as Standard Webhooks says."""
    return {"scheme": "standard", "secrets": [SECRET], **changes}


def github() -> dict[str, Any]:
    return {"scheme": "github", "secrets": [HUB]}


def bearer() -> dict[str, Any]:
    return {"scheme": "bearer", "secrets": [hashlib.sha256(TOKEN.encode()).hexdigest()]}


def signed(
    body: bytes, *, event_id: str = "msg_1", at: float = NOW, secrets: tuple[str, ...] = (SECRET,)
) -> dict[str, str]:
    """The headers of Standard Webhooks, with a signature by each secret."""
    told = f"{event_id}.{int(at)}.".encode() + body
    keys = [base64.b64decode(each.removeprefix("whsec_")) for each in secrets]
    made = [base64.b64encode(hmac.digest(key, told, "sha256")).decode() for key in keys]
    return {
        "webhook-id": event_id,
        "webhook-timestamp": str(int(at)),
        "webhook-signature": " ".join(f"v1,{each}" for each in made),
    }


def hub_signed(body: bytes, secret: str = HUB, **headers: str) -> dict[str, str]:
    """The headers of GitHub."""
    made = hmac.digest(secret.encode(), body, "sha256").hex()
    return {"x-hub-signature-256": f"sha256={made}", "x-github-event": "push", **headers}


def said(answer: SignedRequestAnswer) -> Any:
    return json.loads(answer.content)
