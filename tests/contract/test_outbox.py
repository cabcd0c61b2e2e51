"""Outbox: utterances are put by the journal and moved on by whoever delivers them."""

import pytest

from opencrab.domain.conversation.message import DeliveryState, Utterance
from opencrab.domain.errors import NotFound
from opencrab.ports.home import Home
from tests.contract.example import (
    CHANNEL,
    ENGLISH,
    JAPANESE,
    later,
    result,
    running,
    step,
    utterance,
)
from tests.contract.waiting import at_once, eventually

TARGET = CHANNEL.target


def put(home: Home, *utterances: Utterance) -> None:
    home.journal.commit(step(running(home), result(), utterances=utterances))


def unsent(home: Home, seconds: float = 1_000, limit: int = 10) -> list[int]:
    return [found.ordinal for found in home.outbox.list_unsent(later(seconds), limit)]


@pytest.mark.parametrize("text", [JAPANESE, ENGLISH])
def test_an_utterance_comes_back_as_it_was_put(home: Home, text: str) -> None:
    put(home, utterance(1, text))
    assert home.outbox.get(TARGET, "t1#0001") == utterance(1, text)


def test_an_unknown_utterance_is_not_found(home: Home) -> None:
    put(home, utterance(1))
    for target, key in ((TARGET, "t1#0002"), ("discord:elsewhere", "t1#0001")):
        with pytest.raises(NotFound):
            home.outbox.get(target, key)


def test_an_utterance_moves_on_from_the_expected_state(home: Home) -> None:
    put(home, utterance(1))
    sending = utterance(1, state=DeliveryState.SENDING, attempts=1, updated_at=later(5))
    assert home.outbox.mark(sending, DeliveryState.QUEUED)
    assert home.outbox.get(TARGET, "t1#0001") == sending
    sent = sending.replaced(state=DeliveryState.SENT, updated_at=later(6))
    assert home.outbox.mark(sent, DeliveryState.SENDING)
    assert home.outbox.get(TARGET, "t1#0001") == sent


def test_an_utterance_in_another_state_is_left_alone(home: Home) -> None:
    put(home, utterance(1))
    sent = utterance(1, state=DeliveryState.SENT)
    assert not home.outbox.mark(sent, DeliveryState.SENDING)
    assert home.outbox.get(TARGET, "t1#0001") == utterance(1)


@pytest.mark.parametrize("state", [DeliveryState.SENDING, DeliveryState.INDETERMINATE])
def test_an_utterance_whose_sender_is_at_a_later_piece_is_left_to_it(
    home: Home, state: DeliveryState
) -> None:
    put(home, utterance(1))
    first = utterance(1, state=DeliveryState.SENDING, attempts=1)
    second = first.replaced(piece=1, updated_at=later(5))
    assert home.outbox.mark(first, DeliveryState.QUEUED)
    assert home.outbox.mark(second, DeliveryState.SENDING)
    assert not home.outbox.mark(first.replaced(state=state), DeliveryState.SENDING)
    assert home.outbox.get(TARGET, "t1#0001") == second
    assert home.outbox.mark(second.replaced(state=state), DeliveryState.SENDING)


def test_an_unknown_utterance_is_not_marked(home: Home) -> None:
    assert not home.outbox.mark(utterance(9), DeliveryState.QUEUED)
    with pytest.raises(NotFound):
        home.outbox.get(TARGET, "t1#0009")


def test_of_eight_who_want_to_send_at_once_one_may(home: Home) -> None:
    put(home, utterance(1))
    sending = utterance(1, state=DeliveryState.SENDING, attempts=1)
    allowed = at_once(8, lambda _: home.outbox.mark(sending, DeliveryState.QUEUED))
    assert allowed.count(True) == 1


def test_unsent_utterances_come_oldest_first_and_no_more_than_asked_for(home: Home) -> None:
    seconds = {1: 30, 2: 10, 3: 40, 4: 20}
    put(home, *(utterance(number, updated_at=later(at)) for number, at in seconds.items()))
    eventually(lambda: unsent(home), [2, 4, 1, 3])
    assert unsent(home, limit=2) == [2, 4]
    assert unsent(home, seconds=25) == [2, 4]


def test_an_utterance_touched_just_now_is_left_to_its_sender(home: Home) -> None:
    put(home, utterance(1))
    sending = utterance(1, state=DeliveryState.SENDING, updated_at=later(60))
    home.outbox.mark(sending, DeliveryState.QUEUED)
    eventually(lambda: unsent(home, seconds=59), [])
    eventually(lambda: unsent(home, seconds=61), [1])


@pytest.mark.parametrize("state", [state for state in DeliveryState if state.is_end])
def test_an_utterance_at_its_end_is_no_longer_unsent(home: Home, state: DeliveryState) -> None:
    put(home, utterance(1))
    home.outbox.mark(utterance(1, state=state, error="届かない"), DeliveryState.QUEUED)
    eventually(lambda: unsent(home), [])
    assert home.outbox.get(TARGET, "t1#0001").error == "届かない"
