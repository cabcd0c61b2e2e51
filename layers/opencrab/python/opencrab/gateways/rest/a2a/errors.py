"""Errors as clients of A2A read them, also those of problem documents."""

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from starlette.types import Send

from opencrab.domain.a2a.protocol import A2A_ERROR_DOMAIN, A2aErrorCode
from opencrab.domain.errors import (
    Exhausted,
    OpenCrabError,
    Refused,
    Unauthenticated,
    Unavailable,
)
from opencrab.gateways.rest.http.problem_form import ProblemForm, ProblemFormSender

_ERROR_INFO = "type.googleapis.com/google.rpc.ErrorInfo"
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
        if isinstance(error, Unauthenticated):
            return cls(A2aErrorCode.INVALID_REQUEST, words, HTTPStatus.UNAUTHORIZED)
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


def a2a_problems(send: Send) -> ProblemFormSender:
    """Return a wrapper of `send` that gives problem documents the form of JSON-RPC errors."""

    def rewrite(content: bytes, status: int) -> ProblemForm:
        told = _problem_error(json.loads(content), status).told()
        return ProblemForm(a2a_response_text(None, error=told).encode())

    return ProblemFormSender(send, rewrite)


def _problem_error(problem: Mapping[str, Any], status: int) -> A2aError:
    words = ": ".join(str(each) for each in (problem["detail"], problem.get("cure")) if each)
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return A2aError(A2aErrorCode.INTERNAL_ERROR, words)
    return A2aError(A2aErrorCode.INVALID_REQUEST, words)
