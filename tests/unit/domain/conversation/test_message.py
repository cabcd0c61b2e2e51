"""A message: what counts as words, how much fits, and what makes two the same."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from opencrab.domain.conversation.message import (
    METADATA_CHARACTERS,
    METADATA_ENTRIES,
    PARTS,
    Channel,
    Message,
    TextPart,
)
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
        ("half \ud83e", "half characters"),
        ("\udd80 蟹", "half characters"),
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
