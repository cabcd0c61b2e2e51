"""Skills: know-how in words, with what it unlocks, where it comes from and when it fits."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import Field, StringConstraints

from opencrab.domain.value import Language, ShortText, Text, Value

ACQUIRED_SKILLS = 50
"""The limit of acquired skills of one agent that are not archived."""

QUARANTINED_SKILLS = 20
"""The limit of skills that wait for approval: the public cannot use up the room of the others."""

SKILLS_KEPT = 150
"""The limit of acquired skills of one agent including archived ones."""

GUIDANCE_BYTES = 8 * 1024

SKILL = "skill"
"""The kind of documents that store acquired skills; the id is the name."""

SkillName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=64)]
"""A name by the Agent Skills specification: lower case, digits, single hyphens, 64 at most."""

Description = Annotated[Text, StringConstraints(min_length=1, max_length=1_024)]
Pattern = Annotated[Text, StringConstraints(max_length=500)]
Points = Annotated[float, Field(ge=-100, le=100)]

BY_EVIDENCE = "the evidence"
"""The `retired_by` of skills that were measured to be useless: no id, as ids have no spaces."""


class SourceType(StrEnum):
    """The way in which an acquired skill was learned."""

    EXPERIENCE = "experience"
    PEER = "peer"
    RESEARCH = "research"
    REFLECTION = "reflection"
    FEEDBACK = "feedback"


class SkillStatus(StrEnum):
    """Status of an acquired skill; models see only live ones.

    A candidate is on trial: it is withheld from a random share of the turns that it fits.
    """

    QUARANTINED = "quarantined"
    CANDIDATE = "candidate"
    ACTIVE = "active"
    DISABLED = "disabled"
    ARCHIVED = "archived"

    @property
    def is_live(self) -> bool:
        """True if models may see such a skill."""
        return self in {SkillStatus.CANDIDATE, SkillStatus.ACTIVE}


class StandardSkill(Value):
    """A skill that is shipped, or that an operator put into the folder of skills.

    An agent that has files in its `folder` has the skill without being given it.
    """

    name: SkillName
    descriptions: dict[Language, Description]
    guidance: dict[Language, str]
    situation_pattern: Pattern = ""
    actions: tuple[str, ...] = ()
    version: str = "1"
    by_default: bool = False
    folder: Annotated[str, StringConstraints(pattern=r"^[a-z0-9/_-]*$", max_length=64)] = ""

    def description(self, language: Language) -> str:
        """Return the description in a language, else in any language that exists."""
        return self.descriptions.get(language) or next(iter(self.descriptions.values()))

    def text(self, language: Language) -> str:
        """Return the guidance in a language, else in any language that exists."""
        return self.guidance.get(language) or next(iter(self.guidance.values()))


class Effectiveness(Value):
    """Effect of a skill on the turns that it fits: points of 100 with their 95 % interval.

    `turns` are the numbers of measured turns with and without it.
    """

    points: Points
    low: Points
    high: Points
    turns: Annotated[int, Field(ge=0)]


class AcquiredSkill(Value):
    """A skill that an agent learned, with its source.

    `tainted` until its text is trusted, by its source or by an owner's approval. `retired_by` is
    who archived it, None if the agent itself did. One that `waits` is switched off until there is
    room for it on trial. `effectiveness` is None until it is measured, and refers to the text since
    `worded_at`.
    """

    name: SkillName
    description: Description
    situation_pattern: Pattern = ""
    guidance: Annotated[Text, Field(max_length=GUIDANCE_BYTES)]
    version: int = 1
    status: SkillStatus = SkillStatus.ACTIVE
    source_type: SourceType
    source_context: ShortText = ""
    taught_by: str = ""
    turn_id: str = ""
    tainted: bool = False
    approved_by: str | None = None
    retired_by: str | None = None
    usage_count: int = 0
    waits: bool = False
    effectiveness: Effectiveness | None = None
    worded_at: datetime | None = None
    last_used_at: datetime | None = None
    created_at: datetime
    updated_at: datetime


class IndexedSkill(Value):
    """The part of an acquired skill in the agent state; one `on_trial` is shown only if it fits."""

    name: SkillName
    description: Description
    situation_pattern: Pattern = ""
    on_trial: bool = False
