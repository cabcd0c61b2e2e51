"""Heartbeat gate: decides from vital signs alone, without a model, whether to start a turn."""

from datetime import datetime, timedelta
from enum import StrEnum

from opencrab.domain.access.authority import Authority
from opencrab.domain.autonomy.curiosity import autonomy_curiosity_pressure
from opencrab.domain.autonomy.settings import Autonomy
from opencrab.domain.autonomy.vital_signs import VitalSigns
from opencrab.domain.value import Identifier, Value

BEAT = "beat"
"""The kind of documents that log heartbeats with a reason; their ids are in order of time."""

LOGGED = timedelta(days=35)
"""The time for which logged heartbeats are kept, the same as for turns."""


class BeatReason(StrEnum):
    """A reason for a heartbeat to start a turn.

    Schedules and the tasks of goals that have begun have times of their own and start turns without
    a heartbeat.
    """

    MENTION = "mention"
    UNREAD = "unread"
    GOAL = "goal"
    CURIOSITY = "curiosity"


class HeartbeatVerdict(Value):
    """The reasons of a heartbeat; if there is none, `idle` says why it does nothing."""

    reasons: tuple[BeatReason, ...] = ()
    idle: str = ""


class LoggedHeartbeat(Value):
    """A heartbeat that had a reason, and the turn that it started."""

    agent_id: Identifier
    slot: int
    at: datetime
    reasons: tuple[BeatReason, ...]
    turn_id: str
    session_id: str


def heartbeat_gate(signs: VitalSigns, now: datetime, autonomy: Autonomy) -> HeartbeatVerdict:
    """Return the reasons for which an agent wakes now, the most urgent first.

    An agent whose own turn is still running is busy. Outside its active hours only unanswered
    mentions wake it; all else waits until the hours begin. Curiosity requires instructions, the
    other reasons do not.
    """
    if not signs.has_next_heartbeat:
        return HeartbeatVerdict(idle="asleep")
    if signs.turn_id is not None and signs.busy_until is not None and signs.busy_until > now:
        return HeartbeatVerdict(idle="busy")
    hours = signs.heartbeat.active_hours
    awake = hours is None or hours.includes(now)
    found = {
        BeatReason.MENTION: _is_mention_waiting(signs, now),
        BeatReason.UNREAD: awake and signs.unread > 0,
        BeatReason.GOAL: awake and signs.goal_at is not None and signs.goal_at <= now,
        BeatReason.CURIOSITY: awake and _curious(signs, now, autonomy),
    }
    reasons = tuple(reason for reason, holds in found.items() if holds)
    return HeartbeatVerdict(
        reasons=reasons, idle="" if reasons else "nothing" if awake else "off hours"
    )


def first_heartbeat_reason(reasons: tuple[BeatReason, ...], signs: VitalSigns) -> BeatReason:
    """Choose which of several reasons a heartbeat serves; the others remain for the next one.

    Events and goals alternate, so that neither starves the other.
    """
    if {BeatReason.UNREAD, BeatReason.GOAL} <= set(reasons) and BeatReason.MENTION not in reasons:
        return BeatReason.GOAL if signs.turns % 2 else BeatReason.UNREAD
    return reasons[0]


def is_heartbeat_speech_in_cooldown(signs: VitalSigns, target: str, now: datetime) -> bool:
    """Check whether the agent's last speech on its own in a channel is too recent for another one.

    A time in the future, after a clock was set back, counts as long past.
    """
    spoke = signs.spoke.get(target)
    pause = timedelta(seconds=signs.heartbeat.cooldown_seconds)
    return spoke is not None and spoke <= now < spoke + pause


def _is_mention_waiting(signs: VitalSigns, now: datetime) -> bool:
    """Check whether a mention waits for an answer and may be answered now.

    A mention by a public person or another agent waits for the channel's cooldown, so that two
    agents cannot wake each other more often than that.
    """
    mention = signs.mention
    if mention is None:
        return False
    if mention.channel is None or mention.authority in {Authority.OWNER, Authority.USER}:
        return True
    return not is_heartbeat_speech_in_cooldown(signs, mention.channel.target, now)


def _curious(signs: VitalSigns, now: datetime, autonomy: Autonomy) -> bool:
    if signs.exploring or not signs.heartbeat.acts_on_its_own:
        return False
    return (
        autonomy_curiosity_pressure(
            signs.lived_at, now, autonomy.curiosity_interval, signs.risk_tolerance
        )
        > 1
    )
