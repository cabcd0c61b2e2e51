"""Curiosity's subjects: what an agent does not know yet, chosen by code from what is stored.

These are beliefs that it never tested, things known only by name, memories left alone, agents that
it never talked to, and files that it did not make. Kinds take turns, and so do those of one kind.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from zoneinfo import ZoneInfo

from opencrab.domain.agents.heartbeat import agent_time_zone
from opencrab.domain.autonomy.curiosity_subject import CURIOSITY, CuriosityHistory, SubjectKind
from opencrab.domain.document import Document, new_fact
from opencrab.domain.goals.goal import GoalSource
from opencrab.domain.identifier import stable_id
from opencrab.domain.memory.belief import BELIEF, BELIEF_TESTS, Belief
from opencrab.domain.memory.knowledge_graph import KNOWLEDGE, NODE, GraphSize, KnowledgeNode
from opencrab.domain.memory.memory import CORE, MEMORY, Memory
from opencrab.domain.memory.salient_beliefs import OUTLOOK, SalientBeliefs
from opencrab.domain.memory.write_policy import GATE, MemoryCounts
from opencrab.domain.turn.declared_test import DeclaredTests
from opencrab.engine.goals.curiosity.subject_text import curiosity_goal_text
from opencrab.engine.goals.queue import GoalBoard
from opencrab.engine.goals.social.reasons import find_unmet_agents_for_social_goal
from opencrab.engine.runtime import Runtime
from opencrab.engine.turn.large_result import FOLDER

_PAGE = 100
_NAMES = tuple((kind, kind) for kind in (CURIOSITY, OUTLOOK, KNOWLEDGE, GATE, BELIEF_TESTS))


@dataclass(frozen=True)
class CuriositySubject:
    """One unknown thing; `tainted` if its words may be a stranger's.

    `place` is its id, or a hash of its path. `facts` are told beside its words.
    """

    kind: SubjectKind
    place: str
    what: str
    tainted: bool = False
    facts: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class CuriosityReason:
    """Name and description of an exploration goal, and the document to write with the goal."""

    name: str
    words: str
    tainted: bool
    asked: Document


@dataclass(frozen=True)
class _Known:
    """What is stored, as far as one read shows it: so empty kinds cost no read of their own.

    `tested` are the beliefs that code tests.
    """

    explored: CuriosityHistory
    stored: Document | None
    filled: frozenset[SubjectKind]
    tested: frozenset[str]


def find_curiosity_reason(
    runtime: Runtime, board: GoalBoard, now: datetime
) -> CuriosityReason | None:
    """Return the goal about the next unknown subject; None if nothing unknown is stored.

    It reads what was asked about lately, then one kind after another until there is a subject.
    """
    known = _read_known(runtime, board)
    agent = board.profile.agent
    for kind in known.explored.kinds():
        if kind not in known.filled:
            continue
        found = _FINDERS[kind](runtime, board, known.explored.read_to.get(kind, ""))
        due = (
            each
            for each in found
            if each.place not in known.tested and known.explored.is_due(kind, each.place, now)
        )
        if (subject := next(due, None)) is None:
            continue
        facts = {**subject.facts, "id": subject.place}
        name, words = curiosity_goal_text(kind, agent.language, subject.what, **facts)
        after = known.explored.after(kind, subject.place, now)
        stored = known.stored
        asked = (
            stored.with_body(after) if stored else new_fact(agent.id, CURIOSITY, CURIOSITY, after)
        )
        return CuriosityReason(name, words, subject.tainted, asked)
    return None


def _read_known(runtime: Runtime, board: GoalBoard) -> _Known:
    found = runtime.home.facts.get_many(board.profile.agent.id, *_NAMES)
    stored = {fact.kind: fact for fact in found}
    explored = stored.get(CURIOSITY)
    believes = OUTLOOK in stored and bool(stored[OUTLOOK].read(SalientBeliefs).beliefs)
    knows = KNOWLEDGE in stored and stored[KNOWLEDGE].read(GraphSize).nodes > 0
    remembers = GATE in stored and stored[GATE].read(MemoryCounts).kept > 0
    tests = stored[BELIEF_TESTS].read(DeclaredTests).tests if BELIEF_TESTS in stored else ()
    meets = not any(goal.source is GoalSource.SOCIAL for goal in board.open_goals())
    filled = {
        SubjectKind.BELIEF: believes,
        SubjectKind.KNOWLEDGE: knows,
        SubjectKind.MEMORY: remembers,
        SubjectKind.PEER: meets,
        SubjectKind.FILE: True,
    }
    return _Known(
        explored=CuriosityHistory() if explored is None else explored.read(CuriosityHistory),
        stored=explored,
        filled=frozenset(kind for kind, has in filled.items() if has),
        tested=frozenset(test.belief_id for test in tests),
    )


def _beliefs(runtime: Runtime, board: GoalBoard, after: str) -> Iterator[CuriositySubject]:
    for fact in _documents(runtime, board, BELIEF, after):
        belief = fact.read(Belief)
        if belief.tested_at is None:
            told = {"confidence": f"{belief.confidence:.2f}"}
            yield CuriositySubject(
                SubjectKind.BELIEF, belief.id, belief.claim, belief.tainted, told
            )


def _nodes(runtime: Runtime, board: GoalBoard, after: str) -> Iterator[CuriositySubject]:
    for fact in _documents(runtime, board, NODE, after):
        node = fact.read(KnowledgeNode)
        if not node.content:
            yield CuriositySubject(SubjectKind.KNOWLEDGE, fact.id, node.label, node.tainted)


def _memories(runtime: Runtime, board: GoalBoard, after: str) -> Iterator[CuriositySubject]:
    zone = ZoneInfo(agent_time_zone(board.profile.agent.heartbeat, runtime.rules.time_zone))
    for fact in _documents(runtime, board, MEMORY, after):
        memory = fact.read(Memory)
        # A core memory is part of every prompt.
        if memory.category != CORE:
            told = {"day": memory.updated_at.astimezone(zone).strftime("%Y-%m-%d")}
            yield CuriositySubject(
                SubjectKind.MEMORY, fact.id, memory.content, memory.tainted, told
            )


def _peers(runtime: Runtime, board: GoalBoard, after: str) -> Iterator[CuriositySubject]:
    unmet = find_unmet_agents_for_social_goal(runtime.home, board.profile)
    found = [
        CuriositySubject(SubjectKind.PEER, each.agent.id, each.identity.name) for each in unmet
    ]
    return _in_turn(found, after)


def _files(runtime: Runtime, board: GoalBoard, after: str) -> Iterator[CuriositySubject]:
    """Return the files that no untainted turn of the agent wrote; their names are of others."""
    agent_id = board.profile.agent.id
    found = [
        CuriositySubject(SubjectKind.FILE, stable_id("file", info.path), info.path, tainted=True)
        for info in runtime.home.files.list(agent_id)
        if not (info.clean or info.path.startswith(f"{FOLDER}/"))
    ]
    return _in_turn(found, after)


_FINDERS: dict[SubjectKind, Callable[[Runtime, GoalBoard, str], Iterator[CuriositySubject]]] = {
    SubjectKind.BELIEF: _beliefs,
    SubjectKind.KNOWLEDGE: _nodes,
    SubjectKind.MEMORY: _memories,
    SubjectKind.PEER: _peers,
    SubjectKind.FILE: _files,
}


def _documents(runtime: Runtime, board: GoalBoard, kind: str, after: str) -> Iterator[Document]:
    """Yield the documents after a place, then those up to it, page by page as they are needed."""
    facts, agent_id = runtime.home.facts, board.profile.agent.id
    for start, end in ((after, None), ("", after)) if after else (("", None),):
        place = start
        while page := facts.page(agent_id, kind, after=place, limit=_PAGE):
            for fact in page:
                if end is not None and fact.id > end:
                    return
                yield fact
            place = page[-1].id
            if len(page) < _PAGE:
                break


def _in_turn(found: Iterable[CuriositySubject], after: str) -> Iterator[CuriositySubject]:
    """Yield the subjects by their places: those after a place first, then the others."""
    return iter(sorted(found, key=lambda each: (each.place <= after, each.place)))
