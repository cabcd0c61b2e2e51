"""What an agent keeps of what it lived through: memories, experiences, impressions."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import StringConstraints

from opencrab.domain.value import Identifier, Name, ShortText, Stripped, Text, Value

MEMORY_CHARACTERS = 4_000

Category = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
Sentence = Annotated[Stripped, StringConstraints(min_length=1, max_length=2_000)]


class Outcome(StrEnum):
    """How something went."""

    SUCCESS = "success"
    FAILURE = "failure"
    PARTIAL = "partial"


class Memory(Value):
    """A curated fact worth keeping; `tainted` when it was learned from foreign words."""

    id: str
    category: Category
    content: Annotated[Text, StringConstraints(min_length=1, max_length=MEMORY_CHARACTERS)]
    tainted: bool = False
    session_id: str = ""
    turn_id: str = ""
    created_at: datetime
    updated_at: datetime


class Experience(Value):
    """Something done, how it went, and what it taught."""

    id: str
    experience: Sentence
    outcome: Outcome
    lesson: Sentence
    about_turn: str = ""
    from_person: str = ""
    tainted: bool = False
    turn_id: str = ""
    session_id: str = ""
    at: datetime


class Impression(Value):
    """What an agent thinks of one person or peer; the fields are the seeds'."""

    target_id: Identifier
    target_name: Name
    personality: ShortText = ""
    communication_style: ShortText = ""
    recent_behavior: ShortText = ""
    agreement: ShortText = ""
    notes: ShortText = ""
    tainted: bool = False
    session_id: str = ""
    turn_id: str = ""
    created_at: datetime
    updated_at: datetime
