"""Templates put values in as they are, evaluate nothing, and take any text."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from opencrab.domain.vault.note_template import (
    has_vault_template_placeholder,
    render_vault_note_template,
)
from tests.soak import count

EXAMPLES = count("notes")
often = settings(max_examples=EXAMPLES)
names = st.sampled_from(["title", "題名", "date", "{", "x.__class__", "0", "a b"])
pieces = st.sampled_from(["{{", "}}", "{{title}}", "{{ 題名 }}", "{%", "${x}", "%s", "\\1", "\n"])
templates = st.lists(pieces | st.text(max_size=8), max_size=10).map("".join)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | pieces | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(names, inner, max_size=2),
    max_leaves=4,
)


@given(templates, st.dictionaries(names, values, max_size=4))
@often
def test_every_template_takes_every_value(template: str, variables: dict[str, JsonValue]) -> None:
    text = render_vault_note_template(template, variables)
    if not any(has_vault_template_placeholder(template, name) for name in variables):
        assert text == template


@given(st.lists(st.sampled_from(["title", "題名", "unknown"]), max_size=6), pieces, pieces)
@often
def test_values_are_put_in_as_they_are_and_only_once(
    used: list[str], first: str, second: str
) -> None:
    template = "|".join(f"{{{{{name}}}}}" for name in used)
    expected = {"title": first, "題名": second, "unknown": "{{unknown}}"}
    wanted = "|".join(expected[name] for name in used)
    assert render_vault_note_template(template, {"title": first, "題名": second}) == wanted


@pytest.mark.parametrize(
    ("value", "shown"), [("海", "海"), (3, "3"), (None, "null"), (["海", 1], '["海", 1]')]
)
def test_a_value_that_is_no_text_is_shown_as_json(value: JsonValue, shown: str) -> None:
    assert render_vault_note_template("[{{ x }}]", {"x": value}) == f"[{shown}]"


def test_names_without_a_value_stay() -> None:
    assert render_vault_note_template("{{title}} {{誰か}}", {"title": "会議"}) == "会議 {{誰か}}"
