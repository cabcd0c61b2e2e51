"""Consequences: lifecycle hooks by which each capability reacts to a turn's begin, save and end.

The core of a turn knows no capability. Each registers its consequence in `bootstrap/consequences`,
and the core calls them in that order. A hook that writes returns its writes: they become part of
the core's own transaction, or of none. Registered with a consequence are the turns that it can
concern at all, by facts that the core has at hand: of most turns most of them are not called.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, fields
from enum import Enum, auto
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from opencrab.domain.agents.agent import Profile
from opencrab.domain.conversation.message import Message
from opencrab.domain.conversation.session import Session, SessionChange
from opencrab.domain.document import Document
from opencrab.domain.models.routing import CallOptions
from opencrab.domain.money.budget import BudgetDraw, Limits
from opencrab.domain.turn.action import ActionResult
from opencrab.domain.turn.due_item import DueItem
from opencrab.domain.turn.record import ActionCall, ApprovalRequest, ModelResult, Record
from opencrab.domain.turn.turn import Turn, TurnStatus
from opencrab.ports.models.model import ChatRequest, ModelInfo

if TYPE_CHECKING:
    from opencrab.ports.turn.action import Action

R_contra = TypeVar("R_contra", contravariant=True)
Job_co = TypeVar("Job_co", covariant=True)
W_contra = TypeVar("W_contra", contravariant=True)


class TurnTrait(Enum):
    """A fact about a turn that costs nothing to look at; a consequence is registered with some."""

    ANY = auto()
    """Every turn has it; messages have none but the next two."""

    BUSY = auto()
    """The message is for an agent that carries out a goal."""

    TASK = auto()
    """It carries out a goal, or the message is for the session of one."""

    UNASKED = auto()
    """No person's message caused it, directly or through a goal."""

    CALLS = auto()
    """Its model has asked for tool calls."""

    APPROVAL = auto()
    """It has requested an approval."""

    PEER = auto()
    """Another agent's message caused it."""

    SHARED = auto()
    """Its session has several agents."""

    DORMANT = auto()
    """Its agent was dormant when the turn was loaded."""

    LONG = auto()
    """Its session has as many lines as are summarized at once."""

    OWN_LIFE = auto()
    """Its agent acts on its own, or speaks in a channel of its own."""

    REPORTED = auto()
    """Somebody outside is told of what its agent does."""

    OUTSIDE = auto()
    """It has actions of its own, whose calls somebody outside runs while it waits."""


EVERY_TRAIT = frozenset(TurnTrait)


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


NO_WRITES = ExtraWrites()


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


@dataclass(frozen=True)
class OutsideAnswer:
    """What has come of a call that somebody outside was asked to run; no result while it waits.

    With a `notice`, which people read, none will come any more: the result says so, the turn ends.
    """

    result: ActionResult | None = None
    notice: str = ""


class TurnConsequence(Generic[R_contra, W_contra]):
    """The hooks of one capability; each does nothing unless it is overridden."""

    def on_message(
        self, runtime: R_contra, session: Session, message: Message, profiles: Iterable[Profile]
    ) -> None:
        """React to an owner's new message, which may interrupt the agents' own work.

        `profiles` are those of the agents that answer, as they were read for the message.
        """

    def turn_actions(self, runtime: R_contra, turn: Turn) -> "tuple[Action, ...]":  # noqa: ARG002
        """Return the actions that only this turn has."""
        return ()

    def on_begin(self, work: W_contra) -> None:
        """React to a worker claiming the turn, before any of its steps runs."""

    def try_resume(self, work: W_contra) -> bool:  # noqa: ARG002 - the hook's
        """Resume a turn that was asked to pause if it need not wait any more; True if it goes on.

        It may update `work.turn.stop` to what is stored.
        """
        return False

    def on_save(self, work: W_contra, turn: Turn, facts: Sequence[Document]) -> None:
        """React to a committed change of the turn; a crash may prevent this call."""

    def on_wait(self, work: W_contra, asked: Document) -> None:
        """React to an open approval before it is written and the turn waits; may be repeated."""

    def on_ask_outside(
        self, work: W_contra, asked: ApprovalRequest, calls: Sequence[ActionCall]
    ) -> FollowUp | None:
        """Return what is written as the turn begins to wait for a call; None if it is not yours.

        `asked` is the record, of the first of these calls; the others could be run with it.
        """

    def outside_answer(self, work: W_contra, call: ActionCall) -> OutsideAnswer | None:
        """Return what has come of a call that is run outside; None if nobody was asked for it."""

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


Hook = Callable[..., Any]


@dataclass(frozen=True)
class TurnHooks:
    """The overridden hooks of the consequences that concern a turn, in order of registration."""

    on_message: tuple[Hook, ...]
    turn_actions: tuple[Hook, ...]
    on_begin: tuple[Hook, ...]
    try_resume: tuple[Hook, ...]
    on_save: tuple[Hook, ...]
    on_wait: tuple[Hook, ...]
    on_ask_outside: tuple[Hook, ...]
    outside_answer: tuple[Hook, ...]
    may_write_on_close: tuple[Hook, ...]
    on_close: tuple[Hook, ...]
    after_close: tuple[Hook, ...]
    on_abandon: tuple[Hook, ...]


class Consequences(dict[AbstractSet[TurnTrait], TurnHooks], Generic[R_contra, W_contra]):
    """All registered consequences: the hooks to call for a turn, by the traits that it has.

    Each is registered with a function that makes it, and with the traits of turns that it concerns:
    it is made for the first turn that has one of them, so that its modules load with that turn.
    Overrides are detected once: a hook assigned later is not called.
    """

    def __init__(
        self,
        *registered: tuple[
            Callable[[], TurnConsequence[R_contra, W_contra]], AbstractSet[TurnTrait]
        ],
    ) -> None:
        super().__init__()
        self._registered = registered
        self._made: dict[int, TurnConsequence[R_contra, W_contra]] = {}
        # Most messages have no trait.
        self.__missing__(frozenset())

    def followed_by(
        self,
        make: Callable[[], TurnConsequence[R_contra, W_contra]],
        traits: AbstractSet[TurnTrait],
    ) -> "Consequences[R_contra, W_contra]":
        """Return these consequences with one more, called last."""
        return Consequences(*self._registered, (make, traits))

    def __missing__(self, traits: AbstractSet[TurnTrait]) -> TurnHooks:
        concerned = [
            self._made.get(place) or self._made.setdefault(place, make())
            for place, (make, own) in enumerate(self._registered)
            if not own.isdisjoint(traits)
        ]
        hooks = {
            each.name: tuple(
                getattr(one, each.name)
                for one in concerned
                if getattr(type(one), each.name) is not getattr(TurnConsequence, each.name)
            )
            for each in fields(TurnHooks)
        }
        return self.setdefault(frozenset(traits), TurnHooks(**hooks))


def consequence_in_module(module: str, name: str) -> Callable[[], TurnConsequence[Any, Any]]:
    """Return what makes a consequence: its module, below this package, loads with the first use."""

    def make() -> TurnConsequence[Any, Any]:
        made: TurnConsequence[Any, Any] = getattr(import_module(f"{__package__}.{module}"), name)()
        return made

    return make


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


class BackgroundQuestion(Protocol[W_contra]):
    """The question of a background turn to a model, and what is stored of the answer."""

    def limits(self, work: W_contra, limits: Limits) -> Limits:
        """Return the limits of this turn: those for every turn, or less."""

    def skip_reason(self, work: W_contra) -> str:
        """Return why no model need be asked any more; "" while one must be."""

    def request(self, work: W_contra, info: ModelInfo, manner: CallOptions) -> ChatRequest:
        """Return the request to the model; raises Invalid when it is too long for this model."""

    def end_with_answer(self, work: W_contra, result: ModelResult, turn: Turn) -> None:
        """End the turn with an answer; `turn` is its header with the call settled."""

    def end_without_answer(
        self, work: W_contra, status: TurnStatus, result: tuple[Record, ...], turn: Turn, why: str
    ) -> None:
        """End the turn without an answer; `why` is for operators."""
