"""Prompt inputs: what the prompts of a turn need, read once however many steps it takes."""

from dataclasses import dataclass, field

from opencrab.domain.agents.event import AgentEvent
from opencrab.domain.autonomy.vital_signs import VitalSigns
from opencrab.domain.document import Document
from opencrab.domain.goals.goal import Goal
from opencrab.domain.goals.priority import NEUTRAL
from opencrab.domain.memory.salient_beliefs import SalientBeliefs
from opencrab.domain.memory.summary import SummaryTopic
from opencrab.domain.memory.working_memory import WorkingMemory
from opencrab.ports.models.model import CallReturn, ChatMessage, Image


@dataclass(frozen=True)
class Surroundings:
    """What an agent finds when it wakes: its goals, what it has in mind, and unread events by age.

    `capability` is what its goals' match counts as where it was not stated; `served` is the goal
    that its turn serves, as it is stored.
    """

    signs: VitalSigns | None = None
    goals: tuple[Goal, ...] = ()
    working: WorkingMemory | None = None
    outlook: SalientBeliefs = field(default_factory=SalientBeliefs)
    capability: float = NEUTRAL
    events: tuple[AgentEvent, ...] = ()
    served: Document | None = None


Shown = tuple[ChatMessage | CallReturn, ...]


@dataclass(frozen=True)
class MessageGroup:
    """Messages that are shown together or not at all, their place in the session, their size."""

    place: int
    messages: Shown
    tokens: int
    is_speech: bool = False


@dataclass(frozen=True)
class EarlierHistory:
    """What is told of a session's lines that are not shown: the first one, and topics by number."""

    opening: MessageGroup | None = None
    topics: tuple[SummaryTopic, ...] = ()


@dataclass
class PromptInputs:
    """What was read for a turn's prompts so far; None is not read yet.

    `skill_index` tells of the `skills_offered`; `skills` are those that fit the trigger, without
    `skills_held`, which the trial withholds; `guidance` is their text. `earlier` is what is told of
    the lines before the history. `seen_events` are the events that the agent was told of.
    """

    shown: tuple[MessageGroup, ...] | None = None
    images: tuple[Image, ...] | None = None
    skill_index: str | None = None
    skills_offered: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()
    skills_held: tuple[str, ...] = ()
    guidance: tuple[str, ...] = ()
    earlier: EarlierHistory | None = None
    around: Surroundings | None = None
    seen_events: tuple[str, ...] = ()
