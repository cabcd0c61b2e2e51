"""Turns as a list: the newest of one agent, or of all, that a principal sees."""

from collections.abc import Iterator
from contextlib import suppress

from opencrab.domain.access.authority import Scope
from opencrab.domain.access.principal import Principal
from opencrab.domain.errors import NotFound, Refused
from opencrab.domain.turn.turn import Turn, TurnStatus
from opencrab.engine.access.visibility import require_access_to_turn
from opencrab.engine.insight.turn_index import (
    newest_turn_ids_for_insight,
    unfinished_turns_for_insight,
)
from opencrab.engine.runtime import Runtime
from opencrab.ports.paging import paginate

LOOKED_AT = 200
"""How many of an agent's newest turns are considered."""

_AGENTS = 50


def newest_turns_for_insight(
    runtime: Runtime,
    who: Principal,
    *,
    agent_id: str | None,
    session_id: str | None,
    status: TurnStatus | None,
    limit: int,
) -> tuple[Turn, ...]:
    """Return the newest turns that a principal sees and that fit, newest first.

    A turn before its first model call is among them while it is one of the installation's 100
    oldest unfinished ones. An agent that does not exist has none.
    """
    agents = _agent_ids(runtime, session_id) if agent_id is None else iter((agent_id,))
    sees = _Sight(runtime, who)
    most = limit if who.scope is Scope.OWNER and status is session_id is None else LOOKED_AT
    found = [
        turn
        for each in agents
        for turn in _turns_of(runtime, each, most)
        if (session_id is None or turn.session_id == session_id)
        and (status is None or turn.status is status)
        and sees(turn)
    ]
    return tuple(sorted(found, key=lambda turn: (turn.created_at, turn.id), reverse=True)[:limit])


def _agent_ids(runtime: Runtime, session_id: str | None) -> Iterator[str]:
    """Return the agents of a session, or all."""
    if session_id is not None:
        with suppress(NotFound):
            return iter(runtime.home.sessions.get(session_id).all_time_agent_ids)
        return iter(())
    profiles = paginate(runtime.home.agents.page, limit=_AGENTS, key=lambda each: each.agent.id)
    return (profile.agent.id for profile in profiles)


def _turns_of(runtime: Runtime, agent_id: str, most: int) -> Iterator[Turn]:
    ids = [turn.id for turn in unfinished_turns_for_insight(runtime, agent_id)]
    ids += newest_turn_ids_for_insight(runtime, agent_id, most)
    for turn_id in dict.fromkeys(ids):
        try:
            yield runtime.home.journal.header(turn_id)
        except NotFound:
            continue


class _Sight:
    """Tells which turns a principal sees; each session is looked up once for each of its agents."""

    def __init__(self, runtime: Runtime, who: Principal) -> None:
        self._home = runtime.home
        self._who = who
        self._known = dict[tuple[str, str], bool]()

    def __call__(self, turn: Turn) -> bool:
        place = turn.session_id, turn.agent_id
        if place not in self._known:
            self._known[place] = self._looks(turn)
        return self._known[place]

    def _looks(self, turn: Turn) -> bool:
        try:
            require_access_to_turn(self._home, self._who, turn)
        except (NotFound, Refused):
            return False
        return True
