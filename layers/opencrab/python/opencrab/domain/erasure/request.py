"""Forgetting: what is to be forgotten, and the marks that say so to every copy of an index.

A mark names lines and ids, never words. It is written before anything is removed, so that nobody
finds what is being forgotten, and kept until no copy can be so old that it does not know it.
"""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated

from pydantic import Field, model_validator

from opencrab.domain.value import Identifier, Value

FORGOTTEN = "forgotten"
"""The kind of fact that marks are; their ids are in order of time."""

MARKS_KEPT = timedelta(days=90)
COPIES_KEPT = timedelta(days=60)
"""A copy of an index that is older begins anew: it may have missed a mark."""

FORGOTTEN_PERSON = "forgotten"
"""Who is said to have spoken a line that was forgotten."""


class Scope(StrEnum):
    """How much is to be forgotten."""

    MEMORY = "memory"
    SESSION = "session"
    PERSON = "person"
    PERIOD = "period"
    EVERYTHING = "everything"


_NAMED = {Scope.MEMORY, Scope.SESSION, Scope.PERSON}


class Wish(Value):
    """What somebody wants forgotten: `id` names the memory, session or person.

    A period is since <= at < until; it may be open at one end.
    """

    scope: Scope
    id: Identifier | None = None
    since: datetime | None = None
    until: datetime | None = None

    @model_validator(mode="after")
    def _says_what(self) -> "Wish":
        if (self.scope in _NAMED) != (self.id is not None):
            raise ValueError("id is allowed only for the scopes memory, session and person")
        bounded = self.since is not None or self.until is not None
        if (self.scope is Scope.PERIOD) != bounded:
            raise ValueError("since and until are allowed only for a period")
        if self.since and self.until and self.since >= self.until:
            raise ValueError("until must come after since")
        return self

    def covers(self, at: datetime) -> bool:
        """Whether a moment lies in the period."""
        return (self.since is None or self.since <= at) and (self.until is None or at < self.until)


class LineRange(Value):
    """Lines first to last of a session."""

    session_id: str
    first: Annotated[int, Field(ge=1)]
    last: Annotated[int, Field(ge=1)]


class ErasureMark(Value):
    """What every copy of an index must drop: lines, and kept things by kind and id.

    With `everything` it drops all that was there at the time of the mark.
    """

    scope: Scope
    lines: tuple[LineRange, ...] = ()
    refs: tuple[str, ...] = ()
    everything: bool = False
    at: datetime


RECORDS_KEPT = timedelta(days=90)
"""How long a turn's records may be there."""
