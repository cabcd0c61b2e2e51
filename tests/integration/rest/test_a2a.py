"""A2A: clients send tasks to agents, by the rules of whoever holds the key.

The names in brackets are those of requirements of A2A's own conformance kit (a2a-tck), which no
package registry carries: what it demands of the JSON-RPC binding was written anew here.
"""

import base64
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from opencrab.adapters.answer_hub import AnswerHub
from opencrab.adapters.providers.scripted.script import ScriptedAnswer
from opencrab.domain.access.authority import Authority
from tests.integration.rest.a2a_client import CARD, A2aClient, get, sending, serve_a2a, words
from tests.integration.rest.house import House, problem
from tests.integration.rest.test_openai import PNG

NOT_FOUND, NOT_CANCELABLE, PUSH, UNSUPPORTED, CONTENT = -32001, -32002, -32003, -32004, -32005
VERSION, PARAMS, METHOD = -32009, -32602, -32601
DONE, WAITS, STOPPED = (
    f"TASK_STATE_{name}" for name in ("COMPLETED", "INPUT_REQUIRED", "CANCELED")
)
RAW_PNG = base64.b64encode(PNG).decode()


@pytest.fixture(scope="module")
def working(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A house that serves A2A and whose turns run by themselves; Mika is its default agent."""
    house = House(tmp_path_factory.mktemp("a2a"))
    house.agent("Mika", purpose="潮を見守る")
    serve_a2a(house, "Mika")
    with house.worker():
        yield house
    house.close()


@pytest.fixture
def mika(working: House) -> A2aClient:
    return A2aClient(working, "Mika")


def test_nothing_of_it_is_there_unless_it_is_on(house: House) -> None:
    house.agent("Mika")
    assert get(house, CARD).status_code == 404
    answer = A2aClient(house, "Mika").post({"jsonrpc": "2.0", "id": 1, "method": "GetTask"})
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"


def test_the_default_agent_has_a_card_for_everybody_and_others_for_keys(working: House) -> None:
    """[CARD-DISC-001, CARD-PROTO-001, -002, CARD-STRUCT-001, CARD-CACHE-001, -002]"""
    answer = get(working, CARD)
    card = answer.json()
    assert (card["name"], card["description"]) == ("Mika", "潮を見守る")
    (interface,) = card["supportedInterfaces"]
    agent_id = interface["url"].removeprefix("http://house/a2a/")
    assert working.got(f"/agents/{agent_id}")["name"] == "Mika"
    assert (interface["protocolBinding"], interface["protocolVersion"]) == ("JSONRPC", "1.0")
    capabilities = card["capabilities"]
    assert (capabilities["streaming"], capabilities["pushNotifications"]) == (True, False)
    assert {"version", "skills", "defaultInputModes", "defaultOutputModes"} < set(card)
    (scheme,) = card["securityRequirements"][0]["schemes"]
    assert card["securitySchemes"][scheme]["httpAuthSecurityScheme"]["scheme"] == "Bearer"
    assert answer.headers["cache-control"] == "public, max-age=300"
    same = {"If-None-Match": answer.headers["etag"]}
    assert get(working, CARD, **same).status_code == 304
    working.agent("Ken")
    problem(get(working, f"/a2a/Ken{CARD}"), 401)
    assert get(working, f"/a2a/Ken{CARD}", working.owner).json()["name"] == "Ken"
    assert get(working, f"/a2a/{agent_id}{CARD}", working.chat).json() == card
    problem(get(working, f"/a2a/none{CARD}", working.owner), 404)


def test_without_a_default_agent_no_card_is_public(house: House) -> None:
    house.agent("Mika")
    assert "gateway.a2a.agent" in problem(get(serve_a2a(house), CARD), 404)["detail"]
    assert get(serve_a2a(house, "nobody"), CARD).status_code == 404
    house.agent("Twin")
    house.agent("Twin")
    assert "several" in problem(get(serve_a2a(house, "Twin"), CARD), 404)["detail"]


def test_the_default_agent_is_looked_for_once_as_anybody_may_ask(house: House) -> None:
    house.agent("Mika")
    served = serve_a2a(house, "Mika")
    card = get(served, CARD).json()
    house.agent("Mika")
    assert get(served, CARD).json() == card


@pytest.mark.parametrize(("said", "heard"), [("say hello", "hello"), ("say 満潮🦀", "満潮🦀")])
def test_a_message_is_a_task_in_a_context_that_goes_on(
    mika: A2aClient, said: str, heard: str
) -> None:
    """[CORE-SEND-001, CORE-MULTI-001a, -002, -003, CORE-GET-001, CORE-EXECUTION-MODE-001]"""
    first = mika.send(said)
    assert (first["status"]["state"], words(first)) == (DONE, heard)
    second = mika.send("say more", contextId=first["contextId"])
    assert second["contextId"] == first["contextId"]
    assert second["id"] != first["id"]
    assert mika.send("say new")["contextId"] != first["contextId"]
    assert mika.ask("GetTask", id=first["id"]) == first
    asked, answered = first["history"]
    assert (asked["role"], asked["parts"][0]["text"]) == ("ROLE_USER", said)
    assert (answered["role"], answered["parts"][0]["text"]) == ("ROLE_AGENT", heard)


def test_history_has_as_many_messages_as_are_wished(mika: A2aClient) -> None:
    """[CORE-HIST-001 to -006]"""
    none = mika.send("say a", configuration={"historyLength": 0})
    assert "history" not in none
    (last,) = mika.ask("GetTask", id=none["id"], historyLength=1)["history"]
    assert last["parts"][0]["text"] == "a"
    assert "history" not in mika.ask("GetTask", id=none["id"], historyLength=0)


def test_the_same_message_is_one_task(mika: A2aClient) -> None:
    first, again = (mika.send("say once", "same") for _ in range(2))
    assert first["id"] == again["id"]
    assert "another" in mika.refused("SendMessage", PARAMS, **sending("say two", "same"))
    at_once = mika.send("say soon", "soon", configuration={"returnImmediately": True})
    assert mika.send("say soon", "soon")["id"] == at_once["id"]


def test_a_client_need_not_wait(house: House) -> None:
    """[CORE-EXECUTION-MODE-002, CORE-CANCEL-001]"""
    house.agent("Mika")
    client = A2aClient(serve_a2a(house), "Mika")
    task = client.send("hello", configuration={"returnImmediately": True})
    assert task["status"]["state"] == "TASK_STATE_SUBMITTED"
    house.work()
    assert client.ask("GetTask", id=task["id"])["status"]["state"] == DONE
    house.script(ScriptedAnswer(text="late", delay_ms=20_000))
    with house.worker():
        task = client.send("hello", configuration={"returnImmediately": True})
        stopped = client.ask("CancelTask", id=task["id"])
    assert stopped["status"]["state"] == STOPPED
    client.refused("CancelTask", NOT_CANCELABLE, id=task["id"])


def test_words_stream_as_an_artifact(mika: A2aClient) -> None:
    """[CORE-STREAM-001, -003, STREAM-ORDER-001, JSONRPC-SSE]"""
    begun, *updates, ended = mika.stream("SendStreamingMessage", **sending("say 波🦀", "s1"))
    task = begun["task"]
    assert "artifacts" not in task
    said = "".join(each["artifactUpdate"]["artifact"]["parts"][0]["text"] for each in updates)
    assert said == "波🦀"
    assert "append" not in updates[0]["artifactUpdate"]
    assert ended["statusUpdate"]["status"]["state"] == DONE
    ids = {
        (each["taskId"], each["contextId"])
        for event in (*updates, ended)
        for each in event.values()
    }
    assert ids == {(task["id"], task["contextId"])}
    again = mika.stream("SendStreamingMessage", **sending("say 波🦀", "s1"))
    assert again[0]["task"]["id"] == task["id"]
    assert words(mika.ask("GetTask", id=task["id"])) == "波🦀"
    ended_already = mika.refused("SubscribeToTask", UNSUPPORTED, id=task["id"])
    assert "GetTask" in ended_already


def test_a_task_that_others_began_is_subscribed_to(house: House) -> None:
    """[STREAM-SUB-001, -002, -004, STREAM-ORDER-002 to -004]"""
    house.agent("Mika")
    house.furnish(answers=AnswerHub(lambda _: None))
    client = A2aClient(serve_a2a(house), "Mika")
    house.script(ScriptedAnswer(text="tide", delay_ms=500))
    task = client.send("say tide", configuration={"returnImmediately": True})
    with house.worker():
        begun, *_, ended = client.stream("SubscribeToTask", id=task["id"])
    assert begun["task"]["id"] == task["id"]
    assert ended["statusUpdate"]["status"]["state"] == DONE
    client.refused("SubscribeToTask", NOT_FOUND, id="none")


def test_a_function_answers_with_what_there_is_in_time(house: House) -> None:
    house.agent("Mika")
    client = A2aClient(serve_a2a(house, longest_seconds=1), "Mika")
    asked = sending("say late", "m")
    begun, ended = client.stream("SendStreamingMessage", **asked)
    assert ended["statusUpdate"]["status"]["state"] == "TASK_STATE_SUBMITTED"
    assert client.ask("SendMessage", **asked)["task"]["id"] == begun["task"]["id"]
    house.work()
    *_, update, done = client.stream("SendStreamingMessage", **asked)
    assert update["artifactUpdate"]["artifact"]["parts"][0]["text"] == "late"
    assert done["statusUpdate"]["status"]["state"] == DONE


@pytest.mark.parametrize("approved", [True, False])
def test_an_approval_is_input_that_whoever_may_decide_gives(
    house: House, *, approved: bool
) -> None:
    """[CORE-MULTI-005, -006, CORE-SEND-002]"""
    house.agent("Mika", policy="strict")
    client = A2aClient(serve_a2a(house), "Mika")
    with house.worker():
        task = client.send("write public/潮.txt: 満潮")
        assert task["status"]["state"] == WAITS
        question, waits = task["status"]["message"]["parts"]
        assert "ws_write" in question["text"]
        approval = house.got(f"/approvals/{waits['data']['approvalId']}")
        assert waits["data"]["approvalUrl"] == f"http://house/api/approvals/{approval['id']}"
        decision = {
            "approvalId": approval["id"],
            "approved": approved,
            "argumentHash": approval["argument_hash"],
        }
        plain = client.refused("SendMessage", UNSUPPORTED, **sending("yes", taskId=task["id"]))
        assert "argumentHash" in plain
        wrong = {**decision, "argumentHash": "0" * 64}
        given = {"taskId": task["id"], "parts": [{"data": wrong}]}
        client.refused("SendMessage", PARAMS, **sending("", **given))
        elsewhere = {**given, "parts": [{"data": decision}], "contextId": "other"}
        client.refused("SendMessage", PARAMS, **sending("", **elsewhere))
        given = {"taskId": task["id"], "parts": [{"data": decision}]}
        ended, again = (client.send("", "decides", **given) for _ in range(2))
    # A call that a person rejects ends its turn.
    assert (ended["id"], ended["status"]["state"]) == (task["id"], DONE if approved else STOPPED)
    assert again == ended
    files = [each for each in ended.get("artifacts", ()) if each["artifactId"].startswith("file:")]
    assert [each["name"] for each in files] == (["public/潮.txt"] if approved else [])
    if approved:
        (part,) = files[0]["parts"]
        assert (part["filename"], part["mediaType"]) == ("潮.txt", "text/plain")
        assert get(house, part["url"].removeprefix("http://house"), house.owner).text == "満潮"
    client.refused("SendMessage", UNSUPPORTED, **sending("more", taskId=task["id"]))


def test_a_task_of_another_key_is_like_none(working: House, mika: A2aClient) -> None:
    """[CORE-GET-002, CORE-CANCEL-003, CORE-MULTI-004, CORE-LIST-001]"""
    own = mika.send("say mine")
    other = A2aClient(working, "Mika", working.chat)
    for method in ("GetTask", "CancelTask", "SubscribeToTask"):
        hidden = other.refused(method, NOT_FOUND, id=own["id"])
        none = other.refused(method, NOT_FOUND, id="0" * 26)
        assert hidden.replace(own["id"], "") == none.replace("0" * 26, "")
    other.refused("SendMessage", NOT_FOUND, **sending("x", taskId=own["id"]))
    other.refused("SendMessage", PARAMS, **sending("x", contextId=own["contextId"]))
    assert own["id"] not in {each["id"] for each in other.ask("ListTasks")["tasks"]}
    theirs = other.send("say theirs")
    assert words(theirs) == "theirs"
    # Owners see everything; but a task of one agent is none of another.
    assert mika.ask("GetTask", id=theirs["id"])["id"] == theirs["id"]
    working.agent("Rin")
    A2aClient(working, "Rin").refused("GetTask", NOT_FOUND, id=own["id"])


def test_a_key_that_reads_gets_tasks_and_sends_none(working: House, mika: A2aClient) -> None:
    task = mika.send("say seen")
    reader = A2aClient(working, "Mika", working.read)
    assert words(reader.ask("GetTask", id=task["id"])) == "seen"
    asked = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": sending("x")}
    answer = reader.post(asked)
    assert answer.status_code == 403
    assert answer.json()["error"]["code"] == -32600


def test_tasks_are_listed_page_by_page(house: House) -> None:
    """[CORE-LIST-001 to -005]"""
    house.agent("Mika")
    client = A2aClient(serve_a2a(house), "Mika")
    assert client.ask("ListTasks") == {
        "tasks": [],
        "nextPageToken": "",
        "pageSize": 50,
        "totalSize": 0,
    }
    with house.worker():
        made = [client.send(f"say {n}")["id"] for n in range(3)]
    first = client.ask("ListTasks", pageSize=2, includeArtifacts=True)
    assert (first["pageSize"], first["totalSize"]) == (2, 3)
    assert [words(each) for each in first["tasks"]] == ["2", "1"]
    second = client.ask("ListTasks", pageSize=2, pageToken=first["nextPageToken"])
    assert [each["id"] for each in second["tasks"]] == made[:1]
    assert second["nextPageToken"] == ""
    assert "artifacts" not in second["tasks"][0]
    context = second["tasks"][0]["contextId"]
    assert client.ask("ListTasks", contextId=context, status=DONE)["totalSize"] == 1
    assert client.ask("ListTasks", status="TASK_STATE_WORKING")["totalSize"] == 0
    client.refused("ListTasks", PARAMS, status="working")
    last = datetime.fromisoformat(first["tasks"][0]["status"]["timestamp"])
    tokyo = last.astimezone(timezone(timedelta(hours=9)))
    whole = f"{last:%Y-%m-%dT%H:%M:%S}Z"
    for since, least, most in (
        (whole, 1, 3),
        (tokyo.isoformat(), 1, 1),
        (f"{last:%Y-%m-%dT%H:%M:%S.%f}000Z", 1, 1),
        (f"{last + timedelta(seconds=1):%Y-%m-%dT%H:%M:%S}Z", 0, 0),
    ):
        found = client.ask("ListTasks", statusTimestampAfter=since)["totalSize"]
        assert least <= found <= most, since
    assert "time" in client.refused("ListTasks", PARAMS, statusTimestampAfter="昨日")
    client.refused("ListTasks", PARAMS, pageSize=101)


@pytest.mark.parametrize("spoken", ["1.0", "1.0.3", " 1.0 "])
def test_a_version_is_compared_without_its_patch(working: House, spoken: str) -> None:
    """[VER-SERVER-001, VER-CLIENT-002]"""
    client = A2aClient(working, "Mika", version=spoken)
    client.refused("GetTask", NOT_FOUND, id="none")
    plain = A2aClient(working, "Mika", version=None)
    asked = {"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": "none"}}
    answer = plain.post(asked, f"?A2A-Version={spoken.strip()}")
    assert answer.json()["error"]["code"] == NOT_FOUND


@pytest.mark.parametrize("spoken", [None, "", "0.3", "0.3.0", "1.1", "2.0", "one", "1.0.x"])
def test_older_and_newer_clients_get_the_error_of_versions(
    working: House, spoken: str | None
) -> None:
    """[VER-SERVER-002, -003]"""
    client = A2aClient(working, "Mika", version=spoken)
    for method in ("SendMessage", "message/send"):
        assert "A2A-Version: 1.0" in client.refused(method, VERSION, **sending("x"))


def test_what_is_not_offered_is_said_by_name(mika: A2aClient) -> None:
    """[CORE-CAP-001, -003, JSONRPC-ERR]"""
    for name in ("Create", "Get", "Delete"):
        mika.refused(f"{name}TaskPushNotificationConfig", PUSH, taskId="x")
    mika.refused("ListTaskPushNotificationConfigs", PUSH, taskId="x")
    pushed = {"taskPushNotificationConfig": {"url": "https://example.org"}}
    mika.refused("SendMessage", PUSH, **sending("x", configuration=pushed))
    mika.refused("GetExtendedAgentCard", UNSUPPORTED)
    assert "SendMessage" in mika.refused("message/send", METHOD, **sending("x"))


def test_files_and_data_reach_the_agent(house: House) -> None:
    agent_id = house.agent("Mika")
    client = A2aClient(serve_a2a(house), "Mika")
    parts = [
        {"text": "say seen"},
        {"data": {"潮位": [1, None]}, "mediaType": "application/json"},
        {"raw": RAW_PNG, "filename": "蟹.png", "mediaType": "image/png"},
        {"raw": base64.b64encode("高潮".encode()).decode(), "filename": "tide.csv"},
    ]
    with house.worker():
        task = client.send("", "files", parts=parts)
        assert client.send("", "files", parts=parts)["id"] == task["id"]
    (line, *_) = house.got(f"/sessions/{task['contextId']}/messages")["items"]
    assert '"潮位"' in line["text"]
    stored = house.got(f"/agents/{agent_id}/workspace?prefix=uploads")["items"]
    assert sorted(each["path"].rpartition("/")[2] for each in stored) == ["picture.png", "tide.csv"]


def test_a_message_of_an_agent_counts_its_hops_and_has_no_persons_authority(
    house: House,
) -> None:
    house.agent("Mika")
    client = A2aClient(serve_a2a(house), "Mika")
    said: dict[str, Any] = {"metadata": {"urn:opencrab:hops": 2}}
    task = client.send("say x", configuration={"returnImmediately": True}, **said)
    turn = house.runtime.home.journal.header(task["id"])
    assert (turn.hops, turn.authority, turn.taint) == (2, Authority.PEER, True)
    with house.worker():
        assert words(client.send("say y", **said)) == "y"
    far: dict[str, Any] = {"metadata": {"urn:opencrab:hops": 10}}
    assert "10 agents" in client.refused("SendMessage", UNSUPPORTED, **sending("x", **far))
    for wrong in (-1, True, "1", 0.5):
        bad: dict[str, Any] = {"metadata": {"urn:opencrab:hops": wrong}}
        client.refused("SendMessage", PARAMS, **sending("x", **bad))


def test_an_agent_decides_nothing_with_a_persons_key(house: House) -> None:
    house.agent("Mika", policy="strict")
    client = A2aClient(serve_a2a(house), "Mika")
    with house.worker():
        task = client.send("write public/潮.txt: 満潮")
    waits = task["status"]["message"]["parts"][1]["data"]
    approval = house.got(f"/approvals/{waits['approvalId']}")
    decision = {
        "approvalId": approval["id"],
        "approved": True,
        "argumentHash": approval["argument_hash"],
    }
    passed: dict[str, Any] = {"metadata": {"urn:opencrab:hops": 1}, "parts": [{"data": decision}]}
    told = client.refused("SendMessage", UNSUPPORTED, **sending("", taskId=task["id"], **passed))
    assert "let a person" in told
    assert client.ask("GetTask", id=task["id"])["status"]["state"] == WAITS


@pytest.mark.parametrize("language", ["en", "ja"])
def test_a_task_that_failed_says_why(house: House, language: str) -> None:
    house.agent("Mika", language=language)
    client = A2aClient(serve_a2a(house), "Mika")
    house.script(ScriptedAnswer(error="refused"))
    with house.worker():
        status = client.send("do something")["status"]
        assert status["state"] == "TASK_STATE_FAILED"
        assert status["message"]["parts"][0]["text"]
        house.call("PUT", "/system/state", {"state": "frozen"})
        frozen = client.send("do something")["status"]
    assert frozen["state"] == "TASK_STATE_REJECTED"
