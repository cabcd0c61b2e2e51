"""MCP over standard input: each message is passed on, answered in its own time, or refused."""

import io
import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from opencrab.domain.errors import Unauthenticated, Unavailable
from opencrab.gateways.cli.mcp import stdio_server
from opencrab.gateways.cli.mcp.stdio_server import StdioServer


class Remote:
    """A server that answers by the method, and keeps what it was sent."""

    def __init__(self) -> None:
        self.sent: list[tuple[Any, dict[str, str]]] = []
        self.breaks = 0
        self.goes_on = threading.Event()

    def __call__(self, content: bytes, headers: dict[str, str]) -> Iterator[tuple[str, str]]:
        said = json.loads(content)
        self.sent.append((said.get("id", said.get("method")), headers))
        if self.breaks:
            self.breaks -= 1
            raise Unavailable("the connection broke")
        match said.get("method"):
            case "initialize":
                yield json.dumps({"id": 0, "result": {"protocolVersion": "2025-06-18"}}), "s-1"
            case "slow":
                yield json.dumps({"method": "notifications/progress"}), ""
                assert self.goes_on.wait(10)
                yield json.dumps({"id": said["id"], "result": {}}), ""
            case "notifications/cancelled":
                self.goes_on.set()
            case "denied":
                raise Unauthenticated("無効なキーです", cure="use another")
            case _:
                yield json.dumps({"id": said.get("id"), "result": "潮"}, ensure_ascii=False), ""


def message(method: str, number: Any = None) -> bytes:
    numbered = {} if number is None else {"id": number}
    return json.dumps({"jsonrpc": "2.0", **numbered, "method": method}).encode() + b"\n"


def served(remote: Remote, *lines: bytes) -> list[Any]:
    """What the client reads after it sent these lines."""
    answers = io.StringIO()
    StdioServer(remote, answers).serve(io.StringIO(b"".join(lines).decode()))
    return [json.loads(row) for row in answers.getvalue().splitlines()]


def test_the_session_goes_with_each_message_after_the_first() -> None:
    remote = Remote()
    told = served(remote, message("initialize", 0), message("tools/list", "蟹"), b"\n")
    assert told == [
        {"id": 0, "result": {"protocolVersion": "2025-06-18"}},
        {"id": "蟹", "result": "潮"},
    ]
    session = {"mcp-session-id": "s-1", "mcp-protocol-version": "2025-06-18"}
    assert remote.sent == [(0, {}), ("蟹", session)]


def test_a_request_that_waits_keeps_nobody_waiting() -> None:
    remote = Remote()
    told = served(
        remote, message("slow", 1), message("ping", 2), message("notifications/cancelled")
    )
    assert len(told) == 3
    assert told[-1] == {"id": 1, "result": {}}


def test_a_broken_connection_is_tried_once_more_and_then_said() -> None:
    remote = Remote()
    remote.breaks = 1
    assert served(remote, message("ping", 1)) == [{"id": 1, "result": "潮"}]
    remote.breaks = 2
    (error,) = served(remote, message("ping", 2))
    assert (error["id"], error["error"]["message"]) == (2, "the connection broke")
    assert [number for number, _ in remote.sent] == [1, 1, 2, 2]


@pytest.mark.parametrize("number", [7, "潮"])
def test_what_the_server_refuses_is_an_answer_with_the_cure(number: Any) -> None:
    (error,) = served(Remote(), message("denied", number))
    assert error["id"] == number
    assert error["error"] == {"code": -32603, "message": "無効なキーです: use another"}


def test_a_notification_is_never_answered() -> None:
    remote = Remote()
    remote.breaks = 9
    assert served(remote, message("notifications/initialized")) == []


def test_a_message_that_is_too_large_is_refused_and_the_next_is_read() -> None:
    remote = Remote()
    large = b"x" * (2 * stdio_server.MESSAGE_BYTES + 7) + b"\n"
    told = served(remote, large, message("ping", 1))
    assert {"id": 1, "result": "潮"} in told
    (error,) = (each["error"] for each in told if "error" in each)
    assert "1048576 bytes" in error["message"]
