"""Session access: what is recorded beside a session about who reads it and how freely it speaks."""

from collections.abc import Callable

from opencrab.domain.access.session_access import SESSION_ACCESS, SessionAccess
from opencrab.domain.document import INSTALLATION_FACTS, Document, new_fact
from opencrab.domain.errors import Changed, Unavailable
from opencrab.ports.documents import Documents

_ATTEMPTS = 10


def record_access_speaking_freely(
    facts: Documents, session_id: str, *, speaks_freely: bool
) -> SessionAccess:
    """Record whether agents may tell private memories in a session although others read it."""
    return _change_access(
        facts, session_id, lambda access: access.replaced(speaks_freely=speaks_freely)
    )


def record_access_of_unknown_people(facts: Documents, session_id: str) -> SessionAccess:
    """Record that people read a session who are not known one by one; again changes nothing."""
    return _change_access(facts, session_id, lambda access: access.replaced(others_read=True))


def other_readers_access_document(session_id: str) -> Document:
    """Return the document that records other readers of a session that is not opened yet."""
    access = SessionAccess(others_read=True)
    return new_fact(INSTALLATION_FACTS, SESSION_ACCESS, session_id, access).replaced(version=0)


def _change_access(
    facts: Documents, session_id: str, change: Callable[[SessionAccess], SessionAccess]
) -> SessionAccess:
    for _ in range(_ATTEMPTS):
        fact = facts.get(INSTALLATION_FACTS, SESSION_ACCESS, session_id)
        known = SessionAccess() if fact is None else fact.read(SessionAccess)
        access = change(known)
        if access == known:
            return known
        first = new_fact(INSTALLATION_FACTS, SESSION_ACCESS, session_id, access)
        try:
            facts.commit(first if fact is None else fact.with_body(access))
        except Changed:
            continue
        return access
    raise Unavailable(
        f"concurrent updates to the access of session {session_id!r}; retries exhausted",
        cure="try again",
    )
