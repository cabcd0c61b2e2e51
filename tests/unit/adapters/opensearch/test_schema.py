"""Names of indexes, and rows as documents."""

from dataclasses import replace
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.adapters.opensearch.schema import (
    opensearch_document_of_row,
    opensearch_index_body,
    opensearch_index_made_at,
    opensearch_index_name,
    opensearch_row_id,
    place_opensearch_row,
    row_of_opensearch_document,
)
from opencrab.adapters.opensearch.terms import opensearch_index_text
from opencrab.domain.conversation.session import Hearing
from opencrab.domain.errors import Invalid
from opencrab.domain.memory.search_row import RowKind, SearchRow
from tests.contract.example import JAPANESE, NOW

IDS = st.text("abzABZ019_-", min_size=1, max_size=64)
ROW = SearchRow(
    session_id="s1",
    sequence=3,
    kind=RowKind.SPEECH,
    hearing=Hearing.GUILD,
    speaker_id="taro",
    speaker="太郎",
    at=NOW.replace(microsecond=123_457),
    text=JAPANESE,
    guild_id="g1",
    importance=0.7,
    taint=True,
)


@given(IDS, IDS)
def test_no_two_agents_share_an_index(first: str, second: str) -> None:
    one, two = opensearch_index_name("main", first), opensearch_index_name("main", second)
    assert (one == two) == (first == second)
    assert one == one.lower()
    assert one.startswith("opencrab-main-")


@pytest.mark.parametrize(
    "agent_id",
    ["", "a" * 65, "a/b", "../b", "a*", "a,b", "蟹", "a b", "a\n", "\0", "a?x=y", "\ud800"],
)
def test_other_ids_name_no_index(agent_id: str) -> None:
    with pytest.raises(Invalid):
        opensearch_index_name("main", agent_id)


@pytest.mark.parametrize("stage", ["", "Main", "a-b", "*", "a" * 17])
def test_other_stages_name_no_index(stage: str) -> None:
    with pytest.raises(Invalid):
        opensearch_index_name(stage, "hana")


@given(text=st.text(st.characters(exclude_categories=["Cs"])), place=st.integers(1, 9))
def test_a_row_comes_back_as_it_was(text: str, place: int) -> None:
    row = replace(ROW, text=text)
    found = row_of_opensearch_document(opensearch_document_of_row(place_opensearch_row(row, place)))
    assert (found.row, found.place) == (row, place)


def test_halves_of_characters_are_made_whole() -> None:
    found = row_of_opensearch_document(
        opensearch_document_of_row(
            place_opensearch_row(replace(ROW, text="蟹\ud83e", speaker="\udc00"), 1)
        )
    )
    found.row.text.encode()
    found.row.speaker.encode()


def test_only_speech_has_a_place() -> None:
    assert place_opensearch_row(replace(ROW, kind=RowKind.INSTRUCTION), 4).place == 0
    assert (
        place_opensearch_row(replace(ROW, kind=RowKind.MEMORY, ref="m1", sequence=0), 4).place == 0
    )


def test_lines_and_kept_things_never_share_a_document() -> None:
    line = replace(ROW, session_id="memory", sequence=12)
    memory = replace(ROW, kind=RowKind.MEMORY, ref="12", sequence=0)
    assert line.id == memory.id
    assert opensearch_row_id(line) != opensearch_row_id(memory)


def test_an_index_tells_when_it_was_made() -> None:
    about = opensearch_index_body(NOW)["mappings"]["_meta"]
    assert opensearch_index_made_at(about) == NOW
    assert opensearch_index_made_at({}) is None
    assert opensearch_index_made_at({**about, "opencrab": 0}) is None
    assert isinstance(opensearch_index_made_at(about), datetime)


def test_the_same_words_are_sent_for_a_text_and_for_a_question() -> None:
    assert opensearch_index_text("\uff23afé ｶﾆを") == "cafe カニ ニを"
    assert opensearch_index_text("cafe\u0301 Ångström") == "cafe angstrom"
    assert opensearch_index_text("がぎ") == "がぎ"
    assert opensearch_index_text("\0 \ud800 🦀") == ""
    assert len(opensearch_index_text("x" * 5_000)) == 100
