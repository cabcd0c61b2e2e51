"""Utterances: speech on its way, by name and state."""

from datetime import UTC, datetime

import pytest

from opencrab.domain.conversation.message import Channel
from opencrab.domain.conversation.utterance import DeliveryState, Utterance

NOW = datetime(2026, 2, 17, 9, 0, tzinfo=UTC)


def utterance(ordinal: int, text: str = "やあ") -> Utterance:
    return Utterance(
        channel=Channel(kind="webhook", address="https://example.com"),
        turn_id="t1",
        ordinal=ordinal,
        agent_id="mika",
        session_id="s1",
        text=text,
        nonce="n",
        created_at=NOW,
        updated_at=NOW,
    )


def test_utterances_of_a_turn_sort_as_they_were_spoken() -> None:
    keys = [utterance(ordinal).key for ordinal in (0, 1, 9, 10, 200)]
    assert keys == sorted(keys)
    assert keys[0] == "t1#0000"


def test_an_utterance_is_on_its_way_until_it_was_sent_failed_or_nobody_knows() -> None:
    under_way = {state for state in DeliveryState if not state.is_end}
    assert under_way == {DeliveryState.QUEUED, DeliveryState.SENDING}


@pytest.mark.parametrize("text", ["こんにちは 🦀", "Hello"])
def test_an_utterance_comes_back_from_its_stored_form(text: str) -> None:
    spoken = utterance(1, text)
    assert Utterance.model_validate_json(spoken.model_dump_json()) == spoken
