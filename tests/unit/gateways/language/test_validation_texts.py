"""Validation texts: what pydantic found is told in our words, whichever gateway it came by."""

from typing import Annotated, Any

import pytest
from pydantic import AfterValidator, Field, TypeAdapter, ValidationError

from opencrab.gateways.language.validation_texts import explain_validation_error


def refuse(_text: str) -> str:
    raise ValueError("is taken: choose another")


def explained(kind: Any, sent: Any) -> tuple[str, str]:
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(kind).validate_python(sent)
    return explain_validation_error(caught.value.errors()[0])


@pytest.mark.parametrize(
    ("kind", "sent", "told"),
    [
        (str, 5, ("must be a text", "send a text in quotation marks")),
        (Annotated[int, Field(ge=3)], 2, ("is too small", "it must be at least 3")),
        (Annotated[Any, Field(min_length=1)], "", ("must have at least 1 character(s)", "write")),
        (Annotated[Any, Field(min_length=1)], [], ("has too few entries", "at least 1")),
        (Annotated[str, AfterValidator(refuse)], "x", ("is taken", "choose another")),
        (bytes, 5, ("input should be a valid bytes", "")),
    ],
)
def test_an_error_is_told_with_what_to_do_about_it(
    kind: Any, sent: Any, told: tuple[str, str]
) -> None:
    detail, cure = explained(kind, sent)
    assert detail == told[0]
    assert told[1] in cure


def test_a_value_that_an_error_does_not_have_is_a_dash() -> None:
    assert explain_validation_error({"type": "greater_than_equal", "msg": ""}) == (
        "is too small",
        "it must be at least -",
    )
