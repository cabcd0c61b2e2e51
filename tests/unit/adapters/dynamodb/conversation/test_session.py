"""What a process saw of sessions: the newest look, of the sessions that it used last."""

import threading

import pytest

from opencrab.adapters.dynamodb.conversation.session import (
    CountedSession,
    SessionCache,
    session_from_dynamodb_item,
    session_to_dynamodb_item,
)
from opencrab.domain.conversation.session import SessionChange, SessionStatus
from opencrab.domain.errors import Conflict
from tests.bench.units import item_bytes
from tests.contract.example import NOW, later, session
from tests.unit.adapters.dynamodb.wire import Dynamo


def counted(session_id: str = "s1", *, lines: int = 0, version: int = 1) -> CountedSession:
    return CountedSession(session(session_id), lines, version)


def test_a_session_never_seen_is_not_guessed() -> None:
    assert SessionCache().guess("s1") is None


def test_the_newest_look_is_the_guess() -> None:
    seen = SessionCache()
    seen.note(counted(lines=1, version=2))
    seen.note(counted(lines=4, version=5))
    assert seen.guess("s1") == counted(lines=4, version=5)


def test_an_older_look_does_not_replace_a_newer_one() -> None:
    seen = SessionCache()
    seen.note(counted(lines=4, version=5))
    older = counted(lines=1, version=2)
    assert seen.note(older) == older
    assert seen.guess("s1") == counted(lines=4, version=5)


def test_only_the_sessions_noted_last_are_kept() -> None:
    seen = SessionCache(capacity=2)
    for name in ("s1", "s2", "s1", "s3"):
        seen.note(counted(name))
    assert [seen.guess(name) is not None for name in ("s1", "s2", "s3")] == [True, False, True]


def test_an_old_look_keeps_its_session_among_the_last() -> None:
    seen = SessionCache(capacity=2)
    for name, version in (("s1", 5), ("s2", 1), ("s1", 2), ("s3", 1)):
        seen.note(counted(name, version=version))
    assert seen.guess("s1") == counted(version=5)
    assert seen.guess("s2") is None


def test_many_threads_note_and_guess_together() -> None:
    seen = SessionCache(capacity=3)

    def note(thread: int) -> None:
        for version in range(200):
            seen.note(counted(f"s{(thread + version) % 5}", version=version))
            guess = seen.guess(f"s{thread}")
            assert guess is None or guess.session.id == f"s{thread}"

    threads = [threading.Thread(target=note, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sum(seen.guess(f"s{number}") is not None for number in range(5)) == 3


def test_a_session_comes_back_with_its_counters() -> None:
    known = CountedSession(
        session().after_turn(SessionChange(agent_id="hana", spoke_at=NOW), NOW), 7, 9
    )
    assert session_from_dynamodb_item(session_to_dynamodb_item(known)) == known


def test_a_session_that_others_change_is_ended_all_the_same(dynamo: Dynamo) -> None:
    dynamo.stores.sessions.create(session())
    dynamo.wire.before("UpdateItem", lambda: dynamo.others.sessions.end("s1", later(1)))
    ended = dynamo.stores.sessions.end("s1", later(2))
    assert ended.status is SessionStatus.ENDED
    assert ended.updated_at == later(1), "the first end stays"
    assert dynamo.others.sessions.get("s1") == ended


def test_two_who_create_one_session_have_the_same(dynamo: Dynamo) -> None:
    dynamo.wire.before("PutItem", lambda: dynamo.others.sessions.create(session()))
    made = dynamo.stores.sessions.create(session().replaced(created_at=later(1)))
    assert made == session()
    with pytest.raises(Conflict):
        dynamo.stores.sessions.create(session("s1", "ken"))


@pytest.mark.parametrize("agents", [1, 2, 3])
def test_a_session_of_three_agents_fits_into_one_write_unit(agents: int) -> None:
    names = [f"01kh2m6z7f3w9x0yq4c8e5rt{number:02d}" for number in range(agents)]
    spoken = {"turns": 250, "speeches": 240, "characters": 24_000, "last_turn": 700}
    held = session("01kh2m6z7f3w9x0yq4c8e5rtvb", *names, name="朝の会")
    seats = tuple(
        each.replaced(last_speech_at=later(1.123456), last_speech=700, **spoken)
        for each in held.participants
    )
    held = held.replaced(participants=seats, turn_number=750, spent_micro_usd=1_234_567)
    item = session_to_dynamodb_item(CountedSession(held, 2_000, 2_500))
    assert item_bytes(item) <= 1_024
    assert session_from_dynamodb_item(item).session == held


def test_a_session_that_the_release_before_stored_with_its_defaults_is_read() -> None:
    item = session_to_dynamodb_item(counted())
    whole = item | {"body": {"S": session().to_stored()}}
    assert len(whole["body"]["S"]) > len(item["body"]["S"])
    assert session_from_dynamodb_item(whole) == session_from_dynamodb_item(item) == counted()
