"""Messages to the outside world that an agent is bound to, in that world's protocol.

Each message costs one of the world's budget units; answers arrive as events.
"""

import hashlib
import json
from datetime import datetime
from typing import Any

from pydantic import Field

from opencrab.actions.registry import Group
from opencrab.domain.access.authority import Authority
from opencrab.domain.access.impact import Impact
from opencrab.domain.approvals.call_text import TextChange
from opencrab.domain.document import Document
from opencrab.domain.errors import Refused
from opencrab.domain.turn.action import ActionResult, Effect
from opencrab.domain.value import ShortText, Value
from opencrab.domain.world.binding import WORLD
from opencrab.domain.world.catalogue import outbound_world_message_by_name, outbound_world_messages
from opencrab.domain.world.standing import STANDING, WorldStanding
from opencrab.ports.turn.action import ActionContext, has_agent_world, one_line
from opencrab.ports.world import WorldPost

_SHOWN = 300

group = Group("world")


class WorldMessages(Value):
    target: ShortText = ""


class WorldSend(Value):
    message: ShortText = Field(min_length=1, max_length=60)
    payload: dict[str, Any] = Field(default_factory=dict)


def _message_excerpt(arguments: WorldSend) -> str:
    return one_line({arguments.message: arguments.payload}, _SHOWN)


def _message_change(arguments: WorldSend, _context: ActionContext) -> TextChange:
    """The message in the form in which it is sent; nothing stored here is replaced."""
    wire = outbound_world_message_by_name(arguments.message).to_wire(arguments.payload)
    text = json.dumps(wire, ensure_ascii=False, indent=2) + "\n"
    return TextChange(name=f"world/{arguments.message}", before=None, after=text)


def _nonce(arguments: WorldSend, context: ActionContext) -> dict[str, Any]:
    """Return one nonce and time for all retries, so that the world accepts the message once."""
    outbound_world_message_by_name(arguments.message).to_wire(arguments.payload)
    digest = hashlib.sha256(f"world {context.key}".encode()).hexdigest()
    return {"nonce": digest[:32], "at": context.clock.now().isoformat()}


def _trusted_cost(arguments: WorldSend, context: ActionContext) -> Document | None:
    """Return the agent's standing with this message paid from the limit of a trusted world.

    None if the owner does not trust the world, or the cost is unknown or above the day's limit.
    """
    if context.turn.authority not in {Authority.SELF, Authority.OWNER}:
        return None
    stored = context.reach.facts.get(context.agent.id, STANDING, WORLD)
    if stored is None:
        return None
    standing = stored.read(WorldStanding)
    cost = standing.cost(arguments.message, arguments.payload)
    paid = standing.with_trusted_cost(cost, context.clock.now())
    return None if paid is None else stored.with_body(paid)


def _post(context: ActionContext) -> WorldPost:
    post = context.reach.world
    if post is None:
        raise Refused("worlds are not configured in this installation", cure="continue without it")
    return post


@group.action(
    impact=Impact.READ,
    effect=Effect.PURE,
    sentences=("List the messages of the world {target}", "ワールドのメッセージを見る: {target}"),
    ja="ワールドに送れるメッセージの一覧です。target (Vault など) で中身もわかります。",
    offered=has_agent_world,
)
def world_messages(arguments: WorldMessages, context: ActionContext) -> ActionResult:
    """List what can be sent to your world; with a target such as Vault also what messages hold."""
    place = _post(context).place(context.agent.id)
    language = context.agent.language
    wanted = arguments.target.strip().lower()
    shown = dict[str, dict[str, str]]()
    for message in outbound_world_messages():
        if wanted in {"", message.other.lower()}:
            holds = f" {message.notation}" if wanted else ""
            described = f"{message.descriptions[language]}{holds}"
            shown.setdefault(message.other, {})[message.name] = described
    return ActionResult.ok(
        messages=shown,
        you=place.key_id,
        role=place.genome.role,
        units=place.units or 0,
        balance=place.balance,
        reputation=place.reputation,
    )


@group.action(
    impact=Impact.EXTERNAL,
    effect=Effect.KEYED,
    sentences=("Send {message} to the world: {payload}", "ワールドに{message}を送る: {payload}"),
    ja="ワールドにメッセージを送ります。予算を1使い、返事はあとで出来事として届きます。",
    prepare=_nonce,
    touches=_message_excerpt,
    change=_message_change,
    permit=_trusted_cost,
    offered=has_agent_world,
)
def world_send(arguments: WorldSend, context: ActionContext) -> ActionResult:
    """Send a message to your world; it costs one budget unit, answers come later as events."""
    place = _post(context).send(
        context.agent.id,
        arguments.message,
        arguments.payload,
        nonce=context.prepared["nonce"],
        at=datetime.fromisoformat(context.prepared["at"]),
    )
    return ActionResult.ok(sent=arguments.message, units_left=place.units or 0)
