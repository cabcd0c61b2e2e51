"""Templates take fields out of a body, and a summary shows what there is of it."""

import json

from opencrab.domain.webhooks.template import (
    SUMMARY_CHARACTERS,
    SUMMARY_LINES,
    render_webhook_template,
    summarize_webhook_body,
)
from tests.cases import for_each

BODY = {
    "user": {"name": "海", "id": 7, "tags": ["a", {"b": True}]},
    "text": "こんにちは",
    "none": None,
    "a b": 1,
}


@for_each(
    ("template", "said"),
    [
        ("{{ user.name }}: {{text}}", "海: こんにちは"),
        ("{{user.id}} {{ none }}", "7 null"),
        ("{{ user.tags }}", '["a", {"b": true}]'),
        ("{{ user.tags.0 }}{{ user.tags.1.b }}", "atrue"),
        ("{{ a b }}", "1"),
        ("{{ user.age }}!", "(user.age)!"),
        ("{{ user.tags.9 }}{{ text.0 }}", "(user.tags.9)(text.0)"),
        ("{ user } {{}} {{ {{text}} }}", "{ user } {{}} {{ こんにちは }}"),
        ("plain", "plain"),
    ],
)
def test_a_template_is_filled_in(template: str, said: str) -> None:
    assert render_webhook_template(template, BODY) == said


def test_what_is_filled_in_is_no_template_again() -> None:
    assert render_webhook_template("{{a}}", {"a": "{{b}}", "b": "x"}) == "{{b}}"


@for_each("body", [None, [], "text", 3, {"a": 1}])
def test_any_body_can_be_asked_for_a_field(body: object) -> None:
    assert render_webhook_template("{{ x.y }}", body) == "(x.y)"


def test_a_missing_field_is_said_as_the_caller_says_it() -> None:
    assert render_webhook_template("{{x}}", {}, "[なし: {}]".format) == "[なし: x]"


def test_a_summary_has_a_line_for_each_field() -> None:
    said, is_cut = summarize_webhook_body(BODY)
    assert said.splitlines() == [
        "user.name: 海",
        "user.id: 7",
        "user.tags.0: a",
        "user.tags.1.b: true",
        "text: こんにちは",
        "none: null",
        "a b: 1",
    ]
    assert not is_cut
    assert summarize_webhook_body("only words") == ("only words", False)
    assert summarize_webhook_body({}) == ("{}", False)


def test_a_summary_has_an_end() -> None:
    said, is_cut = summarize_webhook_body(list(range(1_000)))
    assert (len(said.splitlines()), is_cut) == (SUMMARY_LINES, True)
    said, is_cut = summarize_webhook_body(["x" * 10_000] * 50)
    assert is_cut
    assert len(said) <= SUMMARY_CHARACTERS
    deep = json.loads("[" * 500 + "]" * 500)
    assert summarize_webhook_body(deep)[0].startswith("0.0.0.0.0.0: [[")


def test_halves_of_pairs_and_nul_cannot_be_stored_and_are_replaced() -> None:
    body = json.loads('{"a\\ud800":"x\\udfff\\u0000y"}')
    said, _ = summarize_webhook_body(body)
    assert said == "a?: x?y"
    assert render_webhook_template("{{a}}", json.loads('{"a":"\\ud800"}')) == "?"
