"""Reading of an agent's memory and sessions, for its owner and the people who talk with it.

Every read is limited to one agent: a session of another agent is not found.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeVar

from opencrab.domain.access.authority import Scope
from opencrab.domain.access.principal import Principal
from opencrab.domain.agents.heartbeat import agent_time_zone
from opencrab.domain.conversation.message import Line
from opencrab.domain.conversation.session import Hearing, Session
from opencrab.domain.errors import NotFound, Refused
from opencrab.domain.memory.knowledge_graph import EDGE, NODE, KnowledgeEdge, KnowledgeNode
from opencrab.domain.memory.memory import EXPERIENCE, IMPRESSION, Experience, Impression
from opencrab.domain.memory.search_row import EVERYTHING, SearchClearance
from opencrab.domain.memory.summary import SUMMARY, Summary, memory_summary_document_id
from opencrab.domain.value import Value
from opencrab.engine.access.visibility import may_principal_see_session
from opencrab.ports.conversation.sessions import Sessions
from opencrab.ports.home import Home
from opencrab.ports.memory.search import (
    Search,
    SearchHit,
    SearchQuery,
    search_each_question,
)
from opencrab.ports.turn.journal import Journal

_SCANNED = 100
_SCANS = 10
_READ = 64
_READS = 10

Kept = TypeVar("Kept", bound=Value)


@dataclass(frozen=True)
class SessionLog:
    """A session of an agent, its number of lines, and the time of the last one."""

    session: Session
    lines: int
    last_at: datetime | None


@dataclass(frozen=True)
class GraphCursor:
    """A position in the knowledge graph: after a node, or after an edge."""

    kind: str = NODE
    after: str = ""


@dataclass(frozen=True)
class GraphPage:
    """A page of an agent's knowledge graph, and the position of the next one."""

    nodes: tuple[KnowledgeNode, ...]
    edges: tuple[KnowledgeEdge, ...]
    place: GraphCursor | None


def memory_search_clearance(principal: Principal) -> SearchClearance:
    """Return what a caller may find; raise Refused for a key with scope read.

    There is no current session: a chat key finds what is public, and what is not private in
    sessions in which its holder spoke.
    """
    if principal.scope is Scope.OWNER:
        return EVERYTHING
    if principal.scope is Scope.CHAT:
        return SearchClearance(person_id=principal.id)
    raise Refused(
        "this key may not search an agent's history", cure="use one with scope chat or owner"
    )


def search_memory(
    home: Home, search: Search, agent_id: str, query: SearchQuery, zone: str
) -> tuple[SearchHit, ...]:
    """Search an agent's memory; raise NotFound for an unknown agent or session of it.

    Times that the query names are on the agent's clock; `zone` is the installation's time zone.
    Raises Unavailable while the index cannot be reached.
    """
    agent = home.agents.get(agent_id).agent
    if query.session_id is not None:
        session_in_agent_memory(home.sessions, agent_id, query.session_id)
    query = replace(query, zone=agent_time_zone(agent.heartbeat, zone))
    return search_each_question(search, agent_id, query)


def search_memory_of_principal(
    home: Home, search: Search, agent_id: str, query: SearchQuery, who: Principal, *, zone: str
) -> tuple[SearchHit, ...]:
    """Search an agent's memory; raise NotFound for an agent or session that `who` does not see.

    What was said in a session is left out for those who do not see the session now, even if they
    spoke there once. Raises Unavailable while the index cannot be reached.
    """
    home.agents.get(agent_id)
    asked = query.session_id
    if asked is not None and not may_principal_see_session(home, who, asked):
        raise _no_session(agent_id, asked)
    found = search_memory(home, search, agent_id, query, zone)
    if query.clearance.whole:
        return found
    told = {hit.row.session_id for hit in found if hit.row.hearing is not Hearing.PUBLIC}
    seen = {each for each in told if may_principal_see_session(home, who, each)}
    return tuple(
        hit for hit in found if hit.row.hearing is Hearing.PUBLIC or hit.row.session_id in seen
    )


def session_in_agent_memory(sessions: Sessions, agent_id: str, session_id: str) -> Session:
    """Return a session that the agent ever took part in; raise NotFound for any other."""
    try:
        session = sessions.get(session_id)
    except NotFound:
        raise _no_session(agent_id, session_id) from None
    if agent_id not in session.all_time_agent_ids:
        raise _no_session(agent_id, session_id)
    return session


def session_logs_for_memory(
    home: Home, agent_id: str, *, after: str | None, limit: int
) -> tuple[tuple[SessionLog, ...], str | None]:
    """Return a page of the agent's sessions by id, and where to continue.

    The second value is None when there are no more; a long stretch of others' sessions ends a page
    early.
    """
    home.agents.get(agent_id)
    found = list[Session]()
    for _ in range(_SCANS):
        page = home.sessions.page(after=after, limit=_SCANNED)
        found.extend(each for each in page if agent_id in each.all_time_agent_ids)
        if len(found) > limit:
            return _logs(home.journal, found[:limit]), found[limit - 1].id
        if len(page) < _SCANNED:
            return _logs(home.journal, found), None
        after = page[-1].id
    return _logs(home.journal, found), after


def session_log_in_agent_memory(home: Home, agent_id: str, session_id: str) -> SessionLog:
    """Return one session with its size; raise NotFound."""
    return _log(home.journal, session_in_agent_memory(home.sessions, agent_id, session_id))


def lines_in_agent_memory(
    home: Home,
    agent_id: str,
    session_id: str,
    *,
    after: int = 0,
    before: int | None = None,
    limit: int,
    newest_first: bool = False,
) -> tuple[list[Line], int | None]:
    """Return lines with after < sequence < before that the agent knows, and where to continue.

    Other agents' thoughts and tool calls are not included. Raises NotFound.
    """
    session_in_agent_memory(home.sessions, agent_id, session_id)
    found, size = list[Line](), max(limit + 1, _READ)
    for _ in range(_READS):
        rows = home.journal.lines(
            session_id, after=after, before=before, limit=size, newest_first=newest_first
        )
        found.extend(line for line in rows if line.is_visible_to(agent_id))
        if len(found) > limit:
            return found[:limit], found[limit - 1].sequence
        if len(rows) < size:
            return found, None
        if newest_first:
            before = rows[-1].sequence
        else:
            after = rows[-1].sequence
    return found, before if newest_first else after


def impressions_in_agent_memory(
    home: Home, agent_id: str, *, after: str, limit: int
) -> tuple[Impression, ...]:
    """Return a page of the agent's impressions of people and peers, ordered by id."""
    return _page(home, agent_id, IMPRESSION, Impression, after=after, limit=limit)


def find_impression(home: Home, agent_id: str, person_id: str) -> Impression:
    """Return the agent's impression of one person; raise NotFound."""
    return _one(home, agent_id, IMPRESSION, Impression, person_id)


def experiences_in_memory(
    home: Home, agent_id: str, *, after: str, limit: int
) -> tuple[Experience, ...]:
    """Return a page of the agent's experiences, newest first."""
    return _page(
        home, agent_id, EXPERIENCE, Experience, after=after, limit=limit, newest_first=True
    )


def summaries_of_agent(home: Home, agent_id: str, *, after: str, limit: int) -> tuple[Summary, ...]:
    """Return a page of summaries, newest first, before the one with id `after`."""
    key = memory_summary_document_id(after) if after else ""
    return _page(home, agent_id, SUMMARY, Summary, after=key, limit=limit, newest_first=True)


def find_summary(home: Home, agent_id: str, summary_id: str) -> Summary:
    """Return one summary; raise NotFound."""
    return _one(
        home, agent_id, SUMMARY, Summary, summary_id, key=memory_summary_document_id(summary_id)
    )


def memory_knowledge_graph(
    home: Home, agent_id: str, *, place: GraphCursor, limit: int
) -> GraphPage:
    """Return a page of the knowledge graph: all nodes first, then the edges."""
    home.agents.get(agent_id)
    nodes, after = list[KnowledgeNode](), place.after
    facts = home.facts
    if place.kind == NODE:
        page = facts.page(agent_id, NODE, after=after, limit=limit + 1)
        nodes, after = [fact.read(KnowledgeNode) for fact in page[:limit]], ""
        if len(page) > limit:
            return GraphPage(tuple(nodes), (), GraphCursor(NODE, page[limit - 1].id))
    room = limit - len(nodes)
    found = facts.page(agent_id, EDGE, after=after, limit=room + 1)
    edges = tuple(fact.read(KnowledgeEdge) for fact in found[:room])
    if len(found) <= room:
        return GraphPage(tuple(nodes), edges, None)
    return GraphPage(tuple(nodes), edges, GraphCursor(EDGE, found[room - 1].id if room else ""))


def _page(
    home: Home,
    agent_id: str,
    kind: str,
    value: type[Kept],
    *,
    after: str,
    limit: int,
    newest_first: bool = False,
) -> tuple[Kept, ...]:
    home.agents.get(agent_id)
    page = home.facts.page(agent_id, kind, after=after, limit=limit, newest_first=newest_first)
    return tuple(fact.read(value) for fact in page)


def _one(
    home: Home, agent_id: str, kind: str, value: type[Kept], name: str, *, key: str = ""
) -> Kept:
    home.agents.get(agent_id)
    fact = home.facts.get(agent_id, kind, key or name)
    if fact is None:
        raise NotFound(
            f"agent {agent_id!r} has no {kind} {name!r}",
            cure="list the existing ones",
        )
    return fact.read(value)


def _logs(journal: Journal, sessions: Sequence[Session]) -> tuple[SessionLog, ...]:
    return tuple(_log(journal, session) for session in sessions)


def _log(journal: Journal, session: Session) -> SessionLog:
    last = journal.lines(session.id, limit=1, newest_first=True)
    return SessionLog(session, last[0].sequence if last else 0, last[0].at if last else None)


def _no_session(agent_id: str, session_id: str) -> NotFound:
    return NotFound(
        f"agent {agent_id!r} has no session {session_id!r}",
        field="session_id",
        cure="list its sessions",
    )
