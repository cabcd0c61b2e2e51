"""Writes of vital signs, which also wake a dormant agent that has something to do."""

from collections.abc import Callable
from datetime import UTC, datetime

from opencrab.domain.agents.agent import AgentStatus, Profile
from opencrab.domain.agents.event import (
    HAPPENING,
    KEPT,
    LATE,
    MOST,
    AgentEvent,
    LateEvent,
    agent_event_id_after,
)
from opencrab.domain.autonomy.vital_signs import (
    VITALS,
    VitalSigns,
    bring_heartbeat_forward,
    first_heartbeat_signs,
    heartbeat_signs_document,
)
from opencrab.domain.document import Document, new_fact
from opencrab.domain.errors import Changed, Conflict, NotFound, Unavailable
from opencrab.engine.runtime import Runtime
from opencrab.ports.documents import Documents

TRIES = 8

LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
"""A `reviewed_at` so old that the next heartbeat reviews the agent's goals."""

ChangeSigns = Callable[[VitalSigns], VitalSigns]

_Step = Callable[[VitalSigns | None], tuple[VitalSigns | None, tuple[Document, ...]]]


def agent_vital_signs_document(facts: Documents, agent_id: str) -> Document | None:
    """Return the document of an agent's vital signs, or None if it never had a heartbeat."""
    return facts.get(agent_id, VITALS, VITALS)


def create_agent_vital_signs(
    runtime: Runtime, profile: Profile, *, reviews: bool = False
) -> VitalSigns:
    """Create an agent's vital signs, or update them to match its settings; safe to repeat.

    `reviews` lets the next heartbeat compute its goals, as after its owner asked for something, and
    forgets turns that were useless before. A dormant agent with waiting events or mentions is
    woken. Raises Unavailable when concurrent updates exhaust the retries.
    """
    agent = profile.agent
    now = runtime.clock.now()
    fresh = first_heartbeat_signs(agent, profile.soul.weights.risk_tolerance, now)
    for _ in range(TRIES):
        stored = agent_vital_signs_document(runtime.home.facts, agent.id)
        signs = fresh if stored is None else _refresh_signs(stored.read(VitalSigns), fresh)
        if reviews:
            signs = signs.replaced(reviewed_at=LONG_AGO, in_vain=0)
        fact = heartbeat_signs_document(signs, stored)
        try:
            if stored is None or not _same(fact, stored):
                runtime.home.facts.commit(fact)
        except Changed:
            continue
        return _awake(runtime, profile) if _sleeps_on(signs) else signs
    raise _busy(agent.id)


def wake_dormant_agent_with_work(runtime: Runtime, agent_id: str) -> None:
    """Wake an agent that is dormant although events or mentions wait, as after a crash."""
    stored = agent_vital_signs_document(runtime.home.facts, agent_id)
    if stored is not None and _sleeps_on(stored.read(VitalSigns)):
        _awake(runtime, runtime.home.agents.get(agent_id))


def change_agent_vital_signs(
    runtime: Runtime, agent_id: str, change: ChangeSigns, *beside: Document
) -> VitalSigns | None:
    """Change an agent's vital signs and write `beside` in one transaction; None if it has none.

    `beside` is written even if there are no vital signs or they do not change. Raises Changed if a
    document of `beside` was changed concurrently, after the last retry. A dormant agent that got a
    new event or mention is woken.
    """
    return _update_signs(
        runtime, agent_id, lambda before: (None if before is None else change(before), beside)
    )


def _update_signs(runtime: Runtime, agent_id: str, step: _Step) -> VitalSigns | None:
    for last in (False,) * (TRIES - 1) + (True,):
        stored = agent_vital_signs_document(runtime.home.facts, agent_id)
        before = None if stored is None else stored.read(VitalSigns)
        changed, beside = step(before)
        signs = None if changed is None else bring_heartbeat_forward(changed, runtime.clock.now())
        fact = None if signs is None else heartbeat_signs_document(signs, stored)
        if fact is not None and stored is not None and _same(fact, stored):
            fact = None
        try:
            if facts := (*beside, *([] if fact is None else [fact])):
                runtime.home.facts.commit(*facts)
        except Changed:
            if last and beside:
                raise
            continue
        if before is not None and signs is not None and _has_wake_reason(before, signs):
            return _awake(runtime, runtime.home.agents.get(agent_id))
        return signs
    raise _busy(agent_id)


def store_event_for_agent(
    runtime: Runtime, agent_id: str, event: AgentEvent, *beside: Document
) -> bool:
    """Store an event for an agent's next heartbeat; return False if it was not stored.

    It is not stored if the agent does not subscribe to it or has MOST unread events. An id that is
    known is not stored again. An event whose id sorts before events already read is stored under a
    new id, so that it is read too. `beside` is written with the event. A dormant agent is woken,
    also by a repeated event.
    """
    stored = agent_vital_signs_document(runtime.home.facts, agent_id)
    signs = None if stored is None else stored.read(VitalSigns)
    if signs is None or not signs.heartbeat.hears(event.type, event.source):
        return False
    known = _is_known(runtime.home.facts, agent_id, event)
    if known or signs.unread >= MOST:
        wake_dormant_agent_with_work(runtime, agent_id)
        return known

    def told(before: VitalSigns | None) -> tuple[VitalSigns | None, tuple[Document, ...]]:
        after, facts = _told_of(before, agent_id, event)
        return after, (*facts, *beside)

    try:
        _update_signs(runtime, agent_id, told)
    except Changed:
        known = _is_known(runtime.home.facts, agent_id, event)
        if known:
            wake_dormant_agent_with_work(runtime, agent_id)
        return known
    return True


def _is_known(facts: Documents, agent_id: str, event: AgentEvent) -> bool:
    names = ((HAPPENING, event.id), (LATE, event.id))
    return bool(facts.get_many(agent_id, *names))


def _told_of(
    before: VitalSigns | None, agent_id: str, event: AgentEvent
) -> tuple[VitalSigns | None, tuple[Document, ...]]:
    """Return vital signs with one more unread event, and the documents that store the event."""
    ends = event.at + KEPT
    if before is None or event.id > before.read_to:
        after = None if before is None else before.replaced(unread=before.unread + 1)
        return after, (new_fact(agent_id, HAPPENING, event.id, event, expires_at=ends),)
    number = before.late + 1
    placed = event.replaced(id=agent_event_id_after(before.read_to, number))
    return before.replaced(unread=before.unread + 1, late=number), (
        new_fact(agent_id, HAPPENING, placed.id, placed, expires_at=ends),
        new_fact(agent_id, LATE, event.id, LateEvent(kept_as=placed.id), expires_at=ends),
    )


def make_dormant_agent_active(runtime: Runtime, profile: Profile) -> Profile:
    """Make a dormant agent active and reset its vital signs; leave other agents as they are.

    Raises Unavailable when concurrent updates exhaust the retries.
    """
    if profile.agent.status is not AgentStatus.DORMANT:
        return profile
    awake = _with_status(runtime, profile, AgentStatus.ACTIVE)
    create_agent_vital_signs(runtime, awake)
    return awake


def make_agent_dormant(runtime: Runtime, agent_id: str) -> None:
    """Make an active agent dormant: it has no heartbeats until somebody or an event wakes it.

    The vital signs are written after the agent, so that an agent left between both by a crash can
    be woken like any dormant one.
    """
    try:
        profile = runtime.home.agents.get(agent_id)
    except NotFound:
        return
    if profile.agent.status is AgentStatus.ACTIVE:
        profile = _with_status(runtime, profile, AgentStatus.DORMANT)
    create_agent_vital_signs(runtime, profile)


def _awake(runtime: Runtime, profile: Profile) -> VitalSigns:
    """Wake a dormant agent and return its vital signs; completes a wake cut off by a crash."""
    if profile.agent.status is AgentStatus.DORMANT:
        profile = _with_status(runtime, profile, AgentStatus.ACTIVE)
    return create_agent_vital_signs(runtime, profile)


def _with_status(runtime: Runtime, profile: Profile, status: AgentStatus) -> Profile:
    """Save an agent as active or dormant; a retired agent stays retired."""
    for _ in range(TRIES):
        agent = profile.agent
        if agent.status in {status, AgentStatus.RETIRED}:
            return profile
        changed = agent.replaced(status=status, updated_at=runtime.clock.now())
        try:
            return profile.replaced(agent=runtime.home.agents.save(changed))
        except Conflict:
            profile = runtime.home.agents.get(agent.id)
    raise _busy(profile.agent.id)


def _refresh_signs(signs: VitalSigns, fresh: VitalSigns) -> VitalSigns:
    """Return vital signs that match the agent's settings; one that wakes starts a new interval."""
    told = signs.replaced(
        heartbeat=fresh.heartbeat, status=fresh.status, risk_tolerance=fresh.risk_tolerance
    )
    wakes = told.has_next_heartbeat and not signs.has_next_heartbeat
    if wakes and signs.status is not fresh.status:
        told = told.replaced(in_vain=0, reviewed_at=LONG_AGO)
    changed = signs.heartbeat.interval_seconds != fresh.heartbeat.interval_seconds
    if wakes or changed or signs.next_beat_at > fresh.next_beat_at:
        told = told.replaced(next_beat_at=fresh.next_beat_at)
    return told


def _has_wake_reason(before: VitalSigns, after: VitalSigns) -> bool:
    """Check whether a change gave a dormant agent a new mention or event."""
    if after.status is not AgentStatus.DORMANT:
        return False
    spoken_to = after.mention is not None and after.mention != before.mention
    return spoken_to or after.unread > before.unread


def _sleeps_on(signs: VitalSigns) -> bool:
    """Check whether a dormant agent has events or mentions to wake up for."""
    return (
        signs.status is AgentStatus.DORMANT and signs.heartbeat.enabled and signs.has_pending_input
    )


def _same(fact: Document, stored: Document) -> bool:
    return (fact.body, fact.due_at) == (stored.body, stored.due_at)


def _busy(agent_id: str) -> Unavailable:
    return Unavailable(
        f"concurrent updates to the vital signs of agent {agent_id!r}; retries exhausted",
        cure="try again",
    )
