"""What every ChatModel promises, scripted or behind a server; a new vendor is one of VENDORS."""

import json
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field

import pytest

from opencrab.adapters.providers.scripted.model import Scripted
from opencrab.adapters.providers.scripted.script import ScriptedAnswer, ScriptedCall
from opencrab.adapters.providers.transport.http_connections import HttpConnections
from opencrab.adapters.providers.transport.http_transport import HttpTransport
from opencrab.adapters.providers.vendor import VendorModel
from opencrab.adapters.providers.wire.wire import Endpoint
from opencrab.domain.models.fault import Fault, ModelCallFailed
from opencrab.domain.money.budget import Price
from opencrab.domain.turn.record import ModelAnswer
from opencrab.ports.models.model import ActionSchema, ChatMessage, ChatModel, ChatRequest, ModelInfo
from tests.contract.speaking import VENDORS, Vendor
from tests.unit.adapters.providers.fake import Replying
from tests.unit.adapters.providers.stub import Canned, Received, json_of, serving

PRICE = Price(input_per_million=1_000_000, output_per_million=2_000_000)
KEY = "sk-proj-crab0123456789"
WRITE = ActionSchema(
    name="ws_write",
    description="ファイルを書く。",
    parameters={"type": "object", "properties": {"path": {"type": "string"}}},
)

INFO = ModelInfo(name="蟹屋:crab-1", price=PRICE, leading_blocks=True)


class Prepared:
    """Makes models that answer as told; `sent` is what reached their servers, if they have any."""

    sent: list[bytes] | None = None
    streams = False

    def __call__(self, answer: ScriptedAnswer) -> ChatModel:
        return Scripted((answer,), price=PRICE)


@dataclass(kw_only=True)
class Served(Prepared):
    """Models behind a server that speaks a vendor's format."""

    vendor: Vendor
    streams: bool
    transport: HttpTransport
    url: str = ""
    told: list[ScriptedAnswer] = field(default_factory=list)
    sent: list[bytes] | None = field(default_factory=list)

    def __call__(self, answer: ScriptedAnswer) -> ChatModel:
        self.told.append(answer)
        url = "http://127.0.0.1:1" if answer.error == "never_sent" else self.url
        endpoint = Endpoint("蟹屋", f"{url}/crab", KEY, "CRAB_API_KEY")
        wire = self.vendor.wire()
        return VendorModel(wire, endpoint, "crab-1", INFO, self.transport, stream=self.streams)

    def respond(self, got: Received) -> Canned:
        """What the server answers when it is to say what the script says."""
        assert got.path.startswith("/crab/")
        assert self.sent is not None
        self.sent.append(got.body)
        told = self.told[-1]
        failures = {
            "refused": json_of({"error": {"message": f"{KEY} は無効です"}}, 401),
            "unavailable": json_of({"error": {"message": f"{KEY} 落ちました"}}, 500),
            "nonsense": Canned(body=b"<html>", headers={"content-type": "application/json"}),
        }
        if told.error:
            return failures[told.error]
        if self.streams:
            return Canned(200, self.vendor.stream(told), {"content-type": self.vendor.kind})
        return json_of(self.vendor.whole(told))


WAYS = ["scripted", *(f"{name} {way}" for name in VENDORS for way in ("whole", "streamed"))]


@pytest.fixture(scope="module")
def transport() -> Iterator[HttpTransport]:
    with HttpConnections() as client:
        yield HttpTransport(client)


@pytest.fixture(params=WAYS)
def prepared(request: pytest.FixtureRequest, transport: HttpTransport) -> Iterator[Prepared]:
    """A model that will answer as told."""
    name, _, way = request.param.partition(" ")
    if name == "scripted":
        yield Prepared()
        return
    served = Served(vendor=VENDORS[name], streams=way == "streamed", transport=transport)
    with serving(served.respond) as stub:
        served.url = stub.url
        yield served


def _request(words: str = "こんにちは。Hello. 🦀") -> ChatRequest:
    turns = (ChatMessage("user", words, name="rin"),)
    return ChatRequest("", (WRITE,), "あなたは蟹です。", turns, 200, timeout_seconds=10.0)


def _chat(model: ChatModel) -> ModelAnswer:
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
    text = "<think>さて</think><memory>凛は猫が好き</memory>はい"
    answer = _chat(prepared(ScriptedAnswer(text=text)))
    assert answer.text == "はい"
    assert answer.thought is not None
    assert answer.thought.judgment == "さて"
    assert answer.memory_update == "凛は猫が好き"


def test_a_tag_that_an_answer_mentions_is_part_of_it(prepared: Prepared) -> None:
    text = "R1 は `<think>` で始めます。\n\n```xml\n<memory>例</memory>\n```"
    answer = _chat(prepared(ScriptedAnswer(text=text)))
    assert (answer.text, answer.thought, answer.memory_update) == (text, None, None)


@pytest.mark.parametrize(
    ("error", "fault", "billed"),
    [
        ("never_sent", Fault.UNREACHABLE, False),
        ("refused", Fault.AUTH, False),
        ("unavailable", Fault.SERVER_ERROR, True),
        ("nonsense", Fault.NONSENSE, True),
    ],
)
def test_a_failure_tells_its_fault_and_what_may_have_been_billed(
    prepared: Prepared,
    error: str,
    fault: Fault,
    billed: bool,  # noqa: FBT001
) -> None:
    model = prepared(ScriptedAnswer(error=error))
    with pytest.raises(ModelCallFailed) as caught:
        _chat(model)
    assert caught.value.fault is fault
    assert caught.value.may_be_billed is billed
    assert KEY not in caught.value.message


def test_a_request_is_encoded_the_same_each_time_and_as_json(prepared: Prepared) -> None:
    model = prepared(ScriptedAnswer(text="はい"))
    body = model.encode(_request())
    assert body == model.encode(_request())
    assert "こんにちは。Hello. 🦀" in body.decode()
    assert "あなたは蟹です。" in str(json.loads(body))


def test_what_is_encoded_is_what_is_sent(prepared: Prepared) -> None:
    model, request = prepared(ScriptedAnswer(text="はい")), _request()
    body = model.encode(request)
    model.chat(request, body)
    assert prepared.sent in (None, [body])


def test_a_stream_tells_when_its_first_words_came(prepared: Prepared) -> None:
    first = _chat(prepared(ScriptedAnswer(text="はい"))).first_token_ms
    assert (first is not None) == (prepared.streams or prepared.sent is None)
    assert (first or 0) >= 0


@pytest.mark.parametrize("name", VENDORS)
@pytest.mark.parametrize("called", [False, True])
def test_a_stream_cut_anywhere_is_a_whole_answer_or_none(
    name: str,
    called: bool,  # noqa: FBT001
) -> None:
    vendor = VENDORS[name]
    calls = (ScriptedCall("ws_write", '{"path": "日記🦀.md"}'),) if called else ()
    stream = vendor.stream(ScriptedAnswer(text="はい、蟹🦀です。", calls=calls))
    endpoint = Endpoint("蟹屋", "http://crab", KEY, "CRAB_API_KEY")
    whole: ModelAnswer | None = None
    for place in range(len(stream), -1, -1):
        model = VendorModel(vendor.wire(), endpoint, "crab-1", INFO, Replying(stream[:place]))
        with nullcontext() if whole is None else suppress(ModelCallFailed):
            answer = model.chat(_request(), b"{}")
            whole = whole or answer
            assert (answer.text, answer.calls) == (whole.text, whole.calls)
    assert whole is not None
    assert bool(whole.calls) is called


def test_half_a_character_is_no_reason_to_fail(prepared: Prepared) -> None:
    model = prepared(ScriptedAnswer(text="はい"))
    request = _request("a\ud83d")
    assert model.chat(request, model.encode(request)).text == "はい"


def test_an_answer_costs_no_more_than_what_is_set_aside_for_it(prepared: Prepared) -> None:
    model, request = prepared(ScriptedAnswer(text="はい")), _request()
    body = model.encode(request)
    answer = model.chat(request, body)
    reserved = PRICE.reservation(
        request_tokens=len(body), max_output_tokens=request.max_output_tokens
    )
    assert 0 < PRICE.cost(answer.usage) <= reserved


def test_an_answer_survives_the_journal(prepared: Prepared) -> None:
    answer = _chat(prepared(ScriptedAnswer(calls=(ScriptedCall("ws_write", '{"a": "🦀"}'),))))
    assert ModelAnswer.model_validate_json(answer.model_dump_json()) == answer


def test_a_model_knows_its_name_its_limits_and_its_price(prepared: Prepared) -> None:
    info = prepared(ScriptedAnswer(text="はい")).info
    assert ":" in info.name
    assert info.price == PRICE
    assert 0 < info.max_output_tokens <= info.max_input_tokens
