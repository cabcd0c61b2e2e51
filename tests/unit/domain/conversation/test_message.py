"""A message: what counts as words, how much fits, and what makes two the same."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.conversation.message import (
    METADATA_CHARACTERS,
    METADATA_ENTRIES,
    PARTS,
    Audience,
    Channel,
    DeliveryState,
    Instruction,
    Line,
    LineKind,
    Message,
    Sender,
    TextPart,
    Utterance,
)
from opencrab.domain.turn.due_item import DueItem
from opencrab.domain.value import MESSAGE_BYTES


def message(*texts: str, **fields: Any) -> Message:
    given: dict[str, Any] = {
        "source": "rest",
        "source_id": "1",
        "principal_id": "owner",
        "sender": {"id": "owner", "name": "太郎"},
        "authority": "owner",
        "parts": [{"kind": "text", "text": text} for text in texts or ("こんにちは",)],
    }
    return Message.model_validate(given | fields)


@pytest.mark.parametrize("character", ["a", "é", "海", "🦀"])
def test_a_message_holds_exactly_64_kilobytes(character: str) -> None:
    size = len(character.encode())
    most = character * (MESSAGE_BYTES // size) + "x" * (MESSAGE_BYTES % size)
    assert len(most.encode()) == MESSAGE_BYTES
    assert message(most).text == most
    with pytest.raises(ValidationError, match="65536 bytes of UTF-8: shorten it"):
        message(most + "x")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "at least 1"),
        ("a\x00b", "NUL characters: remove them"),
        ("海\x00", "NUL characters: remove them"),
        ("half \ud83e", "unpaired surrogates"),
        ("\udd80 蟹", "unpaired surrogates"),
    ],
)
def test_what_no_store_takes_is_no_message(text: str, problem: str) -> None:
    with pytest.raises(ValidationError, match=problem):
        TextPart(text=text)


@given(text=st.text(min_size=1, max_size=200))
def test_any_whole_text_comes_back_as_it_was(text: str) -> None:
    try:
        text.encode()
        whole = "\x00" not in text
    except UnicodeEncodeError:
        whole = False
    if not whole:
        with pytest.raises(ValidationError):
            message(text)
        return
    assert Message.model_validate_json(message(text).model_dump_json()).text == text


def test_all_parts_together_fit_one_message() -> None:
    half = "海" * (MESSAGE_BYTES // 6)
    assert message(half, half[:-1]).parts
    with pytest.raises(ValidationError, match="all text parts together"):
        message(half, half, "海")


def test_a_message_has_some_parts_but_not_too_many() -> None:
    assert len(message(*["a"] * PARTS).parts) == PARTS
    with pytest.raises(ValidationError, match="parts"):
        message(*["a"] * (PARTS + 1))
    with pytest.raises(ValidationError, match="parts"):
        message(parts=[])


@pytest.mark.parametrize("reference", ["https://example.com/蟹.png", "workspace:images/crab.png"])
def test_an_image_shows_as_its_reference(reference: str) -> None:
    shown = message(
        parts=[{"kind": "text", "text": "見て"}, {"kind": "image", "reference": reference}]
    )
    assert shown.text == f"見て\n[image {reference}]"


@pytest.mark.parametrize(
    "reference",
    [
        "http://example.com/a.png",
        "data:image/png;base64,AAAA",
        "https://",
        "file:///etc",
        "https://a b",
    ],
)
def test_an_image_is_never_its_bytes_nor_an_open_address(reference: str) -> None:
    with pytest.raises(ValidationError, match="reference"):
        message(parts=[{"kind": "image", "reference": reference}])


def test_metadata_has_a_total_limit() -> None:
    entry = METADATA_CHARACTERS // 8
    fitting = {f"{n:02}": "海" * (entry - 2) for n in range(8)}
    assert message(metadata=fitting).metadata == fitting
    with pytest.raises(ValidationError, match="metadata must be at most 16384 characters"):
        message(metadata=fitting | {"x": ""})


def test_metadata_has_a_most_of_entries() -> None:
    with pytest.raises(ValidationError, match="metadata"):
        message(metadata={f"{n}": "" for n in range(METADATA_ENTRIES + 1)})


@pytest.mark.parametrize("metadata", [{"a": float("nan")}, {"a": 1}, {"a": {"b": "c"}}, {"": "x"}])
def test_metadata_is_text_by_name(metadata: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="metadata"):
        message(metadata=metadata)


def test_the_carrier_is_no_part_of_what_was_said() -> None:
    one, other = message("海"), message("海", source="cli", source_id="2", principal_id="ken")
    assert one.body() == other.body()


@pytest.mark.parametrize(
    "change",
    [
        {"parts": [{"kind": "text", "text": "山"}]},
        {"metadata": {"a": "b"}},
        {"channel": {"kind": "webhook", "address": "https://example.com"}},
    ],
)
def test_other_words_metadata_or_channel_make_another_message(change: dict[str, Any]) -> None:
    assert message("海").body() != message("海", **change).body()


def test_a_channel_has_one_name_for_ordering() -> None:
    assert Channel(kind="webhook", address="https://example.com/海").target == (
        "webhook:https://example.com/海"
    )


def test_an_unknown_field_is_refused() -> None:
    with pytest.raises(ValidationError, match="authority_override"):
        message(authority_override="owner")


NOW = datetime(2026, 2, 17, 9, 0, tzinfo=UTC)
both_languages = pytest.mark.parametrize("text", ["こんにちは 🦀", "Hello"])


@both_languages
def test_a_line_comes_back_from_its_stored_form(text: str) -> None:
    line = Line(
        session_id="s1",
        group="m1",
        kind=LineKind.SPEECH,
        speaker_id="owner",
        speaker_name="太郎",
        authority=Authority.OWNER,
        text=text,
        data={"name": "メモ"},
        at=NOW,
    )
    assert Line.model_validate_json(line.model_dump_json()) == line
    assert line.audience is Audience.ALL
    assert (line.group_line, line.sequence, line.from_agent) == (None, 0, False)


def test_a_line_of_an_unknown_kind_is_none() -> None:
    with pytest.raises(ValidationError, match="kind"):
        Line.model_validate({"kind": "rumour"})


@both_languages
def test_an_instruction_comes_back_from_its_stored_form(text: str) -> None:
    instruction = Instruction(
        id="i1",
        session_id="s1",
        text=text,
        by="owner",
        name="太郎",
        authority=Authority.USER,
        line=3,
        at=NOW,
    )
    assert Instruction.model_validate_json(instruction.model_dump_json()) == instruction
    bare = instruction.without_content().model_dump_json()
    assert [word for word in (text, "太郎", '"owner"') if word in bare] == []


def test_an_instruction_of_an_earlier_version_is_the_owners() -> None:
    stored = (
        f'{{"id":"i1","session_id":"s1","text":"x","by":"k","line":3,"at":"{NOW.isoformat()}"}}'
    )
    read = Instruction.model_validate_json(stored)
    assert (read.authority, read.name) == (Authority.OWNER, "")


@both_languages
def test_a_due_item_keeps_its_message_whole(text: str) -> None:
    message = Message(
        source=Source.SCHEDULE,
        source_id="1",
        principal_id="mika",
        sender=Sender(id="mika", name="美香"),
        authority=Authority.SELF,
        parts=(TextPart(text=text),),
    )
    item = DueItem(id="d1", at=NOW, session_id="s1", message=message, hops=2)
    assert DueItem.model_validate_json(item.model_dump_json()) == item


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


@both_languages
def test_an_utterance_comes_back_from_its_stored_form(text: str) -> None:
    spoken = utterance(1, text)
    assert Utterance.model_validate_json(spoken.model_dump_json()) == spoken
