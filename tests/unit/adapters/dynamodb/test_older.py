"""Items of this version: code of the last release leaves them alone, and reads all the others."""

from typing import Any

import pytest
from pydantic import TypeAdapter

from opencrab.adapters.dynamodb import agent as agents
from opencrab.adapters.dynamodb import document as facts
from opencrab.adapters.dynamodb.item import Item, Schema, from_dynamodb_attribute
from opencrab.adapters.dynamodb.turn import record as records
from opencrab.domain.agents.agent_state import MIND, AgentState
from opencrab.domain.agents.heartbeat import Heartbeat
from opencrab.domain.document import new_fact
from opencrab.domain.errors import Unavailable
from opencrab.domain.models.optimization import Aim, LearningMode
from opencrab.domain.models.routing import LlmConfig, ModelAssignment, RoutingBasis, Use
from opencrab.domain.skills.skill import SKILL, AcquiredSkill, IndexedSkill, SkillStatus, SourceType
from opencrab.domain.turn.action import ActionResult, MemoriesFound, SkillUsed
from opencrab.domain.turn.record import CallResult, CallState, ModelIntent, Record
from opencrab.domain.value import Value
from tests.contract.example import NOW, profile
from tests.unit.adapters.dynamodb.wire import Dynamo

SKILLED = AcquiredSkill(
    name="brewing",
    description="Brew tea.",
    guidance="Warm the pot.",
    source_type=SourceType.REFLECTION,
    created_at=NOW,
    updated_at=NOW,
)
PLAIN = IndexedSkill(name="brewing", description="Brew tea.")
LOT = ModelAssignment(use=Use.CONVERSATION, task_type="code", model="cheap", probability=0.1)


def before(schema: Schema) -> Schema:
    """What the last release knows."""
    return Schema(schema.entity, schema.migrations[:-1])


def refuses(schema: Schema, item: Item) -> bool:
    """Whether the last release leaves an item to newer code; all that it reads is of it."""
    try:
        before(schema).decode_item(item)
    except Unavailable:
        return True
    return False


def found(*effects: Any) -> CallResult:
    return CallResult(
        n=1,
        call_id="c",
        name="memory_search",
        state=CallState.COMPLETED,
        result=ActionResult(success=True, side_effects=effects),
    )


def asked(**said: Any) -> ModelIntent:
    plain_one = ModelIntent(n=1, model="cheap", request_hash="h", reserved=7)
    return plain_one.replaced(**said)


@pytest.mark.parametrize(
    ("record", "is_new"),
    [
        (asked(), False),
        (asked(basis=RoutingBasis(model="cheap")), False),
        (asked(probability=0.1), True),
        (asked(skills_held=("brewing",)), True),
        (asked(basis=RoutingBasis(lots=(LOT,))), True),
        (found(SkillUsed(name="brewing")), False),
        (found(SkillUsed(name="brewing"), MemoriesFound(ids=("m",))), True),
    ],
)
def test_a_record_is_left_alone_exactly_where_it_says_what_is_new(
    record: Record, *, is_new: bool
) -> None:
    item = records.record_to_dynamodb_item("t1", record, NOW)
    assert refuses(records.SCHEMA, item) == is_new
    assert records.turn_record_from_dynamodb_item(item) == record
    if not is_new:
        body = from_dynamodb_attribute(item["body"])
        assert not any(name in body for name in ("probability", "skills_held", "lots"))


@pytest.mark.parametrize(
    ("said", "is_new"),
    [
        ({}, False),
        ({"llm": LlmConfig(private=True)}, False),
        ({"llm": LlmConfig(aim=Aim(leave=LearningMode.APPLY))}, True),
        ({"heartbeat": Heartbeat(interval_seconds=127)}, True),
        ({"world": "garden"}, True),
    ],
)
def test_an_agent_is_left_alone_exactly_where_it_says_what_is_new(
    dynamo: Dynamo, said: dict[str, Value | str], *, is_new: bool
) -> None:
    stored = dynamo.stores.agents
    stored.create(profile())
    saved = stored.save(stored.get("hana").agent.replaced(**said))
    items = dynamo.table.query("AGENT#hana", "A", "Z")
    assert [refuses(agents.SCHEMA, item) for item in items] == [is_new, False, False]
    assert stored.get("hana").agent == saved
    untold = [
        name
        for name in ("heartbeat", "world", "aim")
        if name in from_dynamodb_attribute(items[0]["body"])
    ]
    assert bool(untold) == is_new


@pytest.mark.parametrize(
    ("kind", "value", "is_new"),
    [
        (MIND, AgentState(enabled=("vault",), skills=(PLAIN,)), False),
        (MIND, AgentState(pinned=("skill:brewing",)), True),
        (MIND, AgentState(skills=(PLAIN.replaced(on_trial=True),)), True),
        (SKILL, SKILLED, False),
        (SKILL, SKILLED.replaced(status=SkillStatus.CANDIDATE), True),
        (SKILL, SKILLED.replaced(worded_at=NOW), True),
        ("note", SKILLED.replaced(worded_at=NOW), False),
    ],
)
@pytest.mark.parametrize("version", [0, 1])
def test_a_fact_is_left_alone_exactly_where_it_says_what_is_new(
    dynamo: Dynamo, kind: str, value: Value, version: int, *, is_new: bool
) -> None:
    fact = new_fact("hana", kind, MIND if kind == MIND else "a", value).replaced(version=version)
    dynamo.stores.facts.commit(fact)
    place = ("AGENT#hana", "MIND") if kind == MIND else ("FACT#hana", f"{kind}#a")
    item = dynamo.table.get(*place)
    assert item is not None
    assert refuses(facts.SCHEMA, item) == is_new
    assert facts.document_from_dynamodb_item(item).read(type(value)) == value


def test_what_the_last_release_wrote_is_read() -> None:
    old = TypeAdapter(dict[str, Any]).validate_json(asked().model_dump_json())
    del old["probability"], old["skills_held"]
    body = TypeAdapter(dict[str, Any]).dump_json(old).decode()
    item = before(records.SCHEMA).encode_item("TURN#t1", "0001I", {"body": body})
    assert records.turn_record_from_dynamodb_item(item) == asked()
