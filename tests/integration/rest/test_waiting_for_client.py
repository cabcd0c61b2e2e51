"""A turn that waits for its client's tool says so to clients of other protocols."""

from collections.abc import Iterator

import pytest

from opencrab.adapters.providers.scripted.script import ScriptedAnswer
from tests.integration.rest.a2a_client import A2aClient, sending, serve_a2a
from tests.integration.rest.house import House
from tests.integration.rest.mcp_client import McpClient
from tests.integration.rest.test_openai_tools import WEATHER, asking, calling, script


@pytest.fixture
def working(house: House) -> Iterator[House]:
    serve_a2a(house)
    with house.worker():
        yield house


@pytest.mark.parametrize("language", ["en", "ja"])
def test_mcp_and_a2a_name_the_program_and_no_approval(working: House, language: str) -> None:
    agent = working.agent("蟹", language=language)
    script(working, calling(WEATHER), ScriptedAnswer(text="sunny"))
    turn_id = asking(working).headers["X-OpenCrab-Turn"]
    client = McpClient(working, **{"Accept-Language": language}).begin()
    told = client.ask("tools/call", name="follow_turn", arguments={"turn_id": turn_id})
    said = {
        "en": "waits for another program, the one that asked it",
        "ja": "質問した別のプログラムが自分のツールを実行して結果を返すのを待っています",
    }
    assert said[language] in told["content"][0]["text"]
    other = A2aClient(working, agent)
    task = other.ask("GetTask", id=turn_id)
    assert task["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
    (part,) = task["status"]["message"]["parts"]
    named = {"en": "I wait for the program that asked", "ja": "質問したプログラムが自分のツール"}
    assert part["text"].startswith(named[language])
    # UnsupportedOperationError
    refused = other.refused("SendMessage", -32004, **sending("21", taskId=turn_id))
    assert "brings the result of its own tool" in refused
