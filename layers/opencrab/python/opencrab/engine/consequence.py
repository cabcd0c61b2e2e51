"""Consequences: what follows for one capability when a turn begins, moves on, ends or is lost.

The core of a turn knows no capability. Each registers its consequence in `bootstrap/consequences`,
and the core asks them in that order. A hook that writes does so by answering what is to be written:
it becomes part of the core's own transaction, or of none.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from opencrab.domain.agents.agent import Profile
from opencrab.domain.conversation.message import Message
from opencrab.domain.conversation.session import Session, SessionChange
from opencrab.domain.document import Document
from opencrab.domain.money.budget import BudgetDraw
from opencrab.domain.turn.due_item import DueItem
from opencrab.domain.turn.record import Record
from opencrab.domain.turn.turn import Turn, TurnStatus

R_contra = TypeVar("R_contra", contravariant=True)
Job_co = TypeVar("Job_co", covariant=True)
W_contra = TypeVar("W_contra", contravariant=True)


@dataclass(frozen=True)
class ExtraWrites:
    """What a change writes beside its records, lines and utterances.

    `spare` is a fact that is written only where there is room for it.
    """

    draws: tuple[BudgetDraw, ...] = ()
    session: SessionChange | None = None
    facts: tuple[Document, ...] = ()
    due: tuple[DueItem, ...] = ()
    spare: Document | None = None


@dataclass(frozen=True)
class TurnEnding:
    """How a turn ends.

    `turn` is its header as it will be stored, with its last call settled; `facts` are those that
    the consequences asked before write.
    """

    turn: Turn
    status: TurnStatus
    speech: str = ""
    spoke: bool = False
    records: tuple[Record, ...] = ()
    facts: tuple[Document, ...] = ()


@dataclass(frozen=True)
class FollowUp:
    """What one consequence adds to the closing transaction.

    `told` becomes a line of the session; what is `asked` goes to where the agent's heartbeat
    speaks. `spare` is written only where the transaction has room for it.
    """

    facts: tuple[Document, ...] = ()
    due: tuple[DueItem, ...] = ()
    told: str = ""
    asked: str = ""
    spare: Document | None = None


class TurnConsequence(Generic[R_contra, W_contra]):
    """The hooks of one capability; each does nothing unless it is overridden."""

    def on_message(self, runtime: R_contra, session: Session, message: Message) -> None:
        """A message of an owner's was admitted that continues nothing: it may interrupt."""

    def on_begin(self, work: W_contra) -> None:
        """A worker has taken up the turn, and nothing of it has run yet."""

    def is_resumed(self, work: W_contra) -> bool:  # noqa: ARG002 - the hook's
        """Whether a turn that was told to wait may go on after all."""
        return False

    def on_save(self, work: W_contra, turn: Turn, facts: Sequence[Document]) -> None:
        """A change of the turn is committed; what is done here may be lost in a crash."""

    def writes_on_close(self, work: W_contra) -> bool:  # noqa: ARG002 - the hook's
        """Whether the end may write so much that carried results must be saved before it."""
        return False

    def on_close(self, work: W_contra, ending: TurnEnding) -> FollowUp:  # noqa: ARG002 - the hook's
        """What follows from the turn's end; asked again with fresh reads when facts have moved."""
        return FollowUp()

    def after_close(self, work: W_contra) -> None:
        """The end is committed; a crash may prevent this, and somebody must make up for it."""

    def on_abandon(self, runtime: R_contra, turn: Turn, why: str) -> FollowUp:  # noqa: ARG002
        """What follows where a turn ends because what it needs cannot be read any more."""
        return FollowUp()


class Consequences(Generic[R_contra, W_contra]):
    """The hooks of all that is registered, in its order; those that do nothing are not among them.

    Which they are is found out once, at registration: a hook that is set later is not asked.
    """

    def __init__(self, *registered: TurnConsequence[R_contra, W_contra]) -> None:
        def those_with(hook: str) -> list[TurnConsequence[R_contra, W_contra]]:
            nothing = getattr(TurnConsequence, hook)
            return [each for each in registered if getattr(type(each), hook) is not nothing]

        self.on_message = [each.on_message for each in those_with("on_message")]
        self.on_begin = [each.on_begin for each in those_with("on_begin")]
        self.is_resumed = [each.is_resumed for each in those_with("is_resumed")]
        self.on_save = [each.on_save for each in those_with("on_save")]
        self.writes_on_close = [each.writes_on_close for each in those_with("writes_on_close")]
        self.on_close = [each.on_close for each in those_with("on_close")]
        self.after_close = [each.after_close for each in those_with("after_close")]
        self.on_abandon = [each.on_abandon for each in those_with("on_abandon")]


class BackgroundJob(Protocol[R_contra, Job_co]):
    """One kind of background turn, which asks a model one question and answers nobody."""

    def opens(self, runtime: R_contra, message: Mapping[str, str]) -> bool:
        """Open and queue the turn that a message asks for; False for a message of another kind."""

    def serves(self, turn: Turn) -> bool:
        """Whether a turn is of this kind; the first kind that says so has it."""

    def prepare(
        self, runtime: R_contra, turn: Turn, profile: Profile
    ) -> tuple[Turn, Session, Job_co]:
        """The turn's header, the session that it looks at, and what is asked in it."""

    def after(self, runtime: R_contra, turn: Turn) -> None:
        """What follows once the turn has ended, as often as somebody looks at it."""
