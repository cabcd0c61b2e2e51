"""Views: the fields that a view names, and nothing else of what is stored."""

import pytest
from pydantic import ValidationError

from opencrab.domain.value import Value
from opencrab.gateways.rest.http.view import View


class Stored(Value):
    id: str
    secret: str

    @property
    def length(self) -> int:
        return len(self.secret)


class Shown(View):
    id: str
    length: int
    version: int = 0


def test_only_what_a_view_names_is_shown_and_what_is_worked_out_goes_before() -> None:
    view = Shown.of(Stored(id="a", secret="蟹"), version=3)
    assert view.model_dump() == {"id": "a", "length": 1, "version": 3}


def test_what_is_neither_stored_nor_worked_out_is_a_mistake() -> None:
    with pytest.raises(AttributeError, match="version"):
        Shown.of(Stored(id="a", secret="蟹"))


def test_a_view_has_no_more_than_its_fields() -> None:
    with pytest.raises(ValidationError):
        Shown.of(Stored(id="a", secret="蟹"), version=3, secret="蟹")
