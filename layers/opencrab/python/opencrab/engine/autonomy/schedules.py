"""Schedules: kept for their owners, and done once each time that their time has come."""

import logging
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta

from opencrab.domain.access.authority import Authority, Source
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
from opencrab.domain.document import Document, new_fact
from opencrab.domain.errors import Changed, Conflict, Invalid, NotFound, OpenCrabError
from opencrab.domain.money.budget import INSTALLATION
from opencrab.domain.turn.due_item import DueItem
from opencrab.domain.turn.turn import Trigger, Turn
from opencrab.domain.value import Value
from opencrab.engine.autonomy.due_items import admit_due_item, admit_or_drop_due_item
from opencrab.engine.autonomy.heartbeat_decision import agents_own_session
from opencrab.engine.goals.queue import OPENCRAB
from opencrab.engine.runtime import Runtime
from opencrab.ports.clock import Clock
from opencrab.ports.conversation.sessions import Sessions
from opencrab.ports.documents import Documents
from opencrab.ports.home import Home
from opencrab.ports.turn.journal import Journal

log = logging.getLogger(__name__)

_TRIES = 5
_BATCH = 100
_PAGES = 10
_ALL = 16_000
_EVER = timedelta(days=36_525)

_WHY = {
    WhyOff.RETIRED: "its agent has retired",
    WhyOff.NOT_THERE: "its session is over, or its agent has left it",
}

MADE = "schedules_made"
"""Kind and id of the fact that counts the schedules that were made for an agent."""


class _Made(Value):
    """How many schedules were ever made: each is written after the one before was counted."""

    count: int


_Step = tuple[Schedule, tuple[DueItem, ...]]


def create_schedule(
    runtime: Runtime, agent_id: str, schedule_id: str, draft: ScheduleDraft
) -> Schedule:
    """Keep a new schedule; the same id and content again answers the one that is there.

    Raises NotFound (agent), Invalid (session), and Conflict for a retired agent, for too many
    schedules and for an id with other content.
    """
    _require_place(runtime, agent_id, draft)
    for _ in range(SCHEDULES):
        counted = runtime.home.facts.get(agent_id, MADE, MADE)
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
            runtime.home.facts.commit(_schedule_fact(made), _one_more(agent_id, counted))
            return made
    raise _busy(schedule_id)


def _one_more(agent_id: str, counted: Document | None) -> Document:
    """The count of schedules that were made: of two that are made at once, one waits."""
    if counted is None:
        return new_fact(agent_id, MADE, MADE, _Made(count=1))
    return counted.holding(_Made(count=counted.read(_Made).count + 1))


def change_schedule(
    runtime: Runtime,
    agent_id: str,
    schedule_id: str,
    draft: ScheduleDraft,
    *,
    version: int | None = None,
) -> Schedule:
    """Replace what a schedule says, if this is still its version; it does not fire by that.

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
        return schedule.changed(draft, runtime.clock.now()), ()

    return _update_schedule(runtime.home.facts, agent_id, schedule_id, replaced)[0]


def delete_schedule(facts: Documents, agent_id: str, schedule_id: str) -> Schedule:
    """Keep a schedule no more; what it has begun goes on. Raises NotFound."""
    for _ in range(_TRIES):
        fact = _fact(facts, agent_id, schedule_id)
        try:
            facts.commit(fact.removed())
        except Changed:
            continue
        return fact.read(Schedule)
    raise _busy(schedule_id)


def find_schedule(facts: Documents, agent_id: str, schedule_id: str) -> Schedule:
    """One schedule; raises NotFound."""
    return _fact(facts, agent_id, schedule_id).read(Schedule)


def schedules_of_agent(home: Home, agent_id: str) -> tuple[Schedule, ...]:
    """An agent's schedules in the order in which they were made. Raises NotFound (agent)."""
    home.agents.get(agent_id)
    found = home.facts.page(agent_id, SCHEDULE, limit=2 * SCHEDULES)
    known = (fact.read(Schedule) for fact in found)
    return tuple(sorted(known, key=lambda each: (each.created_at, each.id)))


def run_schedule_now(
    runtime: Runtime, agent_id: str, schedule_id: str, *, key: str
) -> tuple[str, ...]:
    """Do what a schedule says at once, once by its key, and answer its turn; its times stay.

    It may be switched off. Raises NotFound, and Conflict where nobody could do it.
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
            schedule = schedule.done(turn, runtime.clock.now())
        return schedule, (item,)

    schedule, (item,) = _update_schedule(runtime.home.facts, agent_id, schedule_id, done)
    turn = _item(runtime.clock, schedule, f"run-{key}")[1]
    if _header(runtime.home.journal, turn) is None:
        admit_due_item(runtime, item)
    runtime.home.due.done(item.id)
    return (turn,)


def sweep_schedules(runtime: Runtime) -> int:
    """Begin what is due, each time once: of times that were missed, one. Answers how many began.

    A time passes by while the turn of the one before has not ended, and while an agent or the
    installation is frozen. Once an hour those are looked at that a wrong clock moved far away.
    """
    if runtime.clock.now().minute == 0:
        _bring_back(runtime.home.facts, runtime.clock)
    now, looked, begun = runtime.clock.now(), set[tuple[str, str, str]](), 0
    for _ in range(_PAGES):
        due = runtime.home.facts.due(SCHEDULE, now, _BATCH)
        fresh = [fact for fact in due if fact.key not in looked]
        if not fresh:
            break
        looked.update(fact.key for fact in fresh)
        frozen = runtime.home.switches.all_frozen()
        begun += sum(_fire_schedule(runtime, fact, frozen) for fact in fresh)
    return begun


def _bring_back(facts: Documents, clock: Clock) -> None:
    """Give each schedule a time that its rule allows, whose next one is farther away than that."""
    now = clock.now()
    for fact in facts.due(SCHEDULE, now + _EVER, _ALL):
        schedule = fact.read(Schedule)
        try:
            after = schedule.in_time(now)
            if after != schedule:
                facts.commit(_schedule_fact(after, fact))
                log.warning(
                    "schedule %s moved closer: its time was set with a wrong clock", schedule.id
                )
        except OpenCrabError as error:
            log.warning("keeping schedule %s: %s", schedule.id, error.message)


def _fire_schedule(runtime: Runtime, fact: Document, frozen: tuple[str, ...]) -> bool:
    """Begin what is due, or switch it off that nobody could do; False where nothing began."""
    schedule = fact.read(Schedule)
    try:
        after, items = _next(runtime.home, runtime.clock, schedule, frozen)
        runtime.home.facts.commit(_schedule_fact(after, fact), due=items)
    except Changed:
        return False
    except OpenCrabError as error:
        log.warning("schedule %s deferred: %s", schedule.id, error.message)
        return False
    if after.why_off is not None:
        log.warning("schedule %s was switched off: %s", schedule.id, after.why_off)
    return bool(items) and admit_or_drop_due_item(runtime, items[0])


def _next(home: Home, clock: Clock, schedule: Schedule, frozen: tuple[str, ...]) -> _Step:
    """A due schedule with its next time, and what begins with the one that has come."""
    now = clock.now()
    why = _obstacle(home, clock, schedule)
    if why is not None:
        return schedule.off(why, now), ()
    try:
        moved = schedule.moved(now)
    except Invalid:
        return schedule.off(WhyOff.NEVER, now), ()
    if {INSTALLATION, schedule.agent_id} & {*frozen} or _goes_on(
        home.journal, schedule.last_turn_id
    ):
        log.info("schedule %s skipped: frozen, or its previous run has not ended", schedule.id)
        return moved, ()
    item, turn = _item(clock, schedule, str(schedule.slot))
    if turn == schedule.last_turn_id:
        return moved, ()
    return moved.done(turn, now), (item,)


def _obstacle(home: Home, clock: Clock, schedule: Schedule) -> WhyOff | None:
    """Why nobody can do what a schedule says."""
    try:
        if not home.agents.get(schedule.agent_id).agent.answers:
            return WhyOff.RETIRED
    except NotFound:
        return WhyOff.RETIRED
    there = _takes_part(home.sessions, clock, schedule.agent_id, schedule.session_id)
    return None if there else WhyOff.NOT_THERE


def _takes_part(sessions: Sessions, clock: Clock, agent_id: str, session_id: str | None) -> bool:
    """Whether an agent takes part in a session that goes on; its own need not have begun."""
    own = agents_own_session(agent_id, clock.now())
    try:
        session = sessions.get(session_id or own.id)
    except NotFound:
        return session_id is None
    return session.status is SessionStatus.ACTIVE and agent_id in session.agent_ids


def _require_place(runtime: Runtime, agent_id: str, draft: ScheduleDraft) -> None:
    if not runtime.home.agents.get(agent_id).agent.answers:
        raise Conflict(f"agent {agent_id!r} has retired", cure="choose another one")
    if not _takes_part(runtime.home.sessions, runtime.clock, agent_id, draft.session_id):
        own = draft.session_id is None
        named = "its own active session" if own else f"active session {draft.session_id!r}"
        raise Invalid(
            f"session_id: agent {agent_id!r} is not a participant of {named}",
            field="session_id",
            cure="use a session in which it is a participant, or omit session_id for the "
            "agent's own",
        )


def _item(clock: Clock, schedule: Schedule, occasion: str) -> tuple[DueItem, str]:
    """What is to be admitted on one occasion, and the turn that it becomes."""
    now, agent_id = clock.now(), schedule.agent_id
    own = agents_own_session(agent_id, now)
    session_id = schedule.session_id or own.id
    source_id = f"schedule#{schedule.id}#{occasion}"
    message = Message(
        source=Source.SCHEDULE,
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
            facts.commit(_schedule_fact(schedule, fact), due=items)
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


def _schedule_fact(schedule: Schedule, stored: Document | None = None) -> Document:
    if stored is None:
        fact = new_fact(schedule.agent_id, SCHEDULE, schedule.id, schedule)
    else:
        fact = stored.holding(schedule)
    return fact.replaced(due_at=schedule.next_at)


def _made_before(before: Schedule, draft: ScheduleDraft) -> Schedule:
    if before.version == 1 and dict(draft).items() <= dict(before).items():
        return before
    raise Conflict(f"schedule {before.id!r} exists with other content", cure="use another id")


def _busy(schedule_id: str) -> Conflict:
    return Conflict(
        f"concurrent updates to schedule {schedule_id!r}; retries exhausted", cure="try again"
    )
