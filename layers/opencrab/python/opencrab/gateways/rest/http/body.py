"""Bodies and addresses as they arrive: bounded, whole characters only, strictly JSON."""

import asyncio
import json
from collections.abc import Callable, Coroutine
from operator import attrgetter
from typing import Annotated, Any, TypeVar
from urllib.parse import unquote_to_bytes

from fastapi import APIRouter, Depends, Request, Response
from pydantic import BaseModel, GetCoreSchemaHandler
from pydantic_core import CoreSchema
from pydantic_core.core_schema import no_info_wrap_validator_function
from starlette.types import Message, Receive, Scope

from opencrab.domain.errors import Invalid, TooLarge
from opencrab.domain.value import JSON_DEPTH, is_json_value
from opencrab.gateways.rest.http.lazy_route import LazyRoute
from opencrab.gateways.rest.http.problem import UnsupportedMediaType

JSON_BYTES = 1 << 20
FILE_BYTES = 5 << 20
BODY_SECONDS = 30.0

_OF_CLIENTS = ("/v1/chat/completions", "/v1/responses", "/a2a/", "/ag-ui/")
_FILE_PLACES = ("/workspace", "/memory/import", "/agent-imports/", "/uploads", *_OF_CLIENTS)

_WITH_BODY = {"POST", "PUT", "PATCH"}

Body = TypeVar("Body", bound=BaseModel)


class ClientLeft(Exception):
    """The client disconnected before it had sent the whole body."""


def require_utf8_http_url(scope: Scope) -> None:
    """Raise Invalid for an address that is not UTF-8; decoded leniently, it could name another."""
    parts = {"path": scope.get("raw_path") or b"", "query": scope.get("query_string") or b""}
    for field, raw in parts.items():
        try:
            unquote_to_bytes(raw).decode("utf-8")
        except UnicodeDecodeError:
            raise Invalid(
                f"the {field} is not UTF-8", field=field, cure="percent-encode UTF-8 bytes"
            ) from None


def may_hold_pictures(path: str) -> bool:
    """Check whether a request's path is that of uploads, or of messages that hold pictures."""
    if path.startswith("/api/sessions/"):
        return path.endswith("/uploads")
    return path.startswith(_OF_CLIENTS)


async def bounded_http_body(scope: Scope, receive: Receive, *, takes_files: bool) -> Receive:
    """Read the body, up to the caller's limit, and return a `receive` that replays it.

    Raises TooLarge, Invalid if reading times out, and ClientLeft if the client disconnects.
    """
    if scope["method"] not in _WITH_BODY:
        return receive
    is_file = takes_files and any(place in scope["path"] for place in _FILE_PLACES)
    limit = FILE_BYTES if is_file else JSON_BYTES
    _check_announced(scope, limit)
    try:
        async with asyncio.timeout(BODY_SECONDS):
            return _replay_body(await _whole(receive, limit), receive)
    except TimeoutError:
        raise Invalid(
            f"the body did not arrive within {BODY_SECONDS:g} s", field="body", cure="send it again"
        ) from None


async def _whole(receive: Receive, limit: int) -> bytes:
    content = bytearray()
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientLeft
        content += message.get("body", b"")
        more = message.get("more_body", False)
        if len(content) > limit:
            raise _too_large(limit)
    return bytes(content)


def strict_http_json_body(content: bytes) -> Any:
    """Parse a JSON text, rejecting what parsers read differently; raises Invalid.

    Rejected are NaN and Infinity, lone surrogates, duplicate names in an object, and nesting deeper
    than any of our models.
    """
    try:
        text = content.decode("utf-8")
        value = json.loads(text, object_pairs_hook=_distinct, parse_constant=_not_finite)
    except UnicodeDecodeError:
        raise Invalid("the body is not UTF-8", field="body", cure="encode it as UTF-8") from None
    except RecursionError:
        raise _too_deep() from None
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise Invalid(
            f"the body is not JSON: syntax error at {place}", field="body", cure="correct it there"
        ) from None
    except ValueError:
        raise Invalid(
            "the body has a number with too many digits", field="body", cure="shorten it"
        ) from None
    if not is_json_value(value):
        raise _unusual(value)
    return value


async def _bytes(request: Request) -> bytes:
    return await request.body()


Bytes = Annotated[bytes, Depends(_bytes)]
"""A body that is a file, as it came; `BYTES_BODY` says so in the OpenAPI document."""

BYTES_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}


class _Strictly:
    """A validator for strict JSON: "5" is not a number and 1 is not true."""

    def __get_pydantic_core_schema__(
        self, model: type[BaseModel], handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        def validate(value: Any, _lenient: Callable[[Any], Any]) -> Any:
            return model.model_validate_json(json.dumps(value), strict=True)

        return no_info_wrap_validator_function(validate, handler(model))


Strict = Annotated[Body, _Strictly()]
"""A body of this model, checked strictly.

Models of bodies and queries are worked out at once (`defer_build=False`): FastAPI gives them an
alias that pydantic warns of, and silences that only while it makes its routes.
"""


class JsonRoute(LazyRoute):
    """A route whose JSON body, if it takes one, is checked and parsed once."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler, preceded by the check of the body."""
        handle = super().get_route_handler()
        if self.body_field is None:
            return handle

        async def checked(request: Request) -> Response:
            content = await request.body()
            if content:
                _check_media_type(request.headers.get("content-type", ""))
                request = _Parsed(request.scope, request.receive, content)
            return await handle(request)

        return checked


def http_routes_below(prefix: str, tag: str, *, takes_json: bool = True) -> APIRouter:
    """Return a router for a path prefix; a function's name becomes its operationId."""
    return APIRouter(
        prefix=prefix,
        tags=[tag],
        route_class=JsonRoute if takes_json else LazyRoute,
        generate_unique_id_function=attrgetter("name"),
    )


class _Parsed(Request):
    """A request whose JSON body is already parsed."""

    def __init__(self, scope: Scope, receive: Receive, content: bytes) -> None:
        super().__init__(scope, receive)
        self._body = content
        self._value = strict_http_json_body(content)

    async def json(self) -> Any:
        return self._value


def _check_announced(scope: Scope, limit: int) -> None:
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit() and int(value) > limit:
            raise _too_large(limit)


def _replay_body(content: bytes, receive: Receive) -> Receive:
    waiting = [content]

    async def replay() -> Message:
        if waiting:
            return {"type": "http.request", "body": waiting.pop(), "more_body": False}
        return await receive()

    return replay


def _check_media_type(media_type: str) -> None:
    kind = media_type.partition(";")[0].strip().lower()
    if kind != "application/json" and not (kind.startswith("application/") and "+json" in kind):
        raise UnsupportedMediaType(
            "the body must be JSON",
            field="Content-Type",
            cure="send Content-Type: application/json",
        )


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise Invalid(
            "a JSON object has the same name twice", field="body", cure="keep one of them"
        )
    return value


def _not_finite(_name: str) -> Any:
    raise Invalid("NaN and Infinity are not JSON", field="body", cure="use null or a number")


def _unusual(value: Any) -> Invalid:
    try:
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError:
        return Invalid("the body contains an unpaired surrogate", field="body", cure="remove it")
    except ValueError:
        return Invalid(
            "the body has a number that is out of range", field="body", cure="shorten it"
        )
    except RecursionError:
        return _too_deep()
    return _too_deep()


def _too_deep() -> Invalid:
    return Invalid(
        f"the body is nested more than {JSON_DEPTH} levels deep",
        field="body",
        cure="reduce the nesting",
    )


def _too_large(limit: int) -> TooLarge:
    return TooLarge(
        f"the body has more than {limit} bytes", field="body", cure="send less, or in several parts"
    )
