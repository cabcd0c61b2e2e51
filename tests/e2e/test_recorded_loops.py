"""Whole recorded conversations with real vendors, action calls included, through the engine."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import create_model

from opencrab.actions import Group, Registry
from opencrab.adapters.providers.anthropic.endpoint import AnthropicWire
from opencrab.adapters.providers.google.endpoint import GoogleWire
from opencrab.adapters.providers.openai.endpoint import OpenAIWire
from opencrab.adapters.providers.openrouter.endpoint import OpenRouterWire
from opencrab.adapters.providers.transport.exchange import (
    IsStopped,
    OpenReply,
    Reply,
    provider_exchange_never_stopped,
)
from opencrab.adapters.providers.vendor import VendorModel
from opencrab.adapters.providers.wire.wire import Endpoint, Wire
from opencrab.domain.access.impact import Impact
from opencrab.domain.conversation.message import LineKind
from opencrab.domain.models.routing import Routing
from opencrab.domain.money.budget import Price
from opencrab.domain.turn.action import ActionResult, Effect
from opencrab.domain.turn.record import CallState
from opencrab.domain.turn.turn import TurnStatus
from opencrab.domain.value import Value
from opencrab.ports.models.model import ChatModel, ModelInfo
from opencrab.ports.turn.action import ActionContext
from tests.contract.homes import sqlite
from tests.e2e.house import House
from tests.unit.adapters.providers.recorded import Exchange, read, sequences

WIRES: dict[str, Wire] = {
    "anthropic": AnthropicWire(),
    "deepseek": OpenAIWire(),
    "google": GoogleWire(),
    "openai": OpenAIWire(),
    "openrouter": OpenRouterWire(),
}
PRICE = Price(input_per_million=1_000_000, output_per_million=5_000_000)
LAST_ACTION = "final_result"
"""In one of the conversations the answer itself is a call."""


@dataclass
class Tape:
    """A transport that plays what was recorded, in order, and keeps what it was sent."""

    exchanges: list[Exchange]
    sent: list[dict[str, Any]] = field(default_factory=list)

    def send(
        self,
        url: str,
        *,
        headers: Mapping[str, str],
        body: bytes | None = None,
        timeout_seconds: float,
    ) -> Reply:
        self.sent.append(json.loads(body or b"{}"))
        return self.exchanges[len(self.sent) - 1].reply

    @contextmanager
    def open(
        self,
        url: str,
        *,
        headers: Mapping[str, str],
        body: bytes,
        timeout_seconds: float,
        is_stopped: IsStopped = provider_exchange_never_stopped,
    ) -> Iterator[OpenReply]:
        reply = self.send(url, headers=headers, body=body, timeout_seconds=timeout_seconds)
        pieces = (reply.body[at : at + 100] for at in range(0, len(reply.body), 100))
        yield OpenReply(reply.status, reply.headers, pieces)


@dataclass(frozen=True)
class OneModel:
    """`ports.model.Models` of a conversation with one model."""

    model: ChatModel

    @property
    def routing(self) -> Routing:
        return Routing(default=self.model.info.name)

    def get(self, name: str | None) -> ChatModel:
        return self.model

    def refresh(self, version: int) -> None:
        pass


def _messages(exchange: Exchange) -> list[dict[str, Any]]:
    asked = exchange.asked
    messages: list[dict[str, Any]] = asked.get("messages") or asked.get("contents") or []
    return messages


def _parts(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message.get("content") or message.get("parts") or []
    return [{"text": content}] if isinstance(content, str) else content


def _said(exchange: Exchange) -> str:
    """What a person said last, if it was a person who spoke last."""
    last = _messages(exchange)[-1]
    texts = [part["text"] for part in _parts(last) if set(part) & {"text"}]
    return "\n".join(texts) if last["role"] == "user" else ""


def _results(exchange: Exchange) -> list[str]:
    """What the actions since the last answer came to, in the order of their calls."""
    told: list[str] = []
    for message in reversed(_messages(exchange)):
        if message["role"] in {"assistant", "model"}:
            break
        if message["role"] == "tool":
            told.insert(0, str(message["content"]))
        for part in _parts(message):
            if "tool_use_id" in part or "functionResponse" in part:
                told.append(json.dumps(part.get("content", part.get("functionResponse"))))
    return told


def _tools(exchange: Exchange) -> dict[str, list[str]]:
    """The recorded actions with the names of their arguments."""
    found = {}
    for tool in exchange.asked["tools"]:
        for each in tool.get("functionDeclarations", [tool.get("function", tool)]):
            schema = each.get("parameters") or each.get("input_schema")
            schema = schema or each.get("parametersJsonSchema") or {}
            found[each["name"]] = list(schema.get("properties", {}))
    return found


def _registry(tools: Mapping[str, list[str]], results: Iterator[str], ran: list[Any]) -> Registry:
    """Actions of the recorded names, which answer what was recorded."""
    group = Group("recorded")
    for name, names in tools.items():
        fields: dict[str, Any] = dict.fromkeys(names, (Any, None))
        model = create_model(f"{name}_arguments", __base__=Value, **fields)

        def run(arguments: Value, context: ActionContext, name: str = name) -> ActionResult:
            """Do what was recorded."""
            ran.append((name, arguments.model_dump(exclude_unset=True)))
            return ActionResult.ok(result="" if name == LAST_ACTION else next(results))

        run.__name__ = name
        run.__annotations__["arguments"] = model
        group.action(
            impact=Impact.READ,
            effect=Effect.PURE,
            ja="録音のとおりに動きます。",
            sentences=("Do as recorded", "録音のとおりに動く"),
            ends_turn=name == LAST_ACTION,
        )(run)
    return Registry((group,))


def _turns(exchanges: tuple[Exchange, ...]) -> list[list[Exchange]]:
    """The exchanges of each turn: one begins where a person speaks."""
    turns: list[list[Exchange]] = []
    for exchange in exchanges:
        if _said(exchange) and not _results(exchange):
            turns.append([])
        turns[-1].append(exchange)
    return turns


def _conversations(wire: Path) -> Iterator[tuple[str, str, tuple[Exchange, ...]]]:
    for provider in WIRES:
        for name, exchanges in sequences(wire, provider).items():
            if not exchanges[0].url.endswith("/responses"):  # an API that we do not speak
                yield provider, name, exchanges


def _replay(folder: Path, provider: str, exchanges: tuple[Exchange, ...]) -> tuple[House, Tape]:
    """Hold the conversation again, and compare what it comes to."""
    wire, tape, ran = WIRES[provider], Tape(list(exchanges)), list[Any]()
    name = exchanges[0].asked.get("model", "").rpartition("/")[2] or "gemini"
    info = ModelInfo(name=f"{provider}:{name}", max_input_tokens=200_000, price=PRICE)
    endpoint = Endpoint(provider, "https://api.example", "key-of-nobody")
    model = VendorModel(wire, endpoint, name, info, tape, stream=exchanges[0].is_stream)
    results = iter([told for exchange in exchanges for told in _results(exchange)])
    house = House(sqlite, folder)
    house.runtime = replace(
        house.runtime,
        models=OneModel(model),
        actions=_registry(_tools(exchanges[0]), results, ran),
    )
    house.session(house.agent("crab", ()))
    for number, steps in enumerate(_turns(exchanges)):
        house.clock.advance(1)
        (turn,) = house.say(_said(steps[0]), f"m{number}")
        house.work()
        answers = [read(wire, step) for step in steps]
        ended = TurnStatus.COMPLETED if answers[-1].text else TurnStatus.IDLE
        assert house.turn(turn.id).status is ended
        calls = [(call.name, call.arguments) for answer in answers for call in answer.calls]
        assert ran == calls
        ran.clear()
        if answers[-1].text:
            assert house.lines(LineKind.SPEECH)[-1].text == answers[-1].text
    return house, tape


def test_every_recorded_conversation_comes_to_the_same(wire: Path, tmp_path: Path) -> None:
    held = 0
    for provider, name, exchanges in _conversations(wire):
        house, tape = _replay(tmp_path / name[:40], provider, exchanges)
        rows = list(reversed(house.home.usage.rows("crab")))
        house.close()
        held += 1
        assert len(tape.sent) == len(exchanges) == len(rows), name
        for row, exchange in zip(rows, exchanges, strict=True):
            usage = read(WIRES[provider], exchange).usage
            assert (row.state, row.usage) == (CallState.COMPLETED, usage), name
            assert 0 < row.cost <= row.reserved, name
    assert held >= 8


@pytest.mark.parametrize(
    ("provider", "part", "mark"),
    [
        ("google", "thought-signatures", "thoughtSignature"),
        ("openrouter", "reasoning-details", "reasoning_details"),
    ],
)
def test_what_a_vendor_wants_back_is_sent_back_as_it_came(
    wire: Path, tmp_path: Path, provider: str, part: str, mark: str
) -> None:
    ((name, exchanges),) = (
        found for found in sequences(wire, provider).items() if part in found[0]
    )
    house, tape = _replay(tmp_path / name[:40], provider, exchanges)
    house.close()
    assert mark in json.dumps(exchanges[0].answered)
    assert mark not in json.dumps(tape.sent[0])
    assert _marked(tape.sent[1], mark) == _marked(exchanges[0].answered, mark)


def _marked(value: Any, mark: str) -> list[Any]:
    """Everything under a key, at any depth, in order."""
    if isinstance(value, dict):
        own = [value[mark]] if mark in value else []
        return own + [found for part in value.values() for found in _marked(part, mark)]
    if isinstance(value, list):
        return [found for part in value for found in _marked(part, mark)]
    return []
