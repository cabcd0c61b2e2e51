"""Actions as values: impact, effect class, approval policy, result and side effects."""

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import Field

from opencrab.domain.routing import ModelChosen
from opencrab.domain.value import Value


class Impact(StrEnum):
    """What an action touches, weakest first: speech < read < self < shared < external."""

    SPEECH = "speech"
    READ = "read"
    SELF = "self"
    SHARED = "shared"
    EXTERNAL = "external"


class Effect(StrEnum):
    """What a crash may do to an action.

    `pure` runs again; `transactional` commits with its result; `keyed` carries a condition
    that makes a repeat harmless; `once` is never repeated: its outcome stays unknown.
    """

    PURE = "pure"
    TRANSACTIONAL = "transactional"
    KEYED = "keyed"
    ONCE = "once"


class ApprovalPolicy(StrEnum):
    """Which impacts run unasked."""

    STRICT = "strict"
    GUARDED = "guarded"
    OPEN = "open"


_UNASKED = {
    ApprovalPolicy.STRICT: {Impact.SPEECH},
    ApprovalPolicy.GUARDED: {Impact.SPEECH, Impact.READ, Impact.SELF},
    ApprovalPolicy.OPEN: {Impact.SPEECH, Impact.READ, Impact.SELF, Impact.SHARED},
}


def needs_approval(impact: Impact, policy: ApprovalPolicy, *, tainted: bool) -> bool:
    """Whether a human must agree first; taint guards shared and external under any policy."""
    if tainted and impact in {Impact.SHARED, Impact.EXTERNAL}:
        return True
    return impact not in _UNASKED[policy]


class Spoke(Value):
    """Words for everybody in the session."""

    kind: Literal["spoke"] = "spoke"
    text: str


class Mused(Value):
    """Words for nobody but the agent."""

    kind: Literal["mused"] = "mused"
    text: str


class Passed(Value):
    """A decision to stay silent."""

    kind: Literal["passed"] = "passed"
    reason: str = ""


class DeclaredDone(Value):
    """The agent has nothing more to add to this session."""

    kind: Literal["declared_done"] = "declared_done"
    reason: str = ""


class FileWritten(Value):
    """A workspace file was written; sha256 identifies the content."""

    kind: Literal["file_written"] = "file_written"
    path: str
    sha256: str
    size: int


SideEffect = Annotated[
    Spoke | Mused | Passed | DeclaredDone | FileWritten | ModelChosen, Field(discriminator="kind")
]


class ActionResult(Value):
    """What an action answers to the model, with its side effects as data."""

    success: bool
    data: dict[str, Any] | None = None
    error: str | None = None
    side_effects: tuple[SideEffect, ...] = ()

    @classmethod
    def done(cls, *side_effects: Any, **data: Any) -> "ActionResult":
        """A success with its data and side effects."""
        return cls(success=True, data=data, side_effects=side_effects)

    @classmethod
    def failed(cls, error: str) -> "ActionResult":
        """A failure that tells the model what to do differently."""
        return cls(success=False, error=error)
