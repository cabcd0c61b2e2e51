"""REST behind an HTTP API: no feed to follow, no time beyond a limit, and events for requests."""

import base64
import json
import re
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from opencrab.domain.errors import NotFound
from opencrab.domain.turn.turn import Turn
from opencrab.gateways.rest.app import create_rest_app
from opencrab.gateways.rest.http.lambda_entry import http_request_handler
from opencrab.gateways.rest.http.polling import PollingWatch
from tests.integration.rest.house import SETUP, House, event

LIMIT_SECONDS = 3


class Forgetful:
    """A journal whose turns expire while their lines stay, as on DynamoDB."""

    def __init__(self, journal: Any) -> None:
        self._journal = journal
        self.expired: set[str] = set()
        self.loads = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._journal, name)

    def header(self, turn_id: str) -> Turn:
        if turn_id in self.expired:
            raise NotFound(f"there is no turn {turn_id!r}")
        found: Turn = self._journal.header(turn_id)
        return found

    def load(self, turn_id: str) -> Any:
        self.loads += 1
        return self._journal.load(turn_id)


class Deployed(House):
    """An installation like the one on AWS: its changes cannot be followed, its time is short."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.journal = Forgetful(self.runtime.home.journal)
        journal: Any = self.journal
        home = replace(self.runtime.home, feed=None, journal=journal)
        self.runtime = replace(self.runtime, home=home)
        self.app = create_rest_app(
            self.runtime,
            watch=PollingWatch(0.02),
            setup=lambda _: SETUP,
            longest_seconds=LIMIT_SECONDS,
        )
        self.function = http_request_handler(self.app)

    def asked(
        self,
        method: str,
        path: str,
        *,
        query: str = "",
        body: str | bytes | None = None,
        encoded: bool = True,
        **headers: str,
    ) -> dict[str, Any]:
        """What the function answers to an event of the HTTP API."""
        place = f"/api{quote(path)}" if encoded else f"/api{path}"
        given = {"authorization": f"Bearer {self.owner}", "content-type": "application/json"}
        made: dict[str, Any] = {
            "version": "2.0",
            "routeKey": f"{method} /api/{{proxy+}}",
            "rawPath": place,
            "rawQueryString": query,
            "headers": given | {name.replace("_", "-"): text for name, text in headers.items()},
            "requestContext": {
                "stage": "$default",
                "http": {"method": method, "path": place, "sourceIp": "192.0.2.1"},
            },
            "isBase64Encoded": isinstance(body, bytes),
        }
        if body is not None:
            made["body"] = base64.b64encode(body).decode() if isinstance(body, bytes) else body
        return self.function(made, None)


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployed]:
    """An installation that all tests here use."""
    house = Deployed(tmp_path_factory.mktemp("deployed"))
    yield house
    house.close()


def content(answer: dict[str, Any]) -> bytes:
    """An answer's body as the client gets it from API Gateway."""
    text = answer.get("body", "")
    return base64.b64decode(text) if answer["isBase64Encoded"] else text.encode()


def value(answer: dict[str, Any], status: int = 200) -> Any:
    """An answer's JSON."""
    assert answer["statusCode"] == status, content(answer)
    return json.loads(content(answer))


@pytest.mark.parametrize("text", ["見ていますか？", "are you watching?"])
def test_a_follower_without_a_feed_sees_lines_and_the_end_of_a_turn(
    deployed: Deployed, text: str
) -> None:
    session_id = deployed.session()
    (turn_id,) = deployed.say(session_id, text)

    def happens() -> None:
        deployed.work()
        assert deployed.journal.header(turn_id).status.is_end

    path = f"/sessions/{session_id}/events?after=0"
    deployed.journal.loads = 0
    events = deployed.follow(path, 1, until='"completed"', meanwhile=happens)
    lines = [one for one in events if one["event"] == "line"]
    assert [one["data"]["text"] == text for one in lines] == [True, False]
    told = [one["data"] for one in events if one["event"] == "turn"]
    assert told[-1]["status"] == "completed"
    assert told[-1]["turn_id"] == lines[-1]["data"]["turn_id"]
    assert told[-1]["agent_id"] == lines[-1]["data"]["speaker_id"]
    claims = 1
    assert deployed.journal.loads <= claims, "headers say all that is told of a turn"


def test_the_end_of_a_turn_is_told_once(deployed: Deployed) -> None:
    session_id = deployed.session()
    deployed.say(session_id, "hello")
    deployed.work()
    answer = deployed.asked("GET", f"/sessions/{session_id}/events", query="after=0")
    blocks = content(answer).decode().split("\n\n")
    events = [event(block) for block in blocks if "data: " in block]
    assert [one["event"] for one in events] == ["line", "line", "turn"]


def test_a_turn_that_expired_does_not_end_the_stream_of_its_session(deployed: Deployed) -> None:
    session_id = deployed.session()
    (old,) = deployed.say(session_id, "long ago")
    (new,) = deployed.say(session_id, "今日")
    deployed.work()
    deployed.journal.expired.add(old)
    path = f"/sessions/{session_id}/events?after=0"
    events = deployed.follow(path, 1, until="event: turn")
    assert [one["event"] for one in events] == ["line"] * 4 + ["turn"]
    assert events[-1]["data"]["turn_id"] == new


def test_a_stream_ends_in_time_and_says_when_to_return(deployed: Deployed) -> None:
    session_id = deployed.session()
    answer = deployed.asked("GET", f"/sessions/{session_id}/events", query="seconds=600")
    assert answer["statusCode"] == 200
    assert answer["headers"]["content-type"].startswith("text/event-stream")
    assert (answer["body"], answer["isBase64Encoded"]) == ("retry: 4000\nid: 0\n\n", False)


def test_a_wait_is_cut_to_the_time_there_is_and_says_so(deployed: Deployed) -> None:
    session_id = deployed.session()
    said = json.dumps({"text": "誰かいますか"}, ensure_ascii=False)
    path = f"/sessions/{session_id}/messages"
    answer = deployed.asked("POST", path, body=said, prefer="wait=60")
    assert value(answer)["replies"] == []
    assert len(value(answer)["pending"]) == 1
    assert answer["headers"]["preference-applied"] == f"wait={LIMIT_SECONDS}"
    answer = deployed.asked("POST", path, body=said, prefer="wait=0")
    assert answer["headers"]["preference-applied"] == "wait=0"
    deployed.work()


def test_who_does_not_wait_is_answered_at_once(deployed: Deployed) -> None:
    path = f"/sessions/{deployed.session()}/messages"
    answer = deployed.asked("POST", path, body='{"text":"hello"}')
    assert value(answer, 202)["turn_ids"]
    assert "preference-applied" not in answer["headers"]
    deployed.work()


@pytest.mark.parametrize("name", ["花", "Hana"])
def test_a_body_may_come_as_text_or_as_base64(deployed: Deployed, name: str) -> None:
    said = json.dumps({"name": name}, ensure_ascii=False)
    for body in (said, said.encode()):
        made = value(deployed.asked("POST", "/agents", body=body), 201)
        assert made["name"] == name


def test_an_error_is_a_problem_document(deployed: Deployed) -> None:
    answer = deployed.asked("GET", "/agents/nobody")
    assert answer["headers"]["content-type"] == "application/problem+json"
    found = value(answer, 404)
    assert (found["status"], found["code"]) == (404, "not-found")
    assert "nobody" in found["detail"]
    stranger = deployed.asked("GET", "/agents", authorization="Bearer guessed")
    assert value(stranger, 401)["status"] == 401


@pytest.mark.parametrize("encoded", [True, False], ids=["encoded", "as API Gateway decodes it"])
@pytest.mark.parametrize(
    "name", ["海/日記 その一.md", "notes/to day.md", "a+b & c=d#e.md", "𠮷野家.txt"]
)
def test_a_file_is_named_in_any_language(deployed: Deployed, name: str, *, encoded: bool) -> None:
    path = f"/agents/{deployed.agent()}/workspace/{name}"
    put = deployed.asked("PUT", path, body="潮の香り", encoded=encoded)
    assert value(put)["path"] == name
    got = deployed.asked("GET", path, encoded=encoded)
    assert content(got) == "潮の香り".encode()


@pytest.mark.parametrize("raw", ["100%25.md", "a%2541.md"])
def test_a_percent_sign_in_a_name_stays_one(deployed: Deployed, raw: str) -> None:
    # API Gateway decodes a path, but leaves %25 as it came.
    path = f"/agents/{deployed.agent()}/workspace/{raw}"
    put = deployed.asked("PUT", path, body="x", encoded=False)
    assert value(put)["path"] == raw.replace("%25", "%")


def test_a_path_that_is_not_utf8_is_refused(deployed: Deployed) -> None:
    path = f"/agents/{deployed.agent()}/workspace/%ff.md"
    answer = deployed.asked("PUT", path, body="x", encoded=False)
    assert value(answer, 422)["field"] == "path"


def test_a_file_of_any_bytes_comes_back_as_it_went(deployed: Deployed) -> None:
    path = f"/agents/{deployed.agent()}/workspace/絵.png"
    picture = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 40
    put = deployed.asked("PUT", path, body=picture, content_type="image/png")
    version = value(put)["version"]
    got = deployed.asked("GET", path)
    assert got["isBase64Encoded"]
    assert content(got) == picture
    assert got["headers"]["etag"] == f'"{version}"'
    gone = deployed.asked("DELETE", path)
    assert (gone["statusCode"], content(gone)) == (204, b"")


def test_a_query_may_be_in_japanese(deployed: Deployed) -> None:
    agent_id = deployed.agent()
    for name in ("海/一.md", "山/二.md"):
        deployed.asked("PUT", f"/agents/{agent_id}/workspace/{name}", body="x")
    query = f"prefix={quote('海')}&limit=5"
    found = value(deployed.asked("GET", f"/agents/{agent_id}/workspace", query=query))
    assert [one["path"] for one in found["items"]] == ["海/一.md"]


def test_a_stream_with_news_ends_with_it_and_asks_to_be_continued_soon(
    deployed: Deployed,
) -> None:
    session_id = deployed.session()
    deployed.say(session_id, "蟹")
    deployed.work()
    path = f"/sessions/{session_id}/events"
    began = time.monotonic()
    answer = deployed.asked("GET", path, query="after=0")["body"]
    assert answer.startswith("retry: 4000\nid: 0\n\n")
    assert "蟹" in answer
    assert '"status": "completed"' in answer
    assert answer.endswith("retry: 1000\n\n")
    last = max(int(each) for each in re.findall(r"^id: (\d+)$", answer, re.M))
    quiet = deployed.asked("GET", path, query=f"after={last}")["body"]
    assert quiet == f"retry: 4000\nid: {last}\n\n"
    assert time.monotonic() - began < LIMIT_SECONDS


def test_a_stream_is_held_while_an_answer_is_awaited(deployed: Deployed) -> None:
    session_id = deployed.session()
    deployed.say(session_id, "蟹")
    path = f"/sessions/{session_id}/events"
    began = time.monotonic()
    answer = deployed.asked("GET", path, query="after=0")["body"]
    assert "蟹" in answer
    assert time.monotonic() - began >= LIMIT_SECONDS
