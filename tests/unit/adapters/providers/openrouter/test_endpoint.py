"""OpenRouter: what a call cost, errors that come with success, and reasoning that goes back."""

import json
import math
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.adapters.providers.openrouter.endpoint import OpenRouterWire
from opencrab.adapters.providers.transport.exchange import Reply
from opencrab.adapters.providers.wire.wire import Endpoint, ErrorParty
from opencrab.domain.models.fault import Fault, ModelCallFailed
from opencrab.domain.money.budget import Price
from opencrab.domain.turn.record import ActionCall, ModelAnswer
from opencrab.ports.models.model import (
    ActionSchema,
    CallReturn,
    ChatMessage,
    ChatRequest,
    ModelInfo,
)
from tests.unit.adapters.providers.openai_cases import CASES, asked, asking
from tests.unit.adapters.providers.recorded import PARTY, exchanges, read, sequences
from tests.unit.adapters.providers.stub import completion

WIRE = OpenRouterWire()
FREE = ErrorParty("openrouter", "sea/crab-1:free", "CRAB_API_KEY")


@pytest.fixture(scope="module")
def schema(wire: Path) -> jsonschema.Draft202012Validator:
    path = wire / "specs" / "openrouter" / "openapi.min.json"
    spec = json.loads(path.read_text(encoding="utf-8"))
    return jsonschema.Draft202012Validator(
        {
            "$ref": "#/components/schemas/ChatRequest",
            "unevaluatedProperties": False,
            "components": spec["components"],
        }
    )


def _body(request: ChatRequest, *, stream: bool = False, **known: Any) -> Any:
    info = ModelInfo(name=f"openrouter:{request.model}", **{"vision": True, **known})
    return json.loads(json.dumps(WIRE.to_wire(request, info, stream=stream)))


def _cost(usage: Any, party: ErrorParty = PARTY) -> int | None:
    body = completion({"content": "はい"}, usage=usage)
    return WIRE.from_wire(body, party).usage.reported_micro_usd


@pytest.mark.parametrize("request_", CASES)
def test_every_kind_of_request_fits_the_published_schema(
    request_: ChatRequest, schema: jsonschema.Draft202012Validator
) -> None:
    schema.validate(_body(request_))
    schema.validate(_body(request_, stream=True, temperature=False))


def test_all_our_actions_fit_the_published_schema(
    our_actions: tuple[ActionSchema, ...], schema: jsonschema.Draft202012Validator
) -> None:
    body = _body(asking(actions=our_actions))
    schema.validate(body)
    told = [tool["function"]["name"] for tool in body["tools"]]
    assert told == [action.name for action in our_actions]


@pytest.mark.parametrize(
    ("price", "most"),
    [
        ((3_000_000, 15_000_000), ("3", "15")),
        ((37_500, 1), ("0.0375", "0.000001")),
        ((0, 0), ("0", "0")),
    ],
)
def test_no_dearer_vendor_may_be_chosen_than_the_price_says(
    schema: jsonschema.Draft202012Validator, price: tuple[int, int], most: tuple[str, str]
) -> None:
    known = Price(input_per_million=price[0], output_per_million=price[1])
    body = _body(asking(), price=known)
    schema.validate(body)
    assert body["provider"] == {"max_price": {"prompt": most[0], "completion": most[1]}}
    assert "provider" not in _body(asking())


WRITES = Price(
    input_per_million=3_000_000, output_per_million=15_000_000, cache_write_per_million=3_750_000
)


@pytest.mark.parametrize(
    ("model", "price", "marked"),
    [
        ("anthropic/claude-sonnet-4.5", WRITES, True),
        ("anthropic/claude-sonnet-4.5", Price(input_per_million=3, output_per_million=15), False),
        ("deepseek/deepseek-v3.2", WRITES, False),
    ],
)
def test_only_models_of_anthropic_are_marked_and_if_writing_has_a_price(
    schema: jsonschema.Draft202012Validator,
    model: str,
    price: Price,
    marked: bool,  # noqa: FBT001
) -> None:
    turns = (
        ChatMessage("user", "こんにちは"),
        ChatMessage("assistant", "はい"),
        ChatMessage("user", "今は9時です"),
    )
    body = _body(asking(*turns, model=model), price=price)
    schema.validate(body)
    marks = ["cache_control" in json.dumps(message) for message in body["messages"]]
    assert marks == [marked, False, marked, False]


def test_the_schema_would_notice_a_field_that_does_not_exist(
    schema: jsonschema.Draft202012Validator,
) -> None:
    assert not schema.is_valid({**_body(asking()), "usage": {"include": True}})


def test_what_others_asked_in_recordings_fits_in_our_words(
    wire: Path, schema: jsonschema.Draft202012Validator
) -> None:
    for exchange in exchanges(wire, "openrouter", "chat"):
        schema.validate(_body(asked(exchange.asked), stream=exchange.is_stream))


def test_the_site_and_the_application_are_named_by_headers() -> None:
    extra = {"HTTP-Referer": "https://crab.example", "X-Title": "OpenCrab"}
    headers = WIRE.headers(Endpoint("openrouter", "https://x", "sk-or-1", extra_headers=extra))
    assert headers == {
        "http-referer": "https://crab.example",
        "x-title": "OpenCrab",
        "authorization": "Bearer sk-or-1",
    }


@pytest.mark.parametrize(
    ("usage", "micro_usd"),
    [
        ({"cost": 0.001191}, 1191), ({"cost": 0.0145476}, 14_548), ({"cost": 1e-9}, 1),
        ({"cost": 0}, 0), ({"cost": 3}, 3_000_000), ({"cost": -0.5}, None), ({"cost": True}, None),
        ({"cost": math.nan}, None), ({"cost": math.inf}, None), ({"cost": 1e300}, None),
        ({"cost": "0.1"}, None), ({"cost": None}, None), ({}, None), (None, None),
        ({"cost": 0.01, "cost_details": {"upstream_inference_cost": 0.01}}, 10_000),
        ({"cost": 0.01, "is_byok": True, "cost_details": {"upstream_inference_cost": 0.2}},
         210_000),
        ({"cost": 0.01, "is_byok": True, "cost_details": {"upstream_inference_cost": None}},
         None),
        ({"cost": 0, "is_byok": True}, None),
        ({"cost": 0, "is_byok": True, "cost_details": {"upstream_inference_cost": 0}}, 0),
    ],
)  # fmt: skip
def test_a_cost_in_dollars_is_rounded_up_and_nonsense_is_none(
    usage: Any, micro_usd: int | None
) -> None:
    assert _cost(usage) == micro_usd


@given(st.floats(min_value=0, max_value=1e6))
def test_no_cost_is_rounded_down_or_up_by_more_than_one(dollars: float) -> None:
    found = _cost({"cost": dollars})
    assert found is not None
    assert dollars * 1e6 - 1e-3 <= found <= dollars * 1e6 + 1 + 1e-3


def test_a_free_model_costs_nothing_whatever_is_said() -> None:
    assert _cost({"cost": 0.5}, FREE) == 0
    assert _cost(None, FREE) == 0


def test_every_recorded_cost_is_read(wire: Path) -> None:
    costs = 0
    for exchange in exchanges(wire, "openrouter", "chat"):
        if exchange.is_error or exchange.is_stream:
            continue
        usage = exchange.answered["usage"]
        told = usage.get("cost")
        if usage.get("is_byok"):
            told += usage["cost_details"]["upstream_inference_cost"]
        found = read(WIRE, exchange).usage.reported_micro_usd
        assert found == (None if told is None else math.ceil(round(told * 1e6, 6))), exchange.name
        costs += found is not None
    assert costs > 8


def test_an_error_in_mid_stream_keeps_what_it_cost(wire: Path) -> None:
    recorded = exchanges(wire, "openrouter", "chat")
    exchange = next(each for each in recorded if "midstream-error" in each.features)
    with pytest.raises(ModelCallFailed, match="Token limit reached") as caught:
        read(WIRE, exchange)
    assert caught.value.may_be_billed
    assert caught.value.usage is not None
    assert (caught.value.usage.output_tokens, caught.value.usage.reported_micro_usd) == (10, 0)


def test_comments_are_no_frames(wire: Path) -> None:
    recorded = [each for each in exchanges(wire, "openrouter", "chat") if each.is_stream]
    assert any(b": OPENROUTER PROCESSING" in each.body for each in recorded)


def _refused(status: int, error: Any, **headers: str) -> ModelCallFailed:
    return WIRE.failure(Reply(status, json.dumps({"error": error}).encode(), headers), PARTY)


def test_money_set_aside_by_calls_under_way_comes_back() -> None:
    error = {"code": 402, "metadata": {"limit_source": "openrouter_in_flight_budget"}}
    waiting = _refused(402, error, **{"retry-after": "2"})
    assert (waiting.fault, waiting.retry_after_seconds) == (Fault.RATE_LIMITED, 2.0)
    assert _refused(402, error).fault is Fault.QUOTA_SPENT
    spent = {"code": 402, "metadata": {"limit_source": "openrouter_credits"}}
    assert _refused(402, spent, **{"retry-after": "2"}).fault is Fault.QUOTA_SPENT


def test_a_limit_whose_end_only_a_clock_could_tell_has_no_wait() -> None:
    reset = {"X-RateLimit-Reset": "1741305600000"}
    error = {"code": 429, "message": "slow", "metadata": {"headers": reset}}
    assert _refused(429, error, **{"x-ratelimit-reset": "1741305600000"}).fault is (
        Fault.RATE_LIMITED
    )
    assert _refused(429, error).retry_after_seconds is None


def test_a_refusal_on_moral_grounds_is_not_about_the_key() -> None:
    error = {"code": 403, "message": "Your input was flagged", "metadata": {"reasons": ["x"]}}
    assert _refused(403, error).fault is Fault.BLOCKED
    assert _refused(403, {"message": "Key limit exceeded (total limit)"}).fault is (
        Fault.QUOTA_SPENT
    )


def test_recorded_reasoning_goes_back_as_it_came(
    wire: Path, schema: jsonschema.Draft202012Validator
) -> None:
    found = sequences(wire, "openrouter")
    first, second, *_ = next(steps for name, steps in found.items() if "reasoning" in name)
    model = first.asked["model"]
    answer = read(WIRE, first, ErrorParty("openrouter", model))
    body = _body(_going_on(answer, model))
    schema.validate(body)
    theirs = second.asked["messages"]
    assert body["messages"][-2]["reasoning_details"] == theirs[1]["reasoning_details"]
    assert body["messages"][-2]["tool_calls"][0]["id"] == theirs[1]["tool_calls"][0]["id"]
    assert body["messages"][-1]["tool_call_id"] == theirs[2]["tool_call_id"]
    other = _body(_going_on(answer, "another/model"))
    assert "reasoning_details" not in other["messages"][-2]


def _going_on(answer: ModelAnswer, model: str) -> ChatRequest:
    """The next request of a turn, whose calls have ids of the engine's own by then."""
    calls = tuple(
        ActionCall(id=f"t1.s1.{call.id}", name=call.name, arguments=call.arguments)
        for call in answer.calls
    )
    said = ChatMessage("assistant", answer.text, calls=calls, replay=answer.replay)
    results = (CallReturn(call.id, call.name, "晴れ") for call in calls)
    return asking(said, *results, model=model)


def _generation(**told: Any) -> dict[str, Any]:
    """What OpenRouter tells of a call that has ended, as its schema has it."""
    facts = {
        "id": "gen-1",
        "model": "sea/crab-1",
        "total_cost": 0.0015,
        "is_byok": False,
        "upstream_inference_cost": None,
        "native_tokens_prompt": 10,
        "native_tokens_completion": 25,
        "native_tokens_cached": 3,
        "native_tokens_reasoning": 5,
    }
    return {"data": facts | told}


def test_the_id_of_a_call_is_in_a_header() -> None:
    assert WIRE.call_id({"x-generation-id": "gen-17-蟹a"}) == "gen-17-蟹a"
    assert WIRE.call_id({}) == ""
    assert len(WIRE.call_id({"x-generation-id": "g" * 9_999})) == 200
    assert WIRE.usage_path("gen 1&x=2") == "/generation?id=gen%201%26x%3D2"


@pytest.mark.parametrize(
    ("told", "cost"),
    [
        ({}, 1_500),
        ({"total_cost": 0}, 0),
        ({"total_cost": 1e-9}, 1),
        ({"is_byok": True, "upstream_inference_cost": 0.01}, 11_500),
        ({"is_byok": True}, None),
        ({"total_cost": None}, None),
        ({"total_cost": -1}, None),
        ({"total_cost": math.nan}, None),
        ({"total_cost": "0.1"}, None),
        ({"total_cost": None, "model": "sea/crab-1:free"}, 0),
    ],
)
def test_what_a_call_cost_is_read_from_the_lookup(told: dict[str, Any], cost: int | None) -> None:
    usage = WIRE.usage_from_wire(_generation(**told))
    assert (None if usage is None else usage.reported_micro_usd) == cost


def test_the_tokens_of_a_lookup_are_those_of_the_vendor() -> None:
    usage = WIRE.usage_from_wire(_generation(native_tokens_cached=None))
    assert usage is not None
    assert (usage.input_tokens, usage.output_tokens) == (10, 25)
    assert (usage.cached_tokens, usage.reasoning_tokens) == (0, 5)


@pytest.mark.parametrize("body", [None, [], {}, {"data": None}, {"data": []}, "蟹"])
def test_a_lookup_that_tells_nothing_tells_no_cost(body: Any) -> None:
    assert WIRE.usage_from_wire(body) is None


def test_the_lookup_is_in_the_published_description(wire: Path) -> None:
    path = wire / "specs" / "openrouter" / "openapi.min.json"
    spec = json.loads(path.read_text(encoding="utf-8"))
    assert spec["paths"]["/generation"]["get"]["parameters"][0]["name"] == "id"
    told = spec["components"]["schemas"]["GenerationResponse"]["properties"]["data"]["properties"]
    assert _generation()["data"].keys() <= told.keys()
