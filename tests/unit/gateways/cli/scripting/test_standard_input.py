"""Standard input is text as a whole, or refused with the place of the byte that is none."""

import io
import os
from pathlib import Path

import pytest

from opencrab.domain.errors import Invalid
from opencrab.gateways.cli.language.sentences import CliLanguage, SentenceCatalog
from opencrab.gateways.cli.scripting.standard_input import MOST_BYTES, StandardInput
from tests.cases import for_each

WORDS = SentenceCatalog(CliLanguage("en"))


def unheard(_text: str) -> None:
    """Nobody is told what is awaited."""


def given_bytes(content: bytes) -> StandardInput:
    return StandardInput(io.TextIOWrapper(io.BytesIO(content)), WORDS, unheard)


@for_each(
    ("content", "text"),
    [
        (b"", ""),
        ("一行目\n二行目🦀\n".encode(), "一行目\n二行目🦀\n"),
        (b"\xef\xbb\xbfhello", "hello"),
        (b"one\r\ntwo", "one\r\ntwo"),
    ],
)
def test_text_is_read_as_it_is_without_a_byte_order_mark(content: bytes, text: str) -> None:
    assert given_bytes(content).read() == text


@for_each(
    ("content", "place"),
    [
        (b"\x89PNG\r\n", "byte 1"),
        ("あ".encode() + b"\xff", "byte 4"),
        ("あ".encode()[:2], "byte 1"),
        (b"a\0b", "byte 2"),
    ],
)
def test_what_is_no_text_is_refused_whole_with_its_place(content: bytes, place: str) -> None:
    with pytest.raises(Invalid, match=place) as caught:
        given_bytes(content).read()
    assert caught.value.cure == WORDS("stdin_binary_cure")


def test_more_than_a_command_can_send_is_refused() -> None:
    assert len(given_bytes(b"x" * MOST_BYTES).read()) == MOST_BYTES
    with pytest.raises(Invalid, match=f"more than {MOST_BYTES} bytes"):
        given_bytes(b"x" * (MOST_BYTES + 1)).read()


def test_a_line_that_is_no_text_is_an_error_in_its_place() -> None:
    first, wrong, last = given_bytes("蟹\r\n".encode() + b"a\xff\nend").lines()
    assert (first, last) == ("蟹", "end")
    assert isinstance(wrong, Invalid)
    assert "line 2, byte 2" in wrong.message


def test_a_file_and_a_pipe_have_text_and_the_null_device_has_none(tmp_path: Path) -> None:
    file = tmp_path / "text"
    file.write_text("蟹", encoding="utf-8")
    reading, writing = os.pipe()
    os.close(writing)
    with file.open() as text, os.fdopen(reading) as pipe, Path(os.devnull).open() as null:
        found = [StandardInput(stream, WORDS, unheard).has_text for stream in (text, pipe, null)]
    assert found == [True, True, False]


def test_a_terminal_has_no_text() -> None:
    leader, follower = os.openpty()
    with os.fdopen(leader, "wb"), os.fdopen(follower) as stream:
        assert not StandardInput(stream, WORDS, unheard).has_text


def test_an_object_in_place_of_a_stream_has_text() -> None:
    assert given_bytes(b"").has_text


def test_input_that_is_there_is_not_said_to_be_awaited(tmp_path: Path) -> None:
    told: list[str] = []
    file = tmp_path / "text"
    file.write_bytes("蟹🦀".encode())
    with file.open() as stream:
        assert StandardInput(stream, WORDS, told.append).read() == "蟹🦀"
    assert told == []
