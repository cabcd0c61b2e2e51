"""JSON-RPC messages of MCP's clients: read strictly, and answered."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from opencrab.domain.errors import Invalid
from opencrab.domain.mcp.protocol import McpErrorCode
from opencrab.domain.value import Language
from opencrab.gateways.language.error_texts import error_words_in
from opencrab.gateways.rest.http.body import strict_http_json_body

ID_CHARACTERS = 200
"""The longest id of a request."""

RequestId = str | int

_LINE_ENDS = str.maketrans({end: f"\\u{ord(end):04x}" for end in "\u0085\u2028\u2029"})
"""Line ends to some readers, which JSON leaves as they are: they would cut a message in two."""


class RpcError(Exception):
    """An error of the protocol; one about a whole HTTP request has a status, others are answers."""

    def __init__(
        self,
        code: McpErrorCode,
        message: str,
        status: HTTPStatus = HTTPStatus.OK,
        cure: str | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.status = status
        self._cure = cure

    def told_in(self, language: Language) -> Mapping[str, Any]:
        """Return the error as JSON-RPC has it, its message in a language."""
        return {"code": self.code, "message": error_words_in(language, str(self), self._cure)}


@dataclass(frozen=True)
class RpcMessage:
    """A request; without an id a notification, without a method an answer to one of ours."""

    method: str
    params: Mapping[str, Any]
    id: RequestId | None

    @property
    def meta(self) -> Mapping[str, Any]:
        """What the client says about the request itself, such as a token for its progress."""
        found = self.params.get("_meta")
        return found if isinstance(found, dict) else {}


def parse_rpc_message(content: bytes) -> RpcMessage:
    """Parse the body of a request; raises RpcError."""
    try:
        value = strict_http_json_body(content)
    except Invalid as error:
        code, status = McpErrorCode.PARSE_ERROR, HTTPStatus.BAD_REQUEST
        raise RpcError(code, error.message, status, error.cure) from None
    if isinstance(value, list):
        raise _invalid("a batch is not accepted: send each message in a request of its own")
    if not isinstance(value, dict) or value.get("jsonrpc") != "2.0":
        raise _invalid('a message is an object with "jsonrpc": "2.0"')
    number, method, params = value.get("id"), value.get("method", ""), value.get("params", {})
    if "id" in value and not is_rpc_id(number):
        raise _invalid(f"id must be a whole number or a text of at most {ID_CHARACTERS} characters")
    if not isinstance(method, str) or not (method or "result" in value or "error" in value):
        raise _invalid("method must be a text")
    if not isinstance(params, dict):
        raise RpcError(McpErrorCode.INVALID_PARAMS, "params must be an object")
    return RpcMessage(method, params, number)


def is_rpc_id(value: object) -> bool:
    """Check whether a value is the id of a request."""
    if isinstance(value, str):
        return len(value) <= ID_CHARACTERS
    return isinstance(value, int) and not isinstance(value, bool)


def rpc_result(number: RequestId | None, result: Mapping[str, Any]) -> str:
    """Return the answer to a request, on one line."""
    return _line({"id": number, "result": result})


def rpc_error(number: RequestId | None, error: RpcError, language: Language) -> str:
    """Return the error that answers a request, on one line."""
    return _line({"id": number, "error": error.told_in(language)})


def rpc_progress(token: object, progress: int, message: str) -> str:
    """Return the notification of a request's progress, on one line."""
    params = {"progressToken": token, "progress": progress, "message": message}
    return _line({"method": "notifications/progress", "params": params})


def _line(said: Mapping[str, Any]) -> str:
    return json.dumps({"jsonrpc": "2.0", **said}, ensure_ascii=False).translate(_LINE_ENDS)


def _invalid(message: str) -> RpcError:
    return RpcError(McpErrorCode.INVALID_REQUEST, message, HTTPStatus.BAD_REQUEST)
