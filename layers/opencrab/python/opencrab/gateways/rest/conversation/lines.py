"""Lines: which part of a session's journal somebody may read, and how it is shown."""

from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import Depends, Header
from pydantic import Field

from opencrab.domain.access.authority import Authority
from opencrab.domain.conversation.message import Audience, Line, LineKind
from opencrab.domain.errors import Invalid
from opencrab.domain.value import Language, Value
from opencrab.engine.conversation.action_words import session_action_in_words
from opencrab.engine.conversation.live import VisibleKinds, visible_conversation_line_kinds
from opencrab.gateways.language.accept_language import language_of_http_request
from opencrab.gateways.rest.http.access import Caller
from opencrab.gateways.rest.http.page import PageQuery
from opencrab.ports.turn.action import Actions

LAST = 9_999_999_998
"""The greatest sequence that a reader may name."""

_KINDS = Annotated[str, Field(max_length=100)] | None

Sequence = Annotated[int, Field(ge=0, le=LAST)]


class LinesQuery(PageQuery, defer_build=False):
    """The kinds of lines, the part of the list, and its order."""

    kinds: _KINDS = Field(
        default=None,
        description="comma-separated kinds; with an owner key also inner_voice and action, and "
        "lines that are not for everybody",
    )
    order: Literal["oldest", "newest"] = "oldest"
    after: Sequence = Field(
        default=0, description="return lines with a sequence number above this one"
    )


class LineView(Value):
    """One line of a session.

    `sequence` is its place, `thread` that of the message that caused it, `reply_to` that of the
    line that its speaker replies to. `summary` says in words what an action did.
    """

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
    reply_to: int | None = Field(
        default=None, description="the sequence of the line that its speaker replies to, if named"
    )
    summary: str | None = Field(
        default=None, description="of an action: what it does, in the language of Accept-Language"
    )

    @classmethod
    def of(cls, line: Line, summary: str | None = None) -> "LineView":
        """Convert a stored line to its view."""
        shown = line.model_dump(exclude={"session_id", "group", "group_line", "taint"})
        return cls(**shown, thread=line.group_line, reply_to=line.reply_to, summary=summary)

    @classmethod
    def described(cls, line: Line, actions: Actions, language: Language) -> "LineView":
        """Convert a stored line to its view, with what an action does in words."""
        return cls.of(line, session_action_in_words(actions, line, language))


async def _language(
    accept_language: Annotated[
        str | None, Header(description="the language in which lines describe actions")
    ] = None,
) -> Language:
    return language_of_http_request(accept_language or "")


ReaderLanguage = Annotated[Language, Depends(_language)]
"""The language in which lines describe actions, from Accept-Language."""


def lines_visible_to(caller: Caller, kinds: str | None) -> VisibleKinds:
    """Return the kinds of lines that the caller sees; only an owner may name private kinds.

    Raises Invalid for a kind that does not exist, Refused for one that only an owner sees.
    """
    asked = None if kinds is None else [_kind(name.strip()) for name in kinds.split(",")]
    return visible_conversation_line_kinds(asked, is_owner=caller.is_owner)


def _kind(name: str) -> LineKind:
    try:
        return LineKind(name)
    except ValueError:
        known = ", ".join(LineKind)
        raise Invalid("this is not a kind of line", field="kinds", cure=f"use {known}") from None
