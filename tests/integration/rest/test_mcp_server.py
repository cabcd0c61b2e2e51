"""`/mcp`: MCP clients talk to agents, by the rules of whoever holds the key."""

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest

from opencrab.adapters.providers.scripted.model import Scripted
from opencrab.gateways.rest.app import create_rest_app
from opencrab.gateways.rest.http.polling import PollingWatch
from opencrab.gateways.rest.mcp import resources, tools
from tests.integration.rest.house import SETUP, House
from tests.integration.rest.mcp_client import INITIALIZE, McpClient, told
from tests.integration.rest.remembering import remembering
from tests.integration.rest.thinking import PRICE

READS = {
    *("list_agents", "list_sessions", "read_session", "list_approvals", "get_approval"),
    *("list_files", "read_file", "follow_turn", "follow_task"),
}
TALKS = {
    *("ask_agent", "cancel_turn", "run_task", "cancel_task"),
    *("search_memory", "decide_approval"),
}


@pytest.fixture
def working(house: House) -> Iterator[House]:
    """A house whose turns run by themselves."""
    with house.worker():
        yield house


def turns(house: House, session: str) -> list[Any]:
    items: list[Any] = house.got(f"/turns?session_id={session}")["items"]
    return items


@pytest.mark.parametrize(
    ("wanted", "spoken"),
    [("2024-11-05", "2024-11-05"), ("2025-06-18", "2025-06-18"), ("2031-01-01", "2025-11-25")],
)
def test_a_revision_is_agreed_on(house: House, wanted: str, spoken: str) -> None:
    client = McpClient(house)
    asked = {**INITIALIZE, "protocolVersion": wanted}
    answer = client.post(client.message("initialize", asked)).json()["result"]
    assert answer["protocolVersion"] == spoken
    assert set(answer["capabilities"]) == {"tools", "resources", "prompts"}
    assert McpClient(house).ask("ping") == {}


def test_tools_are_those_that_the_key_may_use_and_say_what_they_do(house: House) -> None:
    offered = {
        key: {tool["name"]: tool for tool in McpClient(house, key).ask("tools/list")["tools"]}
        for key in (house.read, house.chat, house.owner)
    }
    assert [set(each) for each in offered.values()] == [READS, READS | TALKS, READS | TALKS]
    tools = offered[house.owner]
    reading = {name for name, tool in tools.items() if tool["annotations"]["readOnlyHint"]}
    assert reading == READS | {"search_memory"}
    for name in TALKS - {"search_memory"}:
        assert tools[name]["annotations"]["destructiveHint"] is True
    for tool in tools.values():
        assert tool["inputSchema"]["additionalProperties"] is False
    japanese = McpClient(house, **{"Accept-Language": "ja"}).ask("tools/list")["tools"]
    assert "ターンの続きを待つ" in [tool["title"] for tool in japanese]


@pytest.mark.parametrize(("name", "text"), [("Mika", "say hello"), ("蟹", "say 満潮🦀")])
def test_an_agent_answers_and_the_conversation_goes_on(
    working: House, name: str, text: str
) -> None:
    working.agent(name)
    client = McpClient(working).begin()
    first = client.found("ask_agent", agent=name, message=text)
    assert [reply["text"] for reply in first["replies"]] == [text.removeprefix("say ")]
    assert (first["pending"], first["turns"][0]["status"]) == ([], "completed")
    second = client.found("ask_agent", agent=name, message="say more")
    assert second["session_id"] == first["session_id"]
    other = client.found("ask_agent", agent=name, message="say new", new_session=True)
    assert other["session_id"] != first["session_id"]
    session = first["session_id"]
    named = client.found("ask_agent", agent=name, message="say here", session_id=session)
    assert named["session_id"] == first["session_id"]
    working.agent("Ken")
    wrong = client.failed("ask_agent", agent="Ken", message="x", session_id=session)
    assert "does not take part" in wrong
    lines = client.found("read_session", session_id=session, order="oldest")["items"]
    assert [line["text"] for line in lines][:2] == [text, text.removeprefix("say ")]
    assert McpClient(working).found("ask_agent", agent=name, message=text)["session_id"] not in {
        first["session_id"],
        other["session_id"],
    }


def test_a_request_that_is_sent_again_is_one_turn(house: House) -> None:
    house.agent("Mika")
    client = McpClient(house).begin()
    asked = {"agent": "Mika", "message": "say once", "wait_seconds": 0}
    first, again = (client.found("ask_agent", "7", **asked) for _ in range(2))
    assert first["turns"][0]["id"] == again["turns"][0]["id"]
    assert first["pending"] == again["pending"] != []
    house.work()
    late = client.found("ask_agent", "7", **asked)
    assert [reply["text"] for reply in late["replies"]] == ["once"]
    assert len(turns(house, first["session_id"])) == 1
    other = client.call("ask_agent", "7", **{**asked, "message": "say two"})
    assert other["isError"] is True
    assert "an id of its own" in told(other)
    # The number 7 is another id than the text, and another session has its own.
    assert client.found("ask_agent", 7, **asked)["pending"]
    assert McpClient(house).begin().found("ask_agent", "7", **asked)["pending"]
    assert len(turns(house, first["session_id"])) == 2


def test_a_request_that_comes_twice_at_once_is_one_turn(house: House) -> None:
    house.agent("Mika")
    client = McpClient(house).begin()
    arguments = {"agent": "Mika", "message": "say once", "wait_seconds": 0}
    said = client.message("tools/call", {"name": "ask_agent", "arguments": arguments}, 9)

    async def one(sender: Any) -> Any:
        return await sender.post("/mcp", json=said, headers=client.headers)

    answers = [each.json()["result"] for each in house.many(*[one] * 4)]
    pending = {each["structuredContent"]["pending"][0] for each in answers}
    assert len(pending) == 1
    assert len(house.got("/turns")["items"]) == 1


def test_an_idempotency_key_names_a_request_without_a_session(house: House) -> None:
    house.agent("Mika")
    client = McpClient(house, **{"Idempotency-Key": "k1"})
    asked = {"agent": "Mika", "message": "say once", "wait_seconds": 0}
    first, again = (client.found("ask_agent", **asked) for _ in range(2))
    assert first["pending"] == again["pending"]
    assert "already used" in client.failed("ask_agent", **{**asked, "message": "say two"})
    plain = McpClient(house)
    assert len({plain.found("ask_agent", **asked)["pending"][0] for _ in range(2)}) == 2


def test_an_answer_that_takes_long_is_followed(house: House) -> None:
    house.agent("Mika")
    client = McpClient(house, **{"Accept-Language": "ja"}).begin()
    result = client.call("ask_agent", agent="Mika", message="say 潮", wait_seconds=0)
    (turn,) = result["structuredContent"]["pending"]
    assert f"ターン {turn} はまだ続いています" in told(result)
    assert client.found("follow_turn", turn_id=turn, wait_seconds=0)["pending"] == [turn]
    with house.worker():
        followed = client.found("follow_turn", turn_id=turn)
    assert [reply["text"] for reply in followed["replies"]] == ["潮"]
    assert "there is no turn" in McpClient(house, house.chat).failed("follow_turn", turn_id=turn)


def test_progress_is_told_while_an_answer_is_waited_for(house: House) -> None:
    house.agent("Mika")
    client = McpClient(house).begin()
    arguments = {"agent": "Mika", "message": "say x", "wait_seconds": 4}
    params = {"_meta": {"progressToken": "潮"}, "name": "ask_agent", "arguments": arguments}
    answer = client.post(client.message("tools/call", params))
    assert answer.headers["content-type"].startswith("text/event-stream")
    rows = [row for row in answer.text.split("\n") if row.startswith("data: ")]
    progress, last = (json.loads(row.removeprefix("data: ")) for row in rows)
    assert progress["params"] == {"progressToken": "潮", "progress": 1, "message": "3 s"}
    assert last["result"]["structuredContent"]["pending"]
    # On Lambda an answer comes as a whole, and nobody waits beyond its time.
    house.app = create_rest_app(
        house.runtime, watch=PollingWatch(0.02), setup=lambda _: SETUP, longest_seconds=1
    )
    whole = client.post(client.message("tools/call", params))
    assert whole.json()["result"]["structuredContent"]["pending"]


def test_a_line_end_of_unicode_does_not_cut_a_message_in_two(working: House) -> None:
    working.agent("Mika")
    client = McpClient(working).begin()
    arguments = {"agent": "Mika", "message": "say 潮\u2028干\u0085満\u2029x"}
    params = {"_meta": {"progressToken": 1}, "name": "ask_agent", "arguments": arguments}
    answer = client.post(client.message("tools/call", params))
    assert answer.headers["content-type"].startswith("text/event-stream")
    rows = [row for row in answer.text.splitlines() if row]
    assert all(row.startswith("data: ") for row in rows)
    assert "潮\u2028干\u0085満\u2029x" in told(json.loads(rows[-1][6:])["result"])


def test_a_fault_of_ours_is_an_answer_in_a_stream_too(
    house: House, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(_called: Any) -> Any:
        raise OSError("秘密")

    monkeypatch.setitem(tools._OWN, "follow_turn", broken)
    client = McpClient(house).begin()
    called = {"name": "follow_turn", "arguments": {"turn_id": "t"}}
    params = {"_meta": {"progressToken": 1}, **called}
    answer = client.post(client.message("tools/call", params, "潮"))
    said = json.loads(answer.text.strip().removeprefix("data: "))
    assert (said["id"], said["error"]["code"]) == ("潮", -32603)
    assert "秘密" not in answer.text
    assert "秘密" in caplog.text


def test_a_cancelled_request_stops_its_turn(house: House) -> None:
    house.agent("Mika")
    client = McpClient(house).begin()
    asked = {"agent": "Mika", "message": "say x", "wait_seconds": 0}
    (turn,) = client.found("ask_agent", 5, **asked)["pending"]
    stranger = McpClient(house).begin()
    stranger.notify("notifications/cancelled", requestId=5)
    assert client.found("follow_turn", turn_id=turn, wait_seconds=0)["pending"]
    assert (
        client.notify("notifications/cancelled", requestId=5, reason="退\x00屈").status_code == 202
    )
    house.work()
    ended = client.call("follow_turn", turn_id=turn)
    assert ended["structuredContent"]["turns"][0]["status"] == "stopped"
    assert ended["isError"] is True


def test_a_request_that_was_cancelled_before_it_came_starts_nothing(house: House) -> None:
    house.agent("Mika")
    client = McpClient(house).begin()
    client.notify("notifications/cancelled", requestId=5)
    client.notify("notifications/cancelled", requestId=5)
    late = client.call("ask_agent", 5, agent="Mika", message="say x")
    assert "cancelled before" in told(late)
    assert house.runtime.home.turns.receive(visibility_seconds=60, wait_seconds=0) is None


def test_what_a_key_may_not_read_is_not_there(house: House) -> None:
    agent = house.agent("Mika")
    house.call("PUT", f"/agents/{agent}/workspace/secret.txt", content=b"hush")
    house.call("PUT", f"/agents/{agent}/workspace/public/a.txt", content=b"open")
    with house.worker():
        mine = McpClient(house).found("ask_agent", agent="Mika", message="say 秘密")["session_id"]
    client = McpClient(house, house.chat).begin()
    assert client.found("list_sessions")["items"] == []
    assert client.found("list_files", agent="Mika")["items"][0]["path"] == "public/a.txt"
    assert client.found("read_file", agent="Mika", path="public/a.txt")["text"] == "open"
    unknown = client.failed("read_session", session_id="none").replace("none", mine)
    assert client.failed("read_session", session_id=mine) == unknown
    assert client.failed("ask_agent", agent="Mika", message="x", session_id=mine) == unknown
    assert "no file" in client.failed("read_file", agent="Mika", path="secret.txt")
    listed = [each["uri"] for each in every(client, "resources/list", "resources")]
    assert listed == [f"opencrab://agents/{agent}/files/public/a.txt"]
    for uri in (f"opencrab://sessions/{mine}", f"opencrab://agents/{agent}/files/secret.txt"):
        assert client.error("resources/read", uri=uri)["code"] == -32002
    assert client.ask("prompts/list") == {"prompts": []}
    reader = McpClient(house, house.granted("metrics")[0])
    assert "scope 'chat'" in reader.failed("ask_agent", agent="Mika", message="x")
    assert reader.found("list_sessions")["items"] == []


def test_memories_are_found_as_far_as_the_key_may_read(tmp_path_factory: Any) -> None:
    with remembering(tmp_path_factory.mktemp("town")) as house:
        agent = house.agent("さくら")
        owners = str(house.made("/sessions", {"participants": [agent]})["id"])
        house.made(f"/sessions/{owners}/messages", {"text": "灯台の鍵は猫の下"})
        query = {"agent": "さくら", "query": "灯台の鍵"}
        found = McpClient(house).found("search_memory", **query)["items"]
        assert "灯台の鍵は猫の下" in [each["text"] for each in found]
        assert McpClient(house, house.chat).found("search_memory", **query)["items"] == []


def test_a_call_is_decided_only_as_it_was_shown(house: House) -> None:
    house.agent("Mika", policy="strict")
    client = McpClient(house).begin()
    with house.worker():
        asked = client.call("ask_agent", agent="Mika", message="write memo.txt: 干潮")
        assert "list_approvals" in told(asked)
        (approval,) = client.found("list_approvals")["items"]
        # The short form brings no hash, so a decision needs the whole call.
        assert "argument_hash" not in approval
        named = {"approval_id": approval["id"]}
        whole = client.found("get_approval", **named)
        assert whole["arguments"] == {"path": "memo.txt", "content": "干潮"}
        reader = McpClient(house, house.read)
        assert reader.found("get_approval", **named)["arguments"] is None
        assert "needs a key" in reader.failed("decide_approval", **named, approved=True, **HASH)
        stranger = McpClient(house, house.chat)
        assert "no approval" in stranger.failed("decide_approval", **named, approved=True, **HASH)
        assert "another argument_hash" in client.failed(
            "decide_approval", **named, approved=True, **HASH
        )
        shown = {"argument_hash": whole["argument_hash"]}
        assert "is missing" in client.failed("decide_approval", **named, approved=True)
        decided = client.found("decide_approval", **named, approved=True, **shown)
        assert decided["state"] == "approved"
        (turn,) = asked["structuredContent"]["turns"]
        done = client.found("follow_turn", turn_id=turn["id"])
    assert done["turns"][0]["status"] == "completed"
    assert client.found("read_file", agent="Mika", path="memo.txt")["text"] == "干潮"


HASH = {"argument_hash": "0" * 64}


def test_a_task_is_given_followed_and_cancelled(house: House) -> None:
    agent = house.agent("蟹")
    client = McpClient(house).begin()
    asked = {"agent": "蟹", "instruction": "潮の本を書いて"}
    task, again = (client.found("run_task", "t", **asked) for _ in range(2))
    assert task["id"] == again["id"] == "G1"
    place = {"agent": agent, "task_id": "G1", "wait_seconds": 0}
    assert client.found("follow_task", **place)["over"] is False
    assert client.found("cancel_task", agent="蟹", task_id="G1")["id"] == "G1"
    house.work()
    followed = client.found("follow_task", agent="蟹", task_id="G1")
    assert (followed["status"], followed["over"]) == ("abandoned", True)
    assert "no goal" in McpClient(house, house.chat).failed("follow_task", **place)


def test_a_budget_that_is_used_up_is_said(working: House) -> None:
    working.agent("Mika", day_limit_micro_usd=0)
    working.thinking.model = Scripted(price=PRICE)
    result = McpClient(working).call("ask_agent", agent="Mika", message="hello")
    assert result["isError"] is True
    assert result["structuredContent"]["turns"][0]["status"] == "exhausted"
    assert "opencrab costs budgets" in told(result)


def every(client: McpClient, method: str, kind: str) -> list[dict[str, Any]]:
    """All items of a list, page by page."""
    found, cursor = list[dict[str, Any]](), dict[str, str]()
    while True:
        page = client.ask(method, **cursor)
        found += page[kind]
        if "nextCursor" not in page:
            return found
        cursor = {"cursor": page["nextCursor"]}


def test_resources_are_sessions_and_files_of_every_agent(working: House) -> None:
    agents = [working.agent(name) for name in ("Mika", "蟹")]
    for agent in agents:
        for path in ("潮 満.md", "b/pixel.png", "large.txt"):
            content = {"b/pixel.png": b"\x89PNG\xff", "large.txt": b"x" * 300_000}
            put = content.get(path, "満潮\n".encode())
            assert working.call("PUT", f"/agents/{agent}/workspace/{path}", content=put).is_success
    client = McpClient(working).begin()
    for n in range(3):
        client.found("ask_agent", agent="蟹", message=f"say {n}", new_session=True)
    listed = every(client, "resources/list", "resources")
    assert len(listed) == 3 + 2 * 3
    kinds = {each["name"]: each["mimeType"] for each in listed}
    assert (kinds["潮 満.md"], kinds["b/pixel.png"]) == ("text/markdown", "image/png")
    by_name = {each["name"]: each["uri"] for each in listed}
    assert by_name["潮 満.md"].endswith("/files/%E6%BD%AE%20%E6%BA%80.md")
    (text,) = client.ask("resources/read", uri=by_name["潮 満.md"])["contents"]
    assert (text["text"], text["uri"]) == ("満潮\n", by_name["潮 満.md"])
    (blob,) = client.ask("resources/read", uri=by_name["b/pixel.png"])["contents"]
    assert base64.b64decode(blob["blob"]) == b"\x89PNG\xff"
    large = client.error("resources/read", uri=by_name["large.txt"])
    assert f"at most {resources.TEXT_BYTES} are sent" in large["message"]
    assert "no text" in client.failed("read_file", agent=agents[0], path="b/pixel.png")
    session = next(each for each in listed if "sessions" in each["uri"])
    (said,) = client.ask("resources/read", uri=session["uri"])["contents"]
    assert said["text"].endswith(f"蟹: {session['title'].removeprefix('say ')}")
    templates = client.ask("resources/templates/list")["resourceTemplates"]
    assert len(templates) == 2


def test_prompts_are_the_skills_of_agents(house: House) -> None:
    first, second = house.agent("Mika"), house.agent("蟹", language="ja")
    skill = {"name": "tides", "description": "潮を読む", "guidance": "# 潮\n\n満ち引きを読む。"}
    house.made(f"/agents/{second}/skills", skill)
    client = McpClient(house)
    listed = {each["name"]: each for each in every(client, "prompts/list", "prompts")}
    assert listed[f"{second}.tides"]["title"] == "蟹: tides"
    assert f"{first}.tides" not in listed
    prompt = client.ask("prompts/get", name=f"{second}.tides", arguments={"task": "今日は?"})
    (message,) = prompt["messages"]
    assert message["content"]["text"] == "# 潮\n\n満ち引きを読む。\n\n今日は?"
    for wrong in ("tides", f"{first}.tides", f"{first}.../x", "潮"):
        assert client.error("prompts/get", name=wrong)["code"] == -32602
