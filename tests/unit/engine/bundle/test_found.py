"""What a reader found: secrets are removed wherever they stand in a text."""

import io
import time
from datetime import UTC, datetime

import pytest

from opencrab.engine.bundle.found import REDACTED, FoundAgent
from opencrab.engine.bundle.from_source import write_found_agent
from opencrab.engine.bundle.limits import BUNDLE_FILES
from opencrab.engine.bundle.reader import BundleReader


@pytest.mark.parametrize(
    "text",
    [
        "password: {}",
        "API_KEY={}",
        "OPENAI_API_KEY={}",
        "(token: {})",
        "鍵はtoken: {}",
        '{{"api_key": "{}"}}',
        "see\nsecret = {}",
    ],
)
def test_a_password_is_removed_wherever_its_name_stands(text: str) -> None:
    word = "correct-" + "horse-battery"
    found = FoundAgent("openclaw")
    found.add_memory(text.format(word), "MEMORY.md")
    assert word not in found.memories[0][0]
    assert REDACTED in found.memories[0][0]
    assert ("MEMORY.md", "secret") in found.lost


@pytest.mark.parametrize("text", ["the secretary: Hanako-Yamada", "tokenizer=longvaluehere"])
def test_words_that_only_hold_such_a_name_stay(text: str) -> None:
    found = FoundAgent("openclaw")
    found.add_memory(text, "MEMORY.md")
    assert found.memories[0][0] == text


@pytest.mark.parametrize("between", [" ", "*", "* ", "\n", "`\n"])
def test_a_name_before_much_that_is_no_password_takes_no_time(between: str) -> None:
    text = f"パスワード：{between * 25_000}\npassword:{between * 25_000}海"
    began = time.process_time()
    assert FoundAgent("openclaw").clean(text, "MEMORY.md") == text
    assert time.process_time() - began < 5


def test_thousands_of_files_of_one_name_are_numbered_at_once() -> None:
    found, began = FoundAgent("obsidian"), time.process_time()
    for number in range(4_000):
        found.add_file("海?.md" if number % 2 else "海*.md", b"x")
    assert time.process_time() - began < 5
    assert sorted(found.files, key=len)[:2] == ["海-.md", "海--2.md"]
    assert len(found.files) == 4_000


def test_a_name_that_has_no_room_for_a_number_is_told_as_lost() -> None:
    found, long = FoundAgent("obsidian"), "a" * 197 + ".md"
    found.add_file(long, b"1")
    found.add_file(long.upper(), b"2")
    assert found.files == {long: b"1"}
    assert found.lost[long.upper(), "path"] == 1


def test_of_more_files_than_an_import_takes_the_others_are_counted() -> None:
    found = FoundAgent("obsidian", name="潮")
    for number in range(BUNDLE_FILES + 3):
        found.add_file(f"vault/{number}.md", b"x")
    assert len(found.files) == BUNDLE_FILES
    assert found.lost == {("files", "too_many"): 3}


def test_an_id_of_elsewhere_is_no_longer_than_a_row_has_room_for() -> None:
    found = FoundAgent("hermes", name="潮")
    found.add_session("あ" * 300_000, "title")
    found.add_line("user", "hi", None, "state.db")
    write_found_agent(found, into := io.BytesIO(), datetime(2026, 11, 30, tzinfo=UTC))
    BundleReader(into).check()
