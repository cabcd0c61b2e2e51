"""The HTTP API's events: what the application gets of them, and what goes back."""

import asyncio
import base64
import json
import threading
from pathlib import Path
from typing import Any

import pytest
from starlette.types import Receive, Scope, Send

from opencrab.gateways.rest.http.lambda_entry import Answer, http_request_handler

OFFICIAL = (
    "powertools-apiGatewayProxyV2Event",
    "powertools-apiGatewayProxyV2Event_GET",
    "powertools-apiGatewayProxyV2IamEvent",
    "powertools-apiGatewayProxyV2LambdaAuthorizerEvent",
    "sam-apigateway-http-api-proxy",
)


class Echo:
    """An application that keeps what it was asked, and answers what it is told to."""

    def __init__(self, status: int = 200, content: bytes = b"{}", media: str = "") -> None:
        self.scope: Scope = {}
        self.body = b""
        self.answer: Answer = http_request_handler(self)
        self._status = status
        self._content = content
        self._headers = [(b"content-type", (media or "application/json").encode())]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        self.scope = scope
        message = await receive()
        self.body = message["body"]
        await asyncio.sleep(0)
        started = {"type": "http.response.start", "status": self._status, "headers": self._headers}
        await send(started)
        await send({"type": "http.response.body", "body": self._content})


def official(wire: Path, name: str) -> dict[str, Any]:
    """An event as AWS publishes it."""
    found: dict[str, Any] = json.loads((wire / "aws-events" / f"{name}.json").read_text())
    return found


@pytest.mark.parametrize("name", OFFICIAL)
def test_official_events_are_understood(wire: Path, name: str) -> None:
    echo, event = Echo(), official(wire, name)
    answer = echo.answer(event, None)
    assert answer["statusCode"] == 200
    assert echo.scope["method"] == event["requestContext"]["http"]["method"]
    assert echo.scope["path"] == event["rawPath"]
    assert echo.scope["raw_path"] == event["rawPath"].encode()
    assert echo.scope["query_string"] == event["rawQueryString"].encode()
    headers = dict(echo.scope["headers"])
    assert headers[b"header1"] == b"value1"
    assert headers[b"cookie"] == b"cookie1; cookie2"
    given = event.get("body", "").encode()
    assert echo.body == (base64.b64decode(given) if event["isBase64Encoded"] else given)


def test_each_thread_is_answered_whether_it_has_a_loop_or_not(wire: Path) -> None:
    echo, event = Echo(), official(wire, OFFICIAL[0])
    answers: list[int] = []

    def ask() -> None:
        answers.extend(echo.answer(event, None)["statusCode"] for _ in range(2))

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert answers == [200] * 6


def test_it_can_be_made_where_there_is_no_loop(wire: Path) -> None:
    asyncio.run(asyncio.sleep(0))  # From here on the main thread has none either.
    assert Echo().answer(official(wire, OFFICIAL[0]), None)["statusCode"] == 200
    assert Echo().answer(official(wire, OFFICIAL[0]), None)["statusCode"] == 200


@pytest.mark.parametrize("text", ["こんにちは、花さん", "Hello, Hana"])
def test_words_go_back_as_words(wire: Path, text: str) -> None:
    content = json.dumps({"text": text}, ensure_ascii=False).encode()
    answer = Echo(201, content).answer(official(wire, OFFICIAL[0]), None)
    assert (answer["statusCode"], answer["isBase64Encoded"]) == (201, False)
    assert json.loads(answer["body"]) == {"text": text}


@pytest.mark.parametrize("media", ["application/octet-stream", "image/png"])
def test_bytes_go_back_as_base64(wire: Path, media: str) -> None:
    content = bytes(range(256))
    answer = Echo(content=content, media=media).answer(official(wire, OFFICIAL[0]), None)
    assert answer["isBase64Encoded"]
    assert base64.b64decode(answer["body"]) == content
    assert answer["headers"]["content-type"] == media
