"""Approvals: what waits for a human, who may decide, and what was granted for a while."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import Field, StringConstraints

from opencrab.domain.access.impact import Impact
from opencrab.domain.value import Identifier, ShortText, Text, Value

ActionName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,63}$")]

DECIDED = "decided_approval"
OPEN = "approval"
GRANT = "grant"
"""Kinds of documents: the first two belong to the installation, grants to their agent."""


class ApprovalRules(Value):
    """Deadlines of an agent's approvals: minutes until others may decide, and until they expire.

    `delegates` are principals who may decide in the owner's place; with
    `escalate_minutes` only after that time, else at once.
    """

    expire_minutes: Annotated[int, Field(ge=1, le=525_600)] | None = None
    escalate_minutes: Annotated[int, Field(ge=1, le=525_600)] | None = None
    delegates: Annotated[tuple[Identifier, ...], Field(max_length=20)] = ()


class ApprovalState(StrEnum):
    """The state of an approval: pending, or how it ended."""

    PENDING = "pending"
    APPROVED = "approved"
    REJECTED = "rejected"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"


class Approval(Value):
    """One tool call that waits for a human, bound to its exact arguments.

    `what` describes the call in one line, `touches` what it affects. An approval is `withdrawn`
    when its turn was stopped.
    """

    id: Identifier
    agent_id: Identifier
    session_id: Identifier
    turn_id: Identifier
    n: int
    call_id: str
    action: str
    impact: Impact
    argument_hash: str
    what: str
    touches: str
    tainted: bool = False
    goal: str | None = None
    state: ApprovalState = ApprovalState.PENDING
    by: str | None = None
    reason: ShortText = ""
    created_at: datetime
    escalates_at: datetime | None = None
    escalated: bool = False
    expires_at: datetime | None = None
    decided_at: datetime | None = None


class Grant(Value):
    """Permission in advance: a number of calls of some actions or impacts until a time.

    `touches` limits the grant to calls each of whose targets starts with it. A grant never covers a
    tainted turn.
    """

    id: Identifier
    agent_id: Identifier
    actions: Annotated[tuple[ActionName, ...], Field(max_length=50)] = ()
    impacts: tuple[Impact, ...] = ()
    touches: Annotated[Text, StringConstraints(max_length=300)] = ""
    calls: Annotated[int, Field(ge=1, le=100_000)]
    used: int = 0
    until: datetime
    by: str
    created_at: datetime

    def covers(self, action: str, impact: Impact, targets: tuple[str, ...], now: datetime) -> bool:
        """Check whether the grant allows a call now: named in it, calls left, before its end.

        A grant with `touches` does not cover a call without targets.
        """
        named = action in self.actions or impact in self.impacts
        left = self.used < self.calls and now < self.until
        within = bool(targets) and all(each.startswith(self.touches) for each in targets)
        return named and left and (within or not self.touches)
