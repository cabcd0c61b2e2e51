"""World inbound: what a message from its world means for an agent; nothing is read or written."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from opencrab.domain.agents.event import AgentEvent
from opencrab.domain.errors import Invalid, Refused
from opencrab.domain.world.binding import WorldBinding, WorldEnvelope, parse_world_status
from opencrab.domain.world.catalogue import (
    WorldMessage,
    inbound_world_message_by_code,
    outbound_world_message_by_code,
    world_value_from_wire,
)

_TEXT = 2_000
_UNTYPED = re.compile(r"[^a-z0-9_.]+")
_OPPORTUNITIES = ("bounty", "review", "dependency", "dependencies")
"""Events that may be worth a goal: bounties, reviews and broken dependencies (Kingdom 3.7)."""


@dataclass(frozen=True)
class InboundEffect:
    """An agent's binding after a message, and an event for the agent if `kind` is set."""

    world: WorldBinding
    kind: str = ""
    text: str = ""
    opportunity: bool = False

    def agent_event(
        self, event_id: str, now: datetime, *, trusted: bool = False
    ) -> AgentEvent | None:
        """Build the event for the agent, or None; text of a world is untrusted unless it is."""
        if not self.kind:
            return None
        return AgentEvent(
            id=event_id,
            type=self.kind,
            source=self.world.world_id,
            text=self.text,
            tainted=not trusted,
            opportunity=self.opportunity,
            at=now,
        )


def effect_of_world_message(world: WorldBinding, envelope: WorldEnvelope) -> InboundEffect:
    """Return the effect of a message, by its code.

    Raises Refused for an unknown code, for an answer to a message that was not sent and for a
    payload about another agent, Invalid for a payload without its message's fields.
    """
    payload = world_value_from_wire(envelope.body)
    if envelope.reply_to is not None:
        return _answer(world, envelope, payload)
    message = inbound_world_message_by_code(envelope.code)
    if message is None:
        raise Refused(
            f"agents cannot receive messages with code 0x{envelope.code:04X}",
            field="code",
            cure="docs/explanation/worlds.md has the format",
        )
    _require_fields(message, payload)
    if payload.get("agent_id", world.key_id) != world.key_id and message.name != "EVENT":
        raise Refused(
            f"this {message.name} is about another agent",
            field="agent_id",
            cure="send the agent's own agent_id, or omit it",
        )
    return _READERS[message.name](world, payload)


def _require_fields(message: WorldMessage, payload: Mapping[str, Any]) -> None:
    missing = [field.name for field in message.fields if payload.get(field.name) is None]
    if missing:
        raise Invalid(
            f"{message.name} lacks the fields {', '.join(missing)}",
            field="payload",
            cure="docs/explanation/worlds.md has the format",
        )


def _allocation(world: WorldBinding, payload: Mapping[str, Any]) -> InboundEffect:
    """Set the units of a cycle; units left of the previous one expire."""
    cycle, budget = _count(payload, "cycle"), _count(payload, "budget")
    if cycle < world.cycle:
        return InboundEffect(world)
    return InboundEffect(world.replaced(cycle=cycle, units=budget))


def _state(world: WorldBinding, payload: Mapping[str, Any]) -> InboundEffect:
    if _count(payload, "cycle") < world.state.get("cycle", 0):
        return InboundEffect(world)
    return InboundEffect(world.replaced(state={name: payload[name] for name in _STATE}))


_STATE = ("cycle", "world_hash", "epoch")


def _event(world: WorldBinding, payload: Mapping[str, Any]) -> InboundEffect:
    """Build an event; its type is in `kind` or `type`, as Kingdom defines no fields for it."""
    told = str(payload.get("kind") or payload.get("type") or "event")
    kind = _UNTYPED.sub("_", told.lower())[:50].strip("_.") or "event"
    opportunity = any(word in kind for word in _OPPORTUNITIES)
    return InboundEffect(world, f"world.{kind}", _words("EVENT", payload), opportunity)


def _interpret_spawn_ack(world: WorldBinding, payload: Mapping[str, Any]) -> InboundEffect:
    status = parse_world_status(str(payload["status"]))
    if status is None:
        raise Invalid(
            f"AGENT_SPAWN_ACK has an unknown status {str(payload['status'])[:40]!r}",
            field="status",
            cure="docs/explanation/worlds.md has the format",
        )
    seeds = [{"entry_id": seed} for seed in world.genome.knowledge_seeds]
    told = {**payload, **({"read_first_with_ENTRY_GET": seeds} if seeds else {})}
    return InboundEffect(
        world.replaced(status=status), "world.spawned", _words("AGENT_SPAWN_ACK", told)
    )


def _result(world: WorldBinding, payload: Mapping[str, Any]) -> InboundEffect:
    return InboundEffect(world, "world.proposal_result", _words("PROPOSAL_RESULT", payload))


_READERS = {
    "TICK_ALLOC": _allocation,
    "WORLD_STATE": _state,
    "EVENT": _event,
    "AGENT_SPAWN_ACK": _interpret_spawn_ack,
    "PROPOSAL_RESULT": _result,
}


def _answer(
    world: WorldBinding, envelope: WorldEnvelope, payload: Mapping[str, Any]
) -> InboundEffect:
    """Handle an answer; Kingdom calls messages requests with responses, but defines no fields.

    So an answer is shown to the agent unchanged; the agent's own balance and reputation are stored.
    """
    asked = next((each for each in world.sent if each.nonce == envelope.reply_to), None)
    message = outbound_world_message_by_code(envelope.code)
    if asked is None or message is None or asked.code != envelope.code:
        raise Refused(
            f"no message with nonce {envelope.reply_to!r} and this code was sent",
            field="reply_to",
            cure="answer with the nonce and the code of a message that the agent sent",
        )
    changes = dict[str, Any]()
    if payload.get("agent_id", world.key_id) == world.key_id:
        balance, reputation = payload.get("balance"), payload.get("reputation")
        if type(balance) is int:
            changes["balance"] = balance
        if isinstance(reputation, int | float) and 0 <= reputation <= 1:
            changes["reputation"] = float(reputation)
    text = _words(message.name, payload)
    return InboundEffect(world.replaced(**changes), "world.answer", text)


def _count(payload: Mapping[str, Any], name: str) -> int:
    value = payload[name]
    if type(value) is not int or not 0 <= value < 2**64:
        raise Invalid(
            f"{name} must be a whole number from 0",
            field=name,
            cure="send an unsigned 64-bit integer",
        )
    return value


def _words(name: str, payload: Mapping[str, Any]) -> str:
    text = f"{name} {json.dumps(payload, ensure_ascii=False, sort_keys=True)}"
    return text.replace("\x00", "") if len(text) <= _TEXT else f"{text[: _TEXT - 1]}…"
