"""Updates an agent's vital signs at the end of a turn that nobody asked for."""

from contextlib import suppress
from datetime import datetime

from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.agents.agent import AgentStatus
from opencrab.domain.agents.event import HAPPENING, MOST
from opencrab.domain.autonomy.vital_signs import (
    CHANNELS,
    REST,
    VitalSigns,
    bring_heartbeat_forward,
    heartbeat_signs_document,
)
from opencrab.domain.document import Document, new_fact
from opencrab.domain.errors import Changed
from opencrab.domain.goals.goal import GOAL, Goal, goal_document_id, goal_id_of_label
from opencrab.domain.memory.working_memory import WORKING, clear_stale_working_memory
from opencrab.domain.turn.record import action_name_of_turn_call
from opencrab.domain.turn.turn import UNASKED, Trigger, Turn, TurnStatus
from opencrab.engine.agents.vital_signs import (
    LONG_AGO,
    agent_vital_signs_document,
    make_agent_dormant,
    make_dormant_agent_active,
)
from opencrab.engine.consequence import FollowUp, TurnEnding
from opencrab.engine.goals.self_goals import does_turn_end_own_goal_idle
from opencrab.engine.goals.turn_evidence import has_goal_turn_stored_lesson
from opencrab.engine.memory.working_memory import clear_working_memory_after_turn
from opencrab.engine.turn.receipt import receipts_of_turn
from opencrab.engine.turn.work import Consequence, TurnWork

_PLANS = frozenset({"plan_goal", "add_goal", "finish_task", "fail_task", "report"})
"""Actions of the group "planning" that advance a goal or a task."""

_LOOKED = frozenset({TurnStatus.COMPLETED, TurnStatus.IDLE})
"""The final states of a turn that a model brought to its end."""


class HeartbeatConsequence(Consequence):
    """Updates the vital signs when a turn ends, and wakes a dormant agent that gets a message."""

    def on_begin(self, work: TurnWork) -> None:
        if work.turn.source is not Source.HEARTBEAT:
            work.profile = make_dormant_agent_active(work.runtime, work.profile)

    def may_write_on_close(self, work: TurnWork) -> bool:
        return work.turn.trigger in UNASKED

    def on_close(self, work: TurnWork, ending: TurnEnding) -> FollowUp:
        stored = _stored_signs(work)
        signs = _signs_after_turn(work, stored, ending.status, spoke=ending.has_spoken)
        outcome = _outcome_of_heartbeat(work, stored, ending)
        written = (signs, _experience_of_events(work, ending), outcome)
        return FollowUp(facts=tuple(fact for fact in written if fact is not None))

    def after_close(self, work: TurnWork) -> None:
        _settle(work)


def _stored_signs(work: TurnWork) -> Document | None:
    """Return the vital signs, for turns that may change them as the agent's own."""
    turn = work.turn
    if not (turn.is_autonomous or turn.task is not None):
        return None
    return agent_vital_signs_document(work.runtime.home.facts, turn.agent_id)


def _signs_after_turn(
    work: TurnWork, stored: Document | None, status: TurnStatus, *, spoke: bool
) -> Document | None:
    """Return the vital signs after a turn; None if they do not change.

    A turn that nobody asked for is useful if it spoke, acted, learned or advanced a goal. It is
    useless if it called a model, or failed, without any of that; silence in a discussion and lack
    of budget do not count. After a heartbeat's or a goal's turn the next heartbeat reviews the
    goals. A reply that somebody asked for also answers an earlier mention in that session.
    """
    turn = work.turn
    if not (turn.is_autonomous or turn.task is not None):
        return _signs_after_reply(work) if spoke and len(work.session.participants) > 1 else None
    if stored is None:
        return None
    now, before = work.runtime.clock.now(), stored.read(VitalSigns)
    signs = before.replaced(reviewed_at=LONG_AGO)
    if signs.turn_id == turn.id:
        signs = _freed(signs, work, status, now)
    if turn.is_autonomous:
        signs = _signs_after_unasked_turn(work, signs, status, spoke=spoke, now=now)
    if _is_new_experience(work, status, spoke=spoke):
        signs = signs.replaced(lived_at=now)
    if signs == before:
        return None
    return heartbeat_signs_document(bring_heartbeat_forward(signs, now), stored)


def _outcome_of_heartbeat(
    work: TurnWork, stored: Document | None, ending: TurnEnding
) -> Document | None:
    """Return what came of the heartbeat that began a turn; None for turns begun otherwise."""
    turn = work.turn
    begun = stored is not None and stored.read(VitalSigns).turn_id == turn.id
    if turn.trigger is not Trigger.HEARTBEAT and not begun:
        return None
    # Most workers run no turn of a heartbeat.
    from opencrab.domain.autonomy.heartbeat_gate import LOGGED  # noqa: PLC0415
    from opencrab.domain.autonomy.heartbeat_outcome import (  # noqa: PLC0415
        ACTIONS,
        BEAT_RESULT,
        HeartbeatOutcome,
        heartbeat_decision_of_turn,
    )

    now, names = work.runtime.clock.now(), tuple(sorted(_succeeded_actions(work)))
    decision = heartbeat_decision_of_turn(
        names, spoke=ending.has_spoken, has_acted=bool(receipts_of_turn(work))
    )
    told = HeartbeatOutcome(
        turn_id=turn.id, decision=decision, status=ending.status, actions=names[:ACTIONS], at=now
    )
    return new_fact(turn.agent_id, BEAT_RESULT, turn.id, told, expires_at=now + LOGGED).replaced(
        version=0
    )


def _experience_of_events(work: TurnWork, ending: TurnEnding) -> Document | None:
    """Return the experience of a turn that acted on events; None for most turns."""
    around = work.prompt.around
    if around is None or not around.events or ending.status is not TurnStatus.COMPLETED:
        return None
    # Few turns have read events, so not every worker loads it.
    from opencrab.engine.autonomy.event_experience import experience_of_heartbeat_events  # noqa: PLC0415

    return experience_of_heartbeat_events(work, around.events, work.runtime.clock.now())


def _settle(work: TurnWork) -> None:
    """Clear working memory after the turn; make an agent with too many useless turns dormant."""
    turn = work.turn
    if not turn.is_autonomous:
        return
    if (gone := _clear_working_memory(work)) is not None:
        with suppress(Changed):
            work.runtime.home.facts.commit(gone)
    stored = agent_vital_signs_document(work.runtime.home.facts, turn.agent_id)
    if stored is None:
        return
    signs = stored.read(VitalSigns)
    too_long = signs.in_vain >= work.runtime.rules.autonomy.dormant_after
    if too_long and signs.status is AgentStatus.ACTIVE and not signs.has_pending_input:
        make_agent_dormant(work.runtime, turn.agent_id)


def _clear_working_memory(work: TurnWork) -> Document | None:
    """Return the write that clears working memory when its period has ended, or None.

    A period is one turn of a heartbeat or a schedule, or all turns of a goal, which has a session
    of its own: what was noted there stays until the goal ends, whatever else wakes the agent. A
    turn that others hear, which was not shown it, leaves it.
    """
    turn, facts, around = work.turn, work.runtime.home.facts, work.prompt.around
    if around is None or not work.clearance.whole:
        return None
    kept_for = {goal.session_id for goal in around.goals if goal.session_id != turn.session_id}
    if turn.trigger in {Trigger.HEARTBEAT, Trigger.SCHEDULE}:
        return clear_working_memory_after_turn(facts, turn.agent_id, turn.id, kept_for)
    if turn.task is None:
        return None
    goal_name = (GOAL, goal_document_id(goal_id_of_label(turn.task)))
    found = facts.get_many(turn.agent_id, (WORKING, WORKING), goal_name)
    stored_now = {fact.kind: fact for fact in found}
    memory, goal = stored_now.get(WORKING), stored_now.get(GOAL)
    if goal is None or not goal.read(Goal).status.is_end:
        return None
    return clear_stale_working_memory(memory, "", kept_for)


def _signs_after_reply(work: TurnWork) -> Document | None:
    """Return vital signs without the mention in the session where the agent just spoke, or None."""
    stored = agent_vital_signs_document(work.runtime.home.facts, work.turn.agent_id)
    before = None if stored is None else stored.read(VitalSigns)
    signs = None if before is None else _without_mention(before, work.turn.session_id)
    return None if signs is None or signs == before else heartbeat_signs_document(signs, stored)


def _without_mention(signs: VitalSigns, session_id: str) -> VitalSigns:
    here = signs.mention is not None and signs.mention.session_id == session_id
    return signs.replaced(mention=None) if here else signs


def _freed(signs: VitalSigns, work: TurnWork, status: TurnStatus, now: datetime) -> VitalSigns:
    """Return vital signs without the turn that a heartbeat began.

    After a turn without budget, or a failed one that left events unread, the agent rests for REST.
    """
    if _penniless(work.turn, status) or (work.prompt.seen_events and status not in _LOOKED):
        return signs.replaced(busy_until=now + REST)
    return signs.replaced(turn_id=None, busy_until=None)


def _penniless(turn: Turn, status: TurnStatus) -> bool:
    return status is TurnStatus.EXHAUSTED and turn.attempts == 0


def _signs_after_unasked_turn(
    work: TurnWork, signs: VitalSigns, status: TurnStatus, *, spoke: bool, now: datetime
) -> VitalSigns:
    turn = work.turn
    if _has_goal_progress(work) or (
        (spoke or receipts_of_turn(work)) and not _was_idle(work, status, spoke=spoke)
    ):
        signs = signs.replaced(in_vain=0)
    elif _counts(turn, status):
        signs = signs.replaced(in_vain=signs.in_vain + 1)
    if spoke and turn.channel is not None:
        signs = signs.replaced(spoke=_last_speech_times(signs.spoke, turn.channel.target, now))
    if spoke:
        signs = _without_mention(signs, turn.session_id)
    return _mark_events_read(work, signs, status)


def _was_idle(work: TurnWork, status: TurnStatus, *, spoke: bool) -> bool:
    """Check whether a turn ended a self-set goal without doing anything for it."""
    goal = work.served
    return goal is not None and does_turn_end_own_goal_idle(work, goal, status, spoke=spoke)


def _counts(turn: Turn, status: TurnStatus) -> bool:
    """Check whether a turn without a result counts as useless."""
    if turn.source is Source.PEER or _penniless(turn, status):
        return False
    return turn.attempts > 0 or status is TurnStatus.FAILED


def _has_goal_progress(work: TurnWork) -> bool:
    """Check whether a goal or task advanced in this turn."""
    return any(name in _PLANS for name in _succeeded_actions(work))


def _succeeded_actions(work: TurnWork) -> set[str]:
    """Return the names of the actions that succeeded in a turn."""
    return {
        action_name_of_turn_call(call)
        for call, result in work.transcript.ended_calls
        if result.success
    }


def _is_new_experience(work: TurnWork, status: TurnStatus, *, spoke: bool) -> bool:
    """Check whether a turn stored a lesson or completed a goal that the agent set itself."""
    if has_goal_turn_stored_lesson(work):
        return True
    goal = work.served
    return (
        goal is not None
        and goal.authority is Authority.SELF
        and work.turn.task == goal.id
        and status is TurnStatus.COMPLETED
        and all(task.status.is_end for task in goal.tasks)
        and not does_turn_end_own_goal_idle(work, goal, status, spoke=spoke)
    )


def _last_speech_times(
    spoke: dict[str, datetime], target: str, now: datetime
) -> dict[str, datetime]:
    """Return the last time of speech by channel, for the CHANNELS most recent ones."""
    newest = sorted((spoke | {target: now}).items(), key=lambda item: item[1])
    return dict(newest[-CHANNELS:])


def _mark_events_read(work: TurnWork, signs: VitalSigns, status: TurnStatus) -> VitalSigns:
    """Return vital signs with the events shown to a model marked as read; recount the unread.

    An event whose id sorts before those and arrived meanwhile stays unread, with all after it. All
    events stay unread if the turn failed, or ended in a worker that called no model.
    """
    if not work.prompt.seen_events and not (
        work.turn.trigger is Trigger.HEARTBEAT and signs.unread
    ):
        return signs
    told = (
        set(work.prompt.seen_events)
        if status in _LOOKED and work.prompt.shown is not None
        else set[str]()
    )
    facts, now = work.runtime.home.facts, work.runtime.clock.now()
    most = MOST + len(work.prompt.seen_events)
    read_to, left = signs.read_to, 0
    for fact in facts.page(signs.agent_id, HAPPENING, after=read_to, limit=most):
        over = fact.expires_at is not None and fact.expires_at <= now
        if left == 0 and (over or fact.id in told):
            read_to = fact.id
        else:
            left += not over
    return signs.replaced(read_to=read_to, unread=left)
