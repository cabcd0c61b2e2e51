"""The kinds of rows in a bundle, and what each leaves behind: places of one installation.

Sessions, turns and keys do not move. A row therefore names none, so that two bundles of the same
agent are equal wherever it lives.
"""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field, StringConstraints

from opencrab.domain.agents.agent_state import MIND, AgentState
from opencrab.domain.autonomy.schedule import SCHEDULE, Schedule
from opencrab.domain.conversation.session import Hearing
from opencrab.domain.goals.goal import GOAL, Goal, Task
from opencrab.domain.goals.owner_order import GOAL_ORDER, OwnerOrder
from opencrab.domain.goals.plan import PLAN, AbandonedPlan
from opencrab.domain.memory.belief import BELIEF, Belief
from opencrab.domain.memory.knowledge_graph import EDGE, NODE, KnowledgeEdge, KnowledgeNode
from opencrab.domain.memory.memory import (
    EXPERIENCE,
    IMPRESSION,
    MEMORY,
    Experience,
    Impression,
    Memory,
    Provenance,
)
from opencrab.domain.memory.peer import PEER, Peer
from opencrab.domain.memory.working_memory import WORKING, WorkingMemory
from opencrab.domain.skills.skill import SKILL, AcquiredSkill
from opencrab.domain.value import Value

AGENT, FILE, LEFT_OUT = "agent", "file", "left_out"
"""The kinds of rows that are no documents: the agent, its files, and what is not exported."""

SELF = "self"
"""What a row has in place of its agent's id and of its owner's."""

PEOPLE = "people"
"""Why something of or about people other than the owner stays out of a bundle."""

MEMORY_KINDS = (MEMORY, EXPERIENCE, IMPRESSION, NODE, EDGE, BELIEF, PEER)

DOCUMENTS: Mapping[str, type[Value]] = {
    MIND: AgentState,
    MEMORY: Memory,
    EXPERIENCE: Experience,
    IMPRESSION: Impression,
    NODE: KnowledgeNode,
    EDGE: KnowledgeEdge,
    BELIEF: Belief,
    PEER: Peer,
    WORKING: WorkingMemory,
    SKILL: AcquiredSkill,
    GOAL: Goal,
    PLAN: AbandonedPlan,
    GOAL_ORDER: OwnerOrder,
    SCHEDULE: Schedule,
}
"""The documents of a bundle by kind, in the order in which they are taken in."""

_ABOUT_PEOPLE = {IMPRESSION, PEER}
_OF_PEOPLE = {Provenance.USER, Provenance.PEER}
_PLACES: Mapping[str, Any] = {
    "session_id": "",
    "turn_id": "",
    "guild_id": None,
    "line": 0,
    "last_session": "",
    "path": "",
}


class BundledFile(Value, defer_build=False):
    """A workspace file: its content is in the bundle under its hash.

    `clean` says that the agent itself wrote it, of trusted words, under a name of its own.
    """

    path: Annotated[str, StringConstraints(min_length=1, max_length=2_000)]
    size: Annotated[int, Field(ge=0)]
    sha256: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
    clean: bool = False


def why_not_bundled(kind: str, value: Value, *, people: bool) -> str:
    """Return why a document stays out of a bundle; "" for one that goes into it.

    Without `people` what the agent learned from or about others than its owner stays. A retired
    experience, which is no longer found, stays too.
    """
    if isinstance(value, Experience) and value.retired_at is not None:
        return "retired"
    if isinstance(value, Memory):
        is_of_people = value.provenance in _OF_PEOPLE
    elif isinstance(value, Experience):
        is_of_people = bool(value.from_person) and not value.by_owner
    else:
        is_of_people = kind in _ABOUT_PEOPLE
    return PEOPLE if is_of_people and not people else ""


def bundled_document(value: Value) -> Value:
    """Return a document as a bundle holds it, without places of its installation."""
    if isinstance(value, Goal):
        return _bundled_goal(value)
    if isinstance(value, Schedule):
        placed = value.replaced(session_id=None, channel=None, agent_id=SELF)
        return placed.replaced(next_at=None, last_turn_id=None)
    fields = type(value).model_fields
    value = value.replaced(**{name: none for name, none in _PLACES.items() if name in fields})
    if isinstance(value, Memory):
        return _bundled_memory(value)
    changes: dict[str, Any] = {}
    if isinstance(value, Experience):
        changes = {"retired_at": None, "restored_at": None}
    elif isinstance(value, Impression):
        changes = {"history": ()}
    elif isinstance(value, AgentState):
        # Both are made again of the memories and the skills.
        changes = {"core": (), "skills": ()}
    elif isinstance(value, AbandonedPlan):
        changes = {"tasks": _bundled_tasks(value.tasks)}
    return value.replaced(**changes)


def _bundled_memory(memory: Memory) -> Memory:
    earlier = tuple(each.replaced(turn_id="") for each in memory.earlier)
    heard = memory.hearing in {Hearing.SESSION, Hearing.GUILD}
    return memory.replaced(earlier=earlier, hearing=Hearing.PRIVATE if heard else memory.hearing)


def _bundled_goal(goal: Goal) -> Goal:
    return goal.replaced(
        agent_id=SELF,
        session_id=SELF,
        principal_id=SELF,
        turn_id=None,
        channel=None,
        tasks=_bundled_tasks(goal.tasks),
    )


def _bundled_tasks(tasks: tuple[Task, ...]) -> tuple[Task, ...]:
    return tuple(each.replaced(turn_id=None) for each in tasks)
