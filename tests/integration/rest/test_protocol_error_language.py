"""Errors of MCP, A2A, AG-UI and of streams follow Accept-Language; their codes do not change."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from opencrab.adapters.providers.scripted.model import Scripted
from opencrab.adapters.providers.scripted.script import ScriptedAnswer
from tests.integration.rest import test_ag_ui as ag_ui
from tests.integration.rest.a2a_client import A2aClient, sending, serve_a2a
from tests.integration.rest.house import House
from tests.integration.rest.mcp_client import McpClient
from tests.integration.rest.test_openai import CHAT, ask, user
from tests.integration.rest.thinking import PRICE

JA = {"Accept-Language": "ja,en;q=0.8"}


@pytest.fixture
def working(house: House) -> Iterator[House]:
    """A house whose turns run by themselves."""
    with house.worker():
        yield house


def _both(house: House, method: str, **params: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    english, japanese = McpClient(house), McpClient(house, **JA)
    return english.error(method, **params), japanese.error(method, **params)


@pytest.mark.parametrize(
    ("method", "params", "told"),
    [
        ("sampling/createMessage", {}, "メソッド 'sampling/createMessage' はありません"),
        ("tools/call", {"name": "rm"}, "ツール 'rm' はありません"),
        ("resources/read", {"uri": "opencrab://sessions/none"}, "セッション 'none' はありません"),
    ],
)
def test_errors_of_mcp_are_told_in_the_language_of_the_request(
    shared: House, method: str, params: dict[str, Any], told: str
) -> None:
    english, japanese = _both(shared, method, **params)
    assert japanese["code"] == english["code"]
    assert japanese["message"].startswith(told)
    assert english["message"] != japanese["message"]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "本文が JSON ではありません"),
        (b"[]", "バッチは受け付けません"),
    ],
)
def test_what_is_no_message_of_mcp_is_told_so(shared: House, content: bytes, told: str) -> None:
    english, japanese = McpClient(shared).post(content), McpClient(shared, **JA).post(content)
    assert japanese.status_code == english.status_code == 400
    assert japanese.json()["error"]["code"] == english.json()["error"]["code"]
    assert japanese.json()["error"]["message"].startswith(told)


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        ("ask_agent", {"agent": "誰か", "message": "hi"}, "'誰か'"),
        ("ask_agent", {"message": "hi"}, "agent がありません"),
        ("read_session", {"session_id": "none"}, "セッション 'none' はありません"),
        ("read_session", {"session_id": "a/b"}, "session_id が ID ではありません"),
    ],
)
def test_a_call_that_fails_over_mcp_says_why_and_what_to_do(
    shared: House, tool: str, arguments: dict[str, Any], told: str
) -> None:
    english = McpClient(shared).begin().failed(tool, **arguments)
    japanese = McpClient(shared, **JA).begin().failed(tool, **arguments)
    assert told in japanese
    assert english != japanese


@pytest.mark.parametrize(
    ("method", "params", "code", "told"),
    [
        ("GetTask", {"id": "none"}, -32001, "タスク 'none' はありません"),
        ("GetTask", {}, -32602, "id は 1000 文字以内の文字列にしてください"),
        ("Nothing", {}, -32601, "メソッド 'Nothing' はありません"),
        ("SendMessage", sending("x", contextId="none"), -32602, "コンテキスト 'none' はありません"),
        ("SendMessage", sending("", parts=[{"url": "http://x"}]), -32602, "parts[0].url"),
    ],
)
def test_errors_of_a2a_are_told_in_the_language_of_the_request(
    house: House, method: str, params: dict[str, Any], code: int, told: str
) -> None:
    house.agent("Mika")
    serve_a2a(house)
    english = A2aClient(house, "Mika").refused(method, code, **params)
    japanese = A2aClient(house, "Mika", **JA).refused(method, code, **params)
    assert told in japanese
    assert english != japanese


def test_an_agent_of_a2a_that_is_not_there_is_told_so(house: House) -> None:
    client = A2aClient(serve_a2a(house), "Nobody", **JA)
    assert "エージェント 'Nobody' はいません" in client.refused("GetTask", -32602, id="x")


def test_a_failed_task_of_a2a_says_why_in_the_language_of_the_request(working: House) -> None:
    """Without a wish it is the agent's language."""
    working.agent("Mika", language="en")
    serve_a2a(working)
    words = []
    for headers in ({}, JA):
        working.script(ScriptedAnswer(error="refused"))
        task = A2aClient(working, "Mika", **headers).send("do something")
        words.append(task["status"]["message"]["parts"][0]["text"])
    assert words[0].isascii()
    assert not words[1].isascii()


def test_a_failed_run_of_ag_ui_says_why_in_the_language_of_the_request(working: House) -> None:
    ag_ui.serve(working)
    working.agent("Mika")
    ended = []
    for number, language in enumerate(("en", "ja")):
        working.script(ScriptedAnswer(error="refused"))
        asked = ag_ui.asked("do something", f"m{number}")
        ended.append(ag_ui.run(working, asked, language=language)[-1])
    english, japanese = ended
    assert english["message"].isascii()
    assert not japanese["message"].isascii()
    assert japanese["code"] == english["code"]


def test_a_resumed_run_of_ag_ui_that_waits_for_nothing_says_so(working: House) -> None:
    ag_ui.serve(working)
    working.agent("Mika")
    english = ag_ui.run(working, ag_ui.resumed("none", {"approved": True}))[-1]
    japanese = ag_ui.run(working, ag_ui.resumed("none", {"approved": True}), language="ja")[-1]
    assert english["message"].startswith("interrupt 'none' is none of this thread")
    assert japanese["message"].startswith("割り込み 'none' は")
    assert japanese["code"] == english["code"] == "conflict"


@pytest.mark.parametrize("path", [CHAT, "/v1/responses"])
def test_a_stream_of_openais_api_ends_with_an_error_in_the_language_of_the_request(
    working: House, path: str
) -> None:
    working.agent("Mika", day_limit_micro_usd=0)
    working.thinking.model = Scripted(price=PRICE)
    said = {"messages": [user("hello")]} if path == CHAT else {"input": "hello"}
    body = {"model": "Mika", "stream": True, **said}
    told = []
    for headers in ({}, JA):
        streamed = ask(working, path, body, **headers).text
        rows = [row[6:] for row in streamed.splitlines() if row.startswith("data: {")]
        last = json.loads(rows[-1])
        told.append(last.get("error") or last["response"]["error"])
    english, japanese = told
    assert japanese["code"] == english["code"]
    assert english["message"].isascii()
    assert not japanese["message"].isascii()
