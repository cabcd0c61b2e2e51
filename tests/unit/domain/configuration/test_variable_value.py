"""A variable's text becomes a value of its setting's type, or is refused by the variable's name."""

import pytest

from opencrab.domain.configuration.variable_value import variable_value_like
from opencrab.domain.errors import Invalid


@pytest.mark.parametrize(
    ("default", "text", "value"),
    [
        (1, "2", 2),
        (1.0, "2", 2.0),
        (False, " TRUE", True),
        ("a", "2", "2"),
        ([], "a, 蟹", ["a", "蟹"]),
    ],
)
def test_a_text_becomes_a_value(default: object, text: str, value: object) -> None:
    assert variable_value_like(default, text, "V") == value


@pytest.mark.parametrize(("default", "text"), [(1, "1.5"), (1.0, "nan"), (True, "はい")])
def test_another_type_is_refused(default: object, text: str) -> None:
    with pytest.raises(Invalid, match="V must be of type"):
        variable_value_like(default, text, "V")
