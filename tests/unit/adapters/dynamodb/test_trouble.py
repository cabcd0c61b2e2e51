"""The table in trouble: crowded, half expired, written by newer code, answered twice or never."""

import pytest

from opencrab.adapters.dynamodb.conversation import session as sessions
from opencrab.adapters.dynamodb.item import to_dynamodb_attribute
from opencrab.adapters.dynamodb.table import delete_dynamodb_item, put_item
from opencrab.adapters.dynamodb.turn import header as headers
from opencrab.domain.conversation.message import Channel, DeliveryState
from opencrab.domain.errors import Conflict, NotFound
from opencrab.domain.turn.turn import Turn, TurnStatus
from tests.contract.example import (
    JAPANESE,
    NOW,
    admission,
    ending,
    intent,
    later,
    line,
    result,
    session,
    step,
    turn,
    utterance,
)
from tests.unit.adapters.dynamodb.wire import CONFLICT, NONE, Dynamo, cancels

TRANSACT = "TransactWriteItems"


@pytest.fixture
def home(dynamo: Dynamo) -> Dynamo:
    """A table with one session that this process has seen."""
    dynamo.stores.sessions.create(session())
    return dynamo


def say(home: Dynamo, number: int) -> Turn:
    """A message by another process."""
    asked = admission(turn(f"t{number}"), message_id=f"m{number}", text=JAPANESE)
    return home.others.journal.admit(asked)[0]


def running(home: Dynamo) -> Turn:
    """A turn in the hands of a worker of this process."""
    home.stores.journal.admit(admission())
    found = home.stores.journal.claim("t1", lease_until=later(120), receipt="r")
    assert found is not None
    return found.turn


def test_a_paid_answer_is_kept_however_crowded_its_session_is(home: Dynamo) -> None:
    current = running(home)
    crowd = range(2, sessions.ATTEMPTS + 7)
    home.wire.before(TRANSACT, *[lambda number=number: say(home, number) for number in crowd])
    home.stores.journal.commit(ending(current, lines=(line(),)))
    assert home.stores.journal.header("t1").status is TurnStatus.COMPLETED
    places = [one.sequence for one in home.stores.journal.lines("s1")]
    assert places == list(range(1, sessions.ATTEMPTS + 8))
    assert home.pauses


def test_a_line_that_was_in_the_way_does_not_take_the_turn_away(home: Dynamo) -> None:
    """The guess is one line behind while a third append is on its way: both say no at once."""
    current = running(home)
    say(home, 2)
    mixed = cancels(NONE, CONFLICT, ("ConditionalCheckFailed", "", None))
    home.fails(mixed)
    change = step(current, lines=(line(),))
    home.stores.journal.commit(change)
    assert [one.sequence for one in home.stores.journal.lines("s1")] == [1, 2, 3]


def test_a_turn_does_not_go_on_without_what_it_did(home: Dynamo) -> None:
    current = home.stores.journal.commit(step(running(home), intent()))
    home.stores.journal.commit(step(current, result()))
    home.table.write(delete_dynamodb_item(headers.dynamodb_turn_partition("t1"), "0001R"))
    home.table.write(delete_dynamodb_item(headers.dynamodb_turn_partition("t1"), "0001I"))
    with pytest.raises(NotFound, match="expired"):
        home.stores.journal.claim("t1", lease_until=later(120), receipt="r2")


def test_what_newer_code_wrote_does_not_stop_the_sweep(home: Dynamo) -> None:
    for number in (1, 2):
        say(home, number)
    newer = headers.turn_to_dynamodb_item(home.stores.journal.header("t1")) | {
        "schema": to_dynamodb_attribute(99)
    }
    home.table.write(put_item(newer))
    assert [one.id for one in home.stores.journal.list_overdue(later(600), 10)] == ["t2"]


def test_a_turn_that_ended_after_it_was_listed_does_not_stop_the_sweep(home: Dynamo) -> None:
    current = running(home)
    say(home, 2)
    home.wire.before("BatchGetItem", lambda: home.others.journal.commit(ending(current)))
    assert [one.id for one in home.stores.journal.list_overdue(later(600), 10)] == ["t2"]
    assert home.stores.journal.header("t1").status is TurnStatus.COMPLETED


def test_a_claim_whose_answer_was_lost_counts_once(home: Dynamo) -> None:
    home.stores.journal.admit(admission())
    for _ in range(2):
        found = home.stores.journal.claim("t1", lease_until=later(120), receipt="r")
        assert found is not None
        assert (found.turn.epoch, found.turn.deliveries) == (1, 1)
    again = home.stores.journal.claim("t1", lease_until=later(120), receipt="another")
    assert again is not None
    assert again.turn.epoch == 2


def test_a_message_whose_turns_have_expired_is_a_conflict(home: Dynamo) -> None:
    home.stores.journal.admit(admission())
    home.table.write(delete_dynamodb_item(headers.dynamodb_turn_partition("t1"), headers.HEADER))
    with pytest.raises(Conflict, match="turns have expired"):
        home.stores.journal.admit(admission())


def test_an_answer_too_large_to_remember_is_not_remembered(home: Dynamo) -> None:
    store = home.stores.idempotency
    assert store.begin("k", "hash", NOW) is None
    store.finish("k", 201, "海" * 200_000)
    known = store.begin("k", "hash", NOW)
    assert known is not None
    assert known.body is None


@pytest.mark.parametrize("address", ["🦀" * 500, "general"])
def test_speech_for_an_address_of_any_length_can_be_kept(home: Dynamo, address: str) -> None:
    channel = Channel(kind="wall", address=address)
    said = utterance(1).replaced(channel=channel)
    current = running(home)
    home.stores.journal.commit(ending(current, utterances=(said,)))
    assert home.stores.outbox.get(channel.target, said.key) == said
    sending = said.replaced(state=DeliveryState.SENDING)
    assert home.stores.outbox.mark(sending, DeliveryState.QUEUED)
