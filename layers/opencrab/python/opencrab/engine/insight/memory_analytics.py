"""Statistics of an agent's memory: search hits, their use and effect, and the relation graph."""

from datetime import datetime, timedelta

from opencrab.domain.learning.change import learning_holdout_percent
from opencrab.domain.learning.evidence import RECALLED_DAYS, Evidence
from opencrab.domain.learning.review_period import useless_experience_ids
from opencrab.domain.learning.treatment_effect import effect_of_treatment
from opencrab.domain.memory.knowledge_graph import KNOWLEDGE, GraphSize, KnowledgeSource
from opencrab.domain.memory.memory import IMPRESSION, Impression
from opencrab.domain.memory.peer import PEER, Peer, remembered_peer_trust
from opencrab.domain.value import Unit, Value
from opencrab.engine.insight.measures import LITTLE, Measure, learning_effect_in_points
from opencrab.engine.memory.reading import GraphCursor, memory_knowledge_graph
from opencrab.engine.runtime import Runtime
from opencrab.ports.learning import load_current_learning_data

MOST_USELESS = 50
"""Most useless memories that are listed."""

MOST_PEOPLE = 100
"""Most persons and peers that are listed, in order of their ids."""


class UselessMemory(Value):
    """A memory that searches found repeatedly and that was never used."""

    id: str
    found: int


class Recalling(Value):
    """Memories that searches found in the last 30 days: how many, and how often.

    The count of a memory goes on as long as it is found at least every 30 days. `junk_rate` is the
    share of memories that were found at least 3 times and never used; null if none was found.
    """

    memories: int
    found: int
    useful: int
    junk: int
    junk_rate: Unit | None
    useless: tuple[UselessMemory, ...]


class RelationNode(Value):
    """A node of the knowledge graph."""

    id: str
    label: str
    source: KnowledgeSource
    confidence: Unit


class RelationEdge(Value):
    """A weighted relation between two nodes."""

    origin: str
    target: str
    relation: str
    weight: Unit


class Acquainted(Value):
    """A person or another agent that the agent knows.

    The numbers are null if they never worked together, `agreement` is null without an impression.
    """

    id: str
    name: str
    is_peer: bool
    interactions: int | None
    successes: int | None
    trust: float | None
    agreement: str | None


class RelationGraph(Value):
    """The knowledge graph: totals of the whole, one part of it, and known people.

    All nodes come before all edges. Only the first page has people, at most 100 of them;
    `people_complete` says whether these are all.
    """

    nodes_in_all: int
    edges_in_all: int
    nodes: tuple[RelationNode, ...]
    edges: tuple[RelationEdge, ...]
    people: tuple[Acquainted, ...]
    people_complete: bool


class MemoryAnalytics(Value):
    """Use and effect of an agent's memories; `reason` says why they are not known."""

    agent_id: str
    as_of: str | None
    recalled: Recalling
    effect: Measure
    withheld_percent: int
    graph: RelationGraph
    reason: str | None


def compute_memory_analytics(
    runtime: Runtime, agent_id: str, *, place: GraphCursor, limit: int
) -> tuple[MemoryAnalytics, GraphCursor | None]:
    """Return the statistics of an agent's memory and the cursor in its graph; raises NotFound."""
    mind = runtime.home.agents.get(agent_id).mind
    web, on = _web(runtime, agent_id, place, limit)
    learned = load_current_learning_data(runtime.home.facts, agent_id, runtime.clock.now())
    found = MemoryAnalytics(
        agent_id=agent_id,
        as_of=learned.as_of or None,
        recalled=_recalling(learned.evidence, runtime.clock.now()),
        effect=memory_effect_for_analytics(learned.evidence),
        withheld_percent=learning_holdout_percent(mind, runtime.rules.trials),
        graph=web,
        reason=None if learned.evidence.memories_recalled else LITTLE,
    )
    return found, on


def memory_effect_for_analytics(evidence: Evidence) -> Measure:
    """Return the effect on turn value of the memories that searches find."""
    return learning_effect_in_points(effect_of_treatment(evidence.memories))


def _recalling(evidence: Evidence, now: datetime) -> Recalling:
    since, known_of = now - timedelta(days=RECALLED_DAYS), evidence.memories_recalled
    recalled = {name: each for name, each in known_of.items() if each.at >= since}
    junk = useless_experience_ids(recalled, since)
    named = junk[:MOST_USELESS]
    return Recalling(
        memories=len(recalled),
        found=sum(each.found for each in recalled.values()),
        useful=sum(each.useful for each in recalled.values()),
        junk=len(junk),
        junk_rate=len(junk) / len(recalled) if recalled else None,
        useless=tuple(UselessMemory(id=name, found=recalled[name].found) for name in named),
    )


def _web(
    runtime: Runtime, agent_id: str, place: GraphCursor, limit: int
) -> tuple[RelationGraph, GraphCursor | None]:
    found = memory_knowledge_graph(runtime.home, agent_id, place=place, limit=limit)
    fact = runtime.home.facts.get(agent_id, KNOWLEDGE, KNOWLEDGE)
    extent = fact.read(GraphSize) if fact else GraphSize()
    people = () if place != GraphCursor() else _people(runtime, agent_id)
    web = RelationGraph(
        nodes_in_all=extent.nodes,
        edges_in_all=extent.edges,
        nodes=tuple(
            RelationNode(
                id=node.id,
                label=node.label,
                source=node.source,
                confidence=node.confidence,
            )
            for node in found.nodes
        ),
        edges=tuple(
            RelationEdge(
                origin=edge.origin, target=edge.target, relation=edge.relation, weight=edge.weight
            )
            for edge in found.edges
        ),
        people=people[:MOST_PEOPLE],
        people_complete=len(people) <= MOST_PEOPLE,
    )
    return web, found.place


def _people(runtime: Runtime, agent_id: str) -> tuple[Acquainted, ...]:
    facts, now = runtime.home.facts, runtime.clock.now()
    most, prior = MOST_PEOPLE + 1, runtime.rules.autonomy.peer_prior
    words = {
        fact.id: fact.read(Impression) for fact in facts.page(agent_id, IMPRESSION, limit=most)
    }
    peers = {fact.id: fact.read(Peer) for fact in facts.page(agent_id, PEER, limit=most)}
    return tuple(
        Acquainted(
            id=name,
            name=words[name].target_name if name in words else name,
            is_peer=name in peers,
            interactions=peers[name].interactions if name in peers else None,
            successes=peers[name].successes if name in peers else None,
            trust=round(remembered_peer_trust(peers[name], now, prior), 3)
            if name in peers
            else None,
            agreement=words[name].agreement if name in words else None,
        )
        for name in sorted({*words, *peers})[:most]
    )
