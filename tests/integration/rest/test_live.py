"""Sessions watched live: real WebSocket clients against the local stack, friendly and hostile."""

import http.client
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from tests.running import KEY, Server, server

PATIENCE = 60.0
TEXTS = ["三人で灯台の鍵を探しましょう。👩‍👩‍👧", "Where is the key to the lighthouse?"]


class Client:
    """One WebSocket client, and all that it was sent."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection
        self.seen: list[dict[str, Any]] = []

    def ask(self, **wish: Any) -> dict[str, Any]:
        """Send a wish and await its answer; what comes in between was seen."""
        self.connection.send(json.dumps(wish))
        answers = {"answer", "error", "pong"}
        return self.until(lambda event: event["type"] in answers)

    def until(self, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Whatever comes next that is wanted."""
        while True:
            event = json.loads(self.connection.recv(PATIENCE))
            self.seen.append(event)
            if wanted(event):
                return dict(event)

    def ended(self, runs: int) -> None:
        """Until so many turns have ended."""
        for _ in range(runs):
            self.until(lambda event: event["type"] in {"RUN_FINISHED", "RUN_ERROR"})

    def of(self, *kinds: str) -> list[dict[str, Any]]:
        """The events of some kinds."""
        return [event for event in self.seen if event["type"] in kinds]

    def said(self) -> list[tuple[str, str]]:
        """What was said, by whom."""
        return [(event["name"], event["delta"]) for event in self.of("TEXT_MESSAGE_CHUNK")]

    def sequences(self) -> list[int]:
        """The places of all lines that were told, as they came."""
        places = (event.get("metadata", {}).get("sequence") for event in self.seen)
        return [place for place in places if place is not None]

    def closed(self) -> int:
        """The code with which the server ends it."""
        with pytest.raises(ConnectionClosed) as closing:
            self.until(lambda _: False)
        assert closing.value.rcvd is not None
        return closing.value.rcvd.code


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """`opencrab up`, for all tests of the module."""
    with server(tmp_path_factory.mktemp("live") / "data") as running:
        yield running


@contextmanager
def client(
    stack: Server, key: str | None = KEY, query: str = "", **headers: str
) -> Iterator[Client]:
    """A connection with a key, or with whatever the query and the headers say."""
    sent = headers if key is None else {"Authorization": f"Bearer {key}", **headers}
    address = f"ws://127.0.0.1:{stack.port}/ws{query}"
    with connect(address, additional_headers=sent, proxy=None) as connection:
        yield Client(connection)


def refused(stack: Server, key: str | None = None, query: str = "", **headers: str) -> int:
    """The status with which a connection is refused."""
    with pytest.raises(InvalidStatus) as refusal, client(stack, key, query, **headers):
        pass
    response = refusal.value.response
    assert json.loads(response.body)["status"] == response.status_code
    return response.status_code


def new_key(stack: Server, scope: str) -> tuple[str, str]:
    """A key's secret and id."""
    granted = {"grants": ["all"]} if scope == "read" else {}
    made = stack.call("POST", "/keys", {"name": f"{scope} 鍵", "scope": scope, **granted})
    return made["secret"], made["id"]


def three(stack: Server) -> str:
    """A session of three agents."""
    names = ("Mika", "Ren", "さくら")
    agents = [stack.call("POST", "/agents", {"name": name})["id"] for name in names]
    return str(stack.call("POST", "/sessions", {"participants": agents})["id"])


def ticket(stack: Server, key: str) -> str:
    """A ticket, asked for with a key."""
    connection = http.client.HTTPConnection("127.0.0.1", stack.port, timeout=PATIENCE)
    connection.request("POST", "/api/tickets", headers={"Authorization": f"Bearer {key}"})
    answer = json.loads(connection.getresponse().read())
    connection.close()
    return str(answer["ticket"])


@pytest.mark.parametrize("text", TEXTS)
def test_two_clients_watch_three_agents_live(stack: Server, text: str) -> None:
    session_id = three(stack)
    reader, _ = new_key(stack, "read")
    with client(stack) as owner, client(stack, reader) as other:
        for each in (owner, other):
            assert each.ask(type="subscribe", id="1", session_id=session_id)["after"] == 0
        said = owner.ask(type="message", id="m1", session_id=session_id, text=text)
        assert len(said["turn_ids"]) == 3
        for each in (owner, other):
            each.ended(3)
        for each in (owner, other):
            assert each.said()[0] == ("owner", text)
            assert {name for name, _ in each.said()[1:]} == {"Mika", "Ren", "さくら"}
            begun, ended = each.of("RUN_STARTED"), each.of("RUN_FINISHED")
            assert {event["runId"] for event in begun} == set(said["turn_ids"])
            assert {event["runId"] for event in ended} == set(said["turn_ids"])
            assert {event["threadId"] for event in begun} == {session_id}
        lines = stack.call("GET", f"/sessions/{session_id}/messages")["items"]
        for each in (owner, other):
            assert [line["text"] for line in lines] == [words for _, words in each.said()]
            assert [line["sequence"] for line in lines] == each.sequences()


def test_a_message_that_is_sent_again_is_one_message(stack: Server) -> None:
    session_id = three(stack)
    with client(stack) as owner:
        wish = {"type": "message", "id": "same", "session_id": session_id, "text": "一度だけ"}
        first, again = owner.ask(**wish), owner.ask(**wish)
        assert again["turn_ids"] == first["turn_ids"]
        changed = owner.ask(**{**wish, "text": "another"})
        assert (changed["type"], changed["code"]) == ("error", "conflict")


def test_whoever_comes_late_gets_the_past_and_then_what_comes_without_gap_or_double(
    stack: Server,
) -> None:
    session_id = three(stack)
    stack.say(session_id, "前に言ったこと")
    with client(stack) as owner:
        assert owner.ask(type="subscribe", session_id=session_id, after=1)["after"] == 1
        owner.ask(type="message", id="m2", session_id=session_id, text="次のこと")
        owner.ended(3)
    lines = stack.call("GET", f"/sessions/{session_id}/messages")["items"]
    assert owner.sequences() == [line["sequence"] for line in lines][1:]
    assert [words for _, words in owner.said()].count("次のこと") == 1


def test_an_agent_is_watched_wherever_it_speaks_and_nobody_else(stack: Server) -> None:
    session_id = three(stack)
    ren = stack.call("GET", f"/sessions/{session_id}")["participants"][1]["agent_id"]
    with client(stack) as owner:
        assert owner.ask(type="subscribe", agent_id=ren)["subscribed"]
        owner.ask(type="message", id="m1", session_id=session_id, text="hello")
        owner.ended(1)
        assert [name for name, _ in owner.said()] == ["Ren"]
        assert owner.ask(type="unsubscribe", agent_id=ren)["was_subscribed"]
        assert not owner.ask(type="unsubscribe", agent_id=ren)["was_subscribed"]


def test_a_key_sees_and_does_nothing_that_it_may_not(stack: Server) -> None:
    session_id, (reader, _) = three(stack), new_key(stack, "read")
    with client(stack) as owner, client(stack, reader) as hostile:
        kinds = ["speech", "inner_voice", "action", "system", "approval"]
        asked = hostile.ask(type="subscribe", id="1", session_id=session_id, kinds=kinds)
        assert (asked["code"], asked["field"]) == ("refused", "kinds")
        for kind in ("message", "mentor"):
            wish = {"type": kind, "id": "x", "session_id": session_id, "text": "命令"}
            assert hostile.ask(**wish)["code"] == "refused"
        hostile.ask(type="subscribe", session_id=session_id, kinds=["system", "speech"], after=0)
        owner.ask(type="subscribe", session_id=session_id, kinds=kinds, after=0)
        mentor = owner.ask(type="mentor", id="i1", session_id=session_id, text="秘密の指示")
        assert mentor["line"] == 1
        owner.ask(type="message", id="m1", session_id=session_id, text="hello")
        for each in (owner, hostile):
            each.ended(3)
        (told,) = owner.of("CUSTOM")
        assert (told["name"], told["value"]["text"]) == ("instruction", "秘密の指示")
        assert "秘密" not in json.dumps(hostile.seen, ensure_ascii=False)
        assert hostile.sequences()[0] == 2


def test_foreign_and_revoked_keys_stay_outside(stack: Server) -> None:
    session_id, (secret, key_id) = three(stack), new_key(stack, "chat")
    stack.call("PUT", f"/sessions/{session_id}/members/{key_id}")
    assert refused(stack) == 401
    assert refused(stack, "oc_somebody_elses_key_000") == 401
    assert refused(stack, query="?ticket=made-up") == 401
    with client(stack, secret) as guest:
        guest.ask(type="subscribe", session_id=session_id)
        stack.call("DELETE", f"/keys/{key_id}")
        guest.connection.send(json.dumps({"type": "ping"}))
        assert guest.closed() == 1008
        assert not guest.sequences()
    assert refused(stack, secret) == 401


def test_a_ticket_opens_one_connection_with_the_scope_of_its_key(stack: Server) -> None:
    session_id, (reader, _) = three(stack), new_key(stack, "read")
    query = f"?ticket={ticket(stack, reader)}"
    with client(stack, None, query) as page:
        assert page.ask(type="ping", id="p")["type"] == "pong"
        wish = {"type": "message", "id": "x", "session_id": session_id, "text": "x"}
        assert page.ask(**wish)["code"] == "refused"
    assert refused(stack, None, query) == 401


def test_a_page_of_a_foreign_origin_is_refused_and_keeps_its_ticket(stack: Server) -> None:
    query = f"?ticket={ticket(stack, KEY)}"
    assert refused(stack, None, query, Origin="https://evil.example") == 403
    with client(stack, None, query) as program:
        assert program.ask(type="ping")["type"] == "pong"


@pytest.mark.parametrize(
    ("frame", "code"),
    [("x" * 32_769, 1009), (b"\x00", 1003), ("あ" * 11_000, 1009), ("x" * 500_000, 1009)],
)
def test_large_and_binary_frames_end_the_connection(
    stack: Server, frame: str | bytes, code: int
) -> None:
    with client(stack) as owner:
        owner.connection.send(frame)
        assert owner.closed() == code


def test_a_flood_ends_the_connection(stack: Server) -> None:
    with client(stack) as owner:
        for _ in range(31):
            owner.connection.send('{"type":"ping"}')
        assert owner.closed() == 1008
        assert len(owner.of("pong")) == 30


@pytest.mark.parametrize("frame", ["", "[]", "{", "null", '{"type":"?","id":"a"}', "\x00"])
def test_what_means_nothing_is_answered_and_the_connection_lives(stack: Server, frame: str) -> None:
    with client(stack) as owner:
        owner.connection.send(frame)
        assert owner.until(lambda _: True)["type"] == "error"
        assert owner.ask(type="ping")["type"] == "pong"


def test_an_unknown_session_is_not_watched(stack: Server) -> None:
    with client(stack) as owner:
        unknown = owner.ask(type="subscribe", id="é", session_id="nobodys")
        assert unknown["code"] == "invalid", "an id has characters that fit a header"
        assert owner.ask(type="subscribe", id="1", session_id="nobodys")["code"] == "not-found"
        assert owner.ask(type="subscribe", agent_id="nobody")["code"] == "not-found"


def test_a_ticket_is_shown_once_and_asking_again_with_the_same_key_shows_none(
    stack: Server,
) -> None:
    first, again = (stack.call("POST", "/tickets", {}, key="one-ticket") for _ in range(2))
    assert first["ticket"]
    assert again == {**first, "ticket": None}
