"""Erasure requests, and the marks that report them to every copy of an index.

A mark names lines and ids, never words. It is written before anything is removed, so that nobody
finds what is being forgotten, and kept until no copy can be so old that it does not know it.
"""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated

from pydantic import Field, model_validator

from opencrab.domain.value import Identifier, Value

FORGOTTEN = "forgotten"
"""The kind of documents that store erasure marks; their ids are in order of time."""

MARKS_KEPT = timedelta(days=90)
COPIES_KEPT = timedelta(days=60)
"""The age after which a copy of an index is rebuilt: it may have missed a mark."""

FORGOTTEN_PERSON = "forgotten"
"""The speaker id and name of an erased line."""


class ErasureScope(StrEnum):
    """The extent of an erasure."""

    MEMORY = "memory"
    SESSION = "session"
    PERSON = "person"
    PERIOD = "period"
    EVERYTHING = "everything"


_NAMED = {ErasureScope.MEMORY, ErasureScope.SESSION, ErasureScope.PERSON}


class ErasureRequest(Value):
    """A request for erasure: `id` names the memory, session or person.

    A period is since <= at < until; it may be open at one end.
    """

    scope: ErasureScope
    id: Identifier | None = None
    since: datetime | None = None
    until: datetime | None = None

    @model_validator(mode="after")
    def _says_what(self) -> "ErasureRequest":
        if (self.scope in _NAMED) != (self.id is not None):
            raise ValueError(
                "the scopes memory, session and person need an id, other scopes allow none"
            )
        bounded = self.since is not None or self.until is not None
        if (self.scope is ErasureScope.PERIOD) != bounded:
            raise ValueError("the scope period needs since or until, other scopes allow neither")
        if self.since and self.until and self.since >= self.until:
            raise ValueError("until must come after since")
        return self

    def covers(self, at: datetime) -> bool:
        """Check whether a moment is within the period."""
        return (self.since is None or self.since <= at) and (self.until is None or at < self.until)


class LineRange(Value):
    """Lines `first` to `last` of a session, both included."""

    session_id: str
    first: Annotated[int, Field(ge=1)]
    last: Annotated[int, Field(ge=1)]


class ErasureMark(Value):
    """The data that every copy of an index must drop: lines, and items by kind and id.

    With `everything` a copy drops all that was stored at the time of the mark.
    """

    scope: ErasureScope
    lines: tuple[LineRange, ...] = ()
    refs: tuple[str, ...] = ()
    everything: bool = False
    at: datetime


RECORDS_KEPT = timedelta(days=90)
"""The longest time for which a turn's records exist."""
