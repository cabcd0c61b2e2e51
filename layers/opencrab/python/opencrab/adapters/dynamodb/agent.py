"""Agents in the table: agent, soul, identity and mind as items of one partition."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from pynamodb.expressions.operand import Path

from opencrab.adapters.dynamodb import document as facts
from opencrab.adapters.dynamodb.item import Item, Schema, item_shard, item_with_defaults
from opencrab.adapters.dynamodb.listing import page_of_dynamodb_items
from opencrab.adapters.dynamodb.table import Cancelled, Table, Write, item_absent, put_item
from opencrab.domain.agents.agent import Agent, Identity, Profile
from opencrab.domain.agents.agent_state import AgentState
from opencrab.domain.agents.heartbeat import Heartbeat
from opencrab.domain.agents.soul import Soul
from opencrab.domain.errors import Conflict, NotFound
from opencrab.domain.models.optimization import Aim

SCHEMA = Schema("agent", (item_with_defaults, item_with_defaults, item_with_defaults))
BEFORE = SCHEMA.version - 1
"""The version of a part in which nothing is new: code of earlier releases reads it."""

LIST = "agent"
AGENT, IDENTITY, SOUL = "A", "IDENTITY", "SOUL"

_TIMES = {"created_at", "updated_at"}
_ADDED: dict[str, bool | dict[str, bool]] = {"heartbeat": True, "world": True, "llm": {"aim": True}}
"""Fields of this version, which are written only where one of them was set."""


class DynamoAgents:
    """`ports.agents.Agents` on a DynamoDB table.

    With `consistent=False` reads are eventually consistent: half the price, but they may miss the
    newest change. That suits workers, and is wrong for the caller that made the change.
    """

    def __init__(self, table: Table, *, consistent: bool = True) -> None:
        self._table = table
        self._consistent = consistent

    def create(self, profile: Profile) -> Profile:
        agent = profile.agent
        try:
            self._table.transact(
                put_item(_agent_item(agent), item_absent()),
                put_item(_part(agent.id, SOUL, profile.soul), item_absent()),
                put_item(_part(agent.id, IDENTITY, profile.identity), item_absent()),
            )
        except Cancelled:
            stored = self._stored(agent.id)
            if stored is not None and _shape(stored) == _shape(profile):
                return stored
            raise Conflict(
                f"agent {agent.id!r} exists already with other content",
                field="Idempotency-Key",
                cure="use a new key for a new agent",
            ) from None
        return profile

    def get(self, agent_id: str) -> Profile:
        profile = self._stored(agent_id)
        if profile is None:
            raise NotFound(f"there is no agent {agent_id!r}", cure="list them with GET /api/agents")
        return profile

    def names(self, agent_ids: Iterable[str]) -> dict[str, str]:
        places = {(f"AGENT#{each}", IDENTITY): each for each in agent_ids}
        found = self._table.get_many(tuple(places))
        bodies = (
            (places[place], SCHEMA.decode_item(item)["body"]) for place, item in found.items()
        )
        return {agent_id: Identity.from_stored(body).name for agent_id, body in bodies}

    def page(self, *, after: str | None, limit: int) -> tuple[Profile, ...]:
        partitions = page_of_dynamodb_items(self._table, LIST, f"AGENT#{after or ''}", limit)
        found = self._table.get_many(
            [(pk, sk) for pk in partitions for sk in (AGENT, IDENTITY, SOUL)]
        )
        profiles = (
            _profile({sk: found[pk, sk] for sk in (AGENT, IDENTITY, SOUL) if (pk, sk) in found})
            for pk in partitions
        )
        return tuple(profile for profile in profiles if profile is not None)

    def save(
        self, agent: Agent, *, soul: Soul | None = None, identity: Identity | None = None
    ) -> Agent:
        saved = agent.replaced(version=agent.version + 1)
        writes: list[Write] = [put_item(_agent_item(saved), Path("version") == agent.version)]
        if soul is not None:
            writes.append(put_item(_part(agent.id, SOUL, soul)))
        if identity is not None:
            writes.append(put_item(_part(agent.id, IDENTITY, identity)))
        try:
            self._table.transact(*writes)
        except Cancelled as refusal:
            item = refusal.failed.get(0)
            if item is None:
                raise NotFound(
                    f"there is no agent {agent.id!r}", cure="list them with GET /api/agents"
                ) from None
            version = SCHEMA.decode_item(item)["version"]
            raise Conflict(
                f"agent {agent.id!r} was changed concurrently "
                f"(version {version}, not {agent.version})",
                cure="load it again and repeat the change",
            ) from None
        return saved

    def _stored(self, agent_id: str) -> Profile | None:
        items = self._table.query(_partition(agent_id), "A", "Z", consistent=self._consistent)
        return _profile({item["sk"]["S"]: item for item in items})


def agent_item_created_at(table: Table, agent_id: str) -> datetime | None:
    """Return when an agent was created; None if it does not exist."""
    item = table.get(_partition(agent_id), AGENT)
    if item is None:
        return None
    return Agent.from_stored(SCHEMA.decode_item(item)["body"]).created_at


def _profile(parts: dict[str, Item]) -> Profile | None:
    if not {AGENT, IDENTITY, SOUL} <= parts.keys():
        return None
    mind = (
        facts.document_from_dynamodb_item(parts[facts.MIND_KEY]).read(AgentState)
        if facts.MIND_KEY in parts
        else AgentState()
    )
    bodies = {name: SCHEMA.decode_item(parts[name])["body"] for name in (AGENT, IDENTITY, SOUL)}
    return Profile.read(bodies[AGENT], bodies[SOUL], bodies[IDENTITY], mind)


def _agent_item(agent: Agent) -> Item:
    partition, newest = _partition(agent.id), _is_newest(agent)
    fields: dict[str, Any] = {
        "schema": SCHEMA.version if newest else BEFORE,
        "body": agent.to_stored(exclude=None if newest else _ADDED),
        "version": agent.version,
        "list": f"{LIST}#{item_shard(partition)}",
    }
    return SCHEMA.encode_item(partition, AGENT, fields)


def _part(agent_id: str, sk: str, value: Soul | Identity) -> Item:
    fields = {"schema": BEFORE, "body": value.to_stored()}
    return SCHEMA.encode_item(_partition(agent_id), sk, fields)


def _is_newest(agent: Agent) -> bool:
    """Check whether an agent uses fields that only this schema version has."""
    set_here = (agent.heartbeat, agent.world, agent.llm.aim, agent.llm.sampling)
    return set_here != (Heartbeat(), None, Aim(), {})


def _partition(agent_id: str) -> str:
    return f"AGENT#{agent_id}"


def _shape(profile: Profile) -> dict[str, object]:
    return profile.model_dump(exclude={"agent": _TIMES | {"version"}, "mind": True})
