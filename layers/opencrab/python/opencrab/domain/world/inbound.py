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
    inbound_message_by_code,
    outbound_message_by_code,
    world_value_from_wire,
)

_TEXT = 2_000
_UNTYPED = re.compile(r"[^a-z0-9_.]+")
_OPPORTUNITIES = ("bounty", "review", "dependency", "dependencies")
"""Events that may be worth a goal: bounties, reviews and broken dependencies (Kingdom 3.7)."""


@dataclass(frozen=True)
class InboundEffect:
    """An agent's place in its world after a message, and what has happened for the agent, if so."""

    world: WorldBinding
    kind: str = ""
    text: str = ""
    opportunity: bool = False

    def happening(self, event_id: str, now: datetime) -> AgentEvent | None:
        """What the agent is told of; nobody vouches for the words of a world."""
        if not self.kind:
            return None
        return AgentEvent(
            id=event_id,
            type=self.kind,
            source=self.world.world_id,
            text=self.text,
            opportunity=self.opportunity,
            at=now,
        )


def effect_of_world_message(world: WorldBinding, envelope: WorldEnvelope) -> InboundEffect:
    """What a message means, by its code.

    Raises Refused for an unknown code, for an answer to nothing that was sent and for a payload
    about somebody else, Invalid for a payload that lacks what its message has.
    """
    payload = world_value_from_wire(envelope.body)
    if envelope.reply_to is not None:
        return _answer(world, envelope, payload)
    message = inbound_message_by_code(envelope.code)
    if message is None:
        raise Refused(
            f"agents cannot receive messages with code 0x{envelope.code:04X}", field="code"
        )
    _require_fields(message, payload)
    if payload.get("agent_id", world.key_id) != world.key_id and message.name != "EVENT":
        raise Refused(f"this {message.name} is about another agent", field="agent_id")
    return _READERS[message.name](world, payload)


def _require_fields(message: WorldMessage, payload: Mapping[str, Any]) -> None:
    missing = [field.name for field in message.fields if payload.get(field.name) is None]
    if missing:
        raise Invalid(f"{message.name} lacks {', '.join(missing)}", field="payload")


def _allocation(world: WorldBinding, payload: Mapping[str, Any]) -> InboundEffect:
    """Units are for one cycle: what was left of the last one is gone."""
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
    """The original leaves out what an event holds: its kind is taken from `kind` or `type`."""
    told = str(payload.get("kind") or payload.get("type") or "event")
    kind = _UNTYPED.sub("_", told.lower())[:50].strip("_.") or "event"
    opportunity = any(word in kind for word in _OPPORTUNITIES)
    return InboundEffect(world, f"world.{kind}", _words("EVENT", payload), opportunity)


def _interpret_spawn_ack(world: WorldBinding, payload: Mapping[str, Any]) -> InboundEffect:
    status = parse_world_status(str(payload["status"]))
    if status is None:
        raise Invalid("AGENT_SPAWN_ACK has an unknown status", field="status")
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
    """The original calls messages requests with responses, and leaves out what these hold.

    So an answer is told to the agent as it is; a balance and a reputation of its own are kept.
    """
    asked = next((each for each in world.sent if each.nonce == envelope.reply_to), None)
    message = outbound_message_by_code(envelope.code)
    if asked is None or message is None or asked.code != envelope.code:
        raise Refused("no message with this nonce was sent", field="reply_to")
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
        raise Invalid(f"{name} must be a whole number from 0", field=name)
    return value


def _words(name: str, payload: Mapping[str, Any]) -> str:
    text = f"{name} {json.dumps(payload, ensure_ascii=False, sort_keys=True)}"
    return text.replace("\x00", "") if len(text) <= _TEXT else f"{text[: _TEXT - 1]}…"
