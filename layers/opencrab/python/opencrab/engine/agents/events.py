"""Events that users, operators and discussions send to an agent, stored for its next heartbeat."""

from contextlib import suppress
from typing import Annotated

from pydantic import Field, StringConstraints

from opencrab.domain.access.authority import Authority
from opencrab.domain.agents.event import KEPT, LATE, AgentEvent, EventType, LateEvent
from opencrab.domain.conversation.session import Session
from opencrab.domain.document import new_fact
from opencrab.domain.errors import Conflict, NotFound
from opencrab.domain.goals.goal import Goal
from opencrab.domain.goals.promise import Promise
from opencrab.domain.identifier import stable_id
from opencrab.domain.value import Identifier, Text, Value
from opencrab.engine.agents.vital_signs import store_event_for_agent, wake_dormant_agent_with_work
from opencrab.engine.runtime import Runtime
from opencrab.ports.documents import Documents
from opencrab.ports.texts import Texts
from opencrab.ports.turn.action import one_line

ABANDONED = "goal.abandoned"
RESUMED = "goal.resumed"

_THEME = 120
_REASON = 300
_OVER = Texts(__file__, "over")
_WHY = Texts(__file__, "why")
_PROMISED = Texts(__file__, "promised")


class News(Value, defer_build=False):
    """An event for an agent, and its source.

    The same `id` of the same source again is one event. With `trusted` the owner marks the text as
    trusted; otherwise it counts as untrusted. `opportunity` says that it may be worth a goal.
    """

    type: EventType
    source: Identifier
    text: Annotated[Text, StringConstraints(max_length=2_000)] = ""
    id: Identifier | None = Field(
        default=None, description="identifies the event; a repeated id is ignored"
    )
    trusted: bool = False
    opportunity: bool = False


class EventReceipt(Value):
    """The event's id, and whether it was stored: not if the agent does not subscribe to it."""

    id: str
    kept: bool


def send_event_to_agent(runtime: Runtime, agent_id: str, news: News, *, key: str) -> EventReceipt:
    """Store an event for an agent's next heartbeat, waking the agent if it is dormant.

    The event is stored once per its own id, or else per `key`. Raises NotFound, and Conflict for a
    retired agent.
    """
    if not runtime.home.agents.get(agent_id).agent.answers:
        raise Conflict(f"agent {agent_id!r} has retired", cure="choose another agent")
    event = AgentEvent(
        id=runtime.clock.new_id(),
        type=news.type,
        source=news.source,
        text=news.text,
        authority=Authority.OWNER if news.trusted else Authority.PUBLIC,
        tainted=not news.trusted,
        opportunity=news.opportunity,
        at=runtime.clock.now(),
    )
    once = stable_id("told", news.source, key if news.id is None else news.id)
    return _store_event_once(runtime, agent_id, event, once)


def send_agent_goal_change_event(runtime: Runtime, goal: Goal, kind: str, reason: str = "") -> None:
    """Notify an agent that a goal it set itself was cancelled or resumed by someone else."""
    if goal.authority is not Authority.SELF:
        return
    words = one_line(reason, _REASON)
    event = AgentEvent(
        id=runtime.clock.new_id(),
        type=kind,
        source="owner",
        text=f"{goal.id} {goal.name}" + (f": {words}" if words else ""),
        session_id=goal.session_id,
        authority=Authority.OWNER,
        tainted=goal.taint,
        at=runtime.clock.now(),
    )
    store_event_for_agent(runtime, goal.agent_id, event)


def send_agents_discussion_end_event(runtime: Runtime, session: Session) -> None:
    """Notify each agent of a discussion that it has ended, except the last speaker, once.

    Only agents that may act without being asked are notified.
    """
    for agent_id in session.agent_ids:
        if agent_id != session.speaker_id:
            with suppress(NotFound):
                _told_of_end(runtime, agent_id, session)


def send_agent_promise_end_event(runtime: Runtime, agent_id: str, promise: Promise) -> None:
    """Notify an agent that may act unasked of how a promise made to it ended, once."""
    with suppress(NotFound):
        agent = runtime.home.agents.get(agent_id).agent
        if not (agent.answers and agent.heartbeat.acts_on_its_own):
            return
        words = _PROMISED[promise.status][agent.language]
        event = AgentEvent(
            id=runtime.clock.new_id(),
            type=f"promise.{promise.status}",
            source=promise.agent_id,
            text=words.format(
                name=one_line(promise.name),
                what=promise.what,
                why=one_line(promise.reason, _REASON),
            ),
            session_id=promise.session_id,
            authority=Authority.PEER,
            at=runtime.clock.now(),
        )
        once = stable_id("promise-ended", promise.id)
        _store_event_once(runtime, agent_id, event, once)


def _told_of_end(runtime: Runtime, agent_id: str, session: Session) -> None:
    agent = runtime.home.agents.get(agent_id).agent
    if session.ended_by is None or not (agent.answers and agent.heartbeat.acts_on_its_own):
        return
    theme = one_line(session.theme or session.name or "", _THEME)
    words = _OVER["named" if theme else "unnamed"][agent.language]
    event = AgentEvent(
        id=runtime.clock.new_id(),
        type="speech",
        source=session.speaker_id or session.id,
        text=words.format(theme=theme, why=_WHY[session.ended_by][agent.language]),
        session_id=session.id,
        authority=Authority.PEER,
        at=runtime.clock.now(),
    )
    _store_event_once(runtime, agent_id, event, stable_id("discussion-ended", session.id))


def send_agent_event_once(runtime: Runtime, agent_id: str, event: AgentEvent, once: str) -> None:
    """Notify an agent of an event, unless it was notified under the same `once` before."""
    with suppress(NotFound):
        if runtime.home.agents.get(agent_id).agent.answers:
            _store_event_once(runtime, agent_id, event, once)


def _store_event_once(
    runtime: Runtime, agent_id: str, event: AgentEvent, once: str
) -> EventReceipt:
    """Store an event unless one was stored under the deduplication id `once`."""
    found = _find_stored_event(runtime.home.facts, agent_id, once)
    if found is not None:
        wake_dormant_agent_with_work(runtime, agent_id)
        return found
    ends = event.at + KEPT
    mark = new_fact(agent_id, LATE, once, LateEvent(kept_as=event.id), expires_at=ends)
    if store_event_for_agent(runtime, agent_id, event, mark):
        return EventReceipt(id=event.id, kept=True)
    return _find_stored_event(runtime.home.facts, agent_id, once) or EventReceipt(
        id=event.id, kept=False
    )


def _find_stored_event(facts: Documents, agent_id: str, once: str) -> EventReceipt | None:
    mark = facts.get(agent_id, LATE, once)
    return None if mark is None else EventReceipt(id=mark.read(LateEvent).kept_as, kept=True)
