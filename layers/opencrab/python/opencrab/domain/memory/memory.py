"""What an agent keeps of what it lived through: memories, experiences, impressions."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import Field, StringConstraints

from opencrab.domain.conversation.session import Hearing
from opencrab.domain.outcome import Outcome
from opencrab.domain.value import Identifier, Name, ShortText, Stripped, Text, Unit, Value

MEMORY_CHARACTERS = 4_000
LINKS = 20
EARLIER_KEPT = 10
"""The number of earlier texts that a memory keeps."""

MEMORY, EXPERIENCE, IMPRESSION = "memory", "experience", "impression"
"""The kinds of documents; ids of memories and experiences are in order of time."""

LIVED = f"{EXPERIENCE}:"
"""The prefix of an experience's id where it is named among memories."""

REWRITTEN = "rewritten"
"""The kind of documents that name changed memories."""

CORE = "core"
"""The category of memories that are part of every prompt."""

FACT = "fact"
"""The category of memories that may not be core memories, or have no room among them."""

Category = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
Sentence = Annotated[Stripped, StringConstraints(min_length=1, max_length=2_000)]
MemoryContent = Annotated[Text, StringConstraints(min_length=1, max_length=MEMORY_CHARACTERS)]


class Provenance(StrEnum):
    """Source of a memory."""

    OWNER = "owner"
    USER = "user"
    AGENT = "agent"
    PEER = "peer"
    WEB = "web"
    IMPORT = "import"


class Earlier(Value):
    """An earlier text of a memory, and why it was changed."""

    content: str
    reason: Annotated[str, StringConstraints(max_length=40)]
    turn_id: str = ""
    at: datetime


class Memory(Value):
    """A curated statement that an agent keeps; `tainted` if it was learned from untrusted words.

    `session_id`, `line` and `turn_id` are where it comes from, `path` is a file with more.
    `hearing` says who may hear of it: its session and guild are those it was made in. `earlier` are
    its former texts, the newest last; `links` are ids of related memories. `merged` counts how
    often the same was learned again.
    """

    id: str
    category: Category
    content: MemoryContent
    provenance: Provenance = Provenance.AGENT
    confidence: Unit = 0.8
    importance: Unit = 0.5
    hearing: Hearing = Hearing.PRIVATE
    guild_id: Identifier | None = None
    links: Annotated[tuple[str, ...], Field(max_length=LINKS)] = ()
    path: str = ""
    earlier: tuple[Earlier, ...] = ()
    merged: int = 0
    tainted: bool = False
    session_id: str = ""
    line: int = 0
    turn_id: str = ""
    person_id: str = ""
    created_at: datetime
    updated_at: datetime


class CoreMemory(Value):
    """The part of a core memory in the agent state: its text, and who may hear of it."""

    id: str
    content: str
    hearing: Hearing
    session_id: str = ""
    guild_id: Identifier | None = None
    person_id: str = ""


class IndexRewrite(Value):
    """A notice that items were changed, or arrived under an old id, for copies of an index.

    The ids of these documents are in order of time; `refs` are ids of items, all of one kind.
    """

    refs: tuple[str, ...]
    kind: str = MEMORY


class Experience(Value):
    """Something done, how it went, and what it taught; `model` if it is about a model.

    `by_owner` says that it is an owner's opinion of a turn, `from_person` whose opinion it is. A
    retired one is no longer found or shown, but still counts as an opinion; `restored_at` says when
    it was restored.
    """

    id: str
    experience: Sentence
    outcome: Outcome
    lesson: Sentence
    about_turn: str = ""
    from_person: str = ""
    by_owner: bool = False
    model: str = ""
    tainted: bool = False
    turn_id: str = ""
    session_id: str = ""
    person_id: str = ""
    at: datetime
    retired_at: datetime | None = None
    restored_at: datetime | None = None

    @property
    def is_opinion(self) -> bool:
        """True if it is another person's opinion of a turn, not the agent's own note."""
        return bool(self.about_turn and self.from_person) and not self.turn_id


class Impression(Value):
    """An agent's impression of one person or peer; the fields are the seeds'.

    `target_name` is the label by which people know them, on any platform; `target_id` does not
    change. `history` is what was noted in each session, the newest last.
    """

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
    history: "tuple[SessionImpression, ...]" = ()
    created_at: datetime
    updated_at: datetime

    def as_left(self, history: "tuple[SessionImpression, ...]") -> "Impression | None":
        """Return the impression as of the last session in `history`; None if that is empty."""
        if not history:
            return None
        left = history[-1]
        return self.replaced(
            personality="",
            communication_style="",
            recent_behavior=left.recent_behavior,
            agreement=left.agreement,
            notes=left.notes,
            session_id=left.session_id,
            turn_id=left.turn_id,
            history=history[:-1],
            updated_at=left.at,
        )


class SessionImpression(Value):
    """The impression of a person after one session."""

    session_id: str
    turn_id: str = ""
    agreement: str = ""
    recent_behavior: str = ""
    notes: str = ""
    at: datetime
