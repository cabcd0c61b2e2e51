"""Impressions grow from session to session, under a name that belongs to no platform."""

from datetime import UTC, datetime

import pytest

from opencrab.domain.memory.impression import (
    HISTORY,
    first_impression,
    impression_person_label,
    note_impression,
)
from opencrab.domain.memory.memory import Impression
from opencrab.domain.value import Language

NOW = datetime(2026, 2, 17, 9, 0, tzinfo=UTC)


def note(earlier: Impression, session_id: str, notes: str, *, taint: bool = False) -> Impression:
    said = {"notes": notes}
    return note_impression(earlier, said, session_id=session_id, turn_id="t", taint=taint, now=NOW)


@pytest.mark.parametrize(("language", "neutral"), [("ja", "中立"), ("en", "neutral")])
def test_nothing_is_known_of_somebodys_opinions_at_first(language: str, neutral: str) -> None:
    assert first_impression("ken", None, Language(language), NOW).agreement == neutral


@pytest.mark.parametrize(
    ("name", "called"),
    [
        ("健太", "健太"),
        ("@Ken", "Ken"),
        ("Ken#1234", "Ken"),
        ("<@!4711>", "ken-1"),
        ("K\u202een\n", "Ken"),
        ("\u200b", "ken-1"),
        ("", "ken-1"),
    ],
)
def test_a_name_loses_the_signs_of_its_platform(name: str, called: str) -> None:
    assert impression_person_label(name, "ken-1") == called


def test_another_session_keeps_what_was_noted_in_the_one_before() -> None:
    first = note(first_impression("ken", "健", Language.JA, NOW), "s1", "静か")
    assert first.history == ()
    second = note(note(first, "s1", "よく話す"), "s2", "眠そう")
    assert [(each.session_id, each.notes) for each in second.history] == [("s1", "よく話す")]
    back = note(second, "s1", "元気")
    third = note(back, "s3", "x")
    assert [(each.session_id, each.notes) for each in third.history] == [
        ("s2", "眠そう"),
        ("s1", "元気"),
    ]


def test_the_history_has_an_end() -> None:
    impression = first_impression("ken", "Ken", Language.EN, NOW)
    for number in range(HISTORY + 5):
        impression = note(impression, f"s{number}", str(number))
    assert [each.notes for each in impression.history] == [str(n) for n in range(4, HISTORY + 4)]


def test_foreign_words_stay_foreign() -> None:
    tainted = note(first_impression("ken", "Ken", Language.EN, NOW), "s1", "x", taint=True)
    assert note(tainted, "s2", "y").tainted
