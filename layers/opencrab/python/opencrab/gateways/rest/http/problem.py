"""Problem documents (RFC 9457): every error as an answer that names the field and the cure.

A refused body is never part of one; ids, paths and names of fields are named, quoted by `!r`.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi.responses import Response

from opencrab.domain.errors import (
    Conflict,
    Exhausted,
    Invalid,
    NotFound,
    OpenCrabError,
    Refused,
    TooLarge,
    Unauthenticated,
    Unavailable,
)
from opencrab.domain.models.fault import ModelCallFailed
from opencrab.domain.value import Value

MEDIA_TYPE = "application/problem+json"
RETRY_SECONDS = 2
_MOST_PROBLEMS = 10

_STATUS: dict[type[Exception], int] = {
    Refused: 403,
    Unauthenticated: 401,
    NotFound: 404,
    Invalid: 422,
    TooLarge: 413,
    Conflict: 409,
    Unavailable: 503,
    Exhausted: 429,
    ModelCallFailed: 502,
    OpenCrabError: 500,
}
_TITLES = {
    401: "No valid key",
    403: "Not allowed",
    404: "Not found",
    405: "Method not allowed",
    409: "Conflict",
    413: "Too large",
    415: "Unsupported media type",
    422: "Invalid input",
    429: "A budget is used up",
    500: "Internal error",
    502: "No answer from a provider",
    503: "Not available now",
}
_CODES = {404: "not-found", 405: "method-not-allowed", 415: "unsupported-media-type"}
_CURES = {
    404: "compare the path with the OpenAPI document",
    405: "use a method that the Allow header names",
}
_PLACES = {"body", "query", "path", "header"}
_NAME = re.compile(r"[A-Za-z0-9_:./@-]{1,264}")
_KEY = "[key]"
"""What pydantic puts behind the name of an entry whose name itself is wrong."""
_CHOICE = re.compile(r"[a-z-]+\[.*\]", re.DOTALL)
"""What pydantic puts behind the name of a field of several kinds: the kind that it tried."""


class UnsupportedMediaType(Invalid):
    """The media type of the body is not supported by this route."""

    code = "unsupported-media-type"


class FieldProblem(Value):
    """The error of one field, and what to do about it."""

    field: str
    detail: str
    cure: str


class Problem(Value):
    """The reason why a request failed, and what to do about it."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    field: str | None = None
    cure: str | None = None
    errors: tuple[FieldProblem, ...] | None = None


def http_problem(error: OpenCrabError) -> Response:
    """Convert an OpenCrabError to a problem response."""
    if isinstance(error, UnsupportedMediaType):
        status = 415
    else:
        status = next(_STATUS[kind] for kind in type(error).__mro__ if kind in _STATUS)
    headers = {}
    if status == HTTPStatus.UNAUTHORIZED:
        headers["WWW-Authenticate"] = 'Bearer realm="opencrab"'
    if status == HTTPStatus.SERVICE_UNAVAILABLE:
        headers["Retry-After"] = str(RETRY_SECONDS)
    problem = _problem(status, error.message, error.code, error.field, error.cure)
    return _answer(problem, headers)


def http_problem_of_status(status: int, headers: Mapping[str, str] | None = None) -> Response:
    """Convert an error of the framework: no such route, or no such method."""
    phrase = HTTPStatus(status).phrase
    code = _CODES.get(status, phrase.lower().replace(" ", "-"))
    detail = {404: "there is no such route", 405: "this route has no such method"}
    problem = _problem(status, detail.get(status, phrase), code, None, _CURES.get(status))
    return _answer(problem, headers or {})


def http_problem_of_unexpected() -> Response:
    """Return the response for an unexpected error, whose details are only logged."""
    detail = "internal error; details were logged"
    cure = "try again; if it happens again, tell the operator when"
    return _answer(_problem(500, detail, "internal", None, cure), {})


def http_problem_of_validation(errors: Sequence[Mapping[str, Any]]) -> Response:
    """Convert validation errors: the first one in front, up to ten in all."""
    problems = tuple(_field_problem(error) for error in errors[:_MOST_PROBLEMS])
    first = problems[0]
    detail = f"{first.field}: {first.detail}"
    problem = _problem(422, detail, Invalid.code, first.field, first.cure)
    return _answer(problem.replaced(errors=problems if len(problems) > 1 else None), {})


def _problem(status: int, detail: str, code: str, field: str | None, cure: str | None) -> Problem:
    return Problem(
        type=f"urn:opencrab:problem:{code}",
        title=_TITLES.get(status, HTTPStatus(status).phrase),
        status=status,
        detail=detail,
        code=code,
        field=field,
        cure=cure,
    )


def _answer(problem: Problem, headers: Mapping[str, str]) -> Response:
    body = problem.model_dump_json(exclude_none=True)
    told = {"Vary": "Accept-Language", **headers}
    return Response(body, problem.status, told, media_type=MEDIA_TYPE)


def _field_problem(error: Mapping[str, Any]) -> FieldProblem:
    from opencrab.gateways.language.validation_texts import (  # noqa: PLC0415 - seldom needed
        explain_validation_error,
    )

    field = _field(error["loc"])
    detail, cure = explain_validation_error(error)
    cure = cure or "see the OpenAPI document for what it may be"
    return FieldProblem(field=field, detail=detail, cure=cure)


def _field(place: Iterable[Any]) -> str:
    """Return the dotted name of a field, without the part of the request that contains it."""
    parts = [str(part) for part in place if part != _KEY and not _CHOICE.fullmatch(str(part))]
    if len(parts) > 1 and parts[0] in _PLACES:
        parts = parts[1:]
    return ".".join(part if _NAME.fullmatch(part) else "(unprintable)" for part in parts)
