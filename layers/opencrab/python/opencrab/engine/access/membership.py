"""Membership: shares a session with other people, and ends that."""

from collections.abc import Callable

from opencrab.domain.access.authority import Scope
from opencrab.domain.access.session_access import MEMBERS, SESSION_ACCESS, SessionAccess
from opencrab.domain.document import INSTALLATION_FACTS, new_fact
from opencrab.domain.errors import Changed, Conflict, Invalid, Unavailable
from opencrab.engine.access.visibility import NOBODY
from opencrab.ports.access.keys import Keys
from opencrab.ports.documents import Documents

_ATTEMPTS = 10


def let_principal_access_session(
    facts: Documents, keys: Keys, session_id: str, principal_id: str
) -> SessionAccess:
    """Let a principal read a session and write in it; inviting it again changes nothing.

    Raises Invalid unless the principal has a chat or owner key, and Conflict when the session has
    too many members.
    """
    live = (key for key in keys.list() if key.revoked_at is None)
    if all(key.principal.id != principal_id or key.scope is Scope.READ for key in live):
        raise Invalid(
            f"no chat key belongs to a principal {principal_id!r}",
            field="principal_id",
            cure="create one with `opencrab admin keys create --name NAME --scope chat`, and use "
            "its principal",
        )

    def added(members: tuple[str, ...]) -> tuple[str, ...]:
        if principal_id in members:
            return members
        if len(members) >= MEMBERS:
            raise Conflict(
                f"limit reached: a session has at most {MEMBERS} members",
                cure="remove one with `opencrab sessions uninvite`",
            )
        return (*members, principal_id)

    return _change_members(facts, session_id, added)


def revoke_session_access(facts: Documents, session_id: str, principal_id: str) -> SessionAccess:
    """Stop sharing a session with a principal; one that is no member changes nothing."""
    return _change_members(
        facts, session_id, lambda members: tuple(each for each in members if each != principal_id)
    )


def _change_members(
    facts: Documents,
    session_id: str,
    change: Callable[[tuple[str, ...]], tuple[str, ...]],
) -> SessionAccess:
    for _ in range(_ATTEMPTS):
        fact = facts.get(INSTALLATION_FACTS, SESSION_ACCESS, session_id)
        known = NOBODY if fact is None else fact.read(SessionAccess)
        access = known.replaced(members=change(known.members))
        if access == known:
            return known
        written = (
            new_fact(INSTALLATION_FACTS, SESSION_ACCESS, session_id, access)
            if fact is None
            else fact.with_body(access)
        )
        try:
            facts.commit(written)
        except Changed:
            continue
        return access
    raise Unavailable("the members are being changed concurrently", cure="try again")
