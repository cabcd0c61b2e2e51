"""Lenient reading: what makes sense is taken, and everything else is left without a crash."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.adapters.providers.wire.lenient import (
    RAW_BYTES,
    as_wire_label,
    parse_provider_json,
    raw_wire_tool_arguments,
    wire_dict,
    wire_duration_seconds,
    wire_json_excerpt,
    wire_list,
    wire_retry_after,
    wire_token_count,
    wire_tool_arguments,
)
from opencrab.domain.models.fault import Fault, ModelCallFailed

DEEP = "[" * 200_000


@pytest.mark.parametrize(
    "body", [b'{"a":"\xe8\x9f\xb9"}', b'\xef\xbb\xbf \n{"a":"\xe8\x9f\xb9"}\n']
)
def test_a_body_is_read_with_the_white_space_around_it(body: bytes) -> None:
    assert parse_provider_json(body) == {"a": "蟹"}


@pytest.mark.parametrize("body", [b"", b"<html>503</html>", b'{"a":', DEEP.encode(), b"\xff\xfe"])
def test_what_is_no_json_is_nonsense_and_shows_its_beginning(body: bytes) -> None:
    with pytest.raises(ModelCallFailed, match="the answer of crab is not JSON") as caught:
        parse_provider_json(body, "crab")
    assert caught.value.fault is Fault.NONSENSE
    assert caught.value.may_be_billed
    assert len(caught.value.message) < 300


@given(st.binary())
def test_any_bytes_are_json_or_unanswered(body: bytes) -> None:
    try:
        parse_provider_json(body)
    except ModelCallFailed as error:
        assert error.fault is Fault.NONSENSE  # noqa: PT017  - either way is right


def test_other_kinds_of_values_are_empty_ones() -> None:
    assert (wire_dict({"a": 1}), wire_dict([1]), wire_dict(None)) == ({"a": 1}, {}, {})
    assert (wire_list([1]), wire_list({"a": 1}), wire_list("ab")) == ([1], [], [])


@pytest.mark.parametrize(
    ("value", "tokens"),
    [
        (7, 7), (7.9, 7), ("7", 7), ("7.0", 7), (0, 0), (-7, 0), ("-7", 0), (None, 0), (True, 0),
        ("", 0), ("seven", 0), ("七", 0), ("\uff17", 0), (float("nan"), 0), ("NaN", 0), ([7], 0),
        (float("inf"), 2**31 - 1), (10**400, 2**31 - 1), ("9" * 5_000, 0), ({}, 0),
    ],
)  # fmt: skip
def test_tokens_are_counted_and_nonsense_counts_as_none(value: Any, tokens: int) -> None:
    assert wire_token_count(value) == tokens


def test_a_label_is_short_and_whole() -> None:
    assert as_wire_label("蟹" * 500) == "蟹" * 200
    assert as_wire_label("a\ud83d\x00") == "a\ufffd"
    assert as_wire_label(None) == as_wire_label(3) == ""


def test_a_value_is_shown_as_the_beginning_of_its_json() -> None:
    assert wire_json_excerpt({"a": [1]}) == '{"a": [1]}'
    assert wire_json_excerpt({1, 2}) == "set"
    assert len(wire_json_excerpt("x" * 100_000)) == RAW_BYTES


@pytest.mark.parametrize(
    ("arguments", "read"),
    [
        ('{"path": "日記.md"}', {"path": "日記.md"}), ({"n": 1}, {"n": 1}), ("", {}), (" ", {}),
        (None, {}), ('{"a": "\\ud83d"}', {"a": "\ufffd"}), ('{"path": "日', None), ("[]", None),
        ('{"a": NaN}', None), ('{"a": 1e999}', None), ({"a": float("inf")}, None), (7, None),
        ('{"a":' + DEEP, None), ('{"a":' * 70 + "1" + "}" * 70, None),
    ],
)  # fmt: skip
def test_arguments_are_read_or_nothing_is(arguments: Any, read: Any) -> None:
    assert wire_tool_arguments(arguments) == read


def test_unreadable_arguments_are_kept_up_to_a_size() -> None:
    assert raw_wire_tool_arguments('{"path": "日') == '{"path": "日'
    assert raw_wire_tool_arguments([1, "a"]) == '[1, "a"]'
    assert raw_wire_tool_arguments("日" * 5_000) == "日" * (RAW_BYTES // 3)
    assert raw_wire_tool_arguments("a\ud83d") == "a\ufffd"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("34.4s", 34.4), ("6ms", 0.006), ("1m0.052s", 60.052), ("2h3m", 7_380.0), ("0s", 0.0),
        ("1m", 60.0), ("1h1m1s1ms", 3_661.001), ("", None), ("s", None), ("34", None),
        ("-1s", None), ("1s1m", None), ("NaNs", None), (" 1s", None), (3, None), (None, None),
        ("9" * 400 + "s", None), ("\uff11s", None),
    ],
)  # fmt: skip
def test_a_duration_is_read_in_seconds(text: Any, expected: float | None) -> None:
    found = wire_duration_seconds(text)
    assert found == (None if expected is None else pytest.approx(expected))


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, None), ({"retry-after": "20"}, 20.0), ({"retry-after": " 0.5 "}, 0.5),
        ({"retry-after-ms": "1500", "retry-after": "20"}, 1.5), ({"retry-after": "-3"}, 0.0),
        ({"retry-after-ms": "soon", "retry-after": "2"}, 2.0), ({"retry-after": "inf"}, None),
        ({"retry-after": "nan"}, None), ({"retry-after": "1e999"}, None),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT"}, None), ({"retry-after": ""}, None),
    ],
)  # fmt: skip
def test_how_long_to_wait_is_taken_from_the_headers(
    headers: dict[str, str], expected: float | None
) -> None:
    assert wire_retry_after(headers) == expected
