"""Strict JSON: it means the same to everybody, or it is refused."""

import json
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import BaseModel, TypeAdapter, ValidationError

from opencrab.domain.errors import Invalid
from opencrab.domain.value import JSON_DEPTH
from opencrab.gateways.rest.http.body import Strict, require_utf8_http_url, strict_http_json_body

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
NUMBERS = st.integers(-(10**300), 10**300) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=10,
)


def nested(depth: int) -> bytes:
    """Lists in lists; the innermost is empty."""
    return b"[" * depth + b"]" * depth


@given(VALUES)
def test_what_json_can_say_is_taken_as_it_is(value: Any) -> None:
    assert strict_http_json_body(json.dumps(value).encode()) == value
    assert strict_http_json_body(json.dumps(value, ensure_ascii=False, indent=1).encode()) == value


@given(st.binary(max_size=40))
def test_any_bytes_are_a_value_or_an_invalid_body(content: bytes) -> None:
    try:
        value = strict_http_json_body(content)
    except Invalid as error:
        value = {"field": error.field, "cure": error.cure}
    json.dumps(value, allow_nan=False).encode()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b'{"a": NaN}', "NaN"),
        (b"Infinity", "NaN and Infinity"),
        (b"1e999", "out of range"),
        (b"9" * 5_000, "too many digits"),
        (b'"\\ud83e"', "unpaired surrogate"),
        ('"かに"'.encode("euc-jp"), "not UTF-8"),
        (b'{"a": 1, "a": 1}', "same name twice"),
        (b'{"a":\n oops}', "line 2, column 2"),
        (nested(JSON_DEPTH + 1), f"more than {JSON_DEPTH} levels deep"),
        (nested(200_000), f"more than {JSON_DEPTH} levels deep"),
    ],
)
def test_what_readers_would_disagree_about_is_refused(content: bytes, words: str) -> None:
    with pytest.raises(Invalid, match=words):
        strict_http_json_body(content)


def test_the_deepest_value_that_is_taken() -> None:
    assert strict_http_json_body(nested(JSON_DEPTH)) is not None


def test_two_halves_of_a_character_are_one() -> None:
    assert strict_http_json_body(b'"\\ud83e\\udd80"') == "🦀"


class _Counter(BaseModel):
    number: int
    sure: bool = False


@pytest.mark.parametrize("value", [{"number": "5"}, {"number": 5.5}, {"number": 1, "sure": 1}])
def test_nothing_is_guessed_from_another_kind(value: dict[str, Any]) -> None:
    reader: TypeAdapter[_Counter] = TypeAdapter(Strict[_Counter])
    with pytest.raises(ValidationError):
        reader.validate_python(value)
    assert reader.validate_python({"number": 5}).number == 5


@pytest.mark.parametrize(
    ("path", "query", "field"),
    [
        (b"/api/%FF", b"", "path"),
        (b"/api/%E3%81", b"", "path"),
        (b"/api", b"a=%ED%A0%80", "query"),
        (b"/api", b"a=\xff", "query"),
    ],
)
def test_an_address_of_half_characters_names_nothing(path: bytes, query: bytes, field: str) -> None:
    with pytest.raises(Invalid) as caught:
        require_utf8_http_url({"raw_path": path, "query_string": query})
    assert caught.value.field == field


@given(st.text(st.characters(exclude_categories=["Cs"])))
@example("%80")
def test_every_whole_character_may_be_in_an_address(text: str) -> None:
    require_utf8_http_url({"raw_path": quote(text).encode(), "query_string": quote(text).encode()})
    unescaped = text.replace("%", "").encode()
    require_utf8_http_url({"raw_path": unescaped, "query_string": unescaped})
