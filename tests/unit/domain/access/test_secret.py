"""Secrets that may be kept: a plain name, a value that fits into a header, and nothing quoted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.domain.access.secret import require_storable_secret
from opencrab.domain.errors import Invalid


@given(
    name=st.from_regex(r"[A-Z][A-Z0-9_]{0,99}", fullmatch=True),
    value=st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=1, max_size=200),
)
def test_names_in_capitals_and_printable_values_may_be_kept(name: str, value: str) -> None:
    require_storable_secret(name, value)


def test_the_longest_of_both_may_be_kept() -> None:
    require_storable_secret("A" * 100, "v" * 8_192)


@pytest.mark.parametrize(
    "name", ["", "a", "1A", "_A", "A-B", "A.B", "A/B", "A\n", "鍵", "Ω", "A" * 101, "\ud83e"]
)
def test_other_names_are_refused_and_not_quoted(name: str) -> None:
    with pytest.raises(Invalid, match="capital letters") as refusal:
        require_storable_secret(name, "value")
    assert refusal.value.field == "name"
    assert refusal.value.cure
    assert len(name) < 2 or name not in refusal.value.message


@pytest.mark.parametrize(
    "value",
    ["", " ", "a b", "sk-x\n", "\tsk", "秘密の鍵", "é", "v" * 8_193, "\x7f", "\0", "\ud83e"],
)
def test_other_values_are_refused_and_not_quoted(value: str) -> None:
    with pytest.raises(Invalid, match="OPENAI_API_KEY") as refusal:
        require_storable_secret("OPENAI_API_KEY", value)
    assert refusal.value.field == "value"
    assert refusal.value.cure
    assert len(value) < 2 or value not in f"{refusal.value} {refusal.value.cure}"
