"""Problem documents: one status for each kind of error, and never what somebody sent."""

import json
from typing import Annotated, Any

import pytest
from fastapi.responses import Response
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field, TypeAdapter, ValidationError

from opencrab.domain import errors
from opencrab.domain.errors import OpenCrabError
from opencrab.engine.agents.creation import NewAgent
from opencrab.gateways.rest.http.problem import (
    MEDIA_TYPE,
    UnsupportedMediaType,
    http_problem,
    http_problem_of_status,
    http_problem_of_unexpected,
    http_problem_of_validation,
)

STATUSES = {
    errors.Refused: 403,
    errors.NoRoom: 403,
    errors.Stopped: 403,
    errors.Unauthenticated: 401,
    errors.NotFound: 404,
    errors.Invalid: 422,
    errors.TooLarge: 413,
    errors.Conflict: 409,
    errors.Changed: 409,
    errors.Superseded: 409,
    errors.Unavailable: 503,
    errors.NeverSent: 503,
    errors.UnreadableValue: 503,
    errors.Exhausted: 429,
    errors.OpenCrabError: 500,
    UnsupportedMediaType: 415,
}


def read(answer: Response) -> dict[str, Any]:
    """The document of an answer."""
    assert answer.media_type == MEDIA_TYPE
    found: dict[str, Any] = json.loads(bytes(answer.body))
    assert found["status"] == answer.status_code
    return found


def test_the_table_has_every_error() -> None:
    known = {item for item in vars(errors).values() if isinstance(item, type)}
    assert known <= set(STATUSES)


@pytest.mark.parametrize("kind", STATUSES)
def test_every_error_has_its_status_field_and_cure(kind: type[OpenCrabError]) -> None:
    answer = http_problem(kind("蟹がいない", field="crab", cure="呼ぶ"))
    found = read(answer)
    assert answer.status_code == STATUSES[kind]
    assert (found["detail"], found["field"], found["cure"]) == ("蟹がいない", "crab", "呼ぶ")
    assert found["type"] == f"urn:opencrab:problem:{kind.code}"
    assert ("www-authenticate" in answer.headers) == (STATUSES[kind] == 401)
    assert ("retry-after" in answer.headers) == (STATUSES[kind] == 503)


def test_an_unexpected_error_says_nothing_about_itself() -> None:
    assert read(http_problem_of_unexpected()).keys() == {
        "type",
        "title",
        "status",
        "detail",
        "code",
        "cure",
    }


@pytest.mark.parametrize("status", [404, 405, 418, 500])
def test_an_answer_of_the_framework_is_a_problem_too(status: int) -> None:
    assert read(http_problem_of_status(status, {"Allow": "GET"}))["detail"]


TEXTS = st.text(max_size=20).map("ZQX悪意{}".format)


@given(st.dictionaries(st.text(max_size=8), TEXTS, min_size=1))
def test_a_wrong_form_is_explained_without_an_echo(body: dict[str, str]) -> None:
    try:
        TypeAdapter(NewAgent).validate_python({**body, "name": 5})
    except ValidationError as error:
        answer = http_problem_of_validation(error.errors())
    else:
        raise AssertionError("a number is no name")
    found = read(answer)
    assert found["field"]
    assert found["cure"]
    for problem in found.get("errors", [found]):
        assert problem["cure"]
    assert "ZQX" not in bytes(answer.body).decode()


def test_of_many_problems_ten_are_told() -> None:
    body = {f"field-{n}": n for n in range(30)}
    with pytest.raises(ValidationError) as caught:
        NewAgent.model_validate({"name": "美香", **body})
    found = read(http_problem_of_validation(caught.value.errors()))
    assert len(found["errors"]) == 10
    assert found["field"] == found["errors"][0]["field"] == "field-0"


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        ("", "must have at least 1 character(s)"),
        ("長い", "must have at most 1 characters"),
        ([], "has too few entries"),
        (["a", "b"], "has too many entries"),
    ],
)
def test_a_text_is_measured_as_a_text_even_where_a_list_may_be(sent: Any, told: str) -> None:
    measured = Annotated[Any, Field(min_length=1, max_length=1)]
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(measured).validate_python(sent)
    assert told in read(http_problem_of_validation(caught.value.errors()))["detail"]
