"""The start screen of `opencrab up` exists in each language, with the same facts."""

from dataclasses import dataclass
from pathlib import Path
from string import Formatter

import pytest

from opencrab.bootstrap.local import models, start_screen
from opencrab.bootstrap.local.start_screen import (
    local_start_screen_folder_line,
    local_start_screen_note,
    local_start_screen_text,
)
from opencrab.ports.texts import Texts
from tests.cases import for_each

SCREEN = Texts(start_screen.__file__, "screen")


@dataclass(frozen=True)
class Place:
    """A server that has started, of which only the folder matters here."""

    data: Path
    usual_data: Path
    url: str = ""
    page: object | None = None
    key_file: Path | None = None
    language: str = "en"


def facts(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name is not None}


@for_each("key", sorted(SCREEN))
def test_a_line_has_the_same_facts_in_both_languages(key: str) -> None:
    assert facts(SCREEN[key]["ja"]) == facts(SCREEN[key]["en"])


def test_a_language_without_a_start_screen_reads_it_in_english() -> None:
    assert local_start_screen_text("ready", "ja") == "準備ができました"
    assert local_start_screen_text("ready", "fr") == "ready"


def test_what_is_said_without_a_model_exists_in_japanese() -> None:
    notes = Texts(start_screen.__file__, "notes")
    assert [note for note in models._NO_MODEL if not notes.get(note, {}).get("ja")] == []


def test_a_note_is_told_in_the_language_of_its_reader() -> None:
    note = models._NO_MODEL[0]
    assert local_start_screen_note(note, "en") == note
    assert local_start_screen_note(note, "ja").startswith("言語モデルではありません")
    assert local_start_screen_note("Ollama runs", "ja") == "Ollama runs"


@pytest.mark.parametrize("language", ["en", "ja"])
def test_the_command_that_finds_the_key_names_a_folder_that_is_not_the_usual_one(
    language: str,
) -> None:
    def line(data: str) -> str:
        place = Place(Path(data), Path("data"))
        return local_start_screen_folder_line("key", language, place, path="k")

    usual = line("data")
    assert "`opencrab chat`" in usual
    other = line("/my data")
    assert "`opencrab chat --data '/my data'`" in other
