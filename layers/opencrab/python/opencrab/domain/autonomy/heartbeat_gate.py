"""Gate: whether a beat has a reason, decided from the vital signs alone and without a model."""

from datetime import datetime, timedelta
from enum import StrEnum

from opencrab.domain.access.authority import Authority
from opencrab.domain.autonomy.curiosity import curiosity_pressure
from opencrab.domain.autonomy.settings import Autonomy
from opencrab.domain.autonomy.vital_signs import VitalSigns
from opencrab.domain.value import Identifier, Value

BEAT = "beat"
"""The kind of facts that log beats with a reason; their ids are in order of time."""

LOGGED = timedelta(days=35)
"""As long as turns are kept."""


class BeatReason(StrEnum):
    """Why an agent wakes.

    Schedules and the tasks of goals that have begun have times of their own and start turns without
    a heartbeat.
    """

    MENTION = "mention"
    UNREAD = "unread"
    GOAL = "goal"
    CURIOSITY = "curiosity"


class HeartbeatVerdict(Value):
    """What a beat is for; without reasons `idle` says why it is for nothing."""

    reasons: tuple[BeatReason, ...] = ()
    idle: str = ""


class LoggedHeartbeat(Value):
    """One beat that had a reason, and the turn that it began."""

    agent_id: Identifier
    slot: int
    at: datetime
    reasons: tuple[BeatReason, ...]
    turn_id: str
    session_id: str


def heartbeat_gate(signs: VitalSigns, now: datetime, autonomy: Autonomy) -> HeartbeatVerdict:
    """The reasons for which an agent wakes now, the most pressing first.

    An agent whose own turn is alive is busy. Outside its active hours only words that nobody has
    answered wake it; all else waits until they begin. What others cause needs no instructions,
    curiosity does.
    """
    if not signs.beats_at_all:
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
    """Which of several reasons a beat serves; the others are there at the next one.

    Events and goals take turns, so that neither keeps the other waiting for good.
    """
    if {BeatReason.UNREAD, BeatReason.GOAL} <= set(reasons) and BeatReason.MENTION not in reasons:
        return BeatReason.GOAL if signs.turns % 2 else BeatReason.UNREAD
    return reasons[0]


def is_in_speech_cooldown(signs: VitalSigns, target: str, now: datetime) -> bool:
    """Whether the agent spoke in a channel of its own accord too short a time ago to do it again.

    A time of the future, after a clock was set back, counts as long past.
    """
    spoke = signs.spoke.get(target)
    pause = timedelta(seconds=signs.heartbeat.cooldown_seconds)
    return spoke is not None and spoke <= now < spoke + pause


def _is_mention_waiting(signs: VitalSigns, now: datetime) -> bool:
    """Whether words wait for an answer; those of strangers and other agents wait for the channel.

    So two agents cannot wake each other more often than the cooldown of their channel allows.
    """
    mention = signs.mention
    if mention is None:
        return False
    if mention.channel is None or mention.authority in {Authority.OWNER, Authority.USER}:
        return True
    return not is_in_speech_cooldown(signs, mention.channel.target, now)


def _curious(signs: VitalSigns, now: datetime, autonomy: Autonomy) -> bool:
    if signs.exploring or not signs.heartbeat.acts_unasked:
        return False
    return (
        curiosity_pressure(signs.lived_at, now, autonomy.curiosity_interval, signs.risk_tolerance)
        > 1
    )
