"""What a turn says last fits one message, and what of it operators find in its header."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.domain.conversation.message import TextPart
from opencrab.domain.turn.turn import TurnStatus
from opencrab.domain.value import MESSAGE_BYTES
from opencrab.engine.turn.close import close_turn, truncate_turn_message
from tests.unit.engine.known_world import World


@pytest.mark.parametrize(
    "text", ["", "やあ", "hi", "x" * MESSAGE_BYTES, "海" * (MESSAGE_BYTES // 3)]
)
def test_what_fits_is_said_as_it_is(text: str) -> None:
    assert truncate_turn_message(text) == text


@given(
    character=st.sampled_from("xé海🦀"),
    more=st.integers(1, 50),
    shift=st.integers(0, 4),
)
def test_what_is_too_long_is_cut_at_a_character_and_says_so(
    character: str, more: int, shift: int
) -> None:
    text = "x" * shift + character * (MESSAGE_BYTES // len(character.encode()) + more)
    cut = truncate_turn_message(text)
    assert cut.endswith(" […]")
    assert text.startswith(cut.removesuffix(" […]"))
    assert MESSAGE_BYTES - 24 < len(cut.encode()) <= MESSAGE_BYTES
    assert TextPart(text=cut).text == cut


@pytest.mark.parametrize(
    ("said", "note"),
    [
        ({"notice": "止めました"}, "止めました"),
        ({"notice": "Stopped", "note": "frozen by owner"}, "frozen by owner"),
        ({"speech": "はい"}, ""),
    ],
)
def test_operators_find_what_was_noted_else_what_was_said_in_the_agents_place(
    world: World, said: dict[str, Any], note: str
) -> None:
    work = world.begun()
    close_turn(work, TurnStatus.STOPPED, **said)
    stored = world.runtime.home.journal.header(work.turn.id)
    assert (stored.status, stored.note) == (TurnStatus.STOPPED, note)
    assert world.runtime.home.journal.lines("s1")[-1].text == (said.get("notice") or said["speech"])
