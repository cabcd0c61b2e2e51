"""An agent elsewhere, by its A2A agent card, as if it were an MCP server with one tool: `ask`.

The card is read once for each connection, and on a new one when it is asked for its tools again:
what was verified is what is called. It decides the path, never the host.
"""

import json
import ssl
from collections.abc import Callable, Mapping
from threading import Event
from time import monotonic
from typing import Any
from urllib.parse import urljoin, urlsplit

import httpcore
import httpx

from opencrab.adapters.mcp.exchange import McpHttpExchange
from opencrab.adapters.mcp.messages import mcp_message, parse_mcp_message
from opencrab.adapters.mcp.running_call import RunningCall
from opencrab.domain.a2a.protocol import (
    A2A_BINDING,
    A2A_CARD_PATH,
    A2A_HOPS,
    A2A_VERSION,
    A2A_VERSION_HEADER,
    A2aMethod,
    A2aTaskState,
)
from opencrab.domain.errors import Refused
from opencrab.domain.identifier import stable_id
from opencrab.domain.mcp.protocol import PROTOCOL
from opencrab.domain.mcp.server import McpServer
from opencrab.ports.mcp import McpSessionEnded

LOOK_SECONDS = 1.0
"""The time between two looks at a task that works."""

_SPARE_SECONDS = 2.0
_SKILLS = 20
_FAILED = frozenset({A2aTaskState.FAILED, A2aTaskState.REJECTED, A2aTaskState.CANCELED})
_WAITS = frozenset({A2aTaskState.SUBMITTED, A2aTaskState.WORKING})
_PARAMETERS = {
    "type": "object",
    "properties": {
        "message": {"type": "string", "description": "What to say; may be left out with task_id"},
        "context_id": {"type": "string", "description": "Goes on in the context of an answer"},
        "task_id": {"type": "string", "description": "A task that still works, or wants input"},
    },
}

Table = Mapping[str, Any]


class A2aConnection:
    """The agent of a server whose settings name an agent card, or the host that has one.

    Args:
        server: The server; its headers are sent with each request.
        backend: Connects to its host; its timeouts are deadlines.
        new_tls: Creates the TLS context that verifies it.
        wait: Sleeps so many seconds, between two looks at a task.
    """

    def __init__(
        self,
        server: McpServer,
        backend: httpcore.NetworkBackend,
        new_tls: Callable[[], ssl.SSLContext] = httpx.create_ssl_context,
        wait: Callable[[float], object] | None = None,
    ) -> None:
        self.tools_changed = False
        self.is_open = True
        self._server = server
        self._exchange = McpHttpExchange(server, backend, new_tls)
        self._wait = wait or Event().wait
        self._url = ""

    def request(
        self,
        method: str,
        params: Mapping[str, Any],
        deadline: float,
        running: RunningCall | None = None,  # noqa: ARG002 - nobody tells its progress here
    ) -> dict[str, Any]:
        """Return the result of a request. Raises McpUnavailable, at the deadline at the latest."""
        if method == "initialize":
            return {"protocolVersion": PROTOCOL}
        if method == "tools/list":
            return {"tools": [self._listed(deadline)]}
        given, meta = params.get("arguments", {}), params.get("_meta", {})
        message, task_id = str(given.get("message") or ""), str(given.get("task_id") or "")
        if not message.strip() and not task_id:
            return _error_result("message is blank: write what to say")
        if message.strip():
            sent = self._message(message, task_id, str(given.get("context_id") or ""), meta)
            answer = self._call(A2aMethod.SEND, sent, deadline, number=1)
        else:
            answer = self._call(A2aMethod.GET, {"id": task_id}, deadline, number=1)
        return self._told(answer, deadline)

    def notify(self, method: str, deadline: float) -> None:
        """Do nothing: an agent is told nothing."""

    def close(self) -> None:
        """Close what is open."""
        self.is_open = False
        self._exchange.close()

    def _listed(self, deadline: float) -> dict[str, Any]:
        """Return the tool that asks the agent; all of its card is part of what is trusted."""
        if self._url:
            # A call of another thread may be on its way, to the address that was verified here.
            self.is_open = False
            raise McpSessionEnded(f"the card of the agent {self._server.name} is read again")
        card = self._card(deadline)
        skills = card.get("skills")
        told = [
            f"{each.get('name', '')}: {each.get('description', '')}"
            for each in (skills if isinstance(skills, list) else [])[:_SKILLS]
            if isinstance(each, dict)
        ]
        said = "; ".join(str(each) for each in (card.get("description", ""), *told) if each)
        self._url = self._address(card)
        return {
            "name": "ask",
            "description": f"Ask the agent {card.get('name', '')} and wait for its answer. {said}",
            "inputSchema": _PARAMETERS,
            "card": card,
        }

    def _card(self, deadline: float) -> Table:
        address = self._server.a2a
        if not urlsplit(address).path.endswith(".json"):
            address = f"{address.rstrip('/')}{A2A_CARD_PATH}"
        headers = [(b"accept", b"application/json")]
        with self._exchange.send("GET", address, headers, b"", deadline) as response:
            self._exchange.require_success(response.status)
            card = parse_mcp_message(b"".join(self._exchange.pieces(response, deadline)))
        if card is None:
            raise self._exchange.failure("its agent card is no JSON object", sent=False)
        return card

    def _address(self, card: Table) -> str:
        """Return where the agent takes JSON-RPC, if that is where its card is."""
        offered = card.get("supportedInterfaces")
        for each in offered if isinstance(offered, list) else []:
            if not isinstance(each, dict) or each.get("protocolBinding") != A2A_BINDING:
                continue
            if str(each.get("protocolVersion", "")).split(".")[:2] != A2A_VERSION.split("."):
                continue
            found = _address_from(self._server.a2a, str(each.get("url", "")))
            if _origin(found) != _origin(self._server.a2a):
                raise Refused(
                    f"the agent {self._server.name} says that it is at another host than its card",
                    cure="write the address of the card at that host if you trust it",
                )
            return found
        raise Refused(
            f"the agent {self._server.name} does not speak A2A {A2A_VERSION} by {A2A_BINDING}",
            cure="ask its operator for that interface",
        )

    def _message(self, words: str, task_id: str, context_id: str, meta: Table) -> dict[str, Any]:
        message = {
            # The same call made again has the same id, by which agents know a repeat.
            "messageId": stable_id("a2a-message", str(meta.get("key", ""))),
            "role": "ROLE_USER",
            "parts": [{"text": words, "mediaType": "text/plain"}],
            "metadata": {A2A_HOPS: meta.get("hops", 1)},
        }
        named = {"taskId": task_id, "contextId": context_id}
        message |= {name: value for name, value in named.items() if value}
        return {"message": message, "configuration": {"acceptedOutputModes": ["text/plain"]}}

    def _told(self, answer: Table, deadline: float) -> dict[str, Any]:
        """Return the answer, waiting for a task that works as long as there is time."""
        if "error" in answer:
            return _refusal(answer["error"])
        found = answer.get("result")
        found = found if isinstance(found, dict) else {}
        if isinstance(found.get("message"), dict):
            return _result(
                _words([found["message"]]), {"contextId": found["message"].get("contextId")}
            )
        task = found.get("task", found)
        number = 1
        while _state(task) in _WAITS and monotonic() + _SPARE_SECONDS < deadline:
            self._wait(LOOK_SECONDS)
            number += 1
            asked = {"id": str(task.get("id", "")), "historyLength": 0}
            later = self._call(A2aMethod.GET, asked, deadline, number=number)
            if not isinstance(later.get("result"), dict):
                break
            task = later["result"]
        return _task_result(task)

    def _call(self, method: A2aMethod, params: Table, deadline: float, *, number: int) -> Table:
        headers = [
            (b"content-type", b"application/json"),
            (b"accept", b"application/json"),
            (A2A_VERSION_HEADER.lower().encode(), A2A_VERSION.encode()),
        ]
        body = mcp_message(method, params, number)
        with self._exchange.send("POST", self._url, headers, body, deadline) as response:
            self._exchange.require_success(response.status)
            answer = parse_mcp_message(b"".join(self._exchange.pieces(response, deadline)))
        if answer is None or answer.get("id") != number:
            raise self._exchange.failure(f"it did not answer {method}", sent=True)
        return answer


def _task_result(task: Any) -> dict[str, Any]:
    if not isinstance(task, dict):
        return _error_result("its answer is neither a task nor a message")
    state, status = _state(task), task.get("status")
    status = status if isinstance(status, dict) else {}
    artifacts = task.get("artifacts")
    said = _words(artifacts if isinstance(artifacts, list) else [])
    if isinstance(status.get("message"), dict):
        said = "\n".join(each for each in (said, _words([status["message"]])) if each)
    if state in _WAITS:
        said = f"{said}\n[it still works: ask again later with task_id alone]".lstrip()
    data = {"state": None if state is None else state.value.removeprefix("TASK_STATE_").lower()}
    data |= {"task_id": task.get("id"), "context_id": task.get("contextId")}
    result = _result(said, data)
    return {**result, "isError": True} if state in _FAILED or state is None else result


def _state(task: Any) -> A2aTaskState | None:
    status = task.get("status") if isinstance(task, dict) else None
    said = status.get("state") if isinstance(status, dict) else None
    return next((each for each in A2aTaskState if each == said), None)


def _words(holders: list[Any]) -> str:
    """Return the parts of messages or artifacts as text; files are named, not shown."""
    parts = [
        part
        for each in holders
        if isinstance(each, dict) and isinstance(each.get("parts"), list)
        for part in each["parts"]
        if isinstance(part, dict)
    ]
    return "\n".join(filter(None, map(_part, parts)))


def _part(part: Table) -> str:
    if isinstance(part.get("text"), str):
        return str(part["text"])
    if "data" in part:
        return json.dumps(part["data"], ensure_ascii=False)
    name = str(part.get("filename", ""))[:200]
    if "url" in part:
        return f"[file {name}: {str(part['url'])[:2_000]}]"
    return f"[file {name}: left out]" if "raw" in part else ""


def _refusal(error: Any) -> dict[str, Any]:
    told = error if isinstance(error, dict) else {}
    return _error_result(f"error {told.get('code')}: {str(told.get('message', ''))[:2_000]}")


def _result(text: str, data: Table) -> dict[str, Any]:
    kept = {name: value for name, value in data.items() if value is not None}
    return {
        "content": [{"type": "text", "text": text or "[it said nothing]"}],
        "structuredContent": kept,
    }


def _error_result(text: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], "isError": True}


def _address_from(card: str, said: str) -> str:
    """Return the address that a card at an address names; "" for what is none."""
    try:
        return urljoin(card, said)
    except ValueError:
        return ""


def _origin(url: str) -> tuple[str, str]:
    try:
        parts = urlsplit(url)
    except ValueError:
        return "", ""
    ports = {"http": ":80", "https": ":443"}
    place = parts.netloc.lower()
    return parts.scheme, place.removesuffix(ports.get(parts.scheme, ":"))
