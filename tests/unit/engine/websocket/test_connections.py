"""Connections and tickets as facts, in both homes: one use, one owner, and an end of their own."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Barrier, Event
from typing import Any

import pytest

from opencrab.adapters.system_clock import FakeClock
from opencrab.bootstrap.consequences import CONSEQUENCES
from opencrab.bootstrap.jobs import JOBS
from opencrab.domain.access.authority import Authority, Scope, Source
from opencrab.domain.access.principal import ApiKey
from opencrab.domain.conversation.message import LineKind, Message, Sender, TextPart
from opencrab.domain.document import INSTALLATION_FACTS
from opencrab.domain.errors import (
    Exhausted,
    NotFound,
    Refused,
    Unauthenticated,
    Unavailable,
)
from opencrab.domain.identifier import content_hash
from opencrab.engine.access.api_keys import create_api_key
from opencrab.engine.conversation.key_holders import KEY_BELIEVED, KeyHolders
from opencrab.engine.conversation.live import VisibleKinds, WatchTarget
from opencrab.engine.runtime import Runtime
from opencrab.engine.turn.admission import admit_turns_of_message
from opencrab.engine.websocket import connections
from opencrab.engine.websocket.connections import (
    CONNECTION,
    CONNECTION_LIVES,
    MOST_MESSAGES,
    MOST_OPENED,
    MOST_WATCHED,
    PAUSES,
    TICKET,
    WINDOW_SECONDS,
    Flooding,
)
from tests.contract.example import NOW, profile, session
from tests.contract.homes import DISTINCT_HOMES, OpenHome
from tests.unit.engine.known_world import NoModels
from tests.unit.gateways.websocket.connected import Contested

S1, S2 = (WatchTarget(kind="session", id=each) for each in ("s1", "s2"))
HANA = WatchTarget(kind="agent", id="hana")
ODD = "BFHPhfCWIAMCKlQ="
"""A connection's id as API Gateway makes them."""


class Nobody:
    """No actions at all."""


class Place:
    """An installation with two sessions, and a key to it."""

    def __init__(self, runtime: Runtime, clock: FakeClock) -> None:
        self.runtime, self.clock = runtime, clock
        runtime.home.agents.create(profile())
        for name in ("s1", "s2"):
            runtime.home.sessions.create(session(name))
        self.secret, self.made = self.key(Scope.CHAT)
        self.hash = self.made.hash

    def key(self, scope: Scope) -> tuple[str, ApiKey]:
        return create_api_key(self.runtime, name=f"{scope} 鍵", scope=scope)

    def contested(self, times: int) -> Runtime:
        """The installation where so many writes come too late."""
        home: Any = self.runtime.home
        return replace(self.runtime, home=replace(home, facts=Contested(home.facts, times)))

    def say(self, *texts: str) -> None:
        for text in texts:
            message = Message(
                source=Source.REST,
                source_id=text,
                principal_id="taro",
                sender=Sender(id="taro", name="太郎"),
                authority=Authority.USER,
                parts=(TextPart(text=text),),
            )
            admit_turns_of_message(self.runtime, "s1", message)

    def watch(
        self, watched: WatchTarget, connection_id: str = ODD, after: int | None = None
    ) -> int:
        sight = VisibleKinds()
        return connections.start_websocket_watch(
            self.runtime, connection_id, watched, sight, after
        ).place

    def told(self, connection_id: str = ODD) -> list[str]:
        (fact,) = [
            each
            for each in connections.websocket_watchers(self.runtime, S1)
            if connections.websocket_connection_id(each) == connection_id
        ]
        return [
            line.text
            for line in connections.claim_lines_for_websocket(self.runtime.home, "s1", fact)
        ]


@pytest.fixture(params=DISTINCT_HOMES, ids=lambda opens: opens.__name__)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    clock, opens = FakeClock(NOW), request.param
    open_sqlite_home: OpenHome = opens
    with open_sqlite_home(tmp_path, clock) as home:
        actions: Any = Nobody()
        runtime = Runtime(home, clock, NoModels(), actions, consequences=CONSEQUENCES, jobs=JOBS)
        yield Place(runtime, clock)


def test_a_ticket_is_used_once_and_is_kept_as_a_hash(place: Place) -> None:
    ticket, _ = connections.issue_websocket_ticket(place.runtime, place.hash)
    stored = place.runtime.home.facts.page(INSTALLATION_FACTS, TICKET)
    assert ticket not in str(stored)
    assert place.secret not in str(stored)
    assert connections.redeem_websocket_ticket(place.runtime, ticket) == place.hash
    with pytest.raises(Unauthenticated):
        connections.redeem_websocket_ticket(place.runtime, ticket)
    assert not place.runtime.home.facts.page(INSTALLATION_FACTS, TICKET)


def test_a_ticket_lapses_after_a_minute(place: Place) -> None:
    ticket, expires = connections.issue_websocket_ticket(place.runtime, place.hash)
    assert (expires - NOW).total_seconds() == 60
    place.clock.advance(60)
    with pytest.raises(Unauthenticated):
        connections.redeem_websocket_ticket(place.runtime, ticket)


@pytest.mark.parametrize("made_up", ["", "x", "秘密の切符", content_hash(b"x")])
def test_a_ticket_cannot_be_made_up(place: Place, made_up: str) -> None:
    connections.issue_websocket_ticket(place.runtime, place.hash)
    with pytest.raises(Unauthenticated):
        connections.redeem_websocket_ticket(place.runtime, made_up)


def test_two_who_use_one_ticket_at_once_are_one(place: Place) -> None:
    ticket, _ = connections.issue_websocket_ticket(place.runtime, place.hash)
    fact = place.runtime.home.facts.get(INSTALLATION_FACTS, TICKET, content_hash(ticket.encode()))
    assert fact is not None
    place.runtime.home.facts.commit(fact.with_body(fact.read(connections.ConnectionTicket)))
    place.runtime.home.facts.commit(fact.replaced(version=3, body=None))
    with pytest.raises(Unauthenticated):
        connections.redeem_websocket_ticket(place.runtime, ticket)


def test_a_connection_knows_who_opened_it(place: Place) -> None:
    principal = connections.open_websocket_connection(place.runtime, ODD, place.hash)
    assert connections.count_websocket_connection_message(place.runtime, ODD) == principal
    assert (principal.id, principal.scope) == (place.made.id, Scope.CHAT)
    connections.open_websocket_connection(place.runtime, ODD, place.hash)


def test_nobody_is_heard_over_a_connection_that_nobody_opened(place: Place) -> None:
    connections.open_websocket_connection(place.runtime, ODD, place.hash)
    for other in ("another", "BFHPhfCWIAMCKlQ"):
        with pytest.raises(Unauthenticated):
            connections.count_websocket_connection_message(place.runtime, other)
        with pytest.raises(Unauthenticated):
            place.watch(S1, other)


def test_a_revoked_key_is_heard_no_more_and_believed_no_longer_than_a_minute(place: Place) -> None:
    connections.open_websocket_connection(place.runtime, ODD, place.hash)
    holders = KeyHolders(place.runtime)
    assert holders.get(place.hash).id == place.made.id
    place.runtime.home.keys.revoke(place.made.id, NOW)
    with pytest.raises(Unauthenticated):
        connections.count_websocket_connection_message(place.runtime, ODD)
    assert holders.get(place.hash).id == place.made.id
    place.clock.advance(KEY_BELIEVED.total_seconds())
    assert KEY_BELIEVED.total_seconds() <= 60
    for _ in range(2):
        with pytest.raises(Unauthenticated):
            holders.get(place.hash)
    with pytest.raises(Unauthenticated):
        connections.open_websocket_connection(place.runtime, "later", place.hash)


def test_a_connection_is_over_after_two_hours(place: Place) -> None:
    connections.open_websocket_connection(place.runtime, ODD, place.hash)
    place.watch(S1)
    place.clock.advance(CONNECTION_LIVES.total_seconds())
    with pytest.raises(Unauthenticated):
        connections.count_websocket_connection_message(place.runtime, ODD)
    assert not list(connections.websocket_watchers(place.runtime, S1))


def test_a_flood_is_noticed_and_time_lets_somebody_speak_again(place: Place) -> None:
    connections.open_websocket_connection(place.runtime, ODD, place.hash)
    for _ in range(MOST_MESSAGES):
        connections.count_websocket_connection_message(place.runtime, ODD)
    with pytest.raises(Flooding):
        connections.count_websocket_connection_message(place.runtime, ODD)
    place.clock.advance(WINDOW_SECONDS)
    connections.count_websocket_connection_message(place.runtime, ODD)


def test_a_watcher_is_told_each_line_once(place: Place) -> None:
    connections.open_websocket_connection(place.runtime, ODD, place.hash)
    place.say("一", "二")
    assert place.watch(S1, after=1) == 1
    assert place.told() == ["二"]
    assert place.told() == []
    place.say("三", "four")
    assert place.told() == ["三", "four"]


def test_of_two_functions_that_tell_one_watcher_each_line_is_told_by_one(place: Place) -> None:
    connections.open_websocket_connection(place.runtime, ODD, place.hash)
    place.watch(S1)
    place.say("一")
    (stale,) = connections.websocket_watchers(place.runtime, S1)
    assert place.told() == ["一"]
    assert not list(connections.claim_lines_for_websocket(place.runtime.home, "s1", stale))
    place.say("二")
    told = connections.claim_lines_for_websocket(place.runtime.home, "s1", stale)
    assert [line.text for line in told] == ["二"]


def test_hidden_lines_are_not_told(place: Place) -> None:
    connections.open_websocket_connection(place.runtime, ODD, place.hash)
    sight = VisibleKinds(kinds=frozenset({LineKind.APPROVAL}))
    connections.start_websocket_watch(place.runtime, ODD, S1, sight, 0)
    place.say("一")
    assert place.told() == []


def test_a_long_past_is_told_whole_however_many_reads_that_takes(place: Place) -> None:
    connections.open_websocket_connection(place.runtime, ODD, place.hash)
    texts = [f"{number}番" for number in range(102)]
    place.say(*texts)
    place.watch(S1, after=0)
    assert place.told() == texts


def test_whoever_closes_is_forgotten_with_all_that_they_watched(place: Place) -> None:
    for connection_id in (ODD, "other"):
        connections.open_websocket_connection(place.runtime, connection_id, place.hash)
        for watched in (S1, S2, HANA):
            place.watch(watched, connection_id)
    connections.close_websocket_connection(place.runtime.home.facts, ODD)
    for watched in (S1, S2, HANA):
        (left,) = connections.websocket_watchers(place.runtime, watched)
        assert connections.websocket_connection_id(left) == "other"
    connections.close_websocket_connection(place.runtime.home.facts, ODD)
    facts = place.runtime.home.facts.page(INSTALLATION_FACTS, CONNECTION)
    assert [connections.websocket_connection_id(fact) for fact in facts] == ["other"]


def test_unwatching_ends_one_and_leaves_the_rest(place: Place) -> None:
    connections.open_websocket_connection(place.runtime, ODD, place.hash)
    place.watch(S1)
    place.watch(S2)
    assert connections.end_websocket_watch(place.runtime, ODD, S1)
    assert not connections.end_websocket_watch(place.runtime, ODD, S1)
    assert not list(connections.websocket_watchers(place.runtime, S1))
    assert len(list(connections.websocket_watchers(place.runtime, S2))) == 1


def test_a_connection_watches_at_most_fifty_things_and_each_of_them_once(place: Place) -> None:
    connections.open_websocket_connection(place.runtime, ODD, place.hash)
    for number in range(MOST_WATCHED):
        place.runtime.home.sessions.create(session(f"n{number}"))
        place.watch(WatchTarget(kind="session", id=f"n{number}"))
    place.watch(WatchTarget(kind="session", id="n0"))
    with pytest.raises(Refused):
        place.watch(S1)
    assert not list(connections.websocket_watchers(place.runtime, S1))
    connections.close_websocket_connection(place.runtime.home.facts, ODD)
    assert not list(
        connections.websocket_watchers(place.runtime, WatchTarget(kind="session", id="n49"))
    )


def test_what_does_not_exist_is_not_watched(place: Place) -> None:
    connections.open_websocket_connection(place.runtime, ODD, place.hash)
    with pytest.raises(NotFound):
        place.watch(WatchTarget(kind="session", id="nothing"))


def test_whoever_meets_others_waits_a_little_and_is_heard(place: Place) -> None:
    connections.open_websocket_connection(place.runtime, ODD, place.hash)
    for times in (5, len(PAUSES)):
        pauses: list[float] = []
        runtime = place.contested(times)
        assert (
            connections.count_websocket_connection_message(runtime, ODD, pauses.append).id
            == place.made.id
        )
        assert len(pauses) == times
        assert all(most / 2 <= each < most for each, most in zip(pauses, PAUSES, strict=False))
        assert len({each / most for each, most in zip(pauses, PAUSES, strict=False)}) > 1
    assert 1.0 < sum(PAUSES) < 2.5


def test_whoever_meets_too_many_others_is_no_flooder(place: Place) -> None:
    connections.open_websocket_connection(place.runtime, ODD, place.hash)
    for ask in (
        lambda runtime: connections.count_websocket_connection_message(runtime, ODD),
        lambda runtime: connections.start_websocket_watch(runtime, ODD, S1, VisibleKinds(), None),
        lambda runtime: connections.end_websocket_watch(runtime, ODD, S1),
    ):
        with pytest.raises(Unavailable):
            ask(place.contested(len(PAUSES) + 1))
    assert connections.count_websocket_connection_message(place.runtime, ODD).id == place.made.id


def test_all_who_say_something_at_once_are_heard_and_watch(place: Place) -> None:
    connections.open_websocket_connection(place.runtime, ODD, place.hash)
    names = [f"n{number}" for number in range(12)]
    for name in names:
        place.runtime.home.sessions.create(session(name))
    together = Barrier(len(names))

    def subscribe(name: str) -> None:
        together.wait(60)
        connections.count_websocket_connection_message(place.runtime, ODD, Event().wait)
        watched = WatchTarget(kind="session", id=name)
        connections.start_websocket_watch(
            place.runtime, ODD, watched, VisibleKinds(), None, pause=Event().wait
        )

    with ThreadPoolExecutor(len(names)) as pool:
        list(pool.map(subscribe, names))
    (stored,) = place.runtime.home.facts.page(INSTALLATION_FACTS, CONNECTION)
    connection = stored.read(connections.Connection)
    assert connection.said == len(names)
    assert sorted(watched.id for watched in connection.watches) == sorted(names)


def test_a_key_opens_so_many_connections_and_another_when_one_is_closed(place: Place) -> None:
    for number in range(MOST_OPENED):
        connections.open_websocket_connection(place.runtime, f"c{number}", place.hash)
    connections.open_websocket_connection(place.runtime, "c0", place.hash)
    with pytest.raises(Exhausted):
        connections.open_websocket_connection(place.runtime, "more", place.hash)
    connections.open_websocket_connection(place.runtime, "another", place.key(Scope.READ)[1].hash)
    connections.close_websocket_connection(place.runtime.home.facts, "c3")
    connections.open_websocket_connection(place.runtime, "more", place.hash)
    place.clock.advance(CONNECTION_LIVES.total_seconds())
    connections.open_websocket_connection(place.runtime, "later", place.hash)
