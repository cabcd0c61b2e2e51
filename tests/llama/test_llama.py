"""Our providers against a real llama.cpp server with a tiny model that was never trained."""

from dataclasses import replace

import jsonschema
import pytest

from opencrab.adapters.providers.catalogue.detect import detect_servers_for_catalogue
from opencrab.adapters.providers.transport.exchange import Transport
from opencrab.adapters.providers.transport.http_connections import HttpConnections
from opencrab.adapters.providers.transport.http_transport import HttpTransport
from opencrab.adapters.providers.vendor import VendorEmbedder, probe_health_of_provider
from opencrab.domain.models.fault import Fault, ModelCallFailed
from opencrab.ports.models.model import CallReturn, ChatMessage, ModelInfo
from tests.llama.asking import (
    ANTHROPIC,
    FORMATS,
    KEY,
    MODEL,
    OPENAI,
    SPEAK,
    Format,
    acting,
    asked,
)
from tests.llama.server import LlamaServer, StartLlama

pytest_plugins = ["tests.llama.fixture"]

both_formats = pytest.mark.parametrize("spoken", FORMATS, ids=lambda each: each.kind)
both_ways = pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])


def test_the_server_starts_within_seconds(llama: LlamaServer) -> None:
    assert llama.started_in_seconds < 30


@both_ways
@both_formats
def test_a_question_gets_a_completed_answer(
    llama: LlamaServer, transport: Transport, spoken: Format, *, stream: bool
) -> None:
    model = spoken.model(llama, transport, stream=stream)
    request = asked(temperature=0.7)
    answer = model.chat(request, model.encode(request))
    assert answer.finish in {"stop", "end_turn", spoken.length}
    assert answer.model == MODEL
    assert not answer.calls
    assert answer.usage.input_tokens > 0
    assert 0 < answer.usage.output_tokens <= request.max_output_tokens
    assert answer.first_token_ms is None or stream


@both_ways
@both_formats
def test_a_demanded_action_is_called_with_arguments_of_its_schema(
    llama: LlamaServer, transport: Transport, spoken: Format, *, stream: bool
) -> None:
    model = spoken.model(llama, transport, stream=stream)
    answer = model.chat(acting(), model.encode(acting()))
    assert answer.calls
    assert answer.text == ""
    assert (answer.first_token_ms is not None) == stream
    # It likes to call until its tokens are used up, which may cut the last one off.
    whole = answer.calls[:-1] if answer.finish == spoken.length else answer.calls
    for call in whole:
        assert call.name == SPEAK.name
        jsonschema.validate(call.arguments, SPEAK.parameters)


@both_formats
def test_a_stream_and_an_answer_in_one_piece_are_the_same_answer(
    seeded: LlamaServer, transport: Transport, spoken: Format
) -> None:
    answers = []
    for stream in (True, False):
        model = spoken.model(seeded, transport, stream=stream)
        answer = model.chat(acting(), model.encode(acting()))
        # Only a stream tells whether the last call of a cut answer was whole.
        assert answer.finish == spoken.length
        answers.append(answer.replaced(first_token_ms=None, calls=answer.calls[:-1]))
    assert answers[0] == answers[1]
    assert answers[0].calls


def test_a_request_right_after_a_stream_is_not_lost(seeded: LlamaServer) -> None:
    with HttpConnections() as client:
        for number in range(12):
            model = OPENAI.model(seeded, HttpTransport(client), stream=number % 2 == 0)
            assert model.chat(asked(), model.encode(asked())).finish


@both_formats
def test_a_call_and_what_it_came_to_are_understood_as_history(
    llama: LlamaServer, transport: Transport, spoken: Format
) -> None:
    model = spoken.model(llama, transport)
    first = acting()
    called = model.chat(first, model.encode(first))
    results = [CallReturn(call.id, call.name, '{"done":"話しました"}') for call in called.calls]
    said = ChatMessage("assistant", "", calls=called.calls, replay=called.replay)
    request = asked(*first.turns, said, *results, actions=(SPEAK,))
    answer = model.chat(request, model.encode(request))
    assert answer.finish
    assert answer.usage.input_tokens > called.usage.input_tokens


@both_ways
@both_formats
def test_a_call_that_is_cut_short_is_kept_as_it_came(
    llama: LlamaServer, transport: Transport, spoken: Format, *, stream: bool
) -> None:
    model = spoken.model(llama, transport, stream=stream)
    request = acting(max_output_tokens=50)
    answer = model.chat(request, model.encode(request))
    assert answer.finish == spoken.length
    assert all(call.arguments is None and call.raw for call in answer.calls)


def test_the_server_is_found_with_its_real_context(
    llama: LlamaServer, transport: Transport
) -> None:
    found = detect_servers_for_catalogue(
        transport, "http://127.0.0.1:9", f"{llama.url}/v1", timeout_seconds=10.0
    ).server
    assert found is not None
    assert (found.provider, found.model, found.base_url) == ("llamacpp", MODEL, llama.url)
    assert found.input_tokens == llama.context_tokens
    assert not found.loading


@pytest.fixture(scope="module")
def guarded(start_llama: StartLlama) -> object:
    """A server with a small context and a key, that makes vectors as well."""
    with start_llama(context_tokens=512, api_key=KEY, embeddings=True) as server:
        yield server


@both_ways
@both_formats
def test_a_question_that_is_too_long_is_told_so(
    guarded: LlamaServer, transport: Transport, spoken: Format, *, stream: bool
) -> None:
    long = asked(ChatMessage("user", "蟹の話。 A long story. " * 400, name="rin"))
    model = spoken.model(guarded, transport, stream=stream, key=KEY)
    with pytest.raises(ModelCallFailed) as refused:
        model.chat(long, model.encode(long))
    assert refused.value.fault is Fault.TOO_LONG
    assert not refused.value.may_be_billed


@both_ways
@both_formats
def test_a_wrong_key_is_refused_and_the_owner_told_which_one(
    guarded: LlamaServer, transport: Transport, spoken: Format, *, stream: bool
) -> None:
    model = spoken.model(guarded, transport, stream=stream, key="sk-wrong-key")
    with pytest.raises(ModelCallFailed, match=f"{spoken.kind.upper()}_API_KEY") as refused:
        model.chat(asked(), model.encode(asked()))
    assert refused.value.fault is Fault.AUTH
    assert "sk-wrong-key" not in f"{refused.value} {refused.value.cure}"


@both_formats
def test_the_right_key_lets_one_in(
    guarded: LlamaServer, transport: Transport, spoken: Format
) -> None:
    model = spoken.model(guarded, transport, key=KEY)
    assert model.chat(asked(), model.encode(asked())).finish


@both_formats
def test_health_lists_the_model_and_says_whose_key_is_wrong(
    guarded: LlamaServer, transport: Transport, spoken: Format
) -> None:
    endpoint = spoken.endpoint(guarded, KEY)
    well = probe_health_of_provider(spoken.wire(), endpoint, transport, 10.0)
    assert (well.ok, well.models) == (True, (MODEL,))
    stranger = replace(endpoint, api_key="sk-wrong-key")
    refused = probe_health_of_provider(spoken.wire(), stranger, transport, 10.0)
    assert not refused.ok
    assert endpoint.key_name in refused.problem
    assert "sk-wrong-key" not in refused.problem
    gone = replace(endpoint, base_url="http://127.0.0.1:9")
    ill = probe_health_of_provider(spoken.wire(), gone, transport, 10.0)
    assert not ill.ok
    assert ill.problem
    assert ill.cure


def _embedder(spoken: Format, server: LlamaServer, transport: Transport) -> VendorEmbedder:
    info = ModelInfo(name=f"{spoken.kind}:{MODEL}")
    return VendorEmbedder(spoken.wire(), spoken.endpoint(server, KEY), MODEL, info, transport)


def test_each_text_becomes_a_vector(guarded: LlamaServer, transport: Transport) -> None:
    texts = ("蟹は横に歩きます", "a crab walks sideways", "")
    embedder = _embedder(OPENAI, guarded, transport)
    made = embedder.embed(texts, timeout_seconds=30.0)
    again = embedder.embed(texts[:1], timeout_seconds=30.0)
    assert [len(vector) for vector in made.vectors] == [len(again.vectors[0])] * len(texts)
    assert len(set(made.vectors)) == len(texts)
    assert made.usage.input_tokens > again.usage.input_tokens > 0


def test_a_server_that_makes_no_vectors_says_how_it_would(
    llama: LlamaServer, transport: Transport
) -> None:
    with pytest.raises(ModelCallFailed) as refused:
        _embedder(OPENAI, llama, transport).embed(("蟹",), timeout_seconds=30.0)
    assert refused.value.fault is Fault.BAD_REQUEST
    assert "--embeddings" in (refused.value.cure or "")


def test_the_format_without_embeddings_names_another_way(
    llama: LlamaServer, transport: Transport
) -> None:
    with pytest.raises(ModelCallFailed, match="embeddings") as refused:
        _embedder(ANTHROPIC, llama, transport).embed(("蟹",), timeout_seconds=30.0)
    assert refused.value.fault is Fault.BAD_REQUEST
