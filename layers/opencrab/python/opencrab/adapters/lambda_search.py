"""Search by another function, which lies in a network of its own: the wire and both its ends.

A message is JSON, with a version that both ends know. Nothing in it is trusted to be short: a
question is cut to what is read of it anyway, an answer to what Lambda carries.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from opencrab.adapters.aws_client import AWS_ERRORS, aws_unavailable_error
from opencrab.domain.errors import Invalid, OpenCrabError, Unavailable
from opencrab.domain.text.query import LONGEST_QUESTION
from opencrab.domain.value import Identifier
from opencrab.ports.memory.search import MOST_FOUND, IndexStatus, Search, SearchHit, SearchQuery

VERSION = 1

LARGEST_ANSWER = 5_000_000
"""Bytes; Lambda carries six million, and wraps them."""

_LONGEST_NAME = 200
_SAME_VERSION = "deploy the search function and its caller from the same version"

Told = TypeVar("Told")


class LambdaSearch:
    """`ports.memory.search.Search` that invokes a Lambda function, by its name or ARN."""

    def __init__(self, client: Any, function_name: str) -> None:
        self._client = client
        self._function_name = function_name

    def search(self, agent_id: str, query: SearchQuery) -> tuple[SearchHit, ...]:
        asked = replace(
            query,
            text=_sendable(query.text, LONGEST_QUESTION),
            speaker=None if query.speaker is None else _sendable(query.speaker, _LONGEST_NAME),
            limit=min(query.limit, MOST_FOUND),
        )
        told = self._asked("search", agent_id, query=_queries().dump_python(asked, mode="json"))
        return self._read(_founds(), told.get("found"))

    def apply_erasures(self, agent_id: str) -> None:
        self._asked("forget", agent_id)

    def status(self, agent_id: str) -> IndexStatus:
        return self._read(_statuses(), self._asked("status", agent_id).get("status"))

    def _asked(self, what: str, agent_id: str, **more: Any) -> dict[str, Any]:
        """Invoke the function and return its response; raise the error that the response holds."""
        question = {"v": VERSION, "ask": what, "agent": _sendable(agent_id, _LONGEST_NAME), **more}
        try:
            answer = self._client.invoke(
                FunctionName=self._function_name, Payload=json.dumps(question).encode()
            )
            content = answer["Payload"].read()
        except AWS_ERRORS as error:
            what = f"function {self._function_name!r}"
            raise aws_unavailable_error(what, error, permissions="lambda:InvokeFunction") from error
        if "FunctionError" in answer:
            raise self._silent("failed", "read its log in CloudWatch")
        try:
            told = json.loads(content)
        except ValueError:
            told = None
        if not isinstance(told, dict) or told.get("v") != VERSION:
            raise self._silent("uses an unsupported protocol version", _SAME_VERSION)
        if "error" in told:
            raise _error_of(told["error"])
        return told

    def _read(self, form: TypeAdapter[Told], told: Any) -> Told:
        try:
            return form.validate_python(told)
        except ValidationError as error:
            raise self._silent("returned a malformed response", _SAME_VERSION) from error

    def _silent(self, why: str, cure: str) -> Unavailable:
        return Unavailable(f"function {self._function_name!r} {why}", cure=cure)


def answer_lambda_search(
    search: Search, question: Mapping[str, Any], at_most: int = LARGEST_ANSWER
) -> dict[str, Any]:
    """Handle a search request inside the invoked function; our errors become part of the response.

    Hits are limited to `at_most` bytes of JSON, best first.
    """
    try:
        told = _dispatch_request(search, question, at_most)
    except OpenCrabError as error:
        shown = {"code": error.code, "message": error.message}
        return {"v": VERSION, "error": shown | {"field": error.field, "cure": error.cure}}
    return {"v": VERSION, **told}


def _dispatch_request(search: Search, question: Mapping[str, Any], at_most: int) -> dict[str, Any]:
    if question.get("v") != VERSION:
        raise Unavailable(
            f"unsupported protocol version {question.get('v')!r}: this function uses {VERSION}",
            cure=_SAME_VERSION,
        )
    what = question.get("ask")
    try:
        agent_id = _agent_ids().validate_python(question.get("agent"))
        query = _queries().validate_python(question["query"]) if what == "search" else None
    except (KeyError, ValidationError) as error:
        raise Invalid(
            "malformed search request",
            field="query",
            cure=_SAME_VERSION,
        ) from error
    if query is not None:
        return {"found": _fitting(search.search(agent_id, query), at_most)}
    if what == "forget":
        search.apply_erasures(agent_id)
        return {}
    if what == "status":
        return {"status": _statuses().dump_python(search.status(agent_id), mode="json")}
    raise Invalid(
        f"the search function does not know the operation {what!r}",
        field="ask",
        cure=_SAME_VERSION,
    )


def _fitting(found: tuple[SearchHit, ...], at_most: int) -> list[Any]:
    """Return as many hits as fit into a number of bytes, best first."""
    kept: list[Any] = []
    size = 0
    for each in _founds().dump_python(found, mode="json"):
        size += len(json.dumps(each))
        if size > at_most:
            break
        kept.append(each)
    return kept


def _error_of(told: Any) -> OpenCrabError:
    """Rebuild the error of a response; Unavailable if its kind is unknown here."""
    told = told if isinstance(told, dict) else {}
    kind = next((each for each in _kinds(OpenCrabError) if each.code == told.get("code")), None)
    message = str(told.get("message", "the search failed without an error message"))
    return (kind or Unavailable)(message, field=told.get("field"), cure=told.get("cure"))


def _kinds(kind: type[OpenCrabError]) -> Iterator[type[OpenCrabError]]:
    for each in kind.__subclasses__():
        yield each
        yield from _kinds(each)


def _sendable(text: str, longest: int) -> str:
    """Cut a text and replace lone surrogates, which UTF-8 cannot encode."""
    return text[:longest].encode("utf-8", "replace").decode("utf-8")


# Made when first used: most functions never search, and all load what they might need.
@cache
def _agent_ids() -> TypeAdapter[str]:
    return TypeAdapter(Identifier)


@cache
def _queries() -> TypeAdapter[SearchQuery]:
    return TypeAdapter(SearchQuery)


@cache
def _founds() -> TypeAdapter[tuple[SearchHit, ...]]:
    return TypeAdapter(tuple[SearchHit, ...])


@cache
def _statuses() -> TypeAdapter[IndexStatus]:
    return TypeAdapter(IndexStatus)
