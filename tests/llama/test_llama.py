"""Our provider against a real llama.cpp server with a tiny model that was never trained."""

from collections.abc import Iterator

import jsonschema
import pytest

from opencrab.adapters.providers.detect import detect_local
from opencrab.adapters.providers.httpx_transport import HttpxTransport, new_client
from opencrab.adapters.providers.openai import Endpoint, OpenAIModel
from opencrab.domain.errors import Refused, TooLarge
from opencrab.ports.model import ActionSchema, ChatRequest, ModelInfo, Returned, Said
from tests.llama.server import LlamaServer, StartLlama

pytest_plugins = ["tests.llama.fixture"]

KEY = "sk-secret-of-the-crab"
SPEAK = ActionSchema(
    name="send_speech",
    description="Say something to everybody. 皆に話します。",
    parameters={
        "type": "object",
        "properties": {
            "content": {"type": "string", "maxLength": 40},
            "tone": {"enum": ["calm", "glad"]},
        },
        "required": ["content", "tone"],
        "additionalProperties": False,
    },
)


@pytest.fixture
def transport() -> Iterator[HttpxTransport]:
    with new_client() as client:
        yield HttpxTransport(client)


def _model(server: LlamaServer, transport: HttpxTransport, key: str = "") -> OpenAIModel:
    endpoint = Endpoint("llamacpp", f"{server.url}/v1", key, key_name="LLAMACPP_API_KEY")
    return OpenAIModel(endpoint, "tiny", ModelInfo(name="llamacpp:tiny"), transport)


def _request(*turns: Said | Returned, **changes: object) -> ChatRequest:
    wanted = {
        "model": "",
        "actions": (),
        "system": "You are a crab. あなたは蟹です。",
        "turns": turns or (Said("user", "元気ですか？ How are you? 🦀", name="rin"),),
        "max_output_tokens": 64,
        "timeout_seconds": 60.0,
    }
    return ChatRequest(**{**wanted, **changes})  # type: ignore[arg-type]


def test_the_server_starts_within_seconds(llama: LlamaServer) -> None:
    assert llama.started_in_seconds < 30


def test_a_question_gets_a_completed_answer(llama: LlamaServer, transport: HttpxTransport) -> None:
    model = _model(llama, transport)
    request = _request()
    answer = model.chat(request, model.encode(request))
    assert answer.finish in {"stop", "length"}
    assert answer.model == "tiny"
    assert not answer.calls
    assert answer.usage.input_tokens > 0
    assert 0 < answer.usage.output_tokens <= request.max_output_tokens


def test_a_demanded_action_is_called_with_arguments_of_its_schema(
    llama: LlamaServer, transport: HttpxTransport
) -> None:
    model = _model(llama, transport)
    request = _request(actions=(SPEAK,), require_action=True, max_output_tokens=400)
    answer = model.chat(request, model.encode(request))
    assert answer.calls
    assert answer.text == ""
    # It likes to call until its tokens are used up, which may cut the last one off.
    whole = answer.calls[:1] if answer.finish == "length" else answer.calls
    for call in whole:
        assert call.name == SPEAK.name
        jsonschema.validate(call.arguments, SPEAK.parameters)


def test_a_call_and_what_it_came_to_are_understood_as_history(
    llama: LlamaServer, transport: HttpxTransport
) -> None:
    model = _model(llama, transport)
    first = _request(actions=(SPEAK,), require_action=True, max_output_tokens=400)
    called = model.chat(first, model.encode(first))
    results = [Returned(call.id, call.name, '{"done":"話しました"}') for call in called.calls]
    said = Said("assistant", "", calls=called.calls)
    request = _request(*first.turns, said, *results, actions=(SPEAK,))
    assert model.chat(request, model.encode(request)).finish in {"stop", "length", "tool_calls"}


def test_a_call_that_is_cut_short_is_kept_as_it_came(
    llama: LlamaServer, transport: HttpxTransport
) -> None:
    model = _model(llama, transport)
    request = _request(actions=(SPEAK,), require_action=True, max_output_tokens=50)
    answer = model.chat(request, model.encode(request))
    assert answer.finish == "length"
    assert all(call.arguments is None and call.raw for call in answer.calls)


def test_the_server_is_found_with_its_real_context(
    llama: LlamaServer, transport: HttpxTransport
) -> None:
    found = detect_local(
        transport, "http://127.0.0.1:9", f"{llama.url}/v1", timeout_seconds=10.0
    ).server
    assert found is not None
    assert (found.provider, found.model, found.base_url) == ("llamacpp", "tiny", llama.url)
    assert found.input_tokens == llama.context_tokens
    assert not found.loading


def test_a_small_context_and_a_key_are_held_by_the_server(
    start_llama: StartLlama, transport: HttpxTransport
) -> None:
    with start_llama(context_tokens=512, api_key=KEY) as server:
        long = _request(Said("user", "蟹の話。 A long story. " * 400, name="rin"))
        admitted, stranger = _model(server, transport, KEY), _model(server, transport, "sk-wrong")
        with pytest.raises(TooLarge, match="context"):
            admitted.chat(long, admitted.encode(long))
        with pytest.raises(Refused, match="LLAMACPP_API_KEY") as refused:
            stranger.chat(_request(), stranger.encode(_request()))
    assert "sk-wrong" not in str(refused.value)
