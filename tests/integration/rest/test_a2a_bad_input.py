"""What no A2A client should send: each request is refused by name, and nothing is done."""

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.rest.a2a_client import A2aClient, sending, serve_a2a
from tests.integration.rest.house import House

PARSE, REQUEST, PARAMS, CONTENT = -32700, -32600, -32602, -32005


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[A2aClient]:
    """A client of an installation in which nothing may happen."""
    folder: Path = tmp_path_factory.mktemp("bad")
    house = House(folder)
    house.agent("Mika")
    yield A2aClient(serve_a2a(house), "Mika")
    assert house.runtime.home.turns.receive(visibility_seconds=1, wait_seconds=0) is None
    assert house.got("/sessions")["items"] == []
    house.close()


@pytest.mark.parametrize(
    ("content", "code", "word"),
    [
        (b"", PARSE, "not JSON"),
        (b"\xff", PARSE, "UTF-8"),
        (b'{"jsonrpc":"2.0","jsonrpc":"2.0"}', PARSE, "twice"),
        (b'{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"a":NaN}}', PARSE, "NaN"),
        (b'{"jsonrpc":"2.0","id":"\\ud800","method":"GetTask"}', PARSE, "surrogate"),
        (b'{"jsonrpc":"2.0","id":1,"params":' + b'{"a":' * 50_000, PARSE, "nested"),
        ([{"jsonrpc": "2.0", "id": 1, "method": "GetTask"}], REQUEST, "batch"),
        ("潮", REQUEST, "object"),
        ({"id": 1, "method": "GetTask"}, REQUEST, "jsonrpc"),
        ({"jsonrpc": "2.0", "method": "GetTask"}, REQUEST, "id"),
        ({"jsonrpc": "2.0", "id": None, "method": "GetTask"}, REQUEST, "id"),
        ({"jsonrpc": "2.0", "id": True, "method": "GetTask"}, REQUEST, "id"),
        ({"jsonrpc": "2.0", "id": "x" * 1_001, "method": "GetTask"}, REQUEST, "id"),
        ({"jsonrpc": "2.0", "id": 1, "method": 7}, REQUEST, "method"),
        ({"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": []}, PARAMS, "params"),
    ],
)
def test_what_is_no_request_is_refused(
    client: A2aClient, content: Any, code: int, word: str
) -> None:
    error = client.post(content).json()["error"]
    assert error["code"] == code
    assert word in error["message"]


TOO_MANY = [{"text": "x"}] * 17
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(40)).decode()


@pytest.mark.parametrize(
    ("part", "code", "word"),
    [
        ({"url": "http://169.254.169.254/latest/meta-data"}, PARAMS, "not fetched"),
        ({"url": "file:///etc/passwd", "mediaType": "text/plain"}, PARAMS, "not fetched"),
        ({"url": "http://127.0.0.1:8080/api/agents"}, PARAMS, "not fetched"),
        ({"url": 7}, PARAMS, "not fetched"),
        ({"kind": "text"}, PARAMS, "exactly one"),
        ({"audio": "x"}, PARAMS, "exactly one"),
        ({"text": "x", "data": {}}, PARAMS, "exactly one"),
        ({"text": 7}, PARAMS, "text"),
        ({"text": " \n"}, PARAMS, "blank"),
        ("潮", PARAMS, "parts[0]"),
        ({"text": "x", "mediaType": 7}, PARAMS, "mediaType"),
        ({"raw": "***"}, PARAMS, "base64"),
        ({"raw": 7}, PARAMS, "parts[0]"),
        ({"raw": "dGNr", "mediaType": "application/x-unsupported"}, CONTENT, "x-unsupported"),
        ({"raw": "/////w==", "mediaType": "text/plain"}, CONTENT, "UTF-8"),
        ({"raw": "/////w=="}, CONTENT, "unknown"),
        ({"raw": "", "filename": "a.txt"}, PARAMS, "blank"),
        ({"data": "x" * 300_000}, PARAMS, "bytes"),
        ({"text": "潮" * 100_000}, PARAMS, "bytes"),
        ({"text": "x", "mediaType": "video/mp4"}, CONTENT, "video/mp4"),
    ],
)
def test_a_part_that_cannot_be_taken_is_named(
    client: A2aClient, part: Any, code: int, word: str
) -> None:
    said = client.refused("SendMessage", code, **sending("", parts=[part]))
    assert word in said
    assert len(said) < 2_001


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"role": "ROLE_AGENT"}, "ROLE_USER"),
        ({"role": "user"}, "ROLE_USER"),
        ({"messageId": ""}, "messageId"),
        ({"messageId": "x" * 1_001}, "messageId"),
        ({"messageId": 7}, "messageId"),
        ({"parts": []}, "parts"),
        ({"parts": TOO_MANY}, "parts"),
        ({"parts": [{"raw": PNG}] * 5}, "pictures"),
        ({"contextId": "none"}, "contextId"),
        ({"contextId": 7}, "contextId"),
        ({"contextId": "../../keys"}, "contextId"),
        ({"metadata": []}, "metadata"),
    ],
)
def test_a_message_that_cannot_be_taken_is_named(
    client: A2aClient, change: dict[str, Any], word: str
) -> None:
    params = sending("x")
    params["message"] |= change
    assert word in client.refused("SendMessage", PARAMS, **params)


def test_wishes_and_parameters_have_their_kinds(client: A2aClient) -> None:
    for wish in ({"historyLength": -1}, {"historyLength": "1"}, {"returnImmediately": "yes"}):
        client.refused("SendMessage", PARAMS, **sending("x", configuration=wish))
    client.refused("SendMessage", PARAMS, message="x")
    client.refused("SendMessage", PARAMS)
    for wrong in ("", 7, None):
        client.refused("GetTask", PARAMS, id=wrong)
    client.refused("GetTask", -32001, id="../../agents")
    client.refused("ListTasks", PARAMS, includeArtifacts=1)


def test_fifty_megabytes_are_refused_before_they_are_read(client: A2aClient) -> None:
    answer = client.post(b'{"a":"' + bytes(50 << 20))
    assert answer.status_code == 413
    error = answer.json()["error"]
    assert (error["code"], answer.headers["content-type"]) == (REQUEST, "application/json")
    assert "5242880 bytes" in error["message"]


def test_an_agent_that_is_none_and_a_key_that_is_none_are_errors_of_the_protocol(
    client: A2aClient, house: House
) -> None:
    serve_a2a(house)
    asked = {"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": "x"}}
    answer = A2aClient(house, "nobody").post(asked)
    assert (answer.status_code, answer.json()["error"]["code"]) == (200, PARAMS)
    assert "'nobody'" in answer.json()["error"]["message"]
    answer = A2aClient(house, "nobody", "wrong").post(asked)
    assert (answer.status_code, answer.json()["error"]["code"]) == (401, REQUEST)
    assert answer.headers["www-authenticate"].startswith("Bearer")
    house.agent("Twin")
    house.agent("Twin")
    assert "agent's id" in A2aClient(house, "Twin").refused("GetTask", PARAMS, id="x")
