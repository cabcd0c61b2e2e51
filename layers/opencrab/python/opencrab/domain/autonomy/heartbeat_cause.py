"""When a heartbeat may next have a reason: those in between are skipped, since nothing can arise.

Whatever else gives an agent a reason (a message, an event, a goal, another setting) changes its
vital signs, and brings its next heartbeat forward to the first one after the change.
"""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from opencrab.domain.agents.heartbeat import ActiveHours
from opencrab.domain.autonomy.curiosity import autonomy_curiosity_threshold
from opencrab.domain.autonomy.settings import Autonomy
from opencrab.domain.autonomy.vital_signs import NO_HEARTBEAT, VitalSigns


def next_heartbeat_cause(
    signs: VitalSigns, now: datetime, autonomy: Autonomy, *, rests: bool = False
) -> datetime:
    """Return the earliest time at which an idle agent's heartbeat may have a reason.

    `rests` is true for an agent of which a review found that it has no goals and sets itself none:
    then time alone causes nothing, and the result may be `NO_HEARTBEAT`.
    """
    review = signs.reviewed_at + timedelta(seconds=autonomy.review_seconds)
    causes = [] if rests and not signs.heartbeat.acts_on_its_own else [review]
    if signs.turn_id is not None and signs.busy_until is not None and signs.busy_until > now:
        causes.append(signs.busy_until)
    causes += [now] if signs.mention is not None else []
    awake = [now] if signs.unread else []
    awake += [] if signs.goal_at is None else [signs.goal_at]
    if signs.heartbeat.acts_on_its_own and not signs.exploring:
        cycles = autonomy_curiosity_threshold(signs.risk_tolerance)
        awake.append(signs.lived_at + cycles * autonomy.curiosity_interval)
    causes += [_next_active_time(signs.heartbeat.active_hours, max(at, now)) for at in awake]
    return min(causes, default=NO_HEARTBEAT)


def skip_heartbeats_without_cause(signs: VitalSigns, cause: datetime) -> VitalSigns:
    """Return the signs with the first heartbeat on its grid of times that is not before a cause."""
    ahead = cause - signs.next_beat_at
    if ahead <= timedelta():
        return signs
    interval = timedelta(seconds=signs.heartbeat.interval_seconds)
    return signs.replaced(next_beat_at=signs.next_beat_at + -(-ahead // interval) * interval)


def _next_active_time(hours: ActiveHours | None, at: datetime) -> datetime:
    """Return the first moment from `at` on within the hours, or `at` where that is unclear."""
    if hours is None or hours.includes(at):
        return at
    local = at.astimezone(ZoneInfo(hours.zone))
    hour, minute = map(int, hours.start.split(":"))
    begins = local.replace(hour=hour, minute=minute, second=0, microsecond=0)
    if begins <= local:
        begins += timedelta(days=1)
    begins = begins.astimezone(UTC)
    # Where clocks change, the hours may begin at another moment: no heartbeat is skipped then.
    return begins if hours.includes(begins) and begins > at else at
