"""Names that people set now: refused with characters that hide in them.

A name that looks like another one lets somebody pass for somebody else.
"""

from typing import Annotated

from pydantic import AfterValidator

from opencrab.domain.errors import Invalid
from opencrab.domain.text.hidden import hidden_text_in_name
from opencrab.domain.value import Name

_CURE = "type it again without them"


def require_visible_name(name: str, field: str) -> None:
    """Raise Invalid for a name in which a character hides."""
    if problem := _problem(name):
        raise Invalid(f"{field} {problem}", field=field, cure=_CURE)


def _visible(name: str) -> str:
    if problem := _problem(name):
        raise ValueError(f"{problem}: {_CURE}")
    return name


NewName = Annotated[Name, AfterValidator(_visible)]
"""A name that somebody sets now; names that are stored already may have hidden characters."""


def _problem(name: str) -> str:
    hidden = hidden_text_in_name(name)
    if not hidden:
        return ""
    return f"must not have invisible characters or direction marks (U+{ord(hidden):04X})"
