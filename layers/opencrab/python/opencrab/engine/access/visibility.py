"""Visibility: builds resources from what is stored, and asks the policy about them.

Something hidden raises the same NotFound as something that does not exist.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from opencrab.domain.access.authority import Scope
from opencrab.domain.access.policy import AccessDecision, Area, Resource, Verb, decide_access
from opencrab.domain.access.principal import Principal
from opencrab.domain.access.session_access import SESSION_ACCESS, SessionAccess
from opencrab.domain.conversation.session import Session
from opencrab.domain.document import INSTALLATION_FACTS
from opencrab.domain.errors import NotFound, Refused
from opencrab.domain.goals.goal import Goal
from opencrab.domain.turn.turn import Turn
from opencrab.ports.documents import Documents
from opencrab.ports.home import Home

PUBLISHED = "public/"
"""The folder of a workspace that chat keys may read."""

SCANNED = 100
SCANS = 10
"""A request looks through at most SCANS pages of SCANNED items for those that its caller sees."""

NOBODY = SessionAccess()

Item = TypeVar("Item")

_CURE = "use a key of a person or grant that may, or one with scope owner"


def _require_access_by_policy(
    who: Principal, verb: Verb, what: Resource, missing: Callable[[], NotFound], refusal: str
) -> None:
    """Raise the error for what the policy does not allow.

    `missing` builds the error of a store that has no such thing; `refusal` says who may do it.
    """
    decision = decide_access(who, verb, what)
    if decision is AccessDecision.HIDDEN:
        raise missing()
    if decision is AccessDecision.REFUSED:
        raise Refused(refusal, cure=_CURE)


def may_principal_read(who: Principal, what: Resource) -> bool:
    """Check whether a principal may read a resource."""
    return decide_access(who, Verb.READ, what) is AccessDecision.ALLOWED


def require_access_to_agent(who: Principal, agent_id: str, area: Area) -> None:
    """Raise NotFound or Refused unless a principal may read this part of an agent."""
    _require_access_by_policy(
        who,
        Verb.READ,
        agent_access_resource(area, agent_id),
        lambda: _inaccessible_agent_error(agent_id),
        "this key may not read counts and costs of an agent"
        if area is Area.METRICS
        else "this key may not read how an agent is set up and what it keeps",
    )


def require_access_to_session(
    home: Home, who: Principal, session_id: str, verb: Verb = Verb.READ
) -> tuple[Session, SessionAccess]:
    """Return a session with its access if a principal may do this with it.

    Raises NotFound for a session that the principal does not see.
    """
    session = home.sessions.get(session_id)
    access = access_to_session(home.facts, session_id)
    _require_access_by_policy(
        who,
        verb,
        _session_access_resource(session, access),
        lambda: _inaccessible_session_error(session_id),
        _session_refusal(verb),
    )
    return session, access


def require_session_access(
    home: Home, who: Principal, session_id: str, verb: Verb = Verb.READ
) -> None:
    """Raise NotFound or Refused for what a principal may not do with a session.

    An owner may do everything, so nothing is read: whatever follows finds out that there is none.
    """
    if who.scope is not Scope.OWNER:
        require_access_to_session(home, who, session_id, verb)


def may_principal_see_session(home: Home, who: Principal, session_id: str) -> bool:
    """Check whether a principal sees a session now; False if there is none."""
    if who.scope is Scope.OWNER:
        return True
    try:
        require_access_to_session(home, who, session_id)
    except NotFound:
        return False
    return True


def require_access_to_turn(home: Home, who: Principal, turn: Turn, verb: Verb = Verb.READ) -> None:
    """Raise NotFound unless a principal sees the session of a turn, Refused if it may not change.

    A turn is changed by the one who started it.
    """
    if who.scope is Scope.OWNER:
        return
    try:
        session = home.sessions.get(turn.session_id)
    except NotFound:
        raise _inaccessible_turn_error(turn.id) from None
    seen = _session_access_resource(session, access_to_session(home.facts, session.id))
    what = Resource(
        Area.SESSION,
        agent_ids=seen.agent_ids | {turn.agent_id},
        session_id=session.id,
        people=seen.people,
        keepers=frozenset({turn.principal_id}) & seen.people,
    )
    _require_access_by_policy(
        who,
        verb,
        what,
        lambda: _inaccessible_turn_error(turn.id),
        "only the person whose message started a turn, or an owner key, may change it",
    )


def sessions_principal_may_access(
    home: Home, who: Principal, sessions: Sequence[Session]
) -> list[tuple[Session, SessionAccess]]:
    """Return those sessions that a principal sees, with their access, in one read."""
    known = access_of_sessions(home.facts, (session.id for session in sessions))
    paired = [(session, known.get(session.id, NOBODY)) for session in sessions]
    return [each for each in paired if may_principal_read(who, _session_access_resource(*each))]


def goals_principal_may_access(home: Home, who: Principal, goals: Sequence[Goal]) -> list[Goal]:
    """Return those goals that a principal sees, in at most one read."""
    if who.scope is Scope.OWNER:
        return list(goals)
    known = access_of_sessions(home.facts, (goal.session_id for goal in goals))
    return [
        goal
        for goal in goals
        if may_principal_read(who, _goal_access_resource(goal, known.get(goal.session_id, NOBODY)))
    ]


def require_access_to_goal(
    home: Home, who: Principal, goal: Goal, missing: Callable[[], NotFound], verb: Verb = Verb.READ
) -> None:
    """Raise NotFound unless a principal sees a goal, Refused if it may not change it."""
    if who.scope is Scope.OWNER:
        return
    _require_access_by_policy(
        who,
        verb,
        _goal_access_resource(goal, access_to_session(home.facts, goal.session_id)),
        missing,
        "only the person who gave an instruction, or an owner key, may change its task",
    )


def agent_access_resource(area: Area, agent_id: str) -> Resource:
    """Return a part of an agent as the policy sees it."""
    return Resource(area, agent_ids=frozenset({agent_id}))


def _session_access_resource(session: Session, access: SessionAccess) -> Resource:
    """Return a session as the policy sees it: its creator and members take part in it."""
    return Resource(
        Area.SESSION,
        agent_ids=frozenset(session.all_time_agent_ids),
        session_id=session.id,
        people=frozenset({session.created_by, *access.members}),
        keepers=frozenset({session.created_by}),
    )


def _goal_access_resource(goal: Goal, access: SessionAccess) -> Resource:
    """Return a goal or task as the policy sees it: members of its session see it too."""
    return Resource(
        Area.SESSION,
        agent_ids=frozenset({goal.agent_id}),
        session_id=goal.session_id,
        people=frozenset({goal.principal_id, *access.members}),
        keepers=frozenset({goal.principal_id}),
    )


def access_resource_of_file(agent_id: str, path: str) -> Resource:
    """Return a file's current content as the policy sees it; below PUBLISHED it is published."""
    return Resource(
        Area.FILE, agent_ids=frozenset({agent_id}), published=path.startswith(PUBLISHED)
    )


def file_history_access_resource(agent_id: str) -> Resource:
    """Return older versions of a file as the policy sees them: what is replaced is withdrawn."""
    return Resource(Area.FILE, agent_ids=frozenset({agent_id}))


def access_to_session(facts: Documents, session_id: str) -> SessionAccess:
    """Return who a session is shared with."""
    fact = facts.get(INSTALLATION_FACTS, SESSION_ACCESS, session_id)
    return NOBODY if fact is None or fact.body is None else fact.read(SessionAccess)


def access_of_sessions(facts: Documents, session_ids: Iterable[str]) -> dict[str, SessionAccess]:
    """Return who several sessions are shared with, by id; sessions that are not are left out."""
    names = [(SESSION_ACCESS, each) for each in dict.fromkeys(session_ids)]
    found = facts.get_many(INSTALLATION_FACTS, *names) if names else ()
    return {fact.id: fact.read(SessionAccess) for fact in found}


def collect_items_with_access(
    page: Callable[[str, int], Sequence[Item]],
    keep: Callable[[Sequence[Item]], list[Item]],
    place: Callable[[Item], str],
    *,
    after: str,
    limit: int,
    hide: Callable[[str], str],
) -> tuple[list[Item], str | None]:
    """Return up to `limit` items that `keep` lets through, and the place after which to continue.

    The place is None when there are no more. A long stretch of hidden items ends a page early; then
    `hide` names the place, which is that of a hidden item.
    """
    found: list[Item] = []
    size = limit + 1
    for _ in range(SCANS):
        rows = page(after, size)
        found.extend(keep(rows))
        if len(found) > limit:
            return found[:limit], place(found[limit - 1])
        if len(rows) < size:
            return found, None
        after = place(rows[-1])
        size = max(size, SCANNED)
    return found, after if found and place(found[-1]) == after else hide(after)


def _inaccessible_agent_error(agent_id: str) -> NotFound:
    """Return the error for an agent that does not exist, or that the caller does not see."""
    return NotFound(f"there is no agent {agent_id!r}", cure="list them with GET /api/agents")


def _inaccessible_session_error(session_id: str) -> NotFound:
    """Return the error for a session that does not exist, or that the caller does not see."""
    return NotFound(f"there is no session {session_id!r}", cure="list them with GET /api/sessions")


def _inaccessible_turn_error(turn_id: str) -> NotFound:
    """Return the error for a turn that does not exist, or that the caller does not see."""
    return NotFound(
        f"there is no turn {turn_id!r}",
        cure="use a turn_id from GET /api/sessions/{session_id}/messages",
    )


def _session_refusal(verb: Verb) -> str:
    if verb is Verb.CHANGE:
        return "only the person who opened a session, or an owner key, may end or share it"
    return "this key may only read the session"
