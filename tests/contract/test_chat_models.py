"""What every ChatModel promises, scripted or behind a server; a new provider adds one line."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from opencrab.adapters.providers.httpx_transport import HttpxTransport, new_client
from opencrab.adapters.providers.openai import Endpoint, OpenAIModel
from opencrab.adapters.providers.script import ScriptedAnswer, ScriptedCall
from opencrab.adapters.providers.scripted import Scripted
from opencrab.domain.errors import NeverSent, OpenCrabError, Refused, Unavailable
from opencrab.domain.money import Price
from opencrab.domain.record import Answer
from opencrab.ports.model import ActionSchema, ChatModel, ChatRequest, ModelInfo, Said
from tests.unit.adapters.providers.stub import (
    Canned,
    Received,
    calling,
    completion,
    json_of,
    serving,
)

PRICE = Price(input_per_million=1_000_000, output_per_million=2_000_000)
KEY = "sk-proj-crab0123456789"
WRITE = ActionSchema(
    name="ws_write",
    description="ファイルを書く。",
    parameters={"type": "object", "properties": {"path": {"type": "string"}}},
)

Prepared = Callable[[ScriptedAnswer], ChatModel]
Prepare = Callable[[], Iterator[Prepared]]


def _scripted() -> Iterator[Prepared]:
    yield lambda answer: Scripted((answer,), price=PRICE)


def _behind_a_server() -> Iterator[Prepared]:
    told: list[ScriptedAnswer] = []
    info = ModelInfo(name="蟹屋:crab-1", price=PRICE)
    with serving(lambda got: _served(told[-1], got)) as stub, new_client() as client:

        def prepare(answer: ScriptedAnswer) -> ChatModel:
            told.append(answer)
            gone = answer.error == "never_sent"
            url = "http://127.0.0.1:1/v1" if gone else f"{stub.url}/v1"
            endpoint = Endpoint("蟹屋", url, KEY, "CRAB_API_KEY")
            return OpenAIModel(endpoint, "crab-1", info, HttpxTransport(client))

        yield prepare


def _served(told: ScriptedAnswer, got: Received) -> Canned:
    """What a server answers when it is to say what the script says."""
    assert got.path == "/v1/chat/completions"
    failures = {
        "refused": json_of({"error": {"message": f"{KEY} は無効です"}}, 401),
        "unavailable": json_of({"error": {"message": "落ちました"}}, 503),
        "nonsense": Canned(body=b"<html>"),
    }
    if told.error:
        return failures[told.error]
    message = calling(told.calls[0].name, told.calls[0].arguments) if told.calls else {}
    return json_of(completion({**message, "content": told.text}))


KINDS: dict[str, Prepare] = {
    "scripted": _scripted,
    "openai": _behind_a_server,
}


@pytest.fixture(params=KINDS)
def prepared(request: pytest.FixtureRequest) -> Iterator[Prepared]:
    """A model that will answer as told."""
    with contextmanager(KINDS[request.param])() as prepare:
        yield prepare


def _request(words: str = "こんにちは。Hello. 🦀") -> ChatRequest:
    turns = (Said("user", words, name="rin"),)
    return ChatRequest("", (WRITE,), "あなたは蟹です。", turns, 200, timeout_seconds=10.0)


def _chat(model: ChatModel) -> Answer:
    request = _request()
    return model.chat(request, model.encode(request))


@pytest.mark.parametrize("text", ["こんにちは。", "Hello, world.", "🦀\n改行"])
def test_words_arrive_and_are_counted(prepared: Prepared, text: str) -> None:
    answer = _chat(prepared(ScriptedAnswer(text=text)))
    assert (answer.text, answer.calls) == (text, ())
    assert answer.finish
    assert answer.model
    assert answer.usage.input_tokens > 0
    assert answer.usage.output_tokens > 0


def test_a_call_arrives_with_its_arguments(prepared: Prepared) -> None:
    wanted = ScriptedCall("ws_write", '{"path": "日記.md"}')
    answer = _chat(prepared(ScriptedAnswer(text="書きます", calls=(wanted,))))
    (call,) = answer.calls
    assert (call.name, call.arguments, call.raw) == ("ws_write", {"path": "日記.md"}, "")
    assert answer.text == ""
    assert answer.thought is not None
    assert answer.thought.intent == "書きます"


@pytest.mark.parametrize("broken", ['{"path": "日', "[]", '{"a": NaN}'])
def test_broken_arguments_arrive_as_unread(prepared: Prepared, broken: str) -> None:
    (call,) = _chat(prepared(ScriptedAnswer(calls=(ScriptedCall("ws_write", broken),)))).calls
    assert call.arguments is None
    assert call.raw == broken


def test_thoughts_and_memories_are_kept_out_of_the_words(prepared: Prepared) -> None:
    text = "<think>さて</think>はい<memory>凛は猫が好き</memory>"
    answer = _chat(prepared(ScriptedAnswer(text=text)))
    assert answer.text == "はい"
    assert answer.thought is not None
    assert answer.thought.judgment == "さて"
    assert answer.memory_update == "凛は猫が好き"


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ("never_sent", NeverSent), ("refused", Refused),
        ("unavailable", Unavailable), ("nonsense", Unavailable),
    ],
)  # fmt: skip
def test_a_failure_tells_what_may_have_been_billed(
    prepared: Prepared, error: str, kind: type[OpenCrabError]
) -> None:
    model = prepared(ScriptedAnswer(error=error))
    with pytest.raises(kind) as caught:
        _chat(model)
    assert type(caught.value) is kind
    assert KEY not in caught.value.message


def test_a_request_is_encoded_the_same_each_time_and_as_json(prepared: Prepared) -> None:
    model = prepared(ScriptedAnswer(text="はい"))
    body = model.encode(_request())
    assert body == model.encode(_request())
    assert json.loads(body)["messages"][-1]["content"] == "こんにちは。Hello. 🦀"


def test_half_a_character_is_no_reason_to_fail(prepared: Prepared) -> None:
    model = prepared(ScriptedAnswer(text="はい"))
    request = _request("a\ud83d")
    assert model.chat(request, model.encode(request)).text == "はい"


def test_an_answer_costs_no_more_than_what_is_set_aside_for_it(prepared: Prepared) -> None:
    model, request = prepared(ScriptedAnswer(text="はい")), _request()
    body = model.encode(request)
    answer = model.chat(request, body)
    reserved = PRICE.reservation(
        request_bytes=len(body), max_output_tokens=request.max_output_tokens
    )
    assert 0 < PRICE.cost(answer.usage) <= reserved


def test_an_answer_survives_the_journal(prepared: Prepared) -> None:
    answer = _chat(prepared(ScriptedAnswer(calls=(ScriptedCall("ws_write", '{"a": "🦀"}'),))))
    assert Answer.model_validate_json(answer.model_dump_json()) == answer


def test_a_model_knows_its_name_its_limits_and_its_price(prepared: Prepared) -> None:
    info = prepared(ScriptedAnswer(text="はい")).info
    assert ":" in info.name
    assert info.price == PRICE
    assert 0 < info.max_output_tokens <= info.max_input_tokens
