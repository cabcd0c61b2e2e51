"""Consequences: lifecycle hooks by which each capability reacts to a turn's begin, save and end.

The core of a turn knows no capability. Each registers its consequence in `bootstrap/consequences`,
and the core calls them in that order. A hook that writes returns its writes: they become part of
the core's own transaction, or of none.
"""

from collections.abc import Iterable, Mapping, Sequence
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
    """The writes of a change beside its records, lines and utterances.

    `optional_fact` is a document that is written only if the transaction has room for it.
    """

    draws: tuple[BudgetDraw, ...] = ()
    session: SessionChange | None = None
    facts: tuple[Document, ...] = ()
    due: tuple[DueItem, ...] = ()
    optional_fact: Document | None = None


@dataclass(frozen=True)
class TurnEnding:
    """The end of a turn, as the consequences see it.

    `turn` is its header as it will be stored, with its last call settled; `facts` are the documents
    written by the consequences called before.
    """

    turn: Turn
    status: TurnStatus
    speech: str = ""
    has_spoken: bool = False
    records: tuple[Record, ...] = ()
    facts: tuple[Document, ...] = ()


@dataclass(frozen=True)
class FollowUp:
    """The part of one consequence in the transaction that closes a turn.

    `session_notice` becomes a line of the session; `owner_question` is sent to the channel of the
    agent's heartbeat. `optional_fact` is written only if the transaction has room for it.
    """

    facts: tuple[Document, ...] = ()
    due: tuple[DueItem, ...] = ()
    session_notice: str = ""
    owner_question: str = ""
    optional_fact: Document | None = None


class TurnConsequence(Generic[R_contra, W_contra]):
    """The hooks of one capability; each does nothing unless it is overridden."""

    def on_message(
        self, runtime: R_contra, session: Session, message: Message, profiles: Iterable[Profile]
    ) -> None:
        """React to an owner's new message, which may interrupt the agents' own work.

        `profiles` are those of the agents that answer, as they were read for the message.
        """

    def on_begin(self, work: W_contra) -> None:
        """React to a worker claiming the turn, before any of its steps runs."""

    def try_resume(self, work: W_contra) -> bool:  # noqa: ARG002 - the hook's
        """Resume a turn that was asked to pause if it need not wait any more; True if it goes on.

        It may update `work.turn.stop` to what is stored.
        """
        return False

    def on_save(self, work: W_contra, turn: Turn, facts: Sequence[Document]) -> None:
        """React to a committed change of the turn; a crash may prevent this call."""

    def may_write_on_close(self, work: W_contra) -> bool:  # noqa: ARG002 - the hook's
        """Check whether the end may write so much that tool results must be saved before it."""
        return False

    def on_close(self, work: W_contra, ending: TurnEnding) -> FollowUp:  # noqa: ARG002 - the hook's
        """Return the writes that follow the turn's end; called again when a document changed."""
        return FollowUp()

    def after_close(self, work: W_contra) -> None:
        """React to the committed end; a crash may prevent this call, so it must be recoverable."""

    def on_abandon(self, runtime: R_contra, turn: Turn, why: str) -> FollowUp:  # noqa: ARG002
        """Return the writes for a turn that ends because its stored data cannot be read."""
        return FollowUp()


class Consequences(Generic[R_contra, W_contra]):
    """The overridden hooks of all registered consequences, in order of registration.

    Overrides are detected once, at registration: a hook assigned later is not called.
    """

    def __init__(self, *registered: TurnConsequence[R_contra, W_contra]) -> None:
        def those_with(hook: str) -> list[TurnConsequence[R_contra, W_contra]]:
            nothing = getattr(TurnConsequence, hook)
            return [each for each in registered if getattr(type(each), hook) is not nothing]

        self.on_message = [each.on_message for each in those_with("on_message")]
        self.on_begin = [each.on_begin for each in those_with("on_begin")]
        self.try_resume = [each.try_resume for each in those_with("try_resume")]
        self.on_save = [each.on_save for each in those_with("on_save")]
        self.may_write_on_close = [
            each.may_write_on_close for each in those_with("may_write_on_close")
        ]
        self.on_close = [each.on_close for each in those_with("on_close")]
        self.after_close = [each.after_close for each in those_with("after_close")]
        self.on_abandon = [each.on_abandon for each in those_with("on_abandon")]


class BackgroundJob(Protocol[R_contra, Job_co]):
    """A kind of background turn, which asks a model one question and sends no reply."""

    def open_turn(self, runtime: R_contra, message: Mapping[str, str]) -> bool:
        """Create and queue the turn for a message; return False for a message of another kind."""

    def handles_turn(self, turn: Turn) -> bool:
        """Check whether a turn is of this kind; the first kind to return True handles it."""

    def prepare(
        self, runtime: R_contra, turn: Turn, profile: Profile
    ) -> tuple[Turn, Session, Job_co]:
        """Return the turn's header, the session that it reads, and its question."""

    def after_end(self, runtime: R_contra, turn: Turn) -> None:
        """React to the turn's end; may be called several times for the same turn."""
