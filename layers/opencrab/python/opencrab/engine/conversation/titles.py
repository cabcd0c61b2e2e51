"""Titles of sessions: the name that somebody gave, the theme, or the first message's beginning.

A title of a message is derived when it is shown, and never stored: whoever may read a session may
read its first message, and once that is erased, nothing of it is left.
"""

from opencrab.domain.conversation.message import Audience, Line, LineKind
from opencrab.domain.conversation.session import Session
from opencrab.domain.conversation.title import conversation_title
from opencrab.engine.conversation.client_heading import newest_words_of_client
from opencrab.ports.turn.journal import SessionHistory

_FIRST = 3
"""Lines that are looked at: guidance of an owner may come before the first message."""


def session_title(history: SessionHistory, session: Session) -> str:
    """Return the title of a session, in one read unless it has a name; "" before a message."""
    if session.name or session.theme:
        return conversation_title(session.name or session.theme)
    lines = history.lines(session.id, limit=_FIRST)
    said = (
        conversation_title(newest_words_of_client(line.text)) for line in lines if _is_message(line)
    )
    return next((title for title in said if title), "")


def _is_message(line: Line) -> bool:
    """Check whether a line is what a person said to all."""
    return line.kind is LineKind.SPEECH and line.audience is Audience.ALL and not line.from_agent
