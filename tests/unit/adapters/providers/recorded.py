"""Recorded exchanges with real servers, as their bytes went over the wire.

`exchanges(wire, "anthropic", "messages")` gives what was recorded with one provider, streams and
errors included; without endpoints, all of it. `read(OpenAIWire(), exchange)` makes a ModelAnswer of
one, through framing and assembly where it is a stream, or raises ModelCallFailed.
`sequences(wire, "anthropic")` gives whole conversations, each a tuple of exchanges.
"""

import json
from base64 import b64decode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from opencrab.adapters.providers.transport.exchange import Reply
from opencrab.adapters.providers.wire.framing import wire_stream_frames
from opencrab.adapters.providers.wire.lenient import parse_provider_json
from opencrab.adapters.providers.wire.wire import ErrorParty, Wire
from opencrab.domain.turn.record import ModelAnswer

PARTY = ErrorParty(provider="蟹屋", model="crab-1", key_name="CRAB_API_KEY")


@dataclass(frozen=True)
class Exchange:
    """A request and what came back for it."""

    name: str
    endpoint: str
    features: frozenset[str]
    request: bytes
    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)
    url: str = ""

    @property
    def asked(self) -> Any:
        """The request as a value."""
        return json.loads(self.request)

    @property
    def answered(self) -> Any:
        """The answer as a value, unless it is a stream."""
        return json.loads(self.body)

    @property
    def reply(self) -> Reply:
        """The answer as a transport hands it over."""
        return Reply(self.status, self.body, self.headers)

    @property
    def is_error(self) -> bool:
        """Whether the server refused."""
        return self.status != 200

    @property
    def is_stream(self) -> bool:
        """Whether the answer came in frames."""
        return "stream" in self.features and not self.is_error


def exchanges(wire: Path, provider: str, *endpoints: str) -> tuple[Exchange, ...]:
    """What was recorded with a provider, by name; of these endpoints only, if any are given."""
    folder = wire / "cassettes"
    listed = json.loads((folder / "INDEX.json").read_text(encoding="utf-8"))["interactions"]
    listed += json.loads((folder / "INDEX-2026-11-22.json").read_text(encoding="utf-8"))
    files = {
        each["file"]: (each["endpoint"], each["features"])
        for each in listed
        if each["provider"] == provider
    }
    files |= {
        f"{provider}/{path.name}": _by_name(path.stem)
        for path in (folder / provider).glob("*.json")
        if f"{provider}/{path.name}" not in files
    }
    found = tuple(
        _exchange(name, endpoint, features, json.loads((folder / name).read_text(encoding="utf-8")))
        for name, (endpoint, features) in sorted(files.items())
        if not endpoints or endpoint in endpoints
    )
    assert found, f"nothing is recorded with {provider}"
    return found


def sequences(wire: Path, provider: str) -> dict[str, tuple[Exchange, ...]]:
    """Whole recorded conversations with a provider, by name."""
    found = sorted((wire / "cassettes" / "sequences").glob(f"{provider}-*.json"))
    assert found, f"no conversation is recorded with {provider}"
    return {
        path.stem: tuple(
            _exchange(f"{path.stem}#{n}", "", _features(each), each)
            for n, each in enumerate(json.loads(path.read_text(encoding="utf-8"))["interactions"])
        )
        for path in found
    }


def read(wire: Wire, exchange: Exchange, party: ErrorParty = PARTY) -> ModelAnswer:
    """The answer of an exchange; raises ModelCallFailed for what is none."""
    if exchange.is_error:
        raise wire.failure(exchange.reply, party)
    if exchange.is_stream:
        return read_stream(wire, [exchange.body], party)
    return wire.from_wire(parse_provider_json(exchange.body), party)


def read_stream(wire: Wire, chunks: Iterable[bytes], party: ErrorParty = PARTY) -> ModelAnswer:
    """The answer that a stream amounts to; it must have ended."""
    assembly = wire.assembly(party)
    for event in wire_stream_frames(chunks, wire.framing):
        assembly.add(event)
    assert assembly.is_complete, "the stream was cut"
    return wire.from_wire(assembly.body(), party)


def _by_name(stem: str) -> tuple[str, list[str]]:
    """The endpoint and features of our own recordings, which no index lists."""
    kind = stem.split("-", maxsplit=1)[0]
    endpoint = {"err": "chat", "anthropic": "messages"}.get(kind, kind)
    return endpoint, ["stream"] if stem.endswith("stream") else []


def _features(recorded: Any) -> list[str]:
    headers = recorded["response"]["headers"]
    streamed = any(word in headers.get("content-type", "") for word in ("event-stream", "ndjson"))
    return ["stream"] if streamed else []


def _exchange(name: str, endpoint: str, features: list[str], recorded: Any) -> Exchange:
    request, response = recorded["request"], recorded["response"]
    return Exchange(
        name=name,
        endpoint=endpoint,
        features=frozenset(features),
        request=(request.get("body") or "").encode(),
        status=response["status"],
        body=b64decode(response.get("body_base64") or "") or (response.get("body") or "").encode(),
        headers={key.lower(): value for key, value in response["headers"].items()},
        url=request["url"],
    )
