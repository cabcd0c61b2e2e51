"""The WebSocket function as API Gateway and the table's stream call it, with official events."""

import json
import threading
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.dynamodb.models import dynamodb_backends

from opencrab.adapters.system_clock import SystemClock
from opencrab.bootstrap.aws.environment import _table_named
from opencrab.bootstrap.websocket import websocket_handler
from opencrab.domain.access.authority import Scope
from opencrab.engine.access.api_keys import create_api_key
from opencrab.engine.access.membership import let_principal_access_session
from opencrab.engine.conversation.live import WatchTarget
from opencrab.engine.runtime import Rules
from opencrab.engine.websocket import connections
from opencrab.engine.websocket.connections import issue_websocket_ticket
from tests.aws import REGION
from tests.contract.homes import aws
from tests.crash.outside import Reply
from tests.e2e.house import House
from tests.unit.gateways.function import own_log

WATCHED = WatchTarget(kind="session", id="s")
PREFIX = "/prod/@connections/"
TEXTS = [("灯台の鍵はどこですか🦀", "青い箱の中です"), ("Where is the key?", "In the blue box")]


class Api(ThreadingHTTPServer):
    """API Gateway's side of the connections: it notes what is posted to whom."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Request)
        self.posted: list[tuple[str, dict[str, Any]]] = []
        self.cut: list[str] = []
        self.gone: set[str] = set()
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    def seen(self, connection_id: str) -> list[dict[str, Any]]:
        """What one connection was sent since the last look."""
        found = [event for one, event in self.posted if one == connection_id]
        self.posted = [each for each in self.posted if each[0] != connection_id]
        return found


class _Request(BaseHTTPRequestHandler):
    server: Api

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self._is_there():
            assert "AWS4-HMAC-SHA256" in self.headers["Authorization"]
            self.server.posted.append((self._connection(), json.loads(body)))
            self._answer(200)

    def do_DELETE(self) -> None:
        if self._is_there():
            self.server.cut.append(self._connection())
            self.server.gone.add(self._connection())
            self._answer(204)

    def log_message(self, *_arguments: object) -> None:
        pass

    def _connection(self) -> str:
        assert self.path.startswith(PREFIX)
        return unquote(self.path.removeprefix(PREFIX))

    def _is_there(self) -> bool:
        if self._connection() not in self.server.gone:
            return True
        self._answer(410, b'{"message":"Gone"}', {"x-amzn-ErrorType": "GoneException"})
        return False

    def _answer(self, status: int, body: bytes = b"", headers: Any = None) -> None:
        self.send_response(status)
        for name, text in {**(headers or {}), "Content-Length": str(len(body))}.items():
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(body)


class Function:
    """The function in a deployed installation with three agents in the session `s`."""

    def __init__(self, house: House, api: Api, events: dict[str, Any]) -> None:
        self.house, self.api, self._events = house, api, events
        self.handle = websocket_handler()
        self._told = 0

    def key(self, scope: Scope) -> str:
        """A new key that may read the session `s`, and write in it if its scope lets it."""
        grants = ("all",) if scope is Scope.READ else ()
        name, home = f"{scope} 鍵", self.house.home
        secret, key = create_api_key(self.house.runtime, name=name, scope=scope, grants=grants)
        if scope is Scope.CHAT:
            let_principal_access_session(home.facts, home.keys, "s", key.principal.id)
        return secret

    def event(self, name: str, connection_id: str) -> dict[str, Any]:
        """An official event, of a connection of ours."""
        event: dict[str, Any] = deepcopy(self._events[name])
        event["requestContext"]["connectionId"] = connection_id
        return event

    def connect(self, connection_id: str, secret: str, **more: Any) -> int:
        event = self.event("Connect", connection_id)
        event["headers"] |= {"Authorization": f"Bearer {secret}"} | more
        return self._status(event)

    def by_ticket(self, connection_id: str, ticket: str) -> int:
        event = self.event("Connect", connection_id)
        return self._status({**event, "queryStringParameters": {"ticket": ticket}})

    def leave(self, connection_id: str) -> None:
        assert self._status(self.event("Disconnect", connection_id)) == 200

    def ask(self, connection_id: str, **wish: Any) -> list[dict[str, Any]]:
        event = self.event("Message", connection_id)
        event["body"] = json.dumps(wish)
        assert self._status(event) == 200
        return self.api.seen(connection_id)

    def push(self) -> None:
        """Hand over what the table's stream has told since the last look."""
        journal: Any = self.house.home.journal
        backend = dynamodb_backends[DEFAULT_ACCOUNT_ID][REGION]
        shard = backend.tables[journal._table.name].stream_shard
        assert shard is not None
        every = [one.to_json() for one in shard.items]
        new, self._told = every[self._told :], len(every)
        assert self.handle({"Records": new}) is None

    def watching(self) -> list[str]:
        found = connections.websocket_watchers(self.house.runtime, WATCHED)
        return sorted(connections.websocket_connection_id(fact) for fact in found)

    def _status(self, event: dict[str, Any]) -> int:
        answer = self.handle(event)
        assert answer is not None
        return int(answer["statusCode"])


@pytest.fixture
def function(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wire: Path) -> Iterator[Function]:
    names = ("Connect", "Disconnect", "Message")
    events = {
        name: json.loads(
            (wire / "aws-events" / f"powertools-apiGatewayWebSocketApi{name}.json").read_text()
        )
        for name in names
    }
    house, api = House(aws, tmp_path, Rules()), Api()
    for name, value in places(house, api).items():
        monkeypatch.setenv(name, value)
    with own_log():
        yield Function(house, api, events)
    api.shutdown()
    api.server_close()
    house.close()
    _table_named.cache_clear()


def places(house: House, api: Api) -> dict[str, str]:
    """The environment that the template gives the function."""
    home: Any = house.home
    queues = {
        "TURNS": home.turns,
        "DELIVERIES": home.deliveries,
        "COMPACTIONS": home.compactions,
        "BEATS": home.beats,
        "NIGHTS": home.nights,
    }
    port = api.server_address[1]
    found = {
        "OPENCRAB_AWS__TABLE": home.journal._table.name,
        "OPENCRAB_AWS__BUCKET": "bucket",
        "OPENCRAB_AWS__WEBSOCKET_ENDPOINT": f"http://127.0.0.1:{port}/prod",
        "OPENCRAB_GATEWAY__WEBSOCKET__ORIGINS": "https://crab.example.org",
        "AWS_ACCESS_KEY_ID": "made-up",
        "AWS_SECRET_ACCESS_KEY": "made-up",
        "AWS_DEFAULT_REGION": REGION,
    }
    for name, queue in queues.items():
        found[f"OPENCRAB_AWS__{name}_QUEUE"] = queue._url
        found[f"OPENCRAB_AWS__{name}_DEAD_QUEUE"] = queue._dead_url
    return found


def three(function: Function, answer: str) -> None:
    """Three agents who each say one thing."""
    script = (Reply(text=answer),)
    house = function.house
    house.session(*(house.agent(name, script) for name in ("mika", "ren", "sakura")))


@pytest.mark.parametrize(("text", "answer"), TEXTS)
def test_a_session_of_three_is_watched_live(function: Function, text: str, answer: str) -> None:
    three(function, answer)
    assert function.connect("owner", function.key(Scope.OWNER)) == 200
    assert function.connect("BFHPhfCWIAMCKlQ=", function.key(Scope.READ)) == 200
    for name in ("owner", "BFHPhfCWIAMCKlQ="):
        (subscribed,) = function.ask(name, type="subscribe", id="1", session_id="s")
        assert subscribed["after"] == 0
    (said,) = function.ask("owner", type="message", id="m1", session_id="s", text=text)
    assert len(said["turn_ids"]) == 3
    function.house.work()
    function.push()
    for name in ("owner", "BFHPhfCWIAMCKlQ="):
        seen = function.api.seen(name)
        words = [event["delta"] for event in seen if event["type"] == "TEXT_MESSAGE_CHUNK"]
        assert words == [text, answer, answer, answer]
        runs = [(event["type"], event["runId"]) for event in seen if event["type"][:4] == "RUN_"]
        for kind in ("RUN_STARTED", "RUN_FINISHED"):
            assert {run for each, run in runs if each == kind} == set(said["turn_ids"])
        assert seen[-1]["type"] == "RUN_FINISHED"


def test_what_came_before_and_what_comes_after_meet_once(function: Function) -> None:
    three(function, "はい")
    function.house.say("一")
    function.connect("a", function.key(Scope.CHAT))
    answer, *past = function.ask("a", type="subscribe", session_id="s", after=0)
    assert answer["subscribed"]
    assert [event["delta"] for event in past] == ["一"]
    function.push()
    assert function.api.seen("a") == [], "the stream tells what was the past already"
    function.house.say("二", "m2")
    for _ in range(2):
        function._told = 0
        function.push()
    told = [event for event in function.api.seen("a") if "delta" in event]
    assert [event["delta"] for event in told] == ["二"]


def test_nobody_is_told_what_they_may_not_see(function: Function) -> None:
    three(function, "hello")
    for name, scope in (("owner", Scope.OWNER), ("read", Scope.READ), ("idle", Scope.OWNER)):
        function.connect(name, function.key(scope))
    kinds = ["speech", "system", "action", "inner_voice"]
    (refused,) = function.ask("read", type="subscribe", session_id="s", kinds=kinds)
    assert refused["code"] == "refused"
    function.ask("read", type="subscribe", session_id="s")
    function.ask("owner", type="subscribe", session_id="s", kinds=kinds)
    function.ask("owner", type="mentor", id="1", session_id="s", text="秘密の指示")
    function.push()
    assert "秘密" in json.dumps(function.api.seen("owner"), ensure_ascii=False)
    assert function.api.seen("read") == function.api.seen("idle") == []
    (refused,) = function.ask("read", type="message", id="1", session_id="s", text="x")
    assert refused["code"] == "refused"


def test_foreign_keys_pages_and_connections_are_refused(function: Function) -> None:
    three(function, "hello")
    assert function.connect("a", "oc_somebody_elses_key_000") == 401
    assert function.connect("a", function.key(Scope.OWNER), Origin="https://evil.example") == 403
    assert (
        function.connect("a", function.key(Scope.OWNER), Origin="https://crab.example.org") == 200
    )
    (refused,) = function.ask("never-opened", type="subscribe", session_id="s")
    assert refused["code"] == "unauthenticated"
    assert function.api.cut == ["never-opened"]
    assert function.watching() == []


def test_a_ticket_opens_one_connection(function: Function) -> None:
    three(function, "hello")
    _, key = create_api_key(function.house.runtime, name="page", scope=Scope.READ)
    # The function lives in the time of the real world.
    ticket, _ = issue_websocket_ticket(
        replace(function.house.runtime, clock=SystemClock()), key.hash
    )
    assert function.by_ticket("a", ticket) == 200
    assert function.by_ticket("b", ticket) == 401


def test_a_connection_that_is_gone_goes_with_all_that_it_watched(function: Function) -> None:
    three(function, "hello")
    for name in ("a", "b"):
        function.connect(name, function.key(Scope.READ))
        function.ask(name, type="subscribe", session_id="s")
        function.ask(name, type="subscribe", agent_id="mika")
    function.api.gone.add("a")
    function.house.say("一")
    function.push()
    assert [event["delta"] for event in function.api.seen("b")] == ["一"]
    assert function.watching() == ["b"]
    function.leave("b")
    assert function.watching() == []
    function.house.say("二", "m2")
    function.push()
    assert function.api.posted == []


def test_the_functions_own_writes_tell_it_nothing(function: Function) -> None:
    three(function, "hello")
    function.connect("a", function.key(Scope.READ))
    function.push()
    function.ask("a", type="subscribe", session_id="s")
    function.ask("a", type="ping")
    function.push()
    assert function.api.posted == []
