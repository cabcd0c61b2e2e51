"""Prompt inputs: what the prompts of a turn need, read once however many steps it takes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from opencrab.domain.agents.agent_state import AgentState
from opencrab.domain.agents.event import AgentEvent
from opencrab.domain.autonomy.vital_signs import VitalSigns
from opencrab.domain.document import Document
from opencrab.domain.goals.goal import Goal
from opencrab.domain.goals.priority import NEUTRAL
from opencrab.domain.goals.promise import PromiseBoard
from opencrab.domain.memory.salient_beliefs import SalientBeliefs
from opencrab.domain.memory.summary import SummaryTopic
from opencrab.domain.memory.working_memory import WorkingMemory
from opencrab.domain.models.routing import Routing
from opencrab.domain.peers.notice import Notice
from opencrab.ports.models.model import ActionSchema, CallReturn, ChatMessage, Image, PromptText

if TYPE_CHECKING:
    from opencrab.domain.world.binding import WorldBinding
    from opencrab.domain.world.standing import WorldStanding
    from opencrab.ports.turn.action import Action


@dataclass(frozen=True)
class Surroundings:
    """The surroundings of an agent that wakes: goals, notes, beliefs, and unread events by age.

    `capability` is the `capability_match` of goals that state none; `served` is the stored goal
    that the turn carries out. `known_peers` are the tainted peers that are agents here. `names` are
    those of agents by id, `answers` what other agents said for the goal, `notices` the new ones.
    `declared_tests` is the document with the tests of beliefs.
    """

    signs: VitalSigns | None = None
    goals: tuple[Goal, ...] = ()
    working: WorkingMemory | None = None
    outlook: SalientBeliefs = field(default_factory=SalientBeliefs)
    capability: float = NEUTRAL
    events: tuple[AgentEvent, ...] = ()
    served: Document | None = None
    known_peers: frozenset[str] = frozenset()
    promises: PromiseBoard | None = None
    names: Mapping[str, str] = field(default_factory=dict)
    answers: tuple[str, ...] = ()
    notices: tuple[Notice, ...] = ()
    declared_tests: Document | None = None

    @property
    def is_untrusted(self) -> bool:
        """True if there are words of others among them."""
        noted = self.working is not None and self.working.tainted
        return noted or bool(self.answers) or any(event.tainted for event in self.events)


@dataclass(frozen=True)
class KnownWorld:
    """The outside world that an agent is bound to, and the agent's standing there.

    `pays` is true for a turn of its own, which uses one of its units.
    """

    binding: "WorldBinding"
    standing: "WorldStanding"
    pays: bool


Shown = tuple[ChatMessage | CallReturn, ...]


@dataclass(frozen=True)
class MessageGroup:
    """Messages that are shown together or not at all; `place` is their line in the session."""

    place: int
    messages: Shown
    tokens: int
    is_speech: bool = False


@dataclass(frozen=True)
class EarlierHistory:
    """The lines that are not shown: the first one, and the topics of the others."""

    opening: MessageGroup | None = None
    topics: tuple[SummaryTopic, ...] = ()


@dataclass(frozen=True)
class AttachedContent:
    """What came with the message that a turn answers: pictures, and texts of files with notes.

    `without_vision` are the notes for a model that takes no pictures.
    """

    images: tuple[Image, ...] = ()
    texts: tuple[PromptText, ...] = ()
    notes: tuple[PromptText, ...] = ()
    without_vision: tuple[PromptText, ...] = ()


@dataclass
class PromptInputs:
    """The inputs that were read for a turn's prompts so far; None is not read yet.

    `skill_index` lists the `skills_offered`; `skills` are those that fit the trigger, without
    `skills_held`, which the trial withholds; `skill_texts` are their texts. `earlier` is about the
    lines before the history. `mind` is the agent's state with the skills for its folders enabled.
    `seen_events` are the ids of the events that the prompt lists. `offered` are the schemas of its
    actions with the routing that they are for, `system` the system text by the memories in it;
    `turn_actions` are the actions that only this turn has. `has_files` says whether a line of the
    history came with files.
    """

    shown: tuple[MessageGroup, ...] | None = None
    attached: AttachedContent | None = None
    has_files: bool | None = None
    mind: AgentState | None = None
    skill_index: PromptText | None = None
    skills_offered: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()
    skills_held: tuple[str, ...] = ()
    skill_texts: tuple[PromptText, ...] = ()
    earlier: EarlierHistory | None = None
    around: Surroundings | None = None
    world: KnownWorld | None = None
    seen_events: tuple[str, ...] = ()
    offered: tuple[Routing, tuple[ActionSchema, ...]] | None = None
    turn_actions: "tuple[Action, ...]" = ()
    system: dict[PromptText, PromptText] = field(default_factory=dict)
