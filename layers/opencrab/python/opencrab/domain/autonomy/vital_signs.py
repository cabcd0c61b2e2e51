"""Vital signs: the one small item by which a heartbeat knows whether there is anything to do.

Whoever changes something that an agent might wake for writes it here, in the same transaction or
right after; the gate reads nothing else.
"""

from datetime import datetime, timedelta
from typing import Annotated

from pydantic import Field

from opencrab.domain.access.authority import Authority
from opencrab.domain.agents.agent import Agent, AgentStatus
from opencrab.domain.agents.heartbeat import Heartbeat
from opencrab.domain.conversation.message import Channel
from opencrab.domain.document import Document
from opencrab.domain.value import Identifier, Unit, Value

VITALS = "vitals"
"""Kind and id of the fact that holds them; it is due when the next beat is."""

CHANNELS = 10

REST = timedelta(hours=1)
"""How long an agent rests whose turn could not be what it was for: no money, or no answer."""


class Mention(Value):
    """Words to an agent that nobody has answered: where, and on whose authority.

    `payer` is the public person whose words they go back to, where they do.
    """

    session_id: Identifier
    line: int
    authority: Authority
    principal_id: Identifier
    channel: Channel | None = None
    payer: Identifier | None = None
    at: datetime


class VitalSigns(Value):
    """How an agent fares, as the gate needs to know.

    `heartbeat`, `status` and `risk_tolerance` are copies of what the agent says, without the words
    of its instructions. `unread` counts events after `read_to`, `late` those ever that came with an
    id before it. `slot` is the newest beat that was
    decided, in seconds since 1970. `goal_at` is when a goal that may begin comes above the
    threshold, `lived_at` when the agent last had a new experience, `exploring` whether it has a
    goal out of curiosity. `turn_id` is the turn that a beat began, alive until `busy_until` at
    most. `in_vain` counts turns in a row that brought nothing usable. `spoke` is when it last spoke
    unasked, by channel. `reviewed_at` is when all this was last worked out anew.
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
    def beats_at_all(self) -> bool:
        """Whether there is a next beat: the dormant wake by others, the retired never."""
        return self.heartbeat.enabled and self.status is AgentStatus.ACTIVE

    @property
    def is_called(self) -> bool:
        """Whether events or words wait for it: then it does not sleep."""
        return self.unread > 0 or self.mention is not None

    def after_beat(self, now: datetime) -> "VitalSigns":
        """The signs with the beat that was due decided, and the next one after now.

        Beats stay on their lattice; those that were missed are skipped, and a clock that was set
        back or an interval that was changed begins a new lattice.
        """
        return self.replaced(
            slot=max(self.slot, heartbeat_slot(self.next_beat_at)),
            next_beat_at=next_heartbeat_time(
                self.next_beat_at, self.heartbeat.interval_seconds, now
            ),
            beats=self.beats + 1,
        )


def first_vital_signs(agent: Agent, risk_tolerance: float, now: datetime) -> VitalSigns:
    """The signs of an agent whose first beat is one interval away."""
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
    """What a beat is known by: its second since 1970."""
    return int(moment.timestamp())


def next_heartbeat_time(planned: datetime, seconds: int, now: datetime) -> datetime:
    """The first beat after now on the lattice of a planned one; at most one interval away."""
    interval = timedelta(seconds=seconds)
    if planned > now + interval:
        return now.replace(microsecond=0) + interval
    if planned > now:
        return planned
    missed = (now - planned) // interval + 1
    return planned + missed * interval


def correct_heartbeat_clock_skew(signs: VitalSigns, now: datetime) -> VitalSigns:
    """The signs without what a clock that was ahead once has put off.

    A next beat is at most one interval away, and nobody is busy for longer than that takes.
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


def vital_signs_fact(signs: VitalSigns, stored: Document | None) -> Document:
    """The fact that these signs are: the first, or the next version of the stored one."""
    body = signs.model_dump(mode="json", exclude_defaults=True)
    version = 1 if stored is None else stored.version + 1
    due_at = signs.next_beat_at if signs.beats_at_all else None
    return Document(
        owner=signs.agent_id, kind=VITALS, id=VITALS, version=version, body=body, due_at=due_at
    )
