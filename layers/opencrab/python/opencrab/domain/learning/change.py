"""Adjustments: what was changed about an agent on evidence, and how it is taken back."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from pydantic import Field

from opencrab.domain.value import Value

ADJUSTMENT = "adjustment"
"""Kind of the facts that these are; ids are in order of time."""

STOPPED = "stopped"
"""The reason of a change by which somebody ended what was tried out: no evidence spoke for it."""


class AdjustmentKind(StrEnum):
    """What was changed."""

    MODELS = "models"
    SKILL = "skill"
    EXPERIENCE = "experience"
    MEMORIES = "memories"


class AdjustmentState(StrEnum):
    """Where an adjustment stands; one that was only proposed changed nothing."""

    PROPOSED = "proposed"
    APPLIED = "applied"
    UNDONE = "undone"
    ROLLED_BACK = "rolled_back"
    SUPERSEDED = "superseded"


class Adjustment(Value):
    """One change of a mix, of a skill's standing or an experience's, on what, and who made it.

    `subject` is `purpose/task_type` of a mix, the name of a skill or the id of an experience;
    `before` and `after` are what it was and became, {} for nothing. `evidence` are numbers by
    name. `reason` is a word for what decided, `by` the period, turn or owner that made it.
    `ended_by` is who took it back.
    """

    id: str
    at: datetime
    kind: AdjustmentKind
    subject: str
    before: dict[str, Any] = Field(default_factory=dict)
    after: dict[str, Any] = Field(default_factory=dict)
    evidence: dict[str, Any] = Field(default_factory=dict)
    reason: str
    by: str
    state: AdjustmentState = AdjustmentState.APPLIED
    ended_at: datetime | None = None
    ended_by: str = ""
