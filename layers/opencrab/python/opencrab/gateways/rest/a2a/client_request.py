"""One request of an A2A client: its message read strictly, who sent it, and to which agent."""

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from opencrab.domain.a2a.protocol import A2aErrorCode
from opencrab.domain.agents.agent import Profile
from opencrab.domain.errors import Invalid
from opencrab.domain.identifier import stable_id
from opencrab.domain.value import Language
from opencrab.engine.runtime import Runtime
from opencrab.gateways.rest.a2a.errors import A2aError
from opencrab.gateways.rest.http.access import Caller
from opencrab.gateways.rest.http.body import strict_http_json_body
from opencrab.gateways.rest.http.dependencies import RestContext
from opencrab.gateways.rest.mcp.route_calls import RouteCalls

ID_CHARACTERS = 1_000
"""The longest id that a client gives a message or a request."""


@dataclass(frozen=True)
class A2aMessage:
    """A JSON-RPC request."""

    method: str
    params: Mapping[str, Any]
    id: str | int


@dataclass(frozen=True)
class A2aRequest:
    """A request with all that its method needs; `base` is the address of this installation."""

    api: RestContext
    caller: Caller
    routes: RouteCalls
    agent: Profile
    message: A2aMessage
    base: str

    @property
    def runtime(self) -> Runtime:
        """The installation."""
        return self.api.runtime

    @property
    def agent_id(self) -> str:
        """The id of the agent that is asked."""
        return self.agent.agent.id

    @property
    def answer_language(self) -> Language:
        """The language in which a task says why it failed: the client's, else the agent's."""
        return self.caller.language_or(self.agent.agent.language)

    def idempotency_key(self, what: str, said: str) -> str:
        """Return the key of what a request does for an id that its client chose."""
        return stable_id("a2a", what, self.agent_id, said)


def read_a2a_message(content: bytes) -> A2aMessage:
    """Parse the body of a request; raises A2aError."""
    try:
        value = strict_http_json_body(content)
    except Invalid as error:
        raise A2aError(A2aErrorCode.PARSE_ERROR, error.message, cure=error.cure) from None
    if isinstance(value, list):
        raise _invalid("a batch is not accepted: send each request by itself")
    if not isinstance(value, dict) or value.get("jsonrpc") != "2.0":
        raise _invalid('a request is an object with "jsonrpc": "2.0"')
    number, method, params = value.get("id"), value.get("method"), value.get("params", {})
    if isinstance(number, bool) or not isinstance(number, int | str):
        raise _invalid("id must be a whole number or a text")
    if len(str(number)) > ID_CHARACTERS:
        raise _invalid(f"id must have at most {ID_CHARACTERS} characters")
    if not isinstance(method, str):
        raise _invalid("method must be a text")
    if not isinstance(params, dict):
        raise A2aError(A2aErrorCode.INVALID_PARAMS, "params must be an object")
    return A2aMessage(method, params, number)


def a2a_text(given: Mapping[str, Any], name: str, *, required: bool = False) -> str:
    """Return a text among parameters, "" for none; raises A2aError."""
    found = given.get(name)
    if found is None and not required:
        return ""
    if not isinstance(found, str) or len(found) > ID_CHARACTERS or (required and not found):
        raise A2aError(
            A2aErrorCode.INVALID_PARAMS,
            f"{name} must be a text of at most {ID_CHARACTERS} characters",
        )
    return found


def a2a_table(given: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return an object among parameters, an empty one for none; raises A2aError."""
    found = given.get(name)
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise A2aError(A2aErrorCode.INVALID_PARAMS, f"{name} must be an object")
    return found


def a2a_count(given: Mapping[str, Any], name: str, most: int) -> int | None:
    """Return a whole number from 0 among parameters, None for none; raises A2aError."""
    found = given.get(name)
    if found is None:
        return None
    if isinstance(found, bool) or not isinstance(found, int) or not 0 <= found <= most:
        raise A2aError(
            A2aErrorCode.INVALID_PARAMS, f"{name} must be a whole number from 0 to {most}"
        )
    return found


def a2a_switch(given: Mapping[str, Any], name: str) -> bool:
    """Return a truth value among parameters, False for none; raises A2aError."""
    found = given.get(name, False)
    if not isinstance(found, bool):
        raise A2aError(A2aErrorCode.INVALID_PARAMS, f"{name} must be true or false")
    return found


def _invalid(message: str) -> A2aError:
    return A2aError(A2aErrorCode.INVALID_REQUEST, message, HTTPStatus.OK)
