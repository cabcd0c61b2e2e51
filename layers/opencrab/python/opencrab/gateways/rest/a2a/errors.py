"""Errors as clients of A2A read them, also those of problem documents."""

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from starlette.types import Send

from opencrab.domain.a2a.protocol import A2A_ERROR_DOMAIN, A2aErrorCode
from opencrab.domain.errors import Exhausted, OpenCrabError, Refused, Unauthenticated, Unavailable
from opencrab.domain.value import Language
from opencrab.gateways.language.error_texts import error_words_in
from opencrab.gateways.rest.http.problem_form import ProblemForm, ProblemFormSender

_ERROR_INFO = "type.googleapis.com/google.rpc.ErrorInfo"
_LONGEST = 2_000


class A2aError(Exception):
    """An error of the protocol; one about the whole HTTP request has a status, others have 200."""

    def __init__(
        self,
        code: A2aErrorCode,
        message: str,
        status: HTTPStatus = HTTPStatus.OK,
        cure: str | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.status = status
        self._cure = cure

    @classmethod
    def of(cls, error: OpenCrabError) -> "A2aError":
        """Return the error of the protocol for one of ours: what is wrong, and what to do."""
        code, status = A2aErrorCode.INVALID_PARAMS, HTTPStatus.OK
        if isinstance(error, Unauthenticated):
            code, status = A2aErrorCode.INVALID_REQUEST, HTTPStatus.UNAUTHORIZED
        elif isinstance(error, Refused):
            code, status = A2aErrorCode.INVALID_REQUEST, HTTPStatus.FORBIDDEN
        elif isinstance(error, Unavailable | Exhausted):
            code = A2aErrorCode.INTERNAL_ERROR
        return cls(code, error.message, status, error.cure)

    def told_in(self, language: Language) -> Mapping[str, Any]:
        """Return the error as JSON-RPC has it, its message in a language."""
        reason = {"@type": _ERROR_INFO, "reason": self.code.name, "domain": A2A_ERROR_DOMAIN}
        message = error_words_in(language, str(self), self._cure)[:_LONGEST]
        return {"code": int(self.code), "message": message, "data": [reason]}


def a2a_response_text(number: str | int | None, **answer: Any) -> str:
    """Return a JSON-RPC response with a `result` or an `error`, on one line."""
    return json.dumps({"jsonrpc": "2.0", "id": number, **answer}, ensure_ascii=False)


def a2a_problems(send: Send) -> ProblemFormSender:
    """Return a wrapper of `send` that gives problem documents the form of JSON-RPC errors."""

    def rewrite(content: bytes, status: int) -> ProblemForm:
        # A problem document is in the client's language already.
        told = _problem_error(json.loads(content), status).told_in(Language.EN)
        return ProblemForm(a2a_response_text(None, error=told).encode())

    return ProblemFormSender(send, rewrite)


def _problem_error(problem: Mapping[str, Any], status: int) -> A2aError:
    is_ours = status >= HTTPStatus.INTERNAL_SERVER_ERROR
    code = A2aErrorCode.INTERNAL_ERROR if is_ours else A2aErrorCode.INVALID_REQUEST
    return A2aError(code, problem["detail"], cure=problem.get("cure"))
