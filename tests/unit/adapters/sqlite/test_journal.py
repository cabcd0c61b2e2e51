"""The journal shares its file with the queues: a turn and its message come and go together."""

from dataclasses import replace
from pathlib import Path

import pytest

from opencrab.domain.errors import Conflict
from opencrab.domain.turn.turn import Turn, TurnStatus
from opencrab.ports.home import Home
from opencrab.ports.turn.journal import AdmittedMessage, queue_message_of_turn
from opencrab.ports.turn.queue import Delivery
from tests.contract.example import (
    ENGLISH,
    JAPANESE,
    admission,
    ending,
    later,
    session,
    turn,
    utterance,
)
from tests.unit.adapters.sqlite.home import home


def message(number: int = 1, text: str = JAPANESE) -> AdmittedMessage:
    """A message whose turn is to be queued with it."""
    asked = turn(f"t{number}", group=f"m{number}")
    admitted = admission(asked, message_id=f"m{number}", text=text)
    return replace(admitted, messages=(queue_message_of_turn(asked),))


def taken(opened: Home) -> Delivery | None:
    return opened.turns.receive(visibility_seconds=30, wait_seconds=0)


def claimed(opened: Home, turn_id: str = "t1") -> Turn:
    delivery = taken(opened)
    assert delivery is not None
    assert turn_id in delivery.body
    found = opened.journal.claim(turn_id, lease_until=later(60), receipt=delivery.receipt)
    assert found is not None
    return found.turn


@pytest.mark.parametrize("text", [JAPANESE, ENGLISH])
def test_a_message_is_stored_and_queued_in_one_transaction(tmp_path: Path, text: str) -> None:
    with home(tmp_path) as (opened, database):
        opened.sessions.create(session())
        told = list[str]()
        database._writer.set_trace_callback(told.append)
        opened.journal.admit(message(text=text))
        assert told.count("COMMIT") == 1
        delivery = taken(opened)
        assert delivery is not None
        assert (delivery.body, delivery.group) == ('{"v":1,"turn":"t1"}', "s1")


def test_the_same_message_again_queues_nothing(tmp_path: Path) -> None:
    with home(tmp_path) as (opened, _):
        opened.sessions.create(session())
        assert opened.journal.admit(message()) == opened.journal.admit(message())
        assert taken(opened) is not None
        assert taken(opened) is None
        with pytest.raises(Conflict):
            opened.journal.admit(replace(message(), body_hash="another"))


def test_the_end_of_a_turn_takes_its_message_and_uncovers_the_next(tmp_path: Path) -> None:
    with home(tmp_path) as (opened, _):
        opened.sessions.create(session())
        opened.journal.admit(message(1))
        opened.journal.admit(message(2))
        first = claimed(opened)
        assert taken(opened) is None
        opened.journal.commit(ending(first, TurnStatus.COMPLETED))
        assert claimed(opened, "t2").receipt != first.receipt


def test_a_turn_with_something_to_send_keeps_its_session_until_that_is_sent(
    tmp_path: Path,
) -> None:
    with home(tmp_path) as (opened, _):
        opened.sessions.create(session())
        opened.journal.admit(message(1))
        opened.journal.admit(message(2))
        first = claimed(opened)
        opened.journal.commit(ending(first, utterances=(utterance(),)))
        assert taken(opened) is None
        assert first.receipt is not None
        opened.turns.acknowledge(first.receipt)
        assert claimed(opened, "t2").id == "t2"


def test_a_finished_delivery_is_acknowledged_without_a_transaction(tmp_path: Path) -> None:
    with home(tmp_path) as (opened, database):
        opened.sessions.create(session())
        opened.journal.admit(message())
        first = claimed(opened)
        opened.journal.commit(ending(first))
        told = list[str]()
        for connection in (database._writer, database._relaxed.connection):
            connection.set_trace_callback(told.append)
        assert first.receipt is not None
        opened.turns.acknowledge(first.receipt)
        assert told == []
