"""Session: who talks where, and how it moves from its first turn to its end."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import Field, model_validator

from opencrab.domain.conversation.loop_guard import (
    ALIKE,
    NEARLY,
    similarity_of_conversation_messages,
)
from opencrab.domain.conversation.message import Unanswered, messages_left_unanswered
from opencrab.domain.erasure.request import FORGOTTEN_PERSON
from opencrab.domain.errors import Conflict, NotFound
from opencrab.domain.models.routing import ModelReference, Use
from opencrab.domain.value import GoalId, Identifier, MicroUsd, Name, ShortText, Value

PARTICIPANTS = 20
"""The limit of agents in one session: one message to all is one transaction of at most 25 items."""

DISCUSSANT, FACILITATOR, OBSERVER = "discussant", "facilitator", "observer"
"""Roles in a session; any other name is allowed too. Observers never get the floor."""

HOPS = 50
"""The greatest hop limit of a discussion."""

RECENT = 4
"""The number of earlier speeches to compare a new one with, enough for two alternating speakers."""

Marks = Annotated[tuple[str, ...], Field(max_length=32)]


class Mode(StrEnum):
    """The rule for the next speaker: a facilitator chooses, each agent decides, or direct."""

    FACILITATED = "facilitated"
    AUTONOMOUS = "autonomous"
    DIRECT = "direct"


class Phase(StrEnum):
    """The phase of a discussion."""

    DIVERGENT = "divergent"
    CONVERGENT = "convergent"
    CONCLUDED = "concluded"


class SessionStatus(StrEnum):
    """The status of a session: it takes messages or has ended."""

    ACTIVE = "active"
    ENDED = "ended"


class Ending(StrEnum):
    """The reason why a session ended."""

    DONE = "done"
    QUORUM = "quorum"
    MAX_TURNS = "max_turns"
    BUDGET = "budget"
    CONCLUDED = "concluded"
    NO_NOVELTY = "no_novelty"
    HOPS = "hops"
    QUIET = "quiet"
    BY_HAND = "by_hand"


class Hearing(StrEnum):
    """The audience that may read something, narrowest first."""

    PRIVATE = "private"
    SESSION = "session"
    GUILD = "guild"
    PUBLIC = "public"


class Participant(Value):
    """One agent in a session; `models` are those that it chose for this session.

    `last_turn` is the number of its last turn in the session, `last_speech` the number of its last
    speech.
    """

    agent_id: Identifier
    role: Name = DISCUSSANT
    last_speech_at: datetime | None = None
    done_declared: bool = False
    turns: int = 0
    speeches: int = 0
    characters: int = 0
    last_turn: int = 0
    last_speech: int = 0
    models: dict[Use, ModelReference] = Field(default_factory=dict)

    @property
    def may_speak(self) -> bool:
        """True if the agent may get the floor: it is no observer and has not declared done."""
        return self.role != OBSERVER and not self.done_declared


class SessionChange(Value):
    """The change that one closing turn makes to its session, applied to the newest version.

    `heard` is the human message that the turn answers, None if no message asked the agent; `floor`
    is the number of the discussion's turn. `payer` is the public person whose daily budget pays,
    None if it is no public person. `speeches` and `characters` count what was said, `marks` are
    hashes of its words. `phase` is the phase that the facilitator set.
    """

    agent_id: Identifier
    turn_id: str = ""
    spoke_at: datetime | None = None
    declared_done: bool = False
    models: dict[Use, ModelReference] = Field(default_factory=dict)
    heard: str | None = None
    payer: Identifier | None = None
    floor: int | None = None
    speeches: int = 0
    characters: int = 0
    marks: Marks = ()
    spent_micro_usd: MicroUsd = 0
    phase: Phase | None = None


class Session(Value):
    """A conversation: its participants and its counters.

    `goal` is the goal that the session exists for, if an instruction is carried out in a session of
    its own. `hearing` says who may later read what was said in it, `guild_id` is the community it
    belongs to. `left` are former participants: what was said in it is their past too.

    With a `hop_limit` its agents discuss: they answer each other until one of the limits is
    reached, or `quorum` of them (None: all) have declared done. Any other session goes on with the
    next message: there an agent's next turn takes back that it has declared done. `round` is the
    message that they discuss, a human's or a schedule's, `round_turn` the number of the last turn
    before it, and `payer` its sender if that is a public person; since then agents had `hops`
    turns, without those in which one only declared that it is done, and `floor` of them because
    they got the floor.
    `speaker_id` spoke last, in turn `spoken_turn`; `speeches` counts turns with words, `recent`
    holds hashes of the last speeches' words. `unanswered` are the
    messages whose turns have not ended.
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
    hop_limit: Annotated[int, Field(ge=1, le=HOPS)] | None = None
    quorum: Annotated[int, Field(ge=1, le=PARTICIPANTS)] | None = None
    budget_micro_usd: Annotated[MicroUsd, Field(ge=1, le=10**12)] | None = None
    spent_micro_usd: MicroUsd = 0
    round: str = ""
    round_turn: int = 0
    payer: Identifier | None = None
    hops: int = 0
    floor: int = 0
    speeches: int = 0
    spoken_turn: int = 0
    speaker_id: Identifier | None = None
    recent: Annotated[tuple[Marks, ...], Field(max_length=RECENT)] = ()
    ended_by: Ending | None = None
    unanswered: Unanswered = Field(default=(), exclude=True)
    created_by: Identifier
    created_at: datetime
    updated_at: datetime

    @model_validator(mode="after")
    def _participants_are_distinct(self) -> "Session":
        ids = [participant.agent_id for participant in self.participants]
        if len(set(ids)) != len(ids):
            raise ValueError("participants must be distinct: list each agent once")
        if self.facilitator_id is not None and self.facilitator_id not in ids:
            raise ValueError("facilitator_id must be one of the participants: add it to them")
        return self

    @classmethod
    def read(cls, session_id: str, stored: str | None) -> "Session":
        """Parse a session that is stored as JSON; raises NotFound if it is None."""
        if stored is None:
            raise NotFound(
                f"there is no session {session_id!r}", cure="list them with GET /api/sessions"
            )
        return cls.from_stored(stored)

    @property
    def agent_ids(self) -> tuple[str, ...]:
        """The ids of the participants in the order in which they answer."""
        return tuple(participant.agent_id for participant in self.participants)

    @property
    def all_time_agent_ids(self) -> tuple[str, ...]:
        """The ids of all present and former participants."""
        return (*self.agent_ids, *self.left)

    @property
    def discusses(self) -> bool:
        """True if its agents answer each other."""
        several = len(self.participants) > 1 and self.mode is not Mode.DIRECT
        return several and self.hop_limit is not None and self.goal is None

    @property
    def candidates(self) -> tuple[Participant, ...]:
        """The participants who may get the floor now: no turn yet since another agent last spoke.

        The last speaker is included only if all others have declared done since it spoke.
        """
        able = tuple(each for each in self.participants if each.may_speak)
        fresh = tuple(
            each
            for each in able
            if each.agent_id != self.speaker_id and each.last_turn <= self.spoken_turn
        )
        alone = len(able) == 1 and able[0].last_turn == self.spoken_turn < self.turn_number
        return able if alone else fresh

    @property
    def awaited(self) -> bool:
        """True if a participant has not answered the human message of this round yet."""
        return any(each.last_turn <= self.round_turn for each in self.participants)

    def participant(self, agent_id: str) -> Participant | None:
        """Return an agent's participation, or None if it is not in the session."""
        return next((each for each in self.participants if each.agent_id == agent_id), None)

    def after_turn(self, change: SessionChange, now: datetime) -> "Session":
        """Return the session after a turn closed: counted, and ended if a limit is reached.

        A discussion becomes convergent in the turn in which half of its hops, or of its turns, are
        over. A session that has ended stays so, for the same reason.
        """
        counted = _count_turn(self, change, now)
        if self.status is SessionStatus.ENDED:
            return counted
        ending = _ending(counted, change, self.recent)
        if ending is not None:
            return _over(counted, ending, now)
        halfway = _is_halfway(counted) and not _is_halfway(self)
        phase = Phase.CONVERGENT if halfway and self.phase is Phase.DIVERGENT else self.phase
        return counted.replaced(phase=change.phase or phase)

    def with_participants(self, agent_ids: tuple[str, ...], now: datetime) -> "Session":
        """Return the session with these participants, who may differ from before.

        Raises Conflict if it has ended, or if too many agents ever took part in it, those who left
        included.
        """
        if self.status is SessionStatus.ENDED:
            raise Conflict(f"session {self.id!r} has ended", cure="start a new session")
        left = tuple(each for each in self.all_time_agent_ids if each not in agent_ids)
        require_seats_left_in_session(len(agent_ids) + len(left))
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

    def without_opening_words(self) -> "Session":
        """Return the session without the words it was opened with and without its creator."""
        return self.replaced(
            name=None, theme="", recent=(), payer=None, created_by=FORGOTTEN_PERSON
        )

    def with_end(self, now: datetime) -> "Session":
        """Return the session ended now, with the reason `by_hand`."""
        return _over(self, Ending.BY_HAND, now)


def require_seats_left_in_session(count: int) -> None:
    """Raise Conflict if more agents than allowed would ever take part in one session."""
    if count > PARTICIPANTS:
        raise Conflict(
            f"a session has at most {PARTICIPANTS} agents, including those who left",
            cure="start a new session",
        )


def _count_turn(session: Session, change: SessionChange, now: datetime) -> Session:
    turn_number, discusses = session.turn_number + 1, session.discusses
    speeches = session.speeches + (change.spoke_at is not None)
    participants = tuple(
        _after(participant, change, turn_number, speeches, stays_done=discusses)
        if participant.agent_id == change.agent_id
        else participant
        for participant in session.participants
    )
    counted = session.replaced(
        participants=participants,
        turn_number=turn_number,
        done_count=sum(p.done_declared and p.role != OBSERVER for p in participants),
        spent_micro_usd=session.spent_micro_usd + change.spent_micro_usd,
        speeches=speeches,
        updated_at=now,
        unanswered=messages_left_unanswered(session.unanswered, change.turn_id),
    )
    return _update_discussion(counted, change) if discusses else counted


def _update_discussion(session: Session, change: SessionChange) -> Session:
    """Return the session with a counted turn's effect on its discussion."""
    if change.heard is None:
        held = change.floor == session.floor + 1
        # Each agent declares it once: turns without a hop cannot go on for ever.
        free = change.declared_done and change.spoke_at is None
        free = free or session.status is SessionStatus.ENDED
        session = session.replaced(hops=session.hops + (not free), floor=session.floor + held)
    elif change.heard != session.round:
        before = session.turn_number - 1
        session = session.replaced(
            round=change.heard, round_turn=before, payer=change.payer, hops=0, floor=0
        )
    if change.spoke_at is None:
        return session
    return session.replaced(
        speaker_id=change.agent_id,
        spoken_turn=session.turn_number,
        recent=(*session.recent, change.marks)[-RECENT:] if change.marks else session.recent,
    )


def _is_halfway(session: Session) -> bool:
    if session.discusses and session.hops * 2 >= (session.hop_limit or 0):
        return True
    return session.max_turns is not None and session.turn_number * 2 >= session.max_turns


def _ending(session: Session, change: SessionChange, earlier: tuple[Marks, ...]) -> Ending | None:
    """Return the first reason that holds for ending the session after a counted turn, or None."""
    able = sum(each.role != OBSERVER for each in session.participants)
    most, quorum, budget = session.max_turns, session.quorum, session.budget_micro_usd
    discusses = session.discusses
    unasked = discusses and change.heard is None
    reasons = {
        Ending.DONE: discusses and 0 < able == session.done_count,
        Ending.QUORUM: quorum is not None and session.done_count >= quorum,
        Ending.MAX_TURNS: most is not None and session.turn_number >= most,
        Ending.BUDGET: budget is not None and session.spent_micro_usd >= budget,
        Ending.CONCLUDED: change.phase is Phase.CONCLUDED,
        Ending.NO_NOVELTY: unasked and _says_it_again(change, earlier),
        Ending.HOPS: unasked and session.hops >= (session.hop_limit or 0),
        Ending.QUIET: unasked and not session.candidates,
    }
    return next((reason for reason, holds in reasons.items() if holds), None)


def _over(session: Session, ending: Ending, now: datetime) -> Session:
    return session.replaced(
        status=SessionStatus.ENDED, phase=Phase.CONCLUDED, ended_by=ending, updated_at=now
    )


def _after(
    participant: Participant,
    change: SessionChange,
    turn_number: int,
    speeches: int,
    *,
    stays_done: bool,
) -> Participant:
    return participant.replaced(
        last_speech_at=change.spoke_at or participant.last_speech_at,
        done_declared=change.declared_done or (stays_done and participant.done_declared),
        turns=participant.turns + 1,
        speeches=participant.speeches + change.speeches,
        characters=participant.characters + change.characters,
        last_turn=turn_number,
        last_speech=participant.last_speech if change.spoke_at is None else speeches,
        models=participant.models | change.models,
    )


def _says_it_again(change: SessionChange, earlier: tuple[Marks, ...]) -> bool:
    """Check whether two of the last speeches said nearly the same as this change's speech."""
    if not change.marks:
        return False
    alike = sum(
        similarity_of_conversation_messages(each, change.marks) >= NEARLY for each in earlier
    )
    return alike + 1 >= ALIKE
