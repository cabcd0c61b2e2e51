"""Vital signs: the one small item by which a heartbeat knows whether there is anything to do.

Whoever changes something that an agent might wake for writes it here, in the same transaction or
right after; the gate reads nothing else.
"""

from datetime import UTC, datetime, timedelta
from typing import Annotated

from pydantic import Field

from opencrab.domain.access.authority import Authority
from opencrab.domain.agents.agent import Agent, AgentStatus
from opencrab.domain.agents.heartbeat import Heartbeat
from opencrab.domain.conversation.message import Channel
from opencrab.domain.document import Document
from opencrab.domain.value import Identifier, Unit, Value

VITALS = "vitals"
"""Kind and id of the document that stores vital signs; it is due at the next heartbeat."""

CHANNELS = 10

REST = timedelta(hours=1)
"""The pause of an agent whose turn could not do its work: no budget, or no answer."""

NO_HEARTBEAT = datetime(2100, 1, 1, tzinfo=UTC)
"""The next heartbeat, or a later one, of an agent for which time alone can cause nothing."""


class Mention(Value):
    """An unanswered message to an agent: where it is, and with which authority.

    `payer` is the public person whose message caused it, None if there is none.
    """

    session_id: Identifier
    line: int
    authority: Authority
    principal_id: Identifier
    channel: Channel | None = None
    payer: Identifier | None = None
    at: datetime


class VitalSigns(Value):
    """The state of an agent that the heartbeat gate needs.

    `heartbeat`, `status` and `risk_tolerance` are copies of the agent's settings, without the text
    of its instructions. `unread` counts events after `read_to`, `late` all events ever that came
    with an id before it. `slot` is the latest heartbeat that was decided, in seconds since 1970.
    `goal_at` is when the priority of a goal that may begin exceeds the threshold, `lived_at` when
    the agent last had a new experience, `exploring` whether it has a goal out of curiosity.
    `turn_id` is the turn that a heartbeat started, running until `busy_until` at most. `in_vain`
    counts turns in a row without a result. `spoke` is when it last spoke on its own, by channel.
    `reviewed_at` is when all this was last computed in full.
    """

    agent_id: Identifier
    heartbeat: Heartbeat = Heartbeat()
    status: AgentStatus = AgentStatus.ACTIVE
    risk_tolerance: Unit = 0.5
    next_beat_at: datetime
    slot: int = 0
    unread: Annotated[int, Field(ge=0)] = 0
    read_to: str = ""
    late: Annotated[int, Field(ge=0)] = 0
    mention: Mention | None = None
    goal_at: datetime | None = None
    exploring: bool = False
    lived_at: datetime
    turn_id: str | None = None
    busy_until: datetime | None = None
    in_vain: Annotated[int, Field(ge=0)] = 0
    spoke: Annotated[dict[str, datetime], Field(max_length=CHANNELS)] = Field(default_factory=dict)
    beats: int = 0
    idle: int = 0
    turns: int = 0
    reviewed_at: datetime

    @property
    def has_next_heartbeat(self) -> bool:
        """True if there is a next heartbeat: enabled, and the agent neither dormant nor retired."""
        return self.heartbeat.enabled and self.status is AgentStatus.ACTIVE

    @property
    def coming_beat_at(self) -> datetime | None:
        """The time of the next heartbeat; None while there is none, or nothing to wake for."""
        comes = self.has_next_heartbeat and self.next_beat_at < NO_HEARTBEAT
        return self.next_beat_at if comes else None

    @property
    def has_pending_input(self) -> bool:
        """True if events or a mention wait for the agent: then it does not become dormant."""
        return self.unread > 0 or self.mention is not None

    def after_beat(self, now: datetime) -> "VitalSigns":
        """Return the signs with the due heartbeat decided, and the next one after now.

        Heartbeats keep their grid of times; missed ones are skipped. A clock that was set back or a
        changed interval starts a new grid.
        """
        return self.replaced(
            slot=max(self.slot, heartbeat_slot(self.next_beat_at)),
            next_beat_at=next_heartbeat_time(
                self.next_beat_at, self.heartbeat.interval_seconds, now
            ),
            beats=self.beats + 1,
        )


def first_heartbeat_signs(agent: Agent, risk_tolerance: float, now: datetime) -> VitalSigns:
    """Build the signs of an agent whose first heartbeat is one interval away."""
    seconds = agent.heartbeat.interval_seconds
    return VitalSigns(
        agent_id=agent.id,
        heartbeat=agent.heartbeat.without_instructions,
        status=agent.status,
        risk_tolerance=risk_tolerance,
        next_beat_at=now.replace(microsecond=0) + timedelta(seconds=seconds),
        lived_at=now,
        reviewed_at=now,
    )


def heartbeat_slot(moment: datetime) -> int:
    """Return the id of a heartbeat: its time in seconds since 1970."""
    return int(moment.timestamp())


def next_heartbeat_time(planned: datetime, seconds: int, now: datetime) -> datetime:
    """Return the first heartbeat after now on the planned one's grid, at most one interval away."""
    interval = timedelta(seconds=seconds)
    missed = (now - planned) // interval + 1
    return planned + missed * interval


def bring_heartbeat_forward(signs: VitalSigns, now: datetime) -> VitalSigns:
    """Return the signs with the next heartbeat at most one interval away.

    Needed after every change from which a reason may follow, because heartbeats without one are
    skipped. It also mends what a clock that was ahead has caused: `busy_until` and `lived_at`.
    """
    seconds = signs.heartbeat.interval_seconds
    if signs.next_beat_at - now <= timedelta(seconds=seconds):
        return signs
    busy = signs.busy_until
    return signs.replaced(
        next_beat_at=next_heartbeat_time(signs.next_beat_at, seconds, now),
        lived_at=min(signs.lived_at, now),
        busy_until=None if busy is None else min(busy, now + REST),
    )


def is_heartbeat_too_late(signs: VitalSigns, now: datetime, longest: timedelta) -> bool:
    """Check whether the next heartbeat is later than anything that is awaited explains."""
    interval = timedelta(seconds=signs.heartbeat.interval_seconds)
    return now + longest + interval < signs.next_beat_at < NO_HEARTBEAT


def heartbeat_signs_document(signs: VitalSigns, stored: Document | None) -> Document:
    """Build the document that stores the signs: version 1, or the version after the stored one."""
    body = signs.to_stored_fields()
    version = 1 if stored is None else stored.version + 1
    due_at = signs.next_beat_at if signs.has_next_heartbeat else None
    return Document(
        owner=signs.agent_id, kind=VITALS, id=VITALS, version=version, body=body, due_at=due_at
    )
