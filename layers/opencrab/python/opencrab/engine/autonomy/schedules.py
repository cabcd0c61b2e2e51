"""Schedules: instructions of an owner that run once at each of their times."""

import logging
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta

from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.agents.agent import Agent, AgentStatus
from opencrab.domain.agents.heartbeat import agent_time_zone
from opencrab.domain.autonomy.instruction_plan import (
    is_instructed_schedule,
    is_one_time_schedule,
    is_schedule_withdrawn,
)
from opencrab.domain.autonomy.schedule import (
    SCHEDULE,
    SCHEDULES,
    Schedule,
    ScheduleDraft,
    WhyOff,
    new_schedule,
)
from opencrab.domain.conversation.message import Message, TextPart
from opencrab.domain.conversation.session import SessionStatus
from opencrab.domain.document import Document
from opencrab.domain.errors import Changed, Conflict, Invalid, NotFound, OpenCrabError
from opencrab.domain.money.budget import INSTALLATION
from opencrab.domain.turn.due_item import DueItem
from opencrab.domain.turn.turn import Trigger, Turn
from opencrab.engine.agents.agent_session import agents_own_session
from opencrab.engine.agents.vital_signs import make_dormant_agent_active
from opencrab.engine.autonomy.due_items import admit_due_item, admit_or_drop_due_item
from opencrab.engine.autonomy.schedule_documents import (
    SCHEDULES_AT_ONCE,
    StartedSchedules,
    read_schedule_count,
    schedule_count_after,
    schedule_document,
)
from opencrab.engine.goals.queue import OPENCRAB
from opencrab.engine.runtime import Runtime
from opencrab.ports.clock import Clock
from opencrab.ports.conversation.sessions import Sessions
from opencrab.ports.documents import Documents
from opencrab.ports.home import Home
from opencrab.ports.turn.journal import Journal

log = logging.getLogger(__name__)

_TRIES = 5
_ALL = 16_000
_LATER = timedelta(minutes=10)
"""The time after which a schedule for one run is tried again if it may not run now."""

_EVER = timedelta(days=36_525)

_WHY = {
    WhyOff.RETIRED: "its agent has retired",
    WhyOff.NOT_THERE: "its session is over, or its agent has left it",
}

_Step = tuple[Schedule, tuple[DueItem, ...]]


def create_schedule(
    runtime: Runtime, agent_id: str, schedule_id: str, draft: ScheduleDraft
) -> Schedule:
    """Store a new schedule; return the stored one if the same id and content exist.

    Without a time zone it is in the agent's.

    Raises NotFound (agent), Invalid (session), and Conflict for a retired agent, for too many
    schedules and for an id with other content.
    """
    agent = _require_place(runtime, agent_id, draft)
    draft = draft.in_zone(agent_time_zone(agent.heartbeat, runtime.rules.time_zone))
    for _ in range(SCHEDULES):
        counted = read_schedule_count(runtime.home.facts, agent_id)
        known = schedules_of_agent(runtime.home, agent_id)
        before = next((each for each in known if each.id == schedule_id), None)
        if before is not None:
            return _made_before(before, draft)
        if len(known) >= SCHEDULES:
            raise Conflict(
                f"limit reached: agent {agent_id!r} has {SCHEDULES} schedules",
                cure="delete one of them first",
            )
        made = new_schedule(schedule_id, agent_id, draft, runtime.clock.now())
        with suppress(Changed):
            more = schedule_count_after(agent_id, counted)
            runtime.home.facts.commit(schedule_document(made), more)
            return made
    raise _busy(schedule_id)


def change_schedule(
    runtime: Runtime,
    agent_id: str,
    schedule_id: str,
    draft: ScheduleDraft,
    *,
    version: int | None = None,
) -> Schedule:
    """Replace the content of a schedule at this version; the change itself starts no run.

    Raises NotFound, Invalid (session), and Conflict (retired agent, another version).
    """
    _require_place(runtime, agent_id, draft)

    def replaced(schedule: Schedule) -> _Step:
        if version not in {None, schedule.version}:
            raise Conflict(
                f"schedule {schedule_id!r} is at version {schedule.version} now",
                field="If-Match",
                cure="load it again and repeat the change",
            )
        return schedule.with_draft(draft, runtime.clock.now()), ()

    return _update_schedule(runtime.home.facts, agent_id, schedule_id, replaced)[0]


def delete_schedule(facts: Documents, agent_id: str, schedule_id: str) -> Schedule:
    """Delete a schedule; a run that has begun continues. Raises NotFound."""
    for _ in range(_TRIES):
        fact = _fact(facts, agent_id, schedule_id)
        try:
            facts.commit(fact.removed())
        except Changed:
            continue
        return fact.read(Schedule)
    raise _busy(schedule_id)


def find_schedule(facts: Documents, agent_id: str, schedule_id: str) -> Schedule:
    """Return one schedule; raise NotFound."""
    return _fact(facts, agent_id, schedule_id).read(Schedule)


def schedules_of_agent(home: Home, agent_id: str) -> tuple[Schedule, ...]:
    """Return an agent's schedules in the order of creation. Raises NotFound (agent)."""
    home.agents.get(agent_id)
    found = home.facts.page(agent_id, SCHEDULE, limit=2 * SCHEDULES)
    known = (fact.read(Schedule) for fact in found)
    return tuple(sorted(known, key=lambda each: (each.created_at, each.id)))


def run_schedule_now(
    runtime: Runtime, agent_id: str, schedule_id: str, *, key: str
) -> tuple[str, ...]:
    """Run a schedule at once, once per `key`, and return its turn id in a tuple of one.

    The times of the schedule do not change, and it may be switched off. Raises NotFound, and
    Conflict if the agent or session cannot run it.
    """

    def done(schedule: Schedule) -> _Step:
        why = _obstacle(runtime.home, runtime.clock, schedule)
        if why is not None:
            raise Conflict(
                f"schedule {schedule_id!r} cannot be run: {_WHY[why]}",
                cure="use an agent that has not retired and a session in which it is a participant",
            )
        item, turn = _item(runtime.clock, schedule, f"run-{key}")
        if schedule.last_turn_id != turn and _header(runtime.home.journal, turn) is None:
            schedule = schedule.after_run(turn, runtime.clock.now())
        return schedule, (item,)

    schedule, (item,) = _update_schedule(runtime.home.facts, agent_id, schedule_id, done)
    turn = _item(runtime.clock, schedule, f"run-{key}")[1]
    if _header(runtime.home.journal, turn) is None:
        admit_due_item(runtime, item)
    runtime.home.due.remove(item.id)
    return (turn,)


def sweep_schedules(runtime: Runtime, *, ahead: timedelta = timedelta()) -> StartedSchedules:
    """Start the oldest schedules that are due, one run for all missed times of each.

    A time is skipped while the previous run has not ended, and while the agent or the installation
    is frozen. Once an hour, schedules that a wrong clock had set too late are corrected. Schedules
    that become due within `ahead` are returned, not started.
    """
    if (now := runtime.clock.now()).minute == 0:
        _bring_back(runtime.home.facts, runtime.clock)
    found = runtime.home.facts.list_due(SCHEDULE, now + ahead, SCHEDULES_AT_ONCE)
    due = [fact for fact in found if fact.due_at is not None and fact.due_at <= now]
    frozen = runtime.home.switches.all_frozen() if due else ()
    begun = sum(_fire_schedule(runtime, fact, frozen) for fact in due)
    return StartedSchedules(begun, frozenset(fact.key for fact in due), found)


def start_due_schedule(runtime: Runtime, fact: Document) -> bool:
    """Start a schedule that is due, or switch it off; return False if nothing started."""
    return _fire_schedule(runtime, fact, runtime.home.switches.all_frozen())


def _bring_back(facts: Documents, clock: Clock) -> None:
    """Correct the next time of each schedule that is later than its rule allows."""
    now = clock.now()
    for fact in facts.list_due(SCHEDULE, now + _EVER, _ALL):
        schedule = fact.read(Schedule)
        try:
            after = schedule.with_bounded_next_time(now)
            if after != schedule:
                facts.commit(schedule_document(after, fact))
                log.warning(
                    "schedule moved, its next run was later than its rule allows: schedule=%s, "
                    "from=%s, to=%s",
                    schedule.id,
                    schedule.next_at,
                    after.next_at,
                )
        except OpenCrabError as error:
            log.warning(
                "schedule correction failed, retrying: schedule=%s, error=%s",
                schedule.id,
                error.message,
            )


def _fire_schedule(runtime: Runtime, fact: Document, frozen: tuple[str, ...]) -> bool:
    """Start a due schedule, or switch it off if it cannot run; return False if nothing started."""
    schedule = fact.read(Schedule)
    try:
        if is_instructed_schedule(schedule):
            agent = _find_agent(runtime.home, schedule.agent_id)
            if agent is None or is_schedule_withdrawn(schedule, agent):
                runtime.home.facts.commit(fact.removed())
                return False
            # Without heartbeats nothing of what it does by itself begins.
            frozen = frozen if agent.heartbeat.enabled else (*frozen, agent.id)
            _wake_for_instructions(runtime, agent)
        after, items = _next(runtime.home, runtime.clock, schedule, frozen)
        runtime.home.facts.commit(schedule_document(after, fact), due=items)
    except Changed:
        return False
    except OpenCrabError as error:
        log.warning(
            "schedule run failed, retrying: schedule=%s, error=%s", schedule.id, error.message
        )
        return False
    if after.why_off is not None:
        log.warning(
            "schedule switched off: schedule=%s, reason=%s", schedule.id, after.why_off.value
        )
    return bool(items) and admit_or_drop_due_item(runtime, items[0])


def _next(home: Home, clock: Clock, schedule: Schedule, frozen: tuple[str, ...]) -> _Step:
    """Return a due schedule with its next time, and the due item of the run that starts now."""
    now = clock.now()
    why = _obstacle(home, clock, schedule)
    if why is not None:
        return schedule.with_off_reason(why, now), ()
    try:
        moved = schedule.with_next_time(now)
    except Invalid:
        return schedule.with_off_reason(WhyOff.NEVER, now), ()
    once = is_one_time_schedule(schedule)
    if once:
        moved = schedule.with_off_reason(WhyOff.NEVER, now)
    if {INSTALLATION, schedule.agent_id} & {*frozen}:
        log.info("schedule skipped: schedule=%s, reason=frozen", schedule.id)
        return schedule.replaced(next_at=now + _LATER) if once else moved, ()
    if _goes_on(home.journal, schedule.last_turn_id):
        log.info("schedule skipped: schedule=%s, reason=previous_run_active", schedule.id)
        return moved, ()
    item, turn = _item(clock, schedule, str(schedule.slot))
    if turn == schedule.last_turn_id:
        return moved, ()
    return moved.after_run(turn, now), (item,)


def _wake_for_instructions(runtime: Runtime, agent: Agent) -> None:
    """Wake a dormant agent, as an owner's schedule does when its turn begins."""
    if agent.status is AgentStatus.DORMANT and agent.heartbeat.enabled:
        make_dormant_agent_active(runtime, runtime.home.agents.get(agent.id))


def _find_agent(home: Home, agent_id: str) -> Agent | None:
    try:
        return home.agents.get(agent_id).agent
    except NotFound:
        return None


def _obstacle(home: Home, clock: Clock, schedule: Schedule) -> WhyOff | None:
    """Return why a schedule cannot run: agent retired or session gone; None if it can."""
    agent = _find_agent(home, schedule.agent_id)
    if agent is None or not agent.answers:
        return WhyOff.RETIRED
    there = _takes_part(home.sessions, clock, schedule.agent_id, schedule.session_id)
    return None if there else WhyOff.NOT_THERE


def _takes_part(sessions: Sessions, clock: Clock, agent_id: str, session_id: str | None) -> bool:
    """Check whether an agent is in an active session; its own need not exist yet."""
    own = agents_own_session(agent_id, clock.now())
    try:
        session = sessions.get(session_id or own.id)
    except NotFound:
        return session_id is None
    return session.status is SessionStatus.ACTIVE and agent_id in session.agent_ids


def _require_place(runtime: Runtime, agent_id: str, draft: ScheduleDraft) -> Agent:
    """Return the agent of a schedule; raises Conflict if it has retired, Invalid for a session."""
    agent = runtime.home.agents.get(agent_id).agent
    if not agent.answers:
        raise Conflict(f"agent {agent_id!r} has retired", cure="choose another agent")
    if not _takes_part(runtime.home.sessions, runtime.clock, agent_id, draft.session_id):
        own = draft.session_id is None
        named = "its own active session" if own else f"active session {draft.session_id!r}"
        raise Invalid(
            f"session_id: agent {agent_id!r} is not a participant of {named}",
            field="session_id",
            cure="use a session in which it is a participant, or omit session_id for the "
            "agent's own",
        )
    return agent


def _item(clock: Clock, schedule: Schedule, occasion: str) -> tuple[DueItem, str]:
    """Return the due item of one run, and the id of the turn that it becomes.

    What an agent does by its standing instructions is paid from its heartbeats' share.
    """
    source = Source.HEARTBEAT if is_instructed_schedule(schedule) else Source.SCHEDULE
    now, agent_id = clock.now(), schedule.agent_id
    own = agents_own_session(agent_id, now)
    session_id = schedule.session_id or own.id
    source_id = f"schedule#{schedule.id}#{occasion}"
    message = Message(
        source=source,
        source_id=source_id,
        principal_id=agent_id,
        sender=OPENCRAB,
        authority=Authority.SELF,
        parts=(TextPart(text=schedule.instructions),),
        channel=schedule.channel,
    )
    item = DueItem(
        id=f"schedule-{agent_id}-{schedule.id}-{occasion}",
        at=now,
        session_id=session_id,
        message=message,
        trigger=Trigger.SCHEDULE,
        session=own if schedule.session_id is None else None,
        only=(agent_id,),
    )
    return item, message.turn_in(session_id, agent_id)


def _goes_on(journal: Journal, turn: str | None) -> bool:
    found = None if turn is None else _header(journal, turn)
    return found is not None and not found.status.is_end


def _header(journal: Journal, turn: str) -> Turn | None:
    try:
        return journal.header(turn)
    except NotFound:
        return None


def _update_schedule(
    facts: Documents, agent_id: str, schedule_id: str, act: Callable[[Schedule], _Step]
) -> _Step:
    for _ in range(_TRIES):
        fact = _fact(facts, agent_id, schedule_id)
        schedule, items = act(fact.read(Schedule))
        try:
            facts.commit(schedule_document(schedule, fact), due=items)
        except Changed:
            continue
        return schedule, items
    raise _busy(schedule_id)


def _fact(facts: Documents, agent_id: str, schedule_id: str) -> Document:
    found = facts.get(agent_id, SCHEDULE, schedule_id)
    if found is None:
        raise NotFound(
            f"agent {agent_id!r} has no schedule {schedule_id!r}",
            cure="list them with `opencrab schedules list`",
        )
    return found


def _made_before(before: Schedule, draft: ScheduleDraft) -> Schedule:
    if before.version == 1 and dict(draft).items() <= dict(before).items():
        return before
    raise Conflict(f"schedule {before.id!r} exists with other content", cure="use another id")


def _busy(schedule_id: str) -> Conflict:
    return Conflict(
        f"concurrent updates to schedule {schedule_id!r}; retries exhausted", cure="try again"
    )
