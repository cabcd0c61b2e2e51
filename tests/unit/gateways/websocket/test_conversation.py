"""Conversations of the local home: heard, told and ended by the same rules as anywhere."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from opencrab.domain.access.authority import Scope
from opencrab.domain.errors import Exhausted, Refused, Unauthenticated
from opencrab.engine.access.api_keys import create_api_key
from opencrab.engine.access.membership import let_principal_access_session, revoke_session_access
from opencrab.engine.conversation.key_holders import KEY_BELIEVED
from opencrab.engine.websocket.connections import (
    CONNECTION_LIVES,
    MOST_MESSAGES,
    MOST_WATCHED,
)
from opencrab.gateways.websocket.authentication import allowed_websocket_origins
from opencrab.gateways.websocket.conversation import Conversation, LocalTalk
from tests.contract.example import session
from tests.unit.engine.known_world import World, opened

SUBSCRIBE = '{"type":"subscribe","id":"1","session_id":"s1"}'


class Table:
    """A place to talk at, and a key."""

    def __init__(self, world: World) -> None:
        feed = world.runtime.home.feed
        assert feed is not None
        self.world = world
        self.talk = LocalTalk(world.runtime, feed, allowed_websocket_origins([]))
        self.secret, self.key = create_api_key(world.runtime, name="鍵", scope=Scope.CHAT)
        self.invite("s1")

    def invite(self, session_id: str) -> None:
        """Share a session with the holder of the key."""
        home = self.world.runtime.home
        let_principal_access_session(home.facts, home.keys, session_id, self.key.principal.id)

    def sit(self, **headers: str) -> Conversation:
        return self.talk.enter({"authorization": f"Bearer {self.secret}", **headers}, "")


@pytest.fixture
def table(tmp_path: Path) -> Iterator[Table]:
    with opened(tmp_path) as world:
        yield Table(world)


def deltas(events: Iterator[dict[str, Any]]) -> list[str]:
    return [event["delta"] for event in events if "delta" in event]


@pytest.mark.parametrize("text", ["こんにちは🦀", "hello"])
def test_the_past_follows_the_answer_and_the_present_follows_that(table: Table, text: str) -> None:
    table.world.say("前")
    conversation = table.sit()
    answer, past = conversation.handle_frame(SUBSCRIBE.replace("}", ',"after":0}'))
    assert (answer["subscribed"], past["delta"]) == (True, "前")
    table.world.say(text)
    assert deltas(conversation.new_events()) == [text]


def test_what_is_said_while_the_past_is_told_is_new(table: Table) -> None:
    for number in range(3):
        table.world.say(f"m{number}")
    conversation = table.sit()
    told = conversation.handle_frame(SUBSCRIBE.replace("}", ',"after":0}'))
    assert next(told)["subscribed"]
    table.world.say("秘密")
    assert deltas(told) == ["m0", "m1", "m2"]
    assert deltas(conversation.new_events()) == ["秘密"]


def test_what_was_returned_and_not_taken_is_withheld_within_a_minute(table: Table) -> None:
    revoked, uninvited = table.sit(), table.sit()
    home, told = table.world.runtime.home, list[Iterator[dict[str, Any]]]()
    for each in (revoked, uninvited):
        list(each.handle_frame(SUBSCRIBE))
        each.check_access()
    table.world.say("一")
    told = [revoked.new_events(), uninvited.new_events()]
    revoke_session_access(home.facts, "s1", table.key.principal.id)
    table.world.clock.advance(KEY_BELIEVED.total_seconds())
    with pytest.raises(Refused):
        uninvited.check_access()
    assert deltas(told[1]) == []
    home.keys.revoke(table.key.id, table.world.clock.now())
    table.world.clock.advance(KEY_BELIEVED.total_seconds())
    with pytest.raises(Unauthenticated):
        revoked.check_access()


def test_a_long_past_begins_with_a_gap(table: Table) -> None:
    for number in range(505):
        table.world.say(f"m{number}")
    answer, gap, *past = table.sit().handle_frame(SUBSCRIBE.replace("}", ',"after":0}'))
    assert answer["after"] == 5
    assert gap["value"] == {"after": 0, "before": 6}
    assert len(past) == 500


def test_one_client_is_told_nothing_of_what_another_watches(table: Table) -> None:
    watching, other = table.sit(), table.sit()
    list(watching.handle_frame(SUBSCRIBE))
    table.world.say("一")
    assert deltas(watching.new_events()) == ["一"]
    assert list(other.new_events()) == []


def test_a_flood_ends_it(table: Table) -> None:
    conversation = table.sit()
    for _ in range(MOST_MESSAGES):
        list(conversation.handle_frame("{"))
    with pytest.raises(Exhausted):
        conversation.handle_frame('{"type":"ping"}')
    table.world.clock.advance(10)
    assert next(conversation.handle_frame('{"type":"ping"}'))["type"] == "pong"


def test_a_revoked_key_ends_it_with_the_next_word_or_within_a_minute(table: Table) -> None:
    speaking, silent = table.sit(), table.sit()
    list(silent.handle_frame(SUBSCRIBE))
    table.world.runtime.home.keys.revoke(table.key.id, table.world.clock.now())
    with pytest.raises(Unauthenticated):
        speaking.handle_frame('{"type":"ping"}')
    table.world.say("秘密")
    table.world.clock.advance(KEY_BELIEVED.total_seconds())
    with pytest.raises(Unauthenticated):
        silent.new_events()


def test_a_session_that_is_no_longer_shared_is_told_no_more_within_a_minute(table: Table) -> None:
    conversation = table.sit()
    list(conversation.handle_frame(SUBSCRIBE))
    home = table.world.runtime.home
    revoke_session_access(home.facts, "s1", table.key.principal.id)
    table.world.clock.advance(KEY_BELIEVED.total_seconds())
    table.world.say("秘密")
    assert not list(conversation.new_events())
    for frame in (
        SUBSCRIBE,
        SUBSCRIBE.replace("subscribe", "message").replace("}", ',"text":"x"}'),
    ):
        (answer,) = conversation.handle_frame(frame)
        assert answer["code"] == "not-found", answer


def test_a_chat_key_watches_sessions_and_no_agent(table: Table) -> None:
    (answer,) = table.sit().handle_frame('{"type":"subscribe","id":"1","agent_id":"mika"}')
    assert answer["code"] == "refused"


def test_what_is_wrong_with_a_frame_is_told_in_the_language_of_the_connection(
    table: Table,
) -> None:
    (english,) = table.sit().handle_frame('{"type":"?","id":"a"}')
    (japanese,) = table.sit(**{"accept-language": "ja"}).handle_frame('{"type":"?","id":"a"}')
    assert english.pop("message") == "the type is missing or unknown"
    assert japanese.pop("message") == "type がないか、不明です"
    assert english.pop("cure") != japanese.pop("cure")
    assert japanese == english == {"type": "error", "id": "a", "code": "invalid", "field": "type"}


def test_two_hours_end_it(table: Table) -> None:
    conversation = table.sit()
    table.world.clock.advance(CONNECTION_LIVES.total_seconds() - 1)
    assert list(conversation.new_events()) == []
    table.world.clock.advance(1)
    with pytest.raises(Unauthenticated, match="two hours"):
        conversation.new_events()


def test_one_conversation_watches_at_most_fifty_things(table: Table) -> None:
    conversation = table.sit()
    for number in range(MOST_WATCHED + 1):
        name = f"n{number}"
        table.world.runtime.home.sessions.create(session(name))
        table.invite(name)
        (answer,) = conversation.handle_frame(SUBSCRIBE.replace("s1", name))
        assert answer["type"] == ("answer" if number < MOST_WATCHED else "error")
        table.world.clock.advance(1)


def test_nobody_sits_down_without_a_key_or_from_a_foreign_page(table: Table) -> None:
    with pytest.raises(Unauthenticated):
        table.talk.enter({}, "")
    headers = {"authorization": f"Bearer {table.secret}", "origin": "https://evil.example"}
    with pytest.raises(Refused):
        table.talk.enter(headers, "")
