"""Errors as clients of OpenAI's API read them, made of problem documents.

Source of the format: OpenAI's API reference, "Error codes". Its clients send a request again by
themselves unless `x-should-retry` says no: after a budget is used up that would be in vain, and
after a failed answer it would be paid for again.
"""

import json
from http import HTTPStatus
from typing import Any

from starlette.responses import Response
from starlette.types import Send

from opencrab.gateways.rest.http.problem_form import ProblemForm, ProblemFormSender

_TYPES = {
    HTTPStatus.UNAUTHORIZED: "authentication_error",
    HTTPStatus.FORBIDDEN: "permission_error",
    HTTPStatus.TOO_MANY_REQUESTS: "insufficient_quota",
}


def openai_error_of_problem(problem: Response) -> dict[str, Any]:
    """Return the error of OpenAI's form for a problem document: its detail, and then the cure."""
    return _error(bytes(problem.body), problem.status_code)


def openai_problems(send: Send) -> ProblemFormSender:
    """Return a wrapper of `send` that gives problem documents the form of OpenAI's errors."""

    def rewrite(content: bytes, status: int) -> ProblemForm:
        again = b"true" if status == HTTPStatus.SERVICE_UNAVAILABLE else b"false"
        body = json.dumps(_error(content, status), ensure_ascii=False).encode()
        return ProblemForm(body, [(b"x-should-retry", again)])

    return ProblemFormSender(send, rewrite)


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
