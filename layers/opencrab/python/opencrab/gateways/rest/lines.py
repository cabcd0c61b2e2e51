"""Lines: which part of a session's journal somebody may read, and how it is shown."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from opencrab.domain.authority import Authority
from opencrab.domain.errors import Invalid, Refused
from opencrab.domain.line import Audience, Line, LineKind
from opencrab.domain.value import Value
from opencrab.gateways.rest.access import Caller
from opencrab.gateways.rest.page import PageQuery
from opencrab.ports.journal import Journal

LAST = 9_999_999_998
"""The greatest sequence that a reader may name."""

PUBLIC = frozenset({LineKind.SPEECH, LineKind.SYSTEM, LineKind.APPROVAL})
_READ = 64
_READS = 10
_KINDS = Annotated[str, Field(max_length=100)] | None

Sequence = Annotated[int, Field(ge=0, le=LAST)]


class LinesQuery(PageQuery, defer_build=False):
    """Which lines, and in which order."""

    kinds: _KINDS = Field(
        default=None,
        description="comma-separated kinds; with an owner key also inner_voice and action, and "
        "lines that are not for everybody",
    )
    order: Literal["oldest", "newest"] = "oldest"
    after: Sequence = Field(default=0, description="only lines after this sequence")


class LineView(Value):
    """One line of a session; `sequence` is its place, and `thread` that of what it answers."""

    sequence: int
    thread: int | None
    at: datetime
    kind: LineKind
    audience: Audience
    speaker_id: str
    speaker_name: str
    from_agent: bool
    authority: Authority
    text: str
    data: dict[str, Any] | None
    turn_id: str | None
    message_id: str | None

    @classmethod
    def of(cls, line: Line) -> "LineView":
        """A stored line as it is shown."""
        shown = line.model_dump(exclude={"session_id", "group", "group_line", "taint"})
        return cls(**shown, thread=line.group_line)


class Visible(Value):
    """What a caller sees: kinds, and lines for everybody or for agents and themselves as well."""

    kinds: frozenset[LineKind] = PUBLIC
    private: bool = False

    def shows(self, line: Line) -> bool:
        """Whether the caller may see this line and asked for it."""
        return line.kind in self.kinds and (self.private or line.audience is Audience.ALL)


def visible_to(caller: Caller, kinds: str | None) -> Visible:
    """What a caller sees who asks for some kinds; naming kinds shows an owner private lines too.

    Raises Invalid for a kind that does not exist, Refused for one that is only the owner's.
    """
    if kinds is None:
        return Visible()
    asked = frozenset(_kind(name.strip()) for name in kinds.split(","))
    if not caller.is_owner and asked - PUBLIC:
        raise Refused(
            "only an owner key may read what agents think and do",
            field="kinds",
            cure=f"ask for {', '.join(sorted(PUBLIC))}, or use an owner key",
        )
    return Visible(kinds=asked, private=caller.is_owner)


def collect(
    journal: Journal,
    session_id: str,
    visible: Visible,
    *,
    limit: int,
    after: int = 0,
    before: int | None = None,
    newest_first: bool = False,
) -> tuple[list[Line], int | None]:
    """Visible lines with after < sequence < before, and the place to go on from.

    The place is None when there are no more; a long stretch of hidden lines ends early, with fewer
    lines and a place.
    """
    found: list[Line] = []
    size = max(limit + 1, _READ)
    for _ in range(_READS):
        rows = journal.lines(
            session_id, after=after, before=before, limit=size, newest_first=newest_first
        )
        found.extend(line for line in rows if visible.shows(line))
        if len(found) > limit:
            return found[:limit], found[limit - 1].sequence
        if len(rows) < size:
            return found, None
        if newest_first:
            before = rows[-1].sequence
        else:
            after = rows[-1].sequence
    return found, before if newest_first else after


def _kind(name: str) -> LineKind:
    try:
        return LineKind(name)
    except ValueError:
        known = ", ".join(LineKind)
        raise Invalid("this is no kind of line", field="kinds", cure=f"use {known}") from None
