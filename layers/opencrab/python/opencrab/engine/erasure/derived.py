"""Derived data: finds what agents stored that came from erased data, and plans its removal."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime

from opencrab.domain.agents.agent_state import MIND, AgentState
from opencrab.domain.document import Document
from opencrab.domain.erasure.request import ErasureScope
from opencrab.domain.goals.goal import GOAL, Goal, goal_document_id
from opencrab.domain.goals.plan import PLAN, AbandonedPlan
from opencrab.domain.learning.evidence import EVIDENCE, STANDING, ClosedEvidence, Evidence
from opencrab.domain.learning.signals import SIGNALS, TurnSignals
from opencrab.domain.memory.knowledge_graph import EDGE, NODE, KnowledgeEdge, KnowledgeNode
from opencrab.domain.memory.memory import (
    EXPERIENCE,
    IMPRESSION,
    MEMORY,
    Experience,
    Impression,
    Memory,
)
from opencrab.domain.memory.summary import (
    COMPACTION,
    SUMMARY,
    CompactionState,
    Summary,
    SummarySource,
)
from opencrab.domain.skills.skill import SKILL, AcquiredSkill
from opencrab.engine.erasure.derived_beliefs import beliefs_to_erase
from opencrab.engine.erasure.derived_reports import reports_to_erase
from opencrab.engine.erasure.scope import DataToErase, documents_to_check
from opencrab.engine.goals.instructions import INSTRUCTION
from opencrab.engine.learning.experience_changes import (
    close_changes,
    experiences_merged_by_learning,
    without_forgotten_learning_pins,
)
from opencrab.engine.runtime import Runtime
from opencrab.ports.paging import all_pages

_INDEXED = {MEMORY, EXPERIENCE, SUMMARY}

Words = Callable[[Document], tuple[str, ...]]


@dataclass
class DerivedData:
    """The planned changes of one agent's stored data.

    `changes` are ordered so that no step removes the data by which later ones are found; `sources`
    are the documents by which all else was found, and go last. `removed` are `kind:id`; `skills`,
    `schedules` and `open_goals` are only reported.
    """

    agent_id: str
    changes: list[Document] = field(default_factory=list)
    sources: list[Document] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    turns: list[str] = field(default_factory=list)
    skills: list[str] = field(default_factory=list)
    schedules: list[str] = field(default_factory=list)
    open_goals: list[str] = field(default_factory=list)

    @property
    def found_again(self) -> list[str]:
        """The removed references that a search index knows; other ids may contain a name."""
        return [ref for ref in self.removed if ref.partition(":")[0] in _INDEXED]


def data_derived_from_erased(runtime: Runtime, found: DataToErase, agent_id: str) -> DerivedData:
    """Find what one agent derived from the erased data; add its words to the fingerprints."""
    return _Search(runtime, found, agent_id).all()


class _Search:
    """One pass over an agent's stored data; `_own` is true if the request names this agent."""

    def __init__(self, runtime: Runtime, found: DataToErase, agent_id: str) -> None:
        self._runtime = runtime
        self._facts = runtime.home.facts
        self._found = found
        self._agent_id = agent_id
        self._own = agent_id == found.agent_id
        self._kept = DerivedData(agent_id)

    def all(self) -> DerivedData:
        """Return all changes; memories are found first, as others depend on them, and go last."""
        memories, reworded = self._memories()
        self._goals()
        nodes = self._nodes({fact.id for fact in memories})
        self._edges({fact.id for fact in nodes})
        self._remove(nodes, NODE, lambda fact: fact.read(KnowledgeNode).texts)
        self._summaries()
        self._inner()
        self._experiences()
        self._core({fact.id for fact in memories})
        self._kept.changes += reworded
        self._remove(memories, MEMORY, lambda fact: (fact.read(Memory).content,))
        self._impressions()
        self._signals()
        self._skills()
        self._wordings()
        return self._kept

    def _means(
        self,
        *texts: str,
        turns: Iterable[str] = (),
        session_id: str = "",
        line: int = 0,
        people: Iterable[str] = (),
        times: Iterable[datetime] = (),
    ) -> bool:
        """Check whether something derives from the erased data, as seen by this agent."""
        found, wish = self._found, self._found.wish
        if any(turn in found.turns for turn in turns):
            return True
        places = found.traces.lines
        if line in places.get(session_id, ()):
            return True
        if wish.scope is ErasureScope.SESSION and session_id == wish.id:
            return True
        if self._own and self._is_wished(people, times):
            return True
        return (self._own or session_id in places) and found.repeated_in(*texts)

    def _is_wished(self, people: Iterable[str], times: Iterable[datetime]) -> bool:
        """Check whether the request itself covers something, by its scope alone."""
        wish = self._found.wish
        match wish.scope:
            case ErasureScope.EVERYTHING:
                return True
            case ErasureScope.PERSON:
                return any(person == wish.id for person in people)
            case ErasureScope.PERIOD:
                return any(map(wish.covers, times))
            case _:
                return False

    def _memories(self) -> tuple[list[Document], list[Document]]:
        gone, reworded = [], []
        for fact in documents_to_check(self._runtime.home, self._found, self._agent_id, MEMORY):
            memory = fact.read(Memory)
            earlier = tuple(
                each
                for each in memory.earlier
                if not self._means(each.content, turns=(each.turn_id,), times=(each.at,))
            )
            wished = self._own and fact.id in self._found.traces.ids
            if wished or self._means(
                memory.content,
                turns=(memory.turn_id,),
                session_id=memory.session_id,
                line=memory.line,
                people=(memory.person_id,),
                times=(memory.created_at, memory.updated_at),
            ):
                gone.append(fact)
            elif earlier != memory.earlier:
                reworded.append(fact.with_erased_body(memory.replaced(earlier=earlier)))
        return gone, reworded

    def _core(self, gone: set[str]) -> None:
        stored = self._facts.get(self._agent_id, MIND, MIND)
        if stored is None:
            return
        mind = stored.read(AgentState)
        core = tuple(
            each
            for each in mind.core
            if each.id not in gone
            and not self._means(each.content, session_id=each.session_id, people=(each.person_id,))
        )
        bare = without_forgotten_learning_pins(mind.replaced(core=core), self._found.traces.ids)
        if bare != mind:
            self._kept.changes.append(stored.with_erased_body(bare))

    def _goals(self) -> None:
        if not self._own or self._found.wish.scope is ErasureScope.MEMORY:
            return
        gone: list[Document] = []
        for fact in self._all(GOAL):
            goal = fact.read(Goal)
            told = () if goal.given else (goal.name, goal.instruction, goal.report)
            if not self._means(
                *told,
                turns=[task.turn_id for task in goal.tasks if task.turn_id],
                session_id=goal.session_id,
                people=(goal.principal_id,),
                times=(goal.created_at,),
            ):
                continue
            if not goal.status.is_end:
                self._kept.open_goals.append(goal.id)
                continue
            given = self._facts.get(self._agent_id, INSTRUCTION, goal.session_id)
            if given is not None and given.body and given.body.get("instruction"):
                # It still tells that its key was used.
                bare = {**given.body, "instruction": ""}
                self._kept.changes.append(given.replaced(body=bare, version=given.version + 1))
            gone.append(fact)
        self._plans({fact.id for fact in gone})
        self._remove(gone, GOAL, lambda _fact: ())

    def _plans(self, goals: set[str]) -> None:
        """Plan the removal of abandoned plans, with their goals or because of their own text."""
        gone = []
        for fact in self._all(PLAN):
            plan = fact.read(AbandonedPlan)
            told = (text for each in plan.tasks for text in (each.name, each.cause, each.result))
            if goal_document_id(plan.goal_id) in goals or self._means(
                plan.why,
                *told,
                turns=[task.turn_id for task in plan.tasks if task.turn_id],
                times=(plan.given_up_at,),
            ):
                gone.append(fact)
        self._remove(gone, PLAN, lambda _fact: ())

    def _nodes(self, memories: set[str]) -> list[Document]:
        gone = []
        for fact in self._all(NODE):
            node = fact.read(KnowledgeNode)
            if node.memory_id in memories or self._means(
                node.label,
                node.content,
                turns=(node.turn_id,),
                session_id=node.session_id,
                people=(node.person_id,),
                times=(node.updated_at,),
            ):
                gone.append(fact)
        return gone

    def _edges(self, nodes: set[str]) -> None:
        gone = []
        for fact in self._all(EDGE):
            edge = fact.read(KnowledgeEdge)
            hangs = bool({edge.origin, edge.target} & nodes)
            if hangs or self._means(turns=(edge.turn_id,), times=(edge.updated_at,)):
                gone.append(fact)
        self._remove(gone, EDGE, lambda _fact: ())

    def _summaries(self) -> None:
        """Plan the removal of months before days before topics: each is found by its parts."""
        gone: dict[str, tuple[Document, Summary]] = {}
        for fact in self._all(SUMMARY):
            summary = fact.read(Summary)
            made_of_it = any(part in gone for part in summary.parts)
            if (
                made_of_it
                or any(map(self._covers, summary.sources))
                or self._means(
                    summary.title,
                    summary.text,
                    session_id=summary.session_id,
                    times=() if summary.sources else (summary.since, summary.until),
                )
            ):
                gone[summary.id] = fact, summary
                self._kept.turns.append(summary.turn_id)
        self._compactions(frozenset(gone))
        for fact, summary in reversed(gone.values()):
            self._kept.changes.append(fact.removed())
            self._kept.removed.append(f"{SUMMARY}:{summary.id}")
            self._found.traces.add_words(summary.text)

    def _covers(self, source: SummarySource) -> bool:
        numbers = self._found.traces.lines.get(source.session_id, ())
        return any(number in numbers for number in range(source.first, source.last + 1))

    def _compactions(self, summaries: frozenset[str]) -> None:
        for fact in self._all(COMPACTION) if summaries else ():
            known = fact.read(CompactionState)
            bare = known.without_summaries(summaries)
            if bare != known:
                self._kept.changes.append(fact.with_erased_body(bare))

    def _experiences(self) -> None:
        """Plan the removal of experiences; for a person also of those merged into theirs."""
        gone, others = [], dict[str, Document]()
        for fact in self._all(EXPERIENCE):
            lived = fact.read(Experience)
            others[fact.id] = fact
            if self._means(
                lived.experience,
                lived.lesson,
                lived.from_person,
                turns=(lived.turn_id, lived.about_turn),
                session_id=lived.session_id,
                people=(lived.person_id, lived.from_person),
                times=(lived.at,),
            ):
                gone.append(others.pop(fact.id))
        if self._found.wish.scope is ErasureScope.PERSON:
            ids = self._found.traces.ids | {fact.id for fact in gone}
            left = experiences_merged_by_learning(self._facts, self._agent_id, ids)
            gone += [fact for name, fact in others.items() if name in left]
        self._remove(gone, EXPERIENCE, lambda fact: (fact.read(Experience).experience,))

    def _inner(self) -> None:
        inner = beliefs_to_erase(self._runtime.home, self._agent_id, self._means)
        self._kept.changes += inner.changes
        self._kept.removed += inner.removed
        self._kept.schedules += inner.schedules
        self._found.traces.add_words(*inner.words)

    def _impressions(self) -> None:
        for fact in self._all(IMPRESSION):
            impression = fact.read(Impression)
            bare = self._without(impression)
            if bare == impression:
                continue
            change = fact.removed() if bare is None else fact.with_erased_body(bare)
            about_person = self._found.wish.scope is ErasureScope.PERSON
            (self._kept.sources if about_person else self._kept.changes).append(change)
            if bare is None:
                self._kept.removed.append(f"{IMPRESSION}:{fact.id}")

    def _without(self, impression: Impression) -> Impression | None:
        """Return what is left of an impression; None if nothing is."""
        if self._own and self._found.wish.scope is ErasureScope.EVERYTHING:
            return None
        if self._own and impression.target_id == self._found.wish.id:
            return None
        history = tuple(
            each
            for each in impression.history
            if not self._means(
                each.notes,
                each.recent_behavior,
                turns=(each.turn_id,),
                session_id=each.session_id,
                times=(each.at,),
            )
        )
        told = (impression.personality, impression.communication_style, impression.notes)
        if self._means(
            *told,
            impression.recent_behavior,
            turns=(impression.turn_id,),
            session_id=impression.session_id,
            times=(impression.updated_at,),
        ):
            return impression.as_left(history)
        return impression.replaced(history=history)

    def _signals(self) -> None:
        """Plan the removal of erased turns' learning signals, although they contain no words.

        From other turns, all evidence and all changes, only the ids of erased memories are removed.
        """
        gone = self._found.traces.ids
        for fact in documents_to_check(self._runtime.home, self._found, self._agent_id, SIGNALS):
            told = fact.read(TurnSignals)
            if self._means(turns=(told.turn_id,), session_id=told.session_id, times=(told.at,)):
                self._kept.changes.append(fact.removed())
            elif (bare_signals := told.without(gone)) != told:
                self._kept.changes.append(fact.with_erased_body(bare_signals))
        for fact in self._all(EVIDENCE) if gone else ():
            kept: ClosedEvidence | Evidence
            kept = fact.read(ClosedEvidence) if fact.id == STANDING else fact.read(Evidence)
            bare = kept.without(gone)
            if bare != kept:
                self._kept.changes.append(fact.with_erased_body(bare))
        self._kept.changes += close_changes(self._facts, self._runtime.clock, self._agent_id, gone)

    def _skills(self) -> None:
        for fact in self._all(SKILL):
            skill = fact.read(AcquiredSkill)
            if self._means(
                skill.guidance,
                skill.source_context,
                turns=(skill.turn_id,),
                people=(skill.taught_by,),
                times=(skill.created_at, skill.updated_at),
            ):
                self._kept.skills.append(skill.name)

    def _wordings(self) -> None:
        kept = self._kept
        touched = any((kept.changes, kept.sources, kept.skills, self._found.lines))
        changes, turns = reports_to_erase(self._facts, self._agent_id, self._means, touched=touched)
        kept.changes += changes
        kept.turns += turns

    def _remove(self, facts: list[Document], kind: str, words: Words) -> None:
        wished = self._own and self._found.wish.scope is ErasureScope.MEMORY
        for fact in facts:
            is_source = wished and kind == MEMORY and fact.id == self._found.wish.id
            (self._kept.sources if is_source else self._kept.changes).append(fact.removed())
            self._kept.removed.append(f"{kind}:{fact.id}")
            self._found.traces.add_words(*words(fact))
            if kind in {MEMORY, EXPERIENCE}:
                self._found.traces.ids.add(fact.id)

    def _all(self, kind: str) -> Iterator[Document]:
        return all_pages(self._facts, self._agent_id, kind)
