"""Embeddings: one vector for each text, in their order, or no answer."""

import base64
import json
import math
import struct
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.adapters.providers.openai.endpoint import AzureWire, OpenAIWire
from opencrab.domain.models.fault import Fault, ModelCallFailed
from opencrab.ports.models.model import Embeddings
from tests.unit.adapters.providers.recorded import PARTY, exchanges

WIRE = OpenAIWire()


def _body(*entries: Any, **more: Any) -> dict[str, Any]:
    return {"model": "vec-1", "data": list(entries), "usage": {"prompt_tokens": 4}, **more}


def _read(body: Any, *texts: str) -> Embeddings:
    return WIRE.embeddings_from_wire(body, texts or ("蟹", "crab"), PARTY)


def _packed(*numbers: float) -> str:
    return base64.b64encode(struct.pack(f"<{len(numbers)}f", *numbers)).decode()


def test_a_request_fits_the_published_schema(wire: Path) -> None:
    spec = json.loads((wire / "specs" / "openai" / "openapi.min.json").read_text(encoding="utf-8"))
    schema = jsonschema.Draft202012Validator(
        {
            "$ref": "#/components/schemas/CreateEmbeddingRequest",
            "unevaluatedProperties": False,
            "components": spec["components"],
        }
    )
    body = WIRE.embeddings_to_wire("text-embedding-3-small", ("蟹", ""))
    schema.validate(body)
    assert body["input"] == ["蟹", " "]


def test_vectors_come_in_the_order_of_their_texts() -> None:
    found = _read(
        _body({"index": 1, "embedding": [0.5, 1]}, {"index": 0, "embedding": [-0.5, 2.0]})
    )
    assert found.vectors == ((-0.5, 2.0), (0.5, 1.0))
    assert found.usage.input_tokens == 4
    assert found.model == "vec-1"


def test_vectors_may_come_as_packed_floats_and_without_numbers_of_their_own() -> None:
    found = _read(_body({"embedding": _packed(0.5, -1)}, {"embedding": _packed(2, 3)}, model=None))
    assert found.vectors == ((0.5, -1.0), (2.0, 3.0))
    assert found.model == PARTY.model


@pytest.mark.parametrize(
    "entries",
    [
        [], [{"embedding": [1.0]}], [{"embedding": [1.0]}] * 3, [{"embedding": [1.0]}, {}],
        [{"embedding": [1.0], "index": 0}, {"embedding": [1.0], "index": 0}],
        [{"embedding": [1.0]}, {"embedding": [1.0, 2.0]}],
        [{"embedding": [1.0]}, {"embedding": []}], [{"embedding": [1.0]}, {"embedding": "!!"}],
        [{"embedding": [1.0]}, {"embedding": "AAA="}], [{"embedding": [True]}] * 2,
        [{"embedding": [math.nan]}] * 2, [{"embedding": [10**400]}] * 2,
        [{"embedding": _packed(math.inf)}] * 2, [{"embedding": ["1"]}] * 2, [None, 3],
    ],
)  # fmt: skip
def test_anything_but_one_vector_for_each_text_is_no_answer(entries: list[Any]) -> None:
    with pytest.raises(ModelCallFailed, match="蟹屋") as caught:
        _read(_body(*entries))
    assert caught.value.fault is Fault.NONSENSE
    assert caught.value.usage is not None


def test_an_error_that_came_with_success_is_an_error() -> None:
    with pytest.raises(ModelCallFailed) as caught:
        _read({"error": {"code": 402, "message": "空です"}})
    assert caught.value.fault is Fault.QUOTA_SPENT


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["data", "embedding", "index", "usage", "model"]), inner, max_size=4
            )
        ),
        max_leaves=12,
    )
)
def test_any_json_becomes_vectors_or_unanswered(body: Any) -> None:
    try:
        found = _read(body)
    except ModelCallFailed:
        return
    assert len(found.vectors) == 2


@pytest.mark.parametrize("provider", ["openai", "openrouter", "llamacpp"])
def test_recorded_vectors_are_read(wire: Path, provider: str) -> None:
    for exchange in exchanges(wire, provider, "embeddings"):
        if exchange.is_error:
            continue
        texts = exchange.asked["input"]
        found = _read(exchange.answered, *([texts] if isinstance(texts, str) else texts))
        assert all(any(vector) for vector in found.vectors), exchange.name
        assert found.usage.input_tokens > 0, exchange.name


@pytest.mark.parametrize(
    ("provider", "faults"),
    [("openai", {Fault.MODEL_GONE, Fault.BAD_REQUEST}), ("azure", {Fault.AUTH})],
)
def test_recorded_refusals_are_sorted(wire: Path, provider: str, faults: set[Fault]) -> None:
    refused = [each for each in exchanges(wire, provider, "embeddings") if each.is_error]
    assert {AzureWire().failure(each.reply, PARTY).fault for each in refused} == faults
