"""A vendor's model: a whole answer or ModelCallFailed, and no error or log has the key."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import pairwise
from traceback import format_exception
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.adapters.providers.transport.exchange import Reply
from opencrab.adapters.providers.vendor import VendorEmbedder, VendorModel, probe_health_of_provider
from opencrab.adapters.providers.wire.lenient import parse_provider_json
from opencrab.adapters.providers.wire.wire import Endpoint, Framing
from opencrab.domain.errors import Refused
from opencrab.domain.models.fault import Fault, ModelCallFailed
from opencrab.domain.money.budget import Usage
from opencrab.ports.models.model import ChatMessage, ChatRequest, ModelInfo
from tests.unit.adapters.providers.fake import Pages, Replying, Sent
from tests.unit.adapters.providers.tiny import TinyWire, frames

KEY = "sk-crab-0123456789"
ENDPOINT = Endpoint("蟹屋", "http://crab/v1", KEY, "CRAB_API_KEY", {"x-org": "kani"})
INFO = ModelInfo(name="蟹屋:crab-1")
WORDS = ["こんにちは", "、", "世界🦀", " and hello."]
STREAM = frames(*({"w": word} for word in WORDS), {"usage": 9}, {"end": 1})
WHOLE = json.dumps({"text": "はい", "usage": 3}).encode()
JSON = {"content-type": "application/json; charset=utf-8"}


@dataclass
class Ticking:
    """A clock that is a second later whenever it is looked at."""

    seconds: float = 100.0

    def __call__(self) -> float:
        self.seconds += 1.0
        return self.seconds


@dataclass
class InTurn:
    """Answers request after request from a list."""

    replies: list[bytes | ModelCallFailed]
    sent: list[Sent] = field(default_factory=list)

    def send(
        self, url: str, *, headers: Any, body: bytes | None = None, timeout_seconds: float
    ) -> Reply:
        self.sent.append(Sent(url, headers, body, timeout_seconds))
        reply = self.replies[len(self.sent) - 1]
        if isinstance(reply, ModelCallFailed):
            raise reply
        return Reply(200, reply)

    open: Any = None


def _request(words: str = "こんにちは") -> ChatRequest:
    return ChatRequest("", (), "", (ChatMessage("user", words),), 100, timeout_seconds=7.0)


def _model(transport: Any, *, stream: bool = True, wire: TinyWire | None = None) -> VendorModel:
    return VendorModel(
        wire or TinyWire(), ENDPOINT, "crab-1", INFO, transport, stream=stream, clock=Ticking()
    )


def _chat(model: VendorModel) -> Any:
    request = _request()
    return model.chat(request, model.encode(request))


def _failed(act: Callable[[], Any]) -> ModelCallFailed:
    with pytest.raises(ModelCallFailed) as caught:
        act()
    return caught.value


def test_a_stream_is_put_together_and_timed() -> None:
    transport = Replying(STREAM)
    answer = _chat(_model(transport))
    assert answer.text == "".join(WORDS)
    assert answer.usage == Usage(input_tokens=9, output_tokens=9)
    assert (answer.model, answer.finish) == ("crab-1", "stop")
    assert answer.first_token_ms == 1_000
    (sent,) = transport.sent
    assert sent.url == "http://crab/v1/crab-1:stream"
    assert sent.timeout_seconds == 7.0
    assert sent.headers["x-key"] == KEY
    assert sent.headers["x-org"] == "kani"
    assert sent.headers["content-type"] == "application/json"


def test_an_answer_in_one_piece_is_read_without_a_time_of_its_first_words() -> None:
    transport = Replying(WHOLE)
    answer = _chat(_model(transport, stream=False))
    assert (answer.text, answer.model, answer.first_token_ms) == ("はい", "crab-1", None)
    assert transport.sent[0].url == "http://crab/v1/crab-1"


def test_a_server_that_ignores_that_a_stream_was_asked_for_is_understood() -> None:
    answer = _chat(_model(Replying(b" \n" + WHOLE, headers=JSON)))
    assert (answer.text, answer.first_token_ms) == ("はい", None)


def test_lines_of_json_are_a_stream_whatever_they_are_called() -> None:
    lines = b'{"w":"\xe8\x9f\xb9"}\n{"end":1}\n'
    model = _model(Replying(lines, headers=JSON), wire=TinyWire(framing="ndjson"))
    assert _chat(model).text == "蟹"


@pytest.mark.parametrize("framing", ["sse", "ndjson"])
def test_a_page_in_place_of_a_stream_is_shown(framing: Framing) -> None:
    page = Replying(b"<html>\n<h1>Login</h1>\n", headers={"content-type": "Text/HTML"})
    error = _failed(lambda: _chat(_model(page, wire=TinyWire(framing=framing))))
    assert error.fault is Fault.NONSENSE
    assert "Login" in error.message


def test_the_vendors_own_name_for_the_model_is_kept() -> None:
    body = json.dumps({"text": "はい", "model": "crab-1-0807"}).encode()
    assert _chat(_model(Replying(body), stream=False)).model == "crab-1-0807"


@pytest.mark.parametrize("stream", [True, False])
def test_what_is_encoded_is_what_is_sent(stream: bool) -> None:  # noqa: FBT001
    transport = Replying(STREAM if stream else WHOLE)
    model = _model(transport, stream=stream)
    request = _request("蟹\ud83d")
    body = model.encode(request)
    model.chat(request, body)
    assert transport.sent[0].body == body
    assert body.decode() == f'{{"model":"crab-1","said":["蟹?"],"stream":{str(stream).lower()}}}'
    assert body == model.encode(request)


def test_a_stream_cut_anywhere_is_whole_or_unanswered() -> None:
    for place in range(len(STREAM.rstrip())):
        error = _failed(lambda place=place: _chat(_model(Replying(STREAM[:place]))))  # type: ignore[misc]
        assert error.fault is Fault.BROKEN_OFF
        assert error.may_be_billed
        assert "蟹屋" in error.message
    assert _chat(_model(Replying(STREAM))).text == "".join(WORDS)


@given(st.lists(st.integers(0, len(STREAM)), max_size=30))
def test_a_stream_in_any_pieces_is_the_same_answer(places: list[int]) -> None:
    edges = [0, *sorted(places), len(STREAM)]
    pieces = [STREAM[start:end] for start, end in pairwise(edges)]
    assert _chat(_model(Replying(chunks=pieces))).text == "".join(WORDS)


@pytest.mark.parametrize("fault", [Fault.TIMEOUT, Fault.BROKEN_OFF])
def test_a_connection_lost_in_the_middle_is_no_half_answer(fault: Fault) -> None:
    transport = Replying(STREAM[:60], trouble=ModelCallFailed("weg", fault))
    error = _failed(lambda: _chat(_model(transport)))
    assert (error.fault, error.may_be_billed) == (fault, True)


@pytest.mark.parametrize("fault", [Fault.TIMEOUT, Fault.BROKEN_OFF])
def test_a_connection_lost_after_the_end_loses_nothing(fault: Fault) -> None:
    transport = Replying(STREAM, trouble=ModelCallFailed("weg", fault))
    assert _chat(_model(transport)).text == "".join(WORDS)


@pytest.mark.parametrize(("before", "billed"), [(b"", False), (frames({"w": "は"}), True)])
def test_an_error_is_on_the_bill_once_words_have_come(
    before: bytes,
    billed: bool,  # noqa: FBT001
) -> None:
    busy = ModelCallFailed("混雑", Fault.OVERLOADED)
    error = _failed(lambda: _chat(_model(Replying(before, trouble=busy))))
    assert (error.fault, error.may_be_billed) == (Fault.OVERLOADED, billed)


def test_an_error_in_the_middle_or_after_the_end_is_an_error() -> None:
    for stream in (frames({"w": "は"}, {"error": "混雑"}), STREAM + frames({"error": "混雑"})):
        assert _failed(lambda: _chat(_model(Replying(stream)))).fault is Fault.SERVER_ERROR  # noqa: B023


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    ("status", "fault"), [(401, Fault.AUTH), (429, Fault.RATE_LIMITED), (503, Fault.OVERLOADED)]
)
def test_a_status_is_the_wires_to_judge(stream: bool, status: int, fault: Fault) -> None:  # noqa: FBT001
    error = _failed(lambda: _chat(_model(Replying("駄目".encode(), status), stream=stream)))
    assert error.fault is fault
    assert f"({status}, CRAB_API_KEY): 駄目" in error.message


def test_a_status_counts_even_where_its_body_breaks_off() -> None:
    lost = ModelCallFailed("weg", Fault.BROKEN_OFF)
    error = _failed(lambda: _chat(_model(Replying(b"no", 401, trouble=lost))))
    assert error.fault is Fault.AUTH


def test_an_endless_error_is_not_read_to_its_end() -> None:
    taken: list[int] = []

    def endless() -> Iterator[bytes]:
        for number in range(10_000):
            taken.append(number)
            yield b"x" * 65_536

    @dataclass
    class Endless(Replying):
        def _coming(self) -> Iterator[bytes]:
            return endless()

    assert _failed(lambda: _chat(_model(Endless(status=503)))).fault is Fault.OVERLOADED
    assert len(taken) < 10


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b'{"text":', b"[" * 100_000])
def test_what_is_no_answer_is_nonsense(body: bytes) -> None:
    for model in (
        _model(Replying(body), stream=False),
        _model(Replying(body, headers=JSON)),
    ):
        assert _failed(lambda model=model: _chat(model)).fault is Fault.NONSENSE  # type: ignore[misc]


BUGS = [ValueError(KEY), TypeError(KEY), KeyError(KEY), AttributeError(KEY), RecursionError(KEY)]


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: type(bug).__name__)
def test_an_answer_that_a_wire_trips_over_is_unanswered(bug: Exception) -> None:
    error = _failed(lambda: _chat(_model(Replying(STREAM), wire=TinyWire(bug=bug))))
    assert (error.fault, error.may_be_billed) == (Fault.NONSENSE, True)
    assert type(bug).__name__ in error.message
    assert KEY not in "".join(format_exception(error))


@pytest.mark.parametrize(
    "key", ["sk crab", "sk\ncrab", "sk-crab\r\n", "蟹の鍵", "sk\x00", " sk", "sk\x7f"]
)
def test_a_key_that_no_header_can_carry_is_refused_at_once(key: str) -> None:
    endpoint = replace(ENDPOINT, api_key=key)
    with pytest.raises(Refused, match="CRAB_API_KEY") as caught:
        VendorModel(TinyWire(), endpoint, "crab-1", INFO, Replying())
    assert "CRAB_API_KEY" in (caught.value.cure or "")
    assert key not in caught.value.message
    with pytest.raises(Refused):
        VendorEmbedder(TinyWire(), endpoint, "crab-1", INFO, Replying())


@pytest.mark.parametrize("value", ["a\nb", "蟹", " a"])
def test_a_header_that_cannot_be_carried_is_refused_at_once(value: str) -> None:
    endpoint = replace(ENDPOINT, extra_headers={"x-title": value})
    with pytest.raises(Refused, match="x-title"):
        VendorModel(TinyWire(), endpoint, "crab-1", INFO, Replying())
    spaced = replace(ENDPOINT, extra_headers={"x-title": "My Crab"})
    assert VendorModel(TinyWire(), spaced, "crab-1", INFO, Replying()).info is INFO


# Embeddings and health.


def _embedder(transport: Any, *, embeds: bool = True) -> VendorEmbedder:
    wire = TinyWire(embeds=embeds)
    return VendorEmbedder(wire, ENDPOINT, "e-1", INFO, transport, clock=Ticking())


def _vectors(count: int) -> bytes:
    return json.dumps(list(range(count))).encode()


def test_texts_become_vectors_in_batches() -> None:
    transport = InTurn([_vectors(100), _vectors(100), _vectors(50)])
    found = _embedder(transport).embed(("蟹",) * 250, timeout_seconds=60)
    assert len(found.vectors) == 250
    assert found.vectors[100] == (0.0,)
    assert found.usage == Usage(input_tokens=250, reported_micro_usd=250)
    assert found.model == "e-1"
    sizes = [len(parse_provider_json(sent.body or b"")["texts"]) for sent in transport.sent]
    assert sizes == [100, 100, 50]
    assert [sent.timeout_seconds for sent in transport.sent] == [59, 58, 57]


def test_no_texts_are_no_call() -> None:
    transport = InTurn([])
    assert _embedder(transport).embed((), timeout_seconds=5).vectors == ()
    assert transport.sent == []


def test_batches_that_were_answered_are_on_the_bill_of_one_that_was_not() -> None:
    lost = ModelCallFailed("weg", Fault.UNREACHABLE)
    embedder = _embedder(InTurn([_vectors(100), lost]))
    error = _failed(lambda: embedder.embed(("a",) * 101, timeout_seconds=60))
    assert error.may_be_billed
    assert error.usage == Usage(input_tokens=100, reported_micro_usd=100)
    first = _embedder(InTurn([ModelCallFailed("weg", Fault.UNREACHABLE)]))
    assert not _failed(lambda: first.embed(("a",), timeout_seconds=60)).may_be_billed


def test_batches_end_with_their_time() -> None:
    embedder = _embedder(InTurn([_vectors(100), _vectors(100)]))
    error = _failed(lambda: embedder.embed(("a",) * 200, timeout_seconds=2))
    assert error.fault is Fault.TIMEOUT
    assert error.usage == Usage(input_tokens=100, reported_micro_usd=100)


@pytest.mark.parametrize("body", [b"[]", b"no", b'["x"]', b"{}"])
def test_vectors_that_are_none_are_nonsense(body: bytes) -> None:
    embedder = _embedder(InTurn([body]))
    assert _failed(lambda: embedder.embed(("a",), timeout_seconds=9)).fault is Fault.NONSENSE


def test_a_vendor_without_embeddings_says_so() -> None:
    embedder = _embedder(InTurn([]), embeds=False)
    error = _failed(lambda: embedder.embed(("a",), timeout_seconds=5))
    assert error.fault is Fault.BAD_REQUEST
    assert "no embeddings" in error.message


def test_a_provider_that_lists_its_models_is_well() -> None:
    transport = Replying(b'["crab-1"]')
    health = probe_health_of_provider(TinyWire(), ENDPOINT, transport, 5.0, Ticking())
    assert (health.ok, health.models, health.latency_ms) == (True, ("crab-1",), 1_000)
    (sent,) = transport.sent
    assert (sent.url, sent.body) == ("http://crab/v1/models", None)
    assert sent.timeout_seconds == 5.0
    assert "content-type" not in sent.headers


@pytest.mark.parametrize(
    ("date", "expected"),
    [
        ("Mon, 05 Jan 2026 09:00:00 GMT", datetime(2026, 1, 5, 9, tzinfo=UTC)),
        ("きのう", None),
        ("", None),
    ],
)
def test_the_clock_of_a_provider_is_told(date: str, expected: datetime | None) -> None:
    transport = Replying(b"[]", headers={"date": date})
    assert (
        probe_health_of_provider(TinyWire(), ENDPOINT, transport, 5.0, Ticking()).dated == expected
    )


@pytest.mark.parametrize(
    "transport",
    [Pages({}), Replying(b"no", 401), Replying(b"<html>"), Replying(b"3"), Replying(b"[")],
)
def test_whatever_else_is_a_problem_with_a_cure(transport: Any) -> None:
    health = probe_health_of_provider(TinyWire(), ENDPOINT, transport, 5.0, Ticking())
    assert (health.ok, health.models) == (False, None)
    assert health.problem
    assert health.cure


def test_a_key_that_cannot_be_sent_is_a_problem_of_the_provider() -> None:
    endpoint = replace(ENDPOINT, api_key="sk crab")
    health = probe_health_of_provider(TinyWire(), endpoint, Replying(), 5.0, Ticking())
    assert "CRAB_API_KEY" in health.problem
