"""Journal records: their keys, their stored form, and arguments that JSON cannot carry."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from opencrab.domain.turn.action import ActionResult, Effect
from opencrab.domain.turn.record import (
    ActionCall,
    ActionIntent,
    ApprovalDecision,
    ApprovalRequest,
    BlobPointer,
    CallResult,
    CallState,
    ModelAnswer,
    ModelIntent,
    ModelResult,
    Record,
    key_of_turn_record,
    stored_body_of_turn_record,
)
from opencrab.domain.value import JSON_DEPTH

ADAPTER: TypeAdapter[Record] = TypeAdapter(Record)

INTENT = ModelIntent(n=1, model="m", request_hash="h", reserved=5, heard=("i1",))
ANSWERED = ModelResult(
    n=1, state=CallState.COMPLETED, answer=ModelAnswer(text="海 🦀"), cost=3, latency_ms=12
)
KEYED = ActionIntent(
    n=2, call_id="c1", name="ws_write", effect=Effect.KEYED, argument_hash="h", prepared={"a": "b"}
)
RETURNED = CallResult(
    n=2, call_id="c1", name="ws_write", state=CallState.COMPLETED, result=ActionResult.ok(ok=1)
)
ASKED = ApprovalRequest(
    n=3, call_id="c2", name="post", argument_hash="h", what="投稿する", touches="掲示板"
)
DECIDED = ApprovalDecision(n=3, call_id="c2", argument_hash="h", approved=True, by="太郎")
AWAY = BlobPointer(n=4, sha256="ab" * 32, size=400_000)

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text("abé海🦀\n\x00", max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab海"), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


def call(arguments: Any, **fields: Any) -> ActionCall:
    return ActionCall.model_validate(
        {"id": "c1", "name": "ws_write", "arguments": arguments} | fields
    )


def nested(depth: int) -> dict[str, Any]:
    value: Any = 1
    for _ in range(depth - 2):
        value = [value]
    return {"a": value}


@pytest.mark.parametrize(
    ("record", "key"),
    [
        (INTENT, "0001I"),
        (ANSWERED, "0001R"),
        (KEYED, "0002I"),
        (RETURNED, "0002R"),
        (ASKED, "0003I"),
        (DECIDED, "0003R"),
        (AWAY, "0004R"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_record_lies_under_its_number_and_kind(record: Record, key: str) -> None:
    assert key_of_turn_record(record) == key


def test_keys_sort_as_things_happened() -> None:
    happened: list[Record] = [INTENT, ANSWERED, KEYED, RETURNED, ASKED, DECIDED]
    later: list[Record] = [INTENT.replaced(n=10), RETURNED.replaced(n=10), AWAY.replaced(n=200)]
    keys = [key_of_turn_record(record) for record in (*happened, *later)]
    assert keys == sorted(keys)


@pytest.mark.parametrize("record", [INTENT, ANSWERED, KEYED, RETURNED, ASKED, DECIDED, AWAY])
def test_a_record_comes_back_from_its_stored_form(record: Record) -> None:
    whole, stored = record.model_dump_json(), stored_body_of_turn_record(record)
    assert ADAPTER.validate_json(whole) == ADAPTER.validate_json(stored) == record
    assert json.loads(stored)["kind"] == record.kind
    assert (len(stored) < len(whole)) == (record in (INTENT, ANSWERED))


@pytest.mark.parametrize(
    "arguments",
    [
        {"x": float("nan")},
        {"x": float("inf")},
        {"x": [float("-inf")]},
        {"x": 10**5_000},
        {"x": "half \ud83e"},
        {"\udd80": 1},
        {"x": object()},
        {"x": b"bytes"},
        nested(JSON_DEPTH + 1),
        nested(200_000),
    ],
    ids=lambda value: "",
)
def test_arguments_that_json_cannot_carry_count_as_unread(arguments: dict[str, Any]) -> None:
    made = call(arguments, raw="…")
    assert made.arguments is None
    assert ActionCall.model_validate_json(made.model_dump_json()) == made


def test_arguments_may_be_nested_but_not_endlessly() -> None:
    assert call(nested(JSON_DEPTH)).arguments == nested(JSON_DEPTH)


@given(arguments=st.dictionaries(st.text("ab海"), json_values, max_size=3))
def test_all_other_arguments_come_back_with_the_same_hash(arguments: dict[str, Any]) -> None:
    made = call(arguments)
    assert made.arguments == arguments
    stored = ActionCall.model_validate_json(made.model_dump_json())
    assert stored.argument_hash == made.argument_hash
    assert json.dumps(stored.arguments) == json.dumps(arguments)


def test_the_order_of_arguments_does_not_matter_to_an_approval() -> None:
    assert call({"a": 1, "b": "海"}).argument_hash == call({"b": "海", "a": 1}).argument_hash


@pytest.mark.parametrize(
    "other",
    [
        call({"a": 2}),
        call({"a": "1"}),
        call({"a": 1.0}),
        call({}),
        call(None),
        call(None, raw="x"),
        call({"a": 1}, name="ws_read"),
    ],
    ids=lambda value: "",
)
def test_an_approval_is_bound_to_the_name_and_the_exact_arguments(other: ActionCall) -> None:
    assert call({"a": 1}).argument_hash != other.argument_hash


def test_an_approval_is_not_bound_to_the_name_of_the_call() -> None:
    assert call({"a": 1}).argument_hash == call({"a": 1}, id="c2").argument_hash


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("海\ud83e", "海\ufffd"),
        ("\ud83e\udd80", "🦀"),
        ("plain", "plain"),
        ("\udd80蟹", "\ufffd蟹"),
    ],
)
def test_what_a_model_sends_is_made_whole(sent: str, kept: str) -> None:
    answer = ModelAnswer(text=sent, model=sent, memory_update=sent)
    assert (answer.text, answer.model, answer.memory_update) == (kept, kept, kept)
    assert call({}, id=sent, name=sent, raw=sent).name == kept
