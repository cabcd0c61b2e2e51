"""An error as a script reads it: always the same three fields."""

from opencrab.gateways.cli.scripting.error_json import error_json_for_scripts


def test_an_error_without_a_cure_says_null() -> None:
    assert error_json_for_scripts("usage", "壊れています", "") == {
        "type": "usage",
        "message": "壊れています",
        "cure": None,
    }


def test_a_field_is_named_only_if_there_is_one() -> None:
    error = error_json_for_scripts("invalid", "too long", "split it", field="text")
    assert error == {
        "type": "invalid",
        "message": "too long",
        "cure": "split it",
        "field": "text",
    }
