"""Finding a model server on this computer: only what answers like one is one."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from opencrab.adapters.providers.catalogue.detect import (
    LLAMACPP_URL,
    OLLAMA_URL,
    UNNAMED_MODEL,
    LocalServer,
    detect_servers_for_catalogue,
)
from opencrab.adapters.providers.transport.http_connections import HttpConnections
from opencrab.adapters.providers.transport.http_transport import HttpTransport
from tests.contract.waiting import eventually
from tests.integration.rest.house import House
from tests.unit.adapters.providers.fake import Pages
from tests.unit.adapters.providers.stub import Canned, Received, serving

TAGS, RUNNING = f"{OLLAMA_URL}/api/tags", f"{OLLAMA_URL}/api/ps"
MODELS, PROPERTIES = f"{LLAMACPP_URL}/v1/models", f"{LLAMACPP_URL}/props"


def _page(value: Any, status: int = 200) -> tuple[int, bytes]:
    return status, json.dumps(value, ensure_ascii=False).encode()


def _tags(*names: Any) -> tuple[int, bytes]:
    return _page({"models": [{"name": name} for name in names]})


LOADING = _page({"error": {"code": 503, "message": "Loading model"}}, 503)
LLAMA = {
    MODELS: _page({"object": "list", "data": [{"id": "tiny"}]}),
    PROPERTIES: _page({"default_generation_settings": {"n_ctx": 8192}}),
}
NOBODY_KNOWN = [
    (200, b"<html>It works!</html>"), (200, b""), (200, b"[]"), (200, b"{}"), (200, b"null"),
    (404, b"not found"), (401, b'{"error":"key"}'), (500, b'{"data":[]}'),
    (200, b'{"models":{},"data":{}}'), (200, b"[" * 100_000), (503, b"busy"),
    (503, b'{"error":{"message":"out of crabs"}}'), (301, b""),
]  # fmt: skip


def test_where_nobody_listens_nothing_is_found() -> None:
    pages = Pages({})
    found = detect_servers_for_catalogue(pages)
    assert (found.server, found.notes) == (None, ())
    assert pages.asked == [TAGS, MODELS]


def test_a_llama_server_is_found_with_its_model_and_context() -> None:
    assert detect_servers_for_catalogue(Pages(LLAMA)).server == LocalServer(
        "llamacpp", LLAMACPP_URL, "tiny", input_tokens=8192
    )


def test_a_llama_server_that_hides_its_context_is_found_all_the_same() -> None:
    for properties in ((404, b""), _page({"default_generation_settings": {"n_ctx": True}})):
        server = detect_servers_for_catalogue(Pages({**LLAMA, PROPERTIES: properties})).server
        assert server is not None
        assert server.input_tokens is None
        assert not server.loading


def test_a_llama_server_that_still_loads_is_waited_for() -> None:
    waiting = detect_servers_for_catalogue(Pages({MODELS: LOADING})).server
    assert waiting == LocalServer("llamacpp", LLAMACPP_URL, UNNAMED_MODEL, loading=True)
    halfway = detect_servers_for_catalogue(Pages({**LLAMA, PROPERTIES: LOADING})).server
    assert halfway is not None
    assert halfway.loading


def test_ollama_is_preferred_and_the_usual_model_is_taken() -> None:
    tags = _tags("nomic-embed-text", "qwen3:4b", "llama3.1:8b")
    server = detect_servers_for_catalogue(Pages({**LLAMA, TAGS: tags})).server
    assert server == LocalServer("ollama", OLLAMA_URL, "llama3.1:8b")
    other = detect_servers_for_catalogue(Pages({TAGS: tags}), preferred_model="none").server
    assert other is not None
    assert other.model == "qwen3:4b"


def test_a_model_that_ollama_has_loaded_gives_its_real_context() -> None:
    running = _page({"models": [3, {"name": "x"}, {"name": "gemma", "context_length": 4096}]})
    server = detect_servers_for_catalogue(Pages({TAGS: _tags("gemma"), RUNNING: running})).server
    assert server == LocalServer("ollama", OLLAMA_URL, "gemma", input_tokens=4096)


@pytest.mark.parametrize("names", [(), ("bge-m3", "all-minilm"), (None, 3, "")])
def test_an_ollama_without_a_model_to_talk_to_is_told(names: tuple[Any, ...]) -> None:
    found = detect_servers_for_catalogue(Pages({TAGS: _tags(*names)}))
    assert found.server is None
    assert "ollama pull llama3.1:8b" in found.notes[0]
    beside = detect_servers_for_catalogue(Pages({**LLAMA, TAGS: _tags(*names)}))
    assert beside.server is not None
    assert beside.server.provider == "llamacpp"
    assert beside.notes == found.notes


@pytest.mark.parametrize("page", NOBODY_KNOWN)
def test_whatever_else_listens_there_is_no_model_server(page: tuple[int, bytes]) -> None:
    assert (
        detect_servers_for_catalogue(
            Pages(dict.fromkeys((TAGS, RUNNING, MODELS, PROPERTIES), page))
        ).server
        is None
    )


def test_addresses_may_be_given_as_providers_have_them() -> None:
    pages = Pages({"http://gpu:1/v1/models": _page({"data": [{"id": "蟹"}]})})
    server = detect_servers_for_catalogue(pages, "http://gpu:2/v1/", "http://gpu:1/v1").server
    assert server == LocalServer("llamacpp", "http://gpu:1", "蟹")
    assert pages.asked[0] == "http://gpu:2/api/tags"


def test_a_server_that_says_nothing_does_not_hold_up_the_start() -> None:
    with (
        serving(lambda got: Canned(silent=True)) as stub,
        HttpConnections() as client,
    ):
        found = detect_servers_for_catalogue(
            HttpTransport(client), stub.url, stub.url, timeout_seconds=0.1
        )
    assert found.server is None
    eventually(lambda: len(stub.received), 2)


def test_a_recorded_answer_of_llama_cpp_is_recognised(wire: Path) -> None:
    path = wire / "cassettes" / "llamacpp" / "models.json"
    recorded = json.loads(path.read_text(encoding="utf-8"))["response"]
    page = (recorded["status"], recorded["body"].encode())
    server = detect_servers_for_catalogue(Pages({MODELS: page})).server
    assert server is not None
    assert server.model == json.loads(recorded["body"])["data"][0]["id"]


def test_our_own_rest_server_is_not_mistaken_for_a_model(tmp_path: Path) -> None:
    house = House(tmp_path)

    async def answer(got: Received) -> Canned:
        async with house.client() as client:
            came = await client.request(got.method, got.path, content=got.body)
        return Canned(came.status_code, came.content)

    with serving(lambda got: asyncio.run(answer(got))) as stub, HttpConnections() as client:
        found = detect_servers_for_catalogue(
            HttpTransport(client), stub.url, stub.url, timeout_seconds=10.0
        )
    house.close()
    assert [received.path for received in stub.received] == ["/api/tags", "/v1/models"]
    assert (found.server, found.notes) == (None, ())
