"""Actions as values: impact, effect class, approval policy, result and side effects."""

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import Field

from opencrab.domain.document import Document
from opencrab.domain.models.routing import ModelChosen
from opencrab.domain.turn.due_item import DueItem
from opencrab.domain.value import Value


class Effect(StrEnum):
    """The way in which a call is recovered if the worker dies during it.

    `pure` runs again; `transactional` commits with its result; `keyed` runs again with a stored
    precondition (compare and swap) that makes a repeat harmless; `once` is never repeated, and its
    outcome stays unknown.
    """

    PURE = "pure"
    TRANSACTIONAL = "transactional"
    KEYED = "keyed"
    ONCE = "once"


class AnsweredLine(Value):
    """The line that a speech replies to: its sequence, and where its channel has it."""

    sequence: int
    sent_as: str = ""


class SpeechSent(Value):
    """Speech for everybody in the session, perhaps as a reply to one line of it."""

    kind: Literal["spoke"] = "spoke"
    text: str
    reply_to: AnsweredLine | None = Field(default=None, exclude_if=lambda given: given is None)


class InnerVoiceNoted(Value):
    """A note of the agent for itself only."""

    kind: Literal["mused"] = "mused"
    text: str


class SilenceChosen(Value):
    """A decision to stay silent."""

    kind: Literal["passed"] = "passed"
    reason: str = ""


class DeclaredDone(Value):
    """A declaration that the agent has nothing more to add to this session."""

    kind: Literal["declared_done"] = "declared_done"
    reason: str = ""


class FileWritten(Value):
    """A write of a workspace file; sha256 identifies the content."""

    kind: Literal["file_written"] = "file_written"
    path: str
    sha256: str
    size: int


class FileDeleted(Value):
    """A deletion of a workspace file; older versions of it may still exist."""

    kind: Literal["file_deleted"] = "file_deleted"
    path: str


class SkillUsed(Value):
    """A skill whose text was given to the model because it asked for it."""

    kind: Literal["skill_used"] = "skill_used"
    name: str


class MemoriesFound(Value):
    """Memories that a search showed; `hidden` if the turn is in the hold-out without memories.

    Experiences are named by their ids after `experience:`; none of them is ever held out.
    """

    kind: Literal["memories_found"] = "memories_found"
    ids: tuple[str, ...] = ()
    hidden: bool = False
    could_hide: bool = False


class SkillLearned(Value):
    """A skill that was acquired, changed, retired or restored."""

    kind: Literal["skill_learned"] = "skill_learned"
    name: str
    status: str


class GuidanceGiven(Value):
    """Words of a facilitator for all agents of the session, hidden from people."""

    kind: Literal["guided"] = "guided"
    text: str


class PhaseSet(Value):
    """A phase of the discussion that a facilitator set."""

    kind: Literal["phase_set"] = "phase_set"
    phase: str


class TaskEnded(Value):
    """A task of a goal that is done or has failed; `message` is the text shown for it."""

    kind: Literal["task_ended"] = "task_ended"
    task: str
    status: str
    message: str


class GoalBegun(Value):
    """A goal that was started: its first turn waits in the goal queue."""

    kind: Literal["goal_begun"] = "goal_begun"
    goal: str


class GoalEnded(Value):
    """A goal that is completed; `message` is the text shown for it."""

    kind: Literal["goal_ended"] = "goal_ended"
    goal: str
    message: str


SideEffect = Annotated[
    SpeechSent
    | InnerVoiceNoted
    | SilenceChosen
    | DeclaredDone
    | GuidanceGiven
    | PhaseSet
    | FileWritten
    | FileDeleted
    | SkillUsed
    | MemoriesFound
    | SkillLearned
    | TaskEnded
    | GoalBegun
    | GoalEnded
    | ModelChosen,
    Field(discriminator="kind"),
]


class ActionResult(Value):
    """The answer of an action to the model, with its side effects as data.

    `taint` says that it carries foreign text. `facts` are documents written in the
    transaction of the result, for any action but a pure one; the journal does not repeat them.
    `due` are messages to other agents, written with them by a transactional action.
    """

    success: bool
    data: dict[str, Any] | None = None
    error: str | None = None
    side_effects: tuple[SideEffect, ...] = ()
    taint: bool = False
    facts: tuple[Document, ...] = Field(default=(), exclude=True)
    due: tuple[DueItem, ...] = Field(default=(), exclude=True)

    @classmethod
    def ok(cls, *side_effects: Any, **data: Any) -> "ActionResult":
        """Build a success with its data and side effects."""
        return cls(success=True, data=data, side_effects=side_effects)

    def keeping(self, *facts: Document) -> "ActionResult":
        """Return the result with more documents to write together with it."""
        return self.replaced(facts=(*self.facts, *facts))

    def sending(self, *due: DueItem) -> "ActionResult":
        """Return the result with more messages to admit once it is written."""
        return self.replaced(due=(*self.due, *due))

    @classmethod
    def failure(cls, error: str) -> "ActionResult":
        """Build a failure; `error` tells the model what to do differently."""
        return cls(success=False, error=error)
