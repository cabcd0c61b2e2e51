"""Errors as clients of OpenAI's API read them, made of problem documents.

Source of the format: OpenAI's API reference, "Error codes". Its clients send a request again by
themselves unless `x-should-retry` says no: after a budget is used up that would be in vain, and
after a failed answer it would be paid for again.
"""

import json
from http import HTTPStatus
from typing import Any

from starlette.responses import Response
from starlette.types import Message, Send

from opencrab.gateways.rest.http.problem import MEDIA_TYPE

_OWN = {b"content-type", b"content-length"}
_TYPES = {
    HTTPStatus.UNAUTHORIZED: "authentication_error",
    HTTPStatus.FORBIDDEN: "permission_error",
    HTTPStatus.TOO_MANY_REQUESTS: "insufficient_quota",
}


def openai_error_of_problem(problem: Response) -> dict[str, Any]:
    """Return the error of OpenAI's form for a problem document: its detail, and then the cure."""
    return _error(bytes(problem.body), problem.status_code)


class OpenAiErrors:
    """A wrapper of `send` that turns a problem document into an error of OpenAI's form."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._start: Message | None = None
        self._body = b""

    async def send(self, message: Message) -> None:
        """Pass a part of a response on; that of a problem is kept until it is complete."""
        if message["type"] == "http.response.start" and _is_problem(message):
            self._start = message
            return
        if self._start is None:
            await self._send(message)
            return
        self._body += message.get("body", b"")
        if message.get("more_body", False):
            return
        start, status = self._start, int(self._start["status"])
        body = json.dumps(_error(self._body, status), ensure_ascii=False).encode()
        kept = [pair for pair in start["headers"] if pair[0] not in _OWN]
        again = b"true" if status == HTTPStatus.SERVICE_UNAVAILABLE else b"false"
        headers = [
            *kept,
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
            (b"x-should-retry", again),
        ]
        await self._send({**start, "headers": headers})
        await self._send({**message, "body": body})


def _is_problem(start: Message) -> bool:
    return (b"content-type", MEDIA_TYPE.encode()) in [
        (name, value.partition(b";")[0]) for name, value in start["headers"]
    ]


def _error(content: bytes, status: int) -> dict[str, Any]:
    problem = json.loads(content)
    words = (problem["detail"], problem.get("cure"))
    kind = "invalid_request_error" if status < HTTPStatus.INTERNAL_SERVER_ERROR else "server_error"
    return {
        "error": {
            "message": ": ".join(each for each in words if each),
            "type": _TYPES.get(HTTPStatus(status), kind),
            "param": problem.get("field"),
            "code": problem.get("code"),
        }
    }
