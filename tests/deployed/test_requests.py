"""A deployed installation as its users meet it: through API Gateway, with a key."""

import gzip
import json
from urllib.parse import quote

import pytest

from tests.deployed.stack import KEY, Stack

pytest_plugins = ["tests.deployed.fixture"]
pytestmark = [pytest.mark.deployed, pytest.mark.timeout(600)]

LANGUAGES = pytest.mark.parametrize(
    ("language", "asked", "answered"),
    [
        ("ja", "「潮が満ちました」と言って", "潮が満ちました"),
        ("en", "say the tide is in", "the tide is in"),
    ],
)


def test_health_needs_no_key(stack: Stack) -> None:
    answer = stack.ask("GET", "/health", key=None)
    assert (answer.status, answer.json["status"]) == (200, "ok")


@pytest.mark.parametrize(("key", "status"), [(None, 401), (f"{KEY}x", 403)])
def test_everything_else_is_refused_without_the_right_key(
    stack: Stack, key: str | None, status: int
) -> None:
    assert stack.ask("GET", "/setup", key=key).status == status
    assert stack.ask("POST", "/agents", {"name": "Rin"}, key=key).status == status


@pytest.mark.parametrize("path", ["/", "/agents/x", "/sessions/a/b?c=1"])
def test_an_address_of_the_page_opens_in_a_browser_without_a_key(stack: Stack, path: str) -> None:
    page = stack.ask("GET", path, key=None, below="", accept="text/html", accept_encoding="gzip")
    assert (page.status, page.headers["content-encoding"]) == (200, "gzip")
    assert b"<!doctype html>" in gzip.decompress(page.body)


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/wp-login.php"), ("POST", "/agents"), ("GET", "/api/agents")]
)
def test_a_browser_gets_nothing_else_without_a_key(stack: Stack, method: str, path: str) -> None:
    answer = stack.ask(method, path, key=None, below="", accept="text/html")
    assert answer.status == 401


def test_setup_tells_where_things_are_and_no_secret(stack: Stack) -> None:
    answer = stack.ask("GET", "/setup")
    told = answer.json
    assert (told["home"]["kind"], told["home"]["table"]) == ("aws", stack.outputs["TableName"])
    assert told["model"]["default"] == "scripted:rules"
    assert b"sk-" not in answer.body


@LANGUAGES
def test_a_message_is_answered_by_way_of_the_queue(
    stack: Stack, language: str, asked: str, answered: str
) -> None:
    session = stack.session(stack.agent("Rin", language))
    said = stack.say(session, asked)
    assert [reply["text"] for reply in said["replies"]] == [answered]
    assert said["pending"] == []
    (turn_id,) = said["turn_ids"]
    header = stack.item(f"TURN#{turn_id}", "H")
    assert header["status"]["S"] == "completed"
    assert int(header["epoch"]["N"]) == 1


def test_a_repeated_message_is_one_turn(stack: Stack) -> None:
    session = stack.session(stack.agent("Rin"))
    first = stack.say(session, "say once", idempotency_key="tide-1")
    again = stack.say(session, "say once", idempotency_key="tide-1")
    assert again["turn_ids"] == first["turn_ids"]
    lines = stack.told("GET", f"/sessions/{session}/messages")["items"]
    assert [line["text"] for line in lines] == ["say once", "once"]
    other = stack.ask(
        "POST", f"/sessions/{session}/messages", {"text": "say two"}, idempotency_key="tide-1"
    )
    assert other.status == 409


@pytest.mark.parametrize(
    ("asked", "content"),
    [
        ("memo.txtに『潮だまり』と書いて", "潮だまり"),
        ("write memo.txt: a tide pool", "a tide pool"),
    ],
)
def test_a_file_that_an_agent_wrote_is_in_the_bucket(
    stack: Stack, asked: str, content: str
) -> None:
    agent = stack.agent("Rin")
    stack.say(stack.session(agent), asked)
    stored = stack.emulator.client("s3").get_object(
        Bucket=stack.outputs["BucketName"], Key=f"agents/{agent}/workspace/memo.txt"
    )
    assert stored["Body"].read().decode() == content
    assert stack.ask("GET", f"/agents/{agent}/workspace/memo.txt").body.decode() == content


def test_a_file_of_any_bytes_comes_back_as_it_was_sent(stack: Stack) -> None:
    agent, content = stack.agent("Rin"), bytes(range(256)) * 64
    path = f"/agents/{agent}/workspace/{quote('絵/蟹 1.bin')}"
    written = stack.ask("PUT", path, content, content_type="application/octet-stream")
    assert written.status == 200, written
    assert stack.ask("GET", path).body == content
    assert stack.ask("DELETE", path).status == 204
    assert stack.ask("GET", path).status == 404


def test_events_answer_at_once_and_say_when_to_come_again(stack: Stack) -> None:
    session = stack.session(stack.agent("Rin"))
    stack.say(session, "say hello")
    answer = stack.ask("GET", f"/sessions/{session}/events?after=0")
    assert answer.status == 200
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.seconds < 15
    told = answer.body.decode()
    assert told.startswith("retry: ")
    data = [json.loads(row[6:]) for row in told.splitlines() if row.startswith("data: ")]
    assert [line["text"] for line in data if "text" in line] == ["say hello", "hello"]


def test_a_revoked_key_opens_nothing_from_then_on(stack: Stack) -> None:
    made = stack.told("POST", "/keys", {"name": "reader", "scope": "read"})
    assert stack.ask("GET", "/agents", key=made["secret"]).status == 200
    assert stack.ask("DELETE", f"/keys/{made['id']}").status == 200
    assert stack.ask("GET", "/agents", key=made["secret"]).status in {401, 403}
