"""What no MCP client should send: each message is refused by name, and nothing is done."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.rest.house import House, problem
from tests.integration.rest.mcp_client import McpClient

PARSE, REQUEST, METHOD, PARAMS = -32700, -32600, -32601, -32602


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """An installation in which nothing may happen."""
    folder: Path = tmp_path_factory.mktemp("bad")
    house = House(folder)
    house.agent("Mika")
    yield house
    assert house.runtime.home.turns.receive(visibility_seconds=1, wait_seconds=0) is None
    house.close()


def refusal(answer: Any, status: int, code: int) -> str:
    """The message of an error about a whole request."""
    assert answer.status_code == status, answer.text
    said = answer.json()
    assert (said["jsonrpc"], said["error"]["code"]) == ("2.0", code)
    message: str = said["error"]["message"]
    return message


def deep(levels: int) -> bytes:
    return (
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":'
        + b'{"a":' * levels
        + b"1"
        + (b"}" * (levels + 1))
    )


@pytest.mark.parametrize(
    ("content", "code", "word"),
    [
        (b"", PARSE, "not JSON"),
        (b"\xff", PARSE, "UTF-8"),
        (b'{"jsonrpc":"2.0","jsonrpc":"2.0"}', PARSE, "twice"),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":NaN}}', PARSE, "NaN"),
        (b'{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}', PARSE, "surrogate"),
        (deep(70), PARSE, "nested"),
        (deep(50_000), PARSE, "nested"),
        ([{"jsonrpc": "2.0", "id": 1, "method": "ping"}], REQUEST, "batch"),
        ([], REQUEST, "batch"),
        ("潮", REQUEST, "object"),
        ({"id": 1, "method": "ping"}, REQUEST, "jsonrpc"),
        ({"jsonrpc": "1.0", "id": 1, "method": "ping"}, REQUEST, "jsonrpc"),
        ({"jsonrpc": "2.0", "id": None, "method": "ping"}, REQUEST, "id must"),
        ({"jsonrpc": "2.0", "id": True, "method": "ping"}, REQUEST, "id must"),
        ({"jsonrpc": "2.0", "id": 1.5, "method": "ping"}, REQUEST, "id must"),
        ({"jsonrpc": "2.0", "id": "蟹" * 201, "method": "ping"}, REQUEST, "id must"),
        ({"jsonrpc": "2.0", "id": 1}, REQUEST, "method must"),
        ({"jsonrpc": "2.0", "id": 1, "method": 7}, REQUEST, "method must"),
    ],
)
def test_what_is_no_message_is_refused(house: House, content: Any, code: int, word: str) -> None:
    assert word in refusal(McpClient(house).post(content), 400, code)


def test_a_message_that_is_too_large_is_refused(house: House) -> None:
    client = McpClient(house)
    problem(client.post(client.message("ping", {"a": "x" * (1 << 20)})), 413)


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("sampling/createMessage", {}, METHOD),
        ("tools/call\u202e", {}, METHOD),
        ("__init__", {}, METHOD),
        ("initialize", {}, PARAMS),
        ("initialize", {"protocolVersion": 1}, PARAMS),
        ("tools/call", {}, PARAMS),
        ("tools/call", {"name": "rm"}, PARAMS),
        ("tools/call", {"name": ["ask_agent"]}, PARAMS),
        ("tools/call", {"name": "list_agents", "arguments": [1]}, PARAMS),
        ("resources/read", {}, PARAMS),
        ("resources/read", {"uri": "file:///etc/passwd"}, -32002),
        ("resources/read", {"uri": "opencrab://sessions/../agents"}, -32002),
        ("resources/read", {"uri": "opencrab://agents/x/files/../../secret"}, -32002),
        ("resources/list", {"cursor": "潮"}, PARAMS),
        ("resources/list", {"cursor": "WyIuLi8iLCBudWxsXQ=="}, PARAMS),
        ("resources/list", {"cursor": "WyJub25lIiwgbnVsbF0="}, PARAMS),
        ("resources/list", {"cursor": 7}, PARAMS),
        ("prompts/get", {"name": 7}, PARAMS),
        ("prompts/get", {"name": "a.b", "arguments": {"task": []}}, PARAMS),
        ("prompts/list", {"cursor": []}, PARAMS),
    ],
)
def test_what_cannot_be_done_is_an_error_of_the_protocol(
    house: House, method: str, params: Any, code: int
) -> None:
    assert McpClient(house).error(method, **params)["code"] == code


def test_parameters_are_an_object(house: House) -> None:
    client = McpClient(house)
    answer = client.post({**client.message("ping"), "params": [1]}).json()
    assert answer["error"] == {"code": PARAMS, "message": "params must be an object"}


@pytest.mark.parametrize(
    ("tool", "arguments", "word"),
    [
        ("ask_agent", {"agent": "Mika"}, "message is missing"),
        ("ask_agent", {"agent": "Mika", "message": 7}, "message must match"),
        ("ask_agent", {"agent": "Mika", "message": "x", "scope": "owner"}, "scope is no argument"),
        ("ask_agent", {"agent": "Nobody\u202e", "message": "x"}, "there is no agent"),
        ("ask_agent", {"agent": "Mika", "message": " "}, "blank"),
        ("ask_agent", {"agent": "Mika", "message": "x", "session_id": "../agents"}, "is no id"),
        ("ask_agent", {"agent": "Mika", "message": "x", "wait_seconds": "5"}, "wait_seconds must"),
        ("follow_turn", {"turn_id": "潮"}, "is no id"),
        ("follow_turn", {"turn_id": "none"}, "there is no turn"),
        ("cancel_turn", {"turn_id": "none"}, "there is no turn"),
        ("follow_task", {"agent": "Mika", "task_id": "G9"}, "no goal"),
        ("run_task", {"agent": "Mika", "instruction": " \n"}, "blank"),
        ("run_task", {"agent": "Mika", "instruction": "x", "budget_usd": -1}, "budget_usd"),
        ("read_file", {"agent": "Mika", "path": "../../etc/passwd"}, "path"),
        ("read_file", {"agent": "Mika", "path": "a\nb"}, "there is no such thing"),
        ("read_file", {"agent": "Mika", "path": ""}, "path"),
        ("list_files", {"agent": "Mika", "limit": 10**9}, "limit"),
        ("list_sessions", {"cursor": "潮"}, "cursor"),
        ("read_session", {"session_id": "none", "order": "random"}, "order must match"),
        ("decide_approval", {"approval_id": "x", "approved": "yes"}, "argument_hash is missing"),
        ("search_memory", {"agent": "Mika", "query": "x", "since": "gestern"}, "since"),
    ],
)
def test_wrong_arguments_are_a_result_that_says_so(
    house: House, tool: str, arguments: Any, word: str
) -> None:
    assert word in McpClient(house).failed(tool, **arguments)


def test_a_session_is_that_of_the_key_that_began_it(house: House) -> None:
    client = McpClient(house).begin()
    mine = client.headers["Mcp-Session-Id"]
    for wrong in ("", "x", "-", mine[:-1], mine + "0", "潮".encode().decode("latin-1")):
        answer = client.post(client.message("ping"), **{"Mcp-Session-Id": wrong})
        assert "initialize again" in refusal(answer, 404, REQUEST)
    other = McpClient(house, house.chat, **{"Mcp-Session-Id": mine})
    assert "initialize again" in refusal(other.post(other.message("ping")), 404, REQUEST)


def test_a_revision_that_is_not_spoken_is_refused(house: House) -> None:
    client = McpClient(house, **{"MCP-Protocol-Version": "2031-01-01"})
    assert "2025-06-18" in refusal(client.post(client.message("ping")), 400, REQUEST)


@pytest.mark.parametrize(
    ("origin", "host", "status"),
    [
        ("http://evil.example", "house", 403),
        ("http://evil.example", "evil.example", 403),
        ("http://localhost:1", "localhost:2", 403),
        ("null", "house", 403),
        ("http://[", "house", 403),
        ("http://localhost:8080", "localhost:8080", 200),
        ("http://127.0.0.1:8080", "127.0.0.1:8080", 200),
    ],
)
def test_web_pages_of_others_are_refused(house: House, origin: str, host: str, status: int) -> None:
    client = McpClient(house)
    answer = client.post(client.message("ping"), Origin=origin, Host=host)
    assert answer.status_code == status


def test_other_methods_and_keys_are_refused(house: House) -> None:
    async def get(client: Any) -> Any:
        return await client.get("/mcp", headers={"Authorization": f"Bearer {house.owner}"})

    assert house.many(get)[0].status_code == 405
    client = McpClient(house, "no-key")
    problem(client.post(client.message("ping")), 401)


def test_notifications_and_answers_are_taken_without_an_answer(house: House) -> None:
    client = McpClient(house).begin()
    for said in (
        {"method": "notifications/潮"},
        {"method": "notifications/cancelled", "params": {"requestId": {"a": 1}}},
        {"method": "notifications/cancelled", "params": {}},
        {"id": 5, "result": {}},
        {"id": 5, "error": {"code": 1, "message": "x"}},
    ):
        answer = client.post({"jsonrpc": "2.0", **said})
        assert (answer.status_code, answer.content) == (202, b"")


def test_a_result_that_is_too_large_is_not_sent(house: House) -> None:
    session = house.session()
    for _ in range(20):
        house.call("POST", f"/sessions/{session}/messages", {"text": "漢" * 20_000})
    # Nobody answers: the first turn keeps the others of its session waiting.
    assert house.runtime.home.turns.receive(visibility_seconds=600, wait_seconds=0) is not None
    assert "ask for less" in McpClient(house).failed("read_session", session_id=session)
    McpClient(house).found("read_session", session_id=session, limit=1)
