"""The WebSocket function: connections come, ask and go; nobody can be somebody else."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from opencrab.domain.access.authority import Authority, Scope, Source
from opencrab.domain.conversation.message import Audience, LineKind
from opencrab.engine.access.api_keys import create_api_key
from opencrab.engine.access.membership import let_principal_access_session
from opencrab.engine.conversation.live import WatchTarget
from opencrab.engine.websocket import connections
from opencrab.engine.websocket.connections import (
    CONNECTION,
    MOST_MESSAGES,
    MOST_OPENED,
    PAUSES,
    issue_websocket_ticket,
)
from opencrab.gateways.websocket.aws import Gateway
from tests.unit.engine.known_world import World, opened
from tests.unit.gateways.websocket.connected import Contested, Sockets, Unreadable, event, nothing

PAGE = "https://crab.example.org"
ID = "BFHPhfCWIAMCKlQ="


class Function:
    """The function with a key of each scope."""

    def __init__(self, world: World) -> None:
        self.world, self.sockets = world, Sockets()
        self.gateway = Gateway(world.runtime, self.sockets, frozenset({PAGE}), nothing)
        made = {
            scope: create_api_key(
                world.runtime,
                name=scope.value,
                scope=scope,
                grants=("all",) if scope is Scope.READ else (),
            )
            for scope in Scope
        }
        home, (_, chat) = world.runtime.home, made[Scope.CHAT]
        let_principal_access_session(home.facts, home.keys, "s1", chat.principal.id)
        self.secrets = {scope: secret for scope, (secret, _) in made.items()}
        self.keys = {scope: key for scope, (_, key) in made.items()}

    def connect(self, connection_id: str = ID, scope: Scope = Scope.OWNER, **headers: str) -> int:
        sent = {"Authorization": f"Bearer {self.secrets[scope]}", "Host": "x", **headers}
        return self.status(event("CONNECT", connection_id, headers=sent))

    def status(self, told: dict[str, Any]) -> int:
        answer = self.gateway(told)
        assert answer is not None
        return int(answer["statusCode"])

    def ask(self, body: Any, connection_id: str = ID, **changes: Any) -> list[dict[str, Any]]:
        assert self.status(event("MESSAGE", connection_id, body, **changes)) == 200
        return self.sockets.seen(connection_id)

    def opened(self) -> list[str]:
        facts = self.world.runtime.home.facts.page("installation", CONNECTION)
        return [connections.websocket_connection_id(fact) for fact in facts]


@pytest.fixture
def function(tmp_path: Path) -> Iterator[Function]:
    with opened(tmp_path) as world:
        yield Function(world)


def subscribe(**fields: Any) -> dict[str, Any]:
    return {"type": "subscribe", "id": "1", "session_id": "s1", **fields}


def message(**fields: Any) -> dict[str, Any]:
    return {"type": "message", "id": "m1", "session_id": "s1", "text": "こんにちは🦀", **fields}


def test_a_connection_comes_watches_and_goes(function: Function) -> None:
    assert function.connect() == 200
    assert function.opened() == [ID]
    (answer,) = function.ask(subscribe())
    assert answer == {"type": "answer", "id": "1", "subscribed": True, "after": 0}
    assert function.status(event("DISCONNECT", ID)) == 200
    assert function.opened() == []
    watched = WatchTarget(kind="session", id="s1")
    assert not list(connections.websocket_watchers(function.world.runtime, watched))


@pytest.mark.parametrize(
    ("told", "status"),
    [
        ({}, 401),
        ({"headers": None, "queryStringParameters": None}, 401),
        ({"headers": {"authorization": "Bearer oc_made_up_made_up_made_up"}}, 401),
        ({"queryStringParameters": {"ticket": "made-up"}}, 401),
        ({"headers": {"Origin": "https://evil.example"}}, 403),
    ],
)
def test_who_proves_nothing_stays_outside(
    function: Function, told: dict[str, Any], status: int
) -> None:
    assert function.status(event("CONNECT", ID, **told)) == status
    assert function.opened() == []


def test_a_foreign_page_is_refused_even_with_a_key(function: Function) -> None:
    assert function.connect(Origin="https://evil.example") == 403
    assert function.connect(origin=PAGE) == 200


def test_a_ticket_opens_one_connection(function: Function) -> None:
    ticket, _ = issue_websocket_ticket(function.world.runtime, function.keys[Scope.READ].hash)
    query = {"queryStringParameters": {"ticket": ticket}}
    assert function.status(event("CONNECT", ID, **query)) == 200
    assert function.status(event("CONNECT", "second", **query)) == 401
    assert function.ask(message())[0]["code"] == "refused"


def test_nothing_is_done_for_a_connection_that_nobody_opened(function: Function) -> None:
    function.connect()
    (answer,) = function.ask(message(), "another")
    assert answer["code"] == "unauthenticated"
    assert function.sockets.cuts == ["another"]
    assert not function.world.runtime.home.journal.lines("s1")


def test_a_frame_cannot_name_another_connection(function: Function) -> None:
    function.connect("victim", Scope.OWNER)
    function.connect("hostile", Scope.READ)
    for field in ("connectionId", "connection_id", "principal", "requestContext"):
        (answer,) = function.ask({**message(), field: "victim"}, "hostile")
        assert answer["code"] == "invalid"
    (answer,) = function.ask(message(), "hostile")
    assert answer["code"] == "refused"
    assert not function.sockets.seen("victim")


def test_a_message_is_admitted_as_its_key_and_once(function: Function) -> None:
    function.connect(scope=Scope.CHAT)
    (first,), (again,) = function.ask(message()), function.ask(message())
    assert first["turn_ids"] == again["turn_ids"]
    turn = function.world.runtime.home.journal.header(first["turn_ids"][0])
    assert (turn.source, turn.authority) == (Source.WEBSOCKET, Authority.USER)
    assert turn.principal_id == function.keys[Scope.CHAT].id
    (line,) = function.world.runtime.home.journal.lines("s1")
    assert line.text == "こんにちは🦀"


def test_an_instruction_is_the_owners(function: Function) -> None:
    function.connect("chat", Scope.CHAT)
    function.connect("owner", Scope.OWNER)
    wish = message(type="mentor", text="短く")
    assert function.ask(wish, "chat")[0]["code"] == "refused"
    (first,), (again,) = function.ask(wish, "owner"), function.ask(wish, "owner")
    assert first["instruction_id"] == again["instruction_id"]
    (line,) = function.world.runtime.home.journal.lines("s1")
    assert (line.kind, line.audience, line.text) == (LineKind.SYSTEM, Audience.AGENTS, "短く")


def test_the_past_follows_the_answer(function: Function) -> None:
    for text in ("一", "二", "三"):
        function.world.say(text)
    function.connect()
    answer, *past = function.ask(subscribe(after=1))
    assert answer["after"] == 1
    assert [each["delta"] for each in past] == ["二", "三"]
    assert [each["metadata"]["sequence"] for each in past] == [2, 3]
    assert len(function.ask(subscribe(after=3))) == 1


def test_a_long_past_begins_with_a_gap(function: Function) -> None:
    for number in range(520):
        function.world.say(f"m{number}")
    function.connect()
    answer, told, *past = function.ask(subscribe(after=0))
    assert (answer["after"], told["value"]) == (20, {"after": 0, "before": 21})
    assert len(past) == 500


def test_an_agent_is_watched_and_unwatched(function: Function) -> None:
    function.connect()
    wish = {"type": "subscribe", "agent_id": "mika"}
    assert function.ask(wish) == [{"type": "answer", "id": None, "subscribed": True}]
    (answer,) = function.ask({**wish, "type": "unsubscribe"})
    assert answer["was_subscribed"]


@pytest.mark.parametrize(
    ("body", "changes", "code"),
    [
        ("x" * 131_072, {}, "too-large"),
        ("AAECAw==", {"isBase64Encoded": True}, "invalid"),
        ("", {}, "invalid"),
        (None, {}, "invalid"),
        ('{"action": "chat", "message": "Hello from client"}', {}, "invalid"),
    ],
)
def test_what_means_nothing_is_answered(
    function: Function, body: str | None, changes: dict[str, Any], code: str
) -> None:
    function.connect()
    (answer,) = function.ask(body, **changes)
    assert (answer["type"], answer["code"]) == ("error", code)
    assert function.ask({"type": "ping", "id": "p"}) == [{"type": "pong", "id": "p"}]


def test_a_flood_is_told_so_and_cut(function: Function) -> None:
    function.connect()
    for _ in range(MOST_MESSAGES):
        function.ask({"type": "ping"})
    (answer,) = function.ask({"type": "ping"})
    assert answer["code"] == "exhausted"
    assert function.sockets.cuts == [ID]
    assert function.opened() == []


def test_a_revoked_key_is_cut_with_its_next_word(function: Function) -> None:
    function.connect(scope=Scope.CHAT)
    key = function.keys[Scope.CHAT]
    function.world.runtime.home.keys.revoke(key.id, function.world.clock.now())
    (answer,) = function.ask(message())
    assert answer["code"] == "unauthenticated"
    assert function.sockets.cuts == [ID]
    assert not function.world.runtime.home.journal.lines("s1")


def test_an_answer_that_nobody_takes_ends_the_connection(function: Function) -> None:
    function.connect()
    function.sockets.gone.add(ID)
    assert function.ask(subscribe(after=0)) == []
    assert function.opened() == []


@pytest.mark.parametrize(
    ("accepted", "flood", "unknown"),
    [
        ("en", f"more than {MOST_MESSAGES} messages in", "the type is missing or unknown"),
        ("ja-JP,ja;q=0.9", f"{MOST_MESSAGES} 件", "type がないか、不明です"),
    ],
)
def test_later_invocations_know_the_language_of_a_connection(
    function: Function, accepted: str, flood: str, unknown: str
) -> None:
    function.connect(ID, Scope.OWNER, **{"Accept-Language": accepted})
    (answer,) = function.ask({"type": "?", "id": "a"})
    assert (answer["code"], answer["message"]) == ("invalid", unknown)
    for _ in range(MOST_MESSAGES - 1):
        function.ask({"type": "ping"})
    (answer,) = function.ask({"type": "ping"})
    assert answer["code"] == "exhausted"
    assert flood in answer["message"]


def test_who_stays_outside_is_told_why_in_its_language(function: Function) -> None:
    told = function.gateway(event("CONNECT", ID, headers={"Accept-Language": "ja"}))
    assert told is not None
    assert json.loads(told["body"])["message"] == "API キーかチケットが必要です"


def test_who_meets_too_many_others_is_answered_and_stays(function: Function) -> None:
    function.connect()
    facts: Any = function.world.runtime.home.facts
    contested = Contested(facts, len(PAUSES) + 1)
    runtime = replace(
        function.world.runtime, home=replace(function.world.runtime.home, facts=contested)
    )
    waited: list[float] = []
    function.gateway = Gateway(runtime, function.sockets, frozenset(), nothing, waited.append)
    (answer,) = function.ask({"type": "ping", "id": "p1"})
    assert (answer["code"], answer["id"]) == ("unavailable", "p1")
    assert len(waited) == len(PAUSES)
    assert not function.sockets.cuts
    assert function.ask({"type": "ping", "id": "p2"}) == [{"type": "pong", "id": "p2"}]


def test_a_store_that_does_not_answer_keeps_no_error_from_the_client(function: Function) -> None:
    function.connect(ID, Scope.OWNER, **{"Accept-Language": "ja"})
    home = function.world.runtime.home
    unreadable: Any = Unreadable(home.facts)
    runtime = replace(function.world.runtime, home=replace(home, facts=unreadable))
    function.gateway = Gateway(runtime, function.sockets, frozenset(), nothing)
    (answer,) = function.ask({"type": "ping", "id": "p1"})
    assert (answer["code"], answer["id"]) == ("unavailable", "p1")
    assert not function.sockets.cuts


def test_one_connection_too_many_of_a_key_is_refused(function: Function) -> None:
    for number in range(MOST_OPENED):
        assert function.connect(f"c{number}") == 200
    assert function.connect("more") == 429
    assert function.connect("other", Scope.READ) == 200
    function.status(event("DISCONNECT", "c0"))
    assert function.connect("more") == 200
