"""Every error that a person may read has a Japanese text, and none is for a text that is gone."""

import json
import string

from tests import error_texts
from tests.error_texts import TABLE


def test_each_text_of_an_error_has_a_japanese_one() -> None:
    missing = sorted(set(error_texts.templates()) - set(_table()))
    assert not missing, f"add their Japanese to {TABLE}"


def test_each_japanese_text_is_that_of_a_text_in_the_source() -> None:
    stale = sorted(set(_table()) - error_texts.literals())
    assert not stale, f"nothing says this any more: remove it from {TABLE}"


def test_each_value_stands_once_in_the_japanese_text() -> None:
    for english, (kind, japanese) in _table().items():
        named = [name for _, name, _, _ in string.Formatter().parse(japanese) if name is not None]
        expected = [str(place) for place in range(english.count("{}"))]
        assert kind == "ja", english
        assert sorted(named) == sorted(expected), english


def test_the_table_is_sorted_one_text_a_line() -> None:
    texts = list(_table())
    assert texts == sorted(texts)
    lines = TABLE.read_text("utf-8").splitlines()
    assert len(lines) == len(texts) + 2


def _table() -> dict[str, tuple[str, str]]:
    found = json.loads(TABLE.read_text("utf-8"))
    return {english: next(iter(told.items())) for english, told in found.items()}
