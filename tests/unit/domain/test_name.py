"""Names that people set now: refused with characters that hide; stored ones are still read."""

import pytest
from pydantic import TypeAdapter, ValidationError

from opencrab.domain.errors import Invalid
from opencrab.domain.name import NewName, require_visible_name
from opencrab.domain.value import Name
from tests.unit.domain.text.test_hidden import FINE, HIDDEN

NEW: TypeAdapter[str] = TypeAdapter(NewName)
STORED: TypeAdapter[str] = TypeAdapter(Name)


@pytest.mark.parametrize("name", FINE)
def test_a_name_in_any_script_may_be_set(name: str) -> None:
    assert NEW.validate_python(name) == STORED.validate_python(name)
    require_visible_name(name, "name")


@pytest.mark.parametrize(("name", "hidden"), HIDDEN)
def test_a_name_in_which_something_hides_is_refused_and_read(name: str, hidden: str) -> None:
    with pytest.raises(ValidationError, match=f"U\\+{ord(hidden):04X}"):
        NEW.validate_python(name)
    with pytest.raises(Invalid, match="invisible characters") as refusal:
        require_visible_name(name, "job_title")
    assert (refusal.value.field, bool(refusal.value.cure)) == ("job_title", True)
    assert STORED.validate_python(name), "a stored name is still read"
