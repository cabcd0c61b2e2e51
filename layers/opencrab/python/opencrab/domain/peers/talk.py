"""Talk: what one agent asked another in their direct session, and how far that went.

It keeps no words, only hashes by which two texts can be compared.
"""

from datetime import datetime, timedelta
from typing import Annotated

from pydantic import Field

from opencrab.domain.conversation.loop_guard import NEARLY, similarity_of_conversation_messages
from opencrab.domain.conversation.session import RECENT, Marks, Participant, Session
from opencrab.domain.errors import Refused
from opencrab.domain.identifier import stable_id
from opencrab.domain.money.budget import heartbeat_budget_scope
from opencrab.domain.value import Identifier, Value

TALK_ITEM, HEARD_ITEM = "talk-", "heard-"
"""How ids of due items begin: of a message to a peer, and of what follows a turn that it caused."""

MESSAGE_ITEM = "message-"
"""The same of a message to another conversation, or to agents at once."""

PEER_TALK = "peer_talk"
"""The kind of documents that store talks; the owner is the agent that asked, the id the peer's."""

HOPS, MOST_HOPS = 3, 10
"""The default and the limit of turns that one question may cause, the first answer included."""

TALKS_A_DAY = 12
"""The limit of questions that an agent asks one peer in a day (UTC)."""

PATIENCE = timedelta(hours=1)
"""The time that an agent waits for an answer before it may ask the same peer something else."""

REPEATED = timedelta(days=1)
"""The time in which nearly the same question is not asked again."""

KEPT = timedelta(days=35)
"""The time after which a talk that nothing followed is deleted."""

DISCUSSIONS = "opened_discussions"
"""Kind and id of the document that counts the discussions that an agent opened."""

DISCUSSIONS_A_DAY = 3
"""The limit of discussions that an agent opens in a day (UTC)."""

OPENED_BY_ITSELF = "own"
"""Part of the id of a message that no person caused."""

_UNASKED, _PLACED = "unasked-", "peers-"

_Recent = Annotated[tuple[Marks, ...], Field(max_length=RECENT)]


class PeerTalk(Value):
    """The last question of an agent to one peer, and the turns that it caused.

    `turn_id` is the turn that asked, `goal` the goal that it served, if any; with `waits` the goal
    rests until the answer is there. `unasked` says that no person caused the question. Of at most
    `hop_limit` turns `hops` have ended; `answer_turn` is the peer's turn with the first answer,
    `ended` if no more words follow. `asked` and `said` are hashes of the last questions and of what
    was said since the last one; `today` counts the questions of `day`.
    """

    peer_id: Identifier
    session_id: Identifier
    turn_id: str
    goal: str = ""
    waits: bool = False
    unasked: bool = False
    hop_limit: Annotated[int, Field(ge=1, le=MOST_HOPS)] = HOPS
    hops: int = 0
    answer_turn: str = ""
    ended: bool = False
    asked: _Recent = ()
    said: _Recent = ()
    day: str
    today: int = 1
    asked_at: datetime
    answered_at: datetime | None = None

    def is_open(self, now: datetime) -> bool:
        """Check whether the agent still waits for the peer's words."""
        return not self.ended and now - self.asked_at < PATIENCE

    def after_turn(self, hop: int, turn_id: str, marks: Marks, now: datetime) -> "PeerTalk":
        """Return the talk after its turn number `hop`; without marks nothing was said.

        It ends in silence, when its turns are used up, or with words that were said before. A turn
        that is counted already changes nothing.
        """
        if hop <= self.hops:
            return self
        again = any(
            similarity_of_conversation_messages(each, marks) >= NEARLY for each in self.said
        )
        answers = bool(marks) and hop == 1
        return self.replaced(
            hops=hop,
            said=(*self.said, marks)[-RECENT:] if marks else self.said,
            ended=not marks or again or hop >= self.hop_limit,
            answer_turn=turn_id if answers else self.answer_turn,
            answered_at=now if answers else self.answered_at,
        )


def require_new_question_to_peer(
    before: PeerTalk | None, marks: Marks, name: str, now: datetime
) -> tuple[int, tuple[Marks, ...]]:
    """Return the number of today's questions with this one, and the hashes of the last ones.

    Raises Refused while the peer has not answered, for a question that was asked before, and for
    one too many in a day.
    """
    if before is None:
        return 1, (marks,)
    if before.is_open(now):
        raise Refused(
            f"your talk with {name} is not over yet",
            cure="wait: the answer comes to you as an event, and a goal of yours goes on with it",
        )
    alike = any(similarity_of_conversation_messages(each, marks) >= NEARLY for each in before.asked)
    if alike and now - before.asked_at < REPEATED:
        raise Refused(
            f"you asked {name} nearly the same within a day",
            cure=f"read the answer with browse_history, session_id {before.session_id}",
        )
    today = before.today + 1 if before.day == f"{now:%Y-%m-%d}" else 1
    if today > TALKS_A_DAY:
        raise Refused(
            f"limit reached: {TALKS_A_DAY} questions to {name} in a day", cure="go on tomorrow"
        )
    return today, (*before.asked, marks)[-RECENT:]


class OpenedDiscussions(Value):
    """The number of discussions that an agent opened on a day."""

    day: str = ""
    count: int = 0

    def with_one_more(self, now: datetime) -> "OpenedDiscussions":
        """Return the count with one more; raises Refused for one too many in a day."""
        day = f"{now:%Y-%m-%d}"
        count = self.count + 1 if self.day == day else 1
        if count > DISCUSSIONS_A_DAY:
            raise Refused(
                f"limit reached: {DISCUSSIONS_A_DAY} discussions in a day",
                cure="use talk_to_peer, or go on tomorrow",
            )
        return OpenedDiscussions(day=day, count=count)


def peer_session_id(one: str, other: str, place: str = "") -> str:
    """Return the id of the direct session of two agents, whoever opened it.

    `place` is the conversation for which they talk, if others than their owner hear the answer
    there: it has a session of its own, so that nobody hears what was said for somebody else.
    """
    both = sorted((one, other))
    return f"{_PLACED}{stable_id('peers', *both, place)}" if place else stable_id("peers", *both)


def peer_session(opener: str, peer_id: str, name: str, now: datetime, place: str = "") -> Session:
    """Return the direct session in which two agents talk, the same whoever opens it."""
    return Session(
        id=peer_session_id(opener, peer_id, place),
        name=name,
        participants=tuple(Participant(agent_id=each) for each in sorted((opener, peer_id))),
        created_by=opener,
        created_at=now,
        updated_at=now,
    )


def id_of_discussion_among_peers(key: str, *, unasked: bool) -> str:
    """Return the id of a discussion that an agent opens; it says whether no person caused it."""
    return f"{_UNASKED if unasked else ''}{stable_id('invited', key)}"


def peer_discussion_budget_scopes(session: Session, agent_id: str) -> tuple[str, ...] | None:
    """Return the budgets that pay an agent's turn in a discussion beside its day; None for none.

    While no person has caused or joined it, that is its share of own turns: agents that invite each
    other leave the rest of the day to those who ask them.
    """
    unasked = session.id.startswith(_UNASKED) and not session.round
    return (heartbeat_budget_scope(agent_id),) if unasked else None


def is_peer_session(session: Session) -> bool:
    """Check whether a session is the direct session of two agents."""
    both = session.agent_ids
    if len(both) != 2:  # noqa: PLR2004  - a pair
        return False
    return session.id == peer_session_id(*both) or session.id.startswith(_PLACED)


def caller_of_peer_turn(agent_id: str, principal_id: str, hop: int) -> str:
    """Return the agent that asked: the peer has the odd turns of a talk, the caller the even."""
    return principal_id if hop % 2 else agent_id
