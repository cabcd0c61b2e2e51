"""Pushing: everybody who may is told, in order and once; the gone, the slow and the revoked go."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from opencrab.domain.access.authority import Scope
from opencrab.domain.conversation.message import Audience, LineKind
from opencrab.domain.errors import Unavailable
from opencrab.engine.access.api_keys import create_api_key
from opencrab.engine.access.membership import let_principal_access_session, revoke_session_access
from opencrab.engine.conversation.key_holders import KEY_BELIEVED
from opencrab.engine.conversation.live import (
    VisibleKinds,
    WatchTarget,
    visible_conversation_line_kinds,
)
from opencrab.engine.websocket import connections
from opencrab.gateways.websocket.pushing import (
    AT_ONCE,
    BATCH_SECONDS,
    Pusher,
    websocket_event_frame,
)
from opencrab.ports.conversation.feed import FeedEntry
from tests.unit.engine.known_world import World, opened
from tests.unit.gateways.websocket.connected import Sockets

S1, MIKA = WatchTarget(kind="session", id="s1"), WatchTarget(kind="agent", id="mika")
EVERYTHING = visible_conversation_line_kinds(LineKind, is_owner=True)


class Slow(Sockets):
    """Connections of which some take nothing, as it happens to them."""

    def __init__(self, happens: Callable[[], object]) -> None:
        super().__init__()
        self._happens = happens

    def send(self, connection_id: str, text: str) -> None:
        if connection_id.startswith("slow"):
            self._happens()
            raise Unavailable("it takes nothing")
        super().send(connection_id, text)


class Desk:
    """A pusher, its sockets, and what the feed has not told it yet."""

    def __init__(self, world: World) -> None:
        self.world, self.position = world, 0
        self.over(Sockets())

    def over(self, sockets: Sockets) -> None:
        """Push over these from now on."""
        self.sockets = sockets
        self.pusher = Pusher(self.world.runtime, sockets)

    def connect(self, name: str, *watched: WatchTarget, sight: VisibleKinds | None = None) -> str:
        """A connection with a key of its own; the key's id."""
        _, key = create_api_key(self.world.runtime, name=name, scope=Scope.READ, grants=("all",))
        connections.open_websocket_connection(self.world.runtime, name, key.hash)
        for each in watched:
            connections.start_websocket_watch(
                self.world.runtime, name, each, sight or VisibleKinds(), None
            )
        return key.id

    def entries(self) -> list[FeedEntry]:
        """What the feed tells since the last look."""
        feed = self.world.runtime.home.feed
        assert feed is not None
        found = list(feed.read(after=self.position, limit=1_000))
        self.position = found[-1].position if found else self.position
        return found

    def push(self) -> None:
        self.pusher.push_entries(self.entries())

    def watching(self, watched: WatchTarget = S1) -> list[str]:
        found = connections.websocket_watchers(self.world.runtime, watched)
        return sorted(connections.websocket_connection_id(fact) for fact in found)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with opened(tmp_path) as world:
        yield Desk(world)


def kinds(events: list[dict[str, Any]]) -> list[str]:
    return [event["type"] for event in events]


def test_who_is_no_longer_invited_is_pushed_nothing_more_within_a_minute(desk: Desk) -> None:
    runtime = desk.world.runtime
    home = runtime.home
    _, key = create_api_key(runtime, name="健", scope=Scope.CHAT)
    let_principal_access_session(home.facts, home.keys, "s1", key.principal.id)
    connections.open_websocket_connection(runtime, "k", key.hash)
    connections.start_websocket_watch(runtime, "k", S1, VisibleKinds(), None)
    desk.world.say("一")
    desk.push()
    revoke_session_access(home.facts, "s1", key.principal.id)
    desk.world.clock.advance(KEY_BELIEVED.total_seconds())
    desk.world.say("秘密")
    desk.push()
    assert desk.sockets.said("k") == ["一"]
    assert desk.watching() == []


class Revoking(Sockets):
    """Connections of a client that takes its first event for longer than a key is cached."""

    def __init__(self, happens: Callable[[], object]) -> None:
        super().__init__()
        self._happens = happens

    def send(self, connection_id: str, text: str) -> None:
        super().send(connection_id, text)
        self._happens()


def test_who_loses_the_key_while_it_is_told_the_past_is_told_no_more(desk: Desk) -> None:
    runtime, clock = desk.world.runtime, desk.world.clock
    key = desk.connect("k", S1)
    for said in ("一", "二", "三"):
        desk.world.say(said)

    def revoke() -> None:
        runtime.home.keys.revoke(key, clock.now())
        clock.advance(KEY_BELIEVED.total_seconds())

    desk.over(Revoking(revoke))
    (watcher,) = connections.websocket_watchers(runtime, S1)
    assert not desk.pusher.catch_up("s1", watcher)
    assert len(desk.sockets.sent["k"]) == 1
    assert desk.watching() == []


@pytest.mark.parametrize("text", ["海の未来を話しましょう🦀", "Let us talk"])
def test_all_who_watch_are_told(desk: Desk, text: str) -> None:
    for name in ("a", "b"):
        desk.connect(name, S1)
    desk.connect("c")
    desk.world.say(text)
    desk.push()
    assert desk.sockets.said("a") == desk.sockets.said("b") == [text]
    assert not desk.sockets.sent


def test_what_the_stream_tells_again_is_not_told_again(desk: Desk) -> None:
    desk.connect("a", S1)
    desk.world.say("一")
    entries = desk.entries()
    for _ in range(2):
        desk.pusher.push_entries(entries)
    desk.pusher.push_entries(entries[::-1])
    assert desk.sockets.said("a") == ["一"]


def test_lines_that_the_stream_tells_out_of_order_come_in_theirs(desk: Desk) -> None:
    desk.connect("a", S1)
    for text in ("一", "二", "三"):
        desk.world.say(text)
    desk.pusher.push_entries(desk.entries()[::-1])
    assert desk.sockets.said("a") == ["一", "二", "三"]


def test_a_run_begins_before_its_words_and_ends_after_them(desk: Desk) -> None:
    desk.connect("a", S1, MIKA)
    mika, _ = desk.world.say("hello")
    desk.world.spoken(mika, "はい")
    begun = [entry for entry in desk.entries() if entry.session_id]
    ended = FeedEntry(99, "turn", "s1", mika.id, "completed")
    desk.pusher.push_entries([ended, *begun])
    assert kinds(desk.sockets.seen("a")) == [
        "RUN_STARTED",
        "TEXT_MESSAGE_CHUNK",
        "TEXT_MESSAGE_CHUNK",
        "RUN_FINISHED",
    ]


def test_who_watches_an_agent_is_told_what_it_does_and_no_more(desk: Desk) -> None:
    desk.connect("a", MIKA)
    mika, ken = desk.world.say("hello")
    desk.world.spoken(mika, "美香です")
    desk.world.spoken(mika, "内緒", kind=LineKind.INNER_VOICE, audience=Audience.SELF)
    desk.world.spoken(ken, "I am Ken")
    desk.push()
    seen = desk.sockets.seen("a")
    assert kinds(seen) == ["RUN_STARTED", "TEXT_MESSAGE_CHUNK"]
    assert {event["metadata"].get("agentId", "mika") for event in seen} == {"mika"}
    assert "内緒" not in json.dumps(seen, ensure_ascii=False)


def test_private_lines_are_pushed_only_to_whom_they_are_shown(desk: Desk) -> None:
    desk.connect("owner", S1, sight=EVERYTHING)
    desk.connect("other", S1)
    mika, _ = desk.world.say("hello")
    desk.world.spoken(mika, "内緒", kind=LineKind.INNER_VOICE, audience=Audience.SELF)
    desk.push()
    assert desk.sockets.said("owner") == ["hello", "内緒"]
    assert desk.sockets.said("other") == ["hello"]


def test_a_connection_that_is_gone_is_forgotten_and_stops_nobody(desk: Desk) -> None:
    for name in ("a", "b"):
        desk.connect(name, S1, MIKA)
    desk.sockets.gone.add("a")
    desk.world.say("一")
    desk.push()
    assert desk.sockets.said("b") == ["一"]
    assert desk.watching() == desk.watching(MIKA) == ["b"]
    assert not desk.sockets.cuts


def test_a_connection_that_takes_nothing_is_cut_and_misses_nothing_when_it_returns(
    desk: Desk,
) -> None:
    key_id = desk.connect("slow", S1)
    desk.sockets.stuck.add("slow")
    desk.world.say("一")
    desk.push()
    assert desk.watching() == []
    (key,) = [each for each in desk.world.runtime.home.keys.list() if each.id == key_id]
    connections.open_websocket_connection(desk.world.runtime, "again", key.hash)
    connections.start_websocket_watch(desk.world.runtime, "again", S1, VisibleKinds(), 0)
    (watcher,) = connections.websocket_watchers(desk.world.runtime, S1)
    assert desk.pusher.catch_up("s1", watcher)
    assert desk.sockets.said("again") == ["一"]


def test_a_revoked_key_is_told_nothing_more_within_a_minute(desk: Desk) -> None:
    key_id = desk.connect("a", S1, MIKA)
    desk.connect("b", S1)
    desk.world.say("一")
    desk.push()
    desk.world.runtime.home.keys.revoke(key_id, desk.world.clock.now())
    desk.world.clock.advance(KEY_BELIEVED.total_seconds())
    desk.world.say("二")
    desk.push()
    assert desk.sockets.said("a") == ["一"]
    assert desk.sockets.said("b") == ["一", "二"]
    assert desk.sockets.cuts == ["a"]
    assert desk.watching(MIKA) == []


def test_a_watcher_that_a_crash_left_behind_goes_with_its_first_push(desk: Desk) -> None:
    desk.connect("a", S1)
    facts = desk.world.runtime.home.facts
    (connection,) = facts.page("installation", connections.CONNECTION)
    facts.commit(connection.removed())
    desk.sockets.gone.add("a")
    desk.world.say("一")
    desk.push()
    assert desk.watching() == []


def test_turns_that_are_kept_no_more_and_queued_ones_tell_nothing(desk: Desk) -> None:
    desk.connect("a", S1)
    (mika, _) = desk.world.say("x")
    gone = [FeedEntry(1, "turn", "s1", name, "running") for name in ("unknown", "")]
    desk.pusher.push_entries([*gone, FeedEntry(3, "turn", "s1", mika.id, "queued")])
    desk.pusher.push_entries([FeedEntry(4, "fact", "", None, "{}")])
    assert not desk.sockets.sent


def test_a_frame_keeps_characters_as_they_are() -> None:
    assert websocket_event_frame({"delta": "海🦀"}) == '{"delta":"海🦀"}'


def test_several_who_take_nothing_are_waited_for_together(desk: Desk) -> None:
    together = Barrier(AT_ONCE)
    desk.over(Slow(lambda: together.wait(60)))
    for number in range(AT_ONCE):
        desk.connect(f"slow{number}", S1)
    desk.connect("a", S1)
    desk.world.say("海")
    desk.push()
    assert not together.broken
    assert desk.sockets.said("a") == ["海"]
    assert desk.watching() == ["a"]
    assert len(desk.sockets.cuts) == AT_ONCE


def test_whoever_is_still_to_be_told_when_a_batch_takes_too_long_is_cut(desk: Desk) -> None:
    clock = desk.world.clock
    desk.over(Slow(lambda: clock.advance(BATCH_SECONDS)))
    desk.connect("slow", S1)
    desk.connect("late", MIKA)
    mika, _ = desk.world.say("海")
    desk.world.spoken(mika, "はい")
    desk.push()
    assert desk.sockets.cuts == ["slow", "late"]
    assert desk.watching() == desk.watching(MIKA) == []
    assert not desk.sockets.sent


def test_a_batch_that_fails_is_told_again(desk: Desk) -> None:
    def fails() -> None:
        raise RuntimeError("a fault of ours")

    desk.over(Slow(fails))
    for name in ("slow", "a"):
        desk.connect(name, S1)
    desk.world.say("一")
    with pytest.raises(RuntimeError):
        desk.push()
    assert desk.sockets.said("a") == ["一"]
