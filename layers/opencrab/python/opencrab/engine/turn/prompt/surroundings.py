"""Orient: what an agent that acts of its own accord looks at before it decides."""

from datetime import datetime
from itertools import takewhile

from opencrab.domain.access.authority import Authority
from opencrab.domain.agents.agent import Agent, Profile
from opencrab.domain.agents.event import HAPPENING, AgentEvent
from opencrab.domain.autonomy.vital_signs import VITALS, VitalSigns
from opencrab.domain.document import Document
from opencrab.domain.goals.expectation import EXPECTATIONS, Expectations
from opencrab.domain.goals.goal import GOAL, Goal, goal_id_of, goal_key
from opencrab.domain.memory.salient_beliefs import OUTLOOK, SalientBeliefs
from opencrab.domain.memory.working_memory import WORKING, WorkingMemory
from opencrab.domain.turn.turn import Trigger, Turn
from opencrab.engine.turn.prompt.surroundings_text import (
    WakingMoment,
    render_surroundings,
    waking_text,
)
from opencrab.engine.turn.prompt.system_text import instruction_text
from opencrab.engine.turn.prompt_cache import Surroundings
from opencrab.engine.turn.work import TurnWork
from opencrab.ports.documents import Documents

EVENTS_READ = 50
"""Unread events that one turn takes up at most, the oldest first; the next turn goes on."""

_NAMES = (
    (VITALS, VITALS),
    (WORKING, WORKING),
    (OUTLOOK, OUTLOOK),
    (EXPECTATIONS, EXPECTATIONS),
)
_MILLION = 1_000_000


def read_surroundings(facts: Documents, turn: Turn, profile: Profile) -> Surroundings | None:
    """What lies around an agent that acts for itself: one read, and a second for unread events.

    None for turns that others asked for, and for those on behalf of peers or of the public: these
    are told nothing of what an agent wants, believes and notes.
    """
    if not turn.unasked or turn.authority not in {Authority.SELF, Authority.OWNER}:
        return None
    agent_id = turn.agent_id
    opened = [goal_key(goal_id) for goal_id in profile.mind.agenda.open]
    serves = () if turn.task is None else (goal_key(goal_id_of(turn.task)),)
    keys = dict.fromkeys((*opened, *serves))
    found = facts.several(agent_id, *_NAMES, *((GOAL, key) for key in keys))
    goals = {fact.id: fact for fact in found if fact.kind == GOAL}
    single = {fact.kind: fact for fact in found if fact.kind != GOAL}
    signs = single[VITALS].read(VitalSigns) if VITALS in single else None
    working, outlook = single.get(WORKING), single.get(OUTLOOK)
    expected = single.get(EXPECTATIONS)
    return Surroundings(
        signs=signs,
        goals=tuple(goals[key].read(Goal) for key in dict.fromkeys(opened) if key in goals),
        working=None if working is None else working.read(WorkingMemory),
        outlook=SalientBeliefs() if outlook is None else outlook.read(SalientBeliefs),
        capability=(Expectations() if expected is None else expected.read(Expectations)).capability,
        events=_unread(facts, turn, signs),
        served=next((goals[key] for key in serves if key in goals), None),
    )


def _unread(facts: Documents, turn: Turn, signs: VitalSigns | None) -> tuple[AgentEvent, ...]:
    """Events are looked at by the heartbeat itself, and not by the work that it began.

    Those from the first one in others' words on are left for a turn that no channel hears.
    """
    looks = turn.trigger is Trigger.HEARTBEAT and turn.task is None
    if not looks or signs is None or signs.unread == 0:
        return ()
    page: tuple[Document, ...] = facts.page(
        turn.agent_id, HAPPENING, after=signs.read_to, limit=EVENTS_READ
    )
    events = tuple(fact.read(AgentEvent) for fact in page)
    if turn.channel is None:
        return events
    return tuple(takewhile(lambda event: not event.tainted, events))


def has_foreign_words(around: Surroundings | None) -> bool:
    """Whether what an agent is told of its surroundings has words from outside."""
    if around is None:
        return False
    noted = around.working is not None and around.working.tainted
    return noted or any(event.tainted for event in around.events)


def orientation_text(
    work: TurnWork, around: Surroundings, now: datetime, memory_used: int = 0
) -> str:
    """What an agent that acts of its own accord is told of what it found.

    `memory_used` are the tokens of its share of memory that core memories take.
    """
    turn, agent = work.turn, work.profile.agent
    autonomy, hours = work.runtime.rules.autonomy, agent.heartbeat.active_hours
    woke = next((line for line in work.history if line.sequence == turn.trigger_line), None)
    beats = turn.trigger is Trigger.HEARTBEAT
    moment = WakingMoment(
        language=agent.language,
        now=now,
        zone="UTC" if hours is None else hours.zone,
        drives=work.profile.soul.weights,
        tainted=turn.taint,
        reason=woke.text if beats and woke is not None else "",
        budget=_budget(work, agent),
    )
    told = render_surroundings(around, moment, autonomy, memory_used)
    instructions = agent.heartbeat.instructions.strip()
    if not beats or not agent.heartbeat.acts_unasked:
        return told
    return "\n\n".join((instruction_text(agent.language, instructions, Authority.OWNER, ""), told))


def _budget(work: TurnWork, agent: Agent) -> str:
    limits = work.limits
    day = limits.agent_day(agent.day_limit_micro_usd) / _MILLION
    left = max(limits.turn_micro_usd - work.turn.spent, 0) / _MILLION
    share = limits.heartbeat_percent
    return waking_text("budget_left", agent.language, left=left, day=day, share=share)
