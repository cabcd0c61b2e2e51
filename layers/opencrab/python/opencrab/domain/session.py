"""Session: who talks where, and how it moves from its first turn to its end."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import Field, model_validator

from opencrab.domain.errors import Conflict
from opencrab.domain.forgetting import FORGOTTEN_PERSON
from opencrab.domain.goal import GoalId
from opencrab.domain.routing import ModelReference, Use
from opencrab.domain.value import Identifier, Name, ShortText, Value

PARTICIPANTS = 20
"""Most agents in one session: one message to all of them is one transaction of at most 25 items."""


class Mode(StrEnum):
    """Who gives the floor: a facilitator, everybody themselves, or one person to one agent."""

    FACILITATED = "facilitated"
    AUTONOMOUS = "autonomous"
    DIRECT = "direct"


class Phase(StrEnum):
    """How far a discussion has come."""

    DIVERGENT = "divergent"
    CONVERGENT = "convergent"
    CONCLUDED = "concluded"


class SessionStatus(StrEnum):
    """Whether the session still takes messages."""

    ACTIVE = "active"
    ENDED = "ended"


class Hearing(StrEnum):
    """Who may hear of something, fewest first."""

    PRIVATE = "private"
    SESSION = "session"
    GUILD = "guild"
    PUBLIC = "public"


class Participant(Value):
    """One agent's part in a session; `models` are those that it chose for this session."""

    agent_id: Identifier
    last_speech_at: datetime | None = None
    done_declared: bool = False
    models: dict[Use, ModelReference] = Field(default_factory=dict)


class SessionChange(Value):
    """What one closing turn changes in its session; applied to the newest session, never lost."""

    agent_id: Identifier
    spoke_at: datetime | None = None
    declared_done: bool = False
    models: dict[Use, ModelReference] = Field(default_factory=dict)


class Session(Value):
    """A conversation: its participants and its counters.

    `goal` names what it exists for, where an instruction is carried out in a session of its own.
    `hearing` is who may hear later of what was said in it, `guild_id` the community it belongs to.
    `left` are agents that took part once: what was said in it is their past too.
    """

    id: Identifier
    mode: Mode = Mode.DIRECT
    theme: Annotated[ShortText, Field(max_length=500)] = ""
    phase: Phase = Phase.DIVERGENT
    turn_number: int = 0
    done_count: int = 0
    max_turns: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    status: SessionStatus = SessionStatus.ACTIVE
    participants: Annotated[tuple[Participant, ...], Field(min_length=1, max_length=PARTICIPANTS)]
    left: Annotated[tuple[Identifier, ...], Field(max_length=PARTICIPANTS)] = ()
    facilitator_id: Identifier | None = None
    name: Name | None = None
    goal: GoalId | None = None
    hearing: Hearing = Hearing.SESSION
    guild_id: Identifier | None = None
    created_by: Identifier
    created_at: datetime
    updated_at: datetime

    @model_validator(mode="after")
    def _participants_are_distinct(self) -> "Session":
        ids = [participant.agent_id for participant in self.participants]
        if len(set(ids)) != len(ids):
            raise ValueError("participants must be distinct")
        if self.facilitator_id is not None and self.facilitator_id not in ids:
            raise ValueError("facilitator_id must be one of the participants")
        return self

    @property
    def agent_ids(self) -> tuple[str, ...]:
        """The participants in the order in which they answer."""
        return tuple(participant.agent_id for participant in self.participants)

    @property
    def ever_ids(self) -> tuple[str, ...]:
        """All who ever took part: it is in the past of each of them."""
        return (*self.agent_ids, *self.left)

    def after(self, change: SessionChange, now: datetime) -> "Session":
        """The session after a turn closed: counted, and ended by max_turns or when all are done."""
        participants = tuple(
            _after(participant, change) if participant.agent_id == change.agent_id else participant
            for participant in self.participants
        )
        turn_number = self.turn_number + 1
        done_count = sum(participant.done_declared for participant in participants)
        spent = self.max_turns is not None and turn_number >= self.max_turns
        over = spent or done_count == len(participants)
        return self.replaced(
            participants=participants,
            turn_number=turn_number,
            done_count=done_count,
            status=SessionStatus.ENDED if over else self.status,
            phase=Phase.CONCLUDED if over else self.phase,
            updated_at=now,
        )

    def seated(self, agent_ids: tuple[str, ...], now: datetime) -> "Session":
        """The session with these participants, who may be others than before.

        Raises Conflict once it has ended, and when too many took part in it, those who left too.
        """
        if self.status is SessionStatus.ENDED:
            raise Conflict(f"session {self.id!r} has ended", cure="start a new one")
        left = tuple(each for each in self.ever_ids if each not in agent_ids)
        require_room(len(agent_ids) + len(left))
        known = {participant.agent_id: participant for participant in self.participants}
        leads = self.facilitator_id in agent_ids
        mode = self.mode
        if not leads and (len(agent_ids) > 1 or mode is Mode.FACILITATED):
            mode = Mode.AUTONOMOUS if len(agent_ids) > 1 else Mode.DIRECT
        return self.replaced(
            participants=tuple(known.get(each) or Participant(agent_id=each) for each in agent_ids),
            left=left,
            facilitator_id=self.facilitator_id if leads else None,
            mode=mode,
            updated_at=now,
        )

    def stripped(self) -> "Session":
        """The session without the words that it was opened with, and without who opened it."""
        return self.replaced(name=None, theme="", created_by=FORGOTTEN_PERSON)

    def ended(self, now: datetime) -> "Session":
        """The session after somebody ended it."""
        return self.replaced(status=SessionStatus.ENDED, phase=Phase.CONCLUDED, updated_at=now)


def require_room(count: int) -> None:
    """Raise Conflict where more agents than fit would ever take part in one session."""
    if count > PARTICIPANTS:
        raise Conflict(
            f"a session has at most {PARTICIPANTS} agents, counted with those who left",
            cure="start a new session",
        )


def _after(participant: Participant, change: SessionChange) -> Participant:
    return participant.replaced(
        last_speech_at=change.spoke_at or participant.last_speech_at,
        done_declared=participant.done_declared or change.declared_done,
        models=participant.models | change.models,
    )
