"""The start screen of `opencrab up` exists in each language, with the same facts."""

from string import Formatter

from opencrab.bootstrap.local import command, models
from opencrab.ports.texts import Texts
from tests.cases import for_each

SCREEN = Texts(command.__file__, "screen")


def facts(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name is not None}


@for_each("key", sorted(SCREEN))
def test_a_line_has_the_same_facts_in_both_languages(key: str) -> None:
    assert facts(SCREEN[key]["ja"]) == facts(SCREEN[key]["en"])


def test_a_language_without_a_start_screen_reads_it_in_english() -> None:
    assert command._screen_text("ready", "ja") == "準備ができました"
    assert command._screen_text("ready", "fr") == "ready"


def test_what_is_said_without_a_model_exists_in_japanese() -> None:
    notes = Texts(command.__file__, "notes")
    assert [note for note in models._NO_MODEL if not notes.get(note, {}).get("ja")] == []
