"""The tree of errors: each says what the caller must do, and no two say it alike."""

from collections.abc import Iterator

import pytest

from opencrab.domain import errors
from opencrab.domain.errors import OpenCrabError


def kinds(root: type[OpenCrabError] = OpenCrabError) -> Iterator[type[OpenCrabError]]:
    for kind in root.__subclasses__():
        if kind.__module__ == errors.__name__:
            yield kind
            yield from kinds(kind)


def test_the_drawing_names_every_error() -> None:
    drawing = errors.__doc__ or ""
    assert len(list(kinds())) > 9
    assert [kind.__name__ for kind in kinds() if kind.__name__ not in drawing] == []


def test_every_error_has_a_code_of_its_own() -> None:
    codes = [kind.code for kind in kinds()]
    assert len(set(codes)) == len(codes)
    assert OpenCrabError.code not in codes


@pytest.mark.parametrize("kind", list(kinds()), ids=lambda kind: kind.code)
@pytest.mark.parametrize("message", ["file 'メモ.md' is gone", "it is gone"])
def test_an_error_names_the_thing_the_field_and_the_cure(
    kind: type[OpenCrabError], message: str
) -> None:
    error = kind(message, field="path", cure="list the workspace")
    assert (str(error), error.message) == (message, message)
    assert (error.field, error.cure) == ("path", "list the workspace")
