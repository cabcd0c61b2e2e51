"""Errors for clients of OpenAI's API, made of problem documents, however they arrive."""

import asyncio
import json
from typing import Any

import pytest

from opencrab.domain.errors import Exhausted, Invalid, OpenCrabError, Unavailable
from opencrab.gateways.rest.http.problem import http_problem
from opencrab.gateways.rest.openai.errors import openai_error_of_problem, openai_problems


def passed(*messages: dict[str, Any]) -> list[dict[str, Any]]:
    """What comes out of the wrapper."""
    found: list[dict[str, Any]] = []

    async def send(message: Any) -> None:
        found.append(message)

    async def run() -> None:
        errors = openai_problems(send)
        for message in messages:
            await errors.send(message)

    asyncio.run(run())
    return found


def start(status: int, kind: bytes, *more: tuple[bytes, bytes]) -> dict[str, Any]:
    return {
        "type": "http.response.start",
        "status": status,
        "headers": [(b"content-type", kind), (b"content-length", b"7"), *more],
    }


def test_other_answers_pass_as_they_are() -> None:
    answer = [
        start(200, b"text/event-stream"),
        {"type": "http.response.body", "body": "潮".encode(), "more_body": True},
        {"type": "http.response.body", "body": b""},
    ]
    assert passed(*answer) == answer


@pytest.mark.parametrize("cut", [1, 20, 1_000])
def test_a_problem_becomes_an_error_in_one_piece(cut: int) -> None:
    body = bytes(http_problem(Invalid("潮がない", field="model", cure="look")).body)
    begun, whole = passed(
        start(422, b"application/problem+json; charset=utf-8", (b"retry-after", b"2")),
        {"type": "http.response.body", "body": body[:cut], "more_body": True},
        {"type": "http.response.body", "body": body[cut:]},
    )
    error = json.loads(whole["body"])["error"]
    assert error == {
        "message": "潮がない: look",
        "type": "invalid_request_error",
        "param": "model",
        "code": "invalid",
    }
    headers = dict(begun["headers"])
    assert len(begun["headers"]) == len(headers)
    assert headers[b"content-length"] == str(len(whole["body"])).encode()
    assert headers[b"content-type"] == b"application/json"
    assert headers[b"retry-after"] == b"2"


@pytest.mark.parametrize(
    ("error", "kind", "again"),
    [
        (Exhausted("no money"), "insufficient_quota", b"false"),
        (Unavailable("busy"), "server_error", b"true"),
        (OpenCrabError("broken"), "server_error", b"false"),
    ],
)
def test_only_what_may_come_later_is_asked_again(
    error: OpenCrabError, kind: str, again: bytes
) -> None:
    problem = http_problem(error)
    begun, _ = passed(
        start(problem.status_code, b"application/problem+json"),
        {"type": "http.response.body", "body": bytes(problem.body)},
    )
    assert dict(begun["headers"])[b"x-should-retry"] == again
    assert openai_error_of_problem(problem)["error"]["type"] == kind
