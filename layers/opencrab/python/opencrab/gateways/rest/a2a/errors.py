"""Errors as clients of A2A read them, also those of problem documents."""

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from starlette.types import Message, Send

from opencrab.domain.a2a.protocol import A2A_ERROR_DOMAIN, A2aErrorCode
from opencrab.domain.errors import Exhausted, OpenCrabError, Refused, Unavailable
from opencrab.gateways.rest.http.problem import MEDIA_TYPE

_ERROR_INFO = "type.googleapis.com/google.rpc.ErrorInfo"
_OWN = {b"content-type", b"content-length"}
_LONGEST = 2_000


class A2aError(Exception):
    """An error of the protocol; one about the whole HTTP request has a status, others have 200."""

    def __init__(
        self, code: A2aErrorCode, message: str, status: HTTPStatus = HTTPStatus.OK
    ) -> None:
        super().__init__(message[:_LONGEST])
        self.code = code
        self.status = status

    @classmethod
    def of(cls, error: OpenCrabError) -> "A2aError":
        """Return the error of the protocol for one of ours: what is wrong, and what to do."""
        words = ": ".join(each for each in (error.message, error.cure) if each)
        if isinstance(error, Refused):
            return cls(A2aErrorCode.INVALID_REQUEST, words, HTTPStatus.FORBIDDEN)
        if isinstance(error, Unavailable | Exhausted):
            return cls(A2aErrorCode.INTERNAL_ERROR, words)
        return cls(A2aErrorCode.INVALID_PARAMS, words)

    def told(self) -> Mapping[str, Any]:
        """Return the error as JSON-RPC has it."""
        reason = {"@type": _ERROR_INFO, "reason": self.code.name, "domain": A2A_ERROR_DOMAIN}
        return {"code": int(self.code), "message": str(self), "data": [reason]}


def a2a_response_text(number: str | int | None, **answer: Any) -> str:
    """Return a JSON-RPC response with a `result` or an `error`, on one line."""
    return json.dumps({"jsonrpc": "2.0", "id": number, **answer}, ensure_ascii=False)


class A2aErrors:
    """A wrapper of `send` that turns a problem document into a JSON-RPC error."""

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
        problem = json.loads(self._body)
        body = a2a_response_text(None, error=_problem_error(problem).told()).encode()
        kept = [pair for pair in self._start["headers"] if pair[0] not in _OWN]
        headers = [
            *kept,
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
        ]
        await self._send({**self._start, "headers": headers})
        await self._send({**message, "body": body})


def _problem_error(problem: Mapping[str, Any]) -> A2aError:
    words = ": ".join(str(each) for each in (problem["detail"], problem.get("cure")) if each)
    if problem["status"] >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return A2aError(A2aErrorCode.INTERNAL_ERROR, words)
    return A2aError(A2aErrorCode.INVALID_REQUEST, words)


def _is_problem(start: Message) -> bool:
    return (b"content-type", MEDIA_TYPE.encode()) in [
        (name, value.partition(b";")[0]) for name, value in start["headers"]
    ]
