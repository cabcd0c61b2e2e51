"""Linking: what changes in an agent's knowledge when it sees that one thing relates to another."""

from collections.abc import Callable, Iterable

from opencrab.domain.document import Document, new_fact
from opencrab.domain.errors import Refused
from opencrab.domain.memory.knowledge_graph import (
    EDGE,
    EDGES,
    KNOWLEDGE,
    NODE,
    NODES,
    GraphSize,
    KnowledgeEdge,
    KnowledgeNode,
    knowledge_edge_id,
    knowledge_node_id,
    strengthen_knowledge_edge,
    update_knowledge_node,
)

Count = Callable[[str], int]
"""A function that counts documents of a kind; it is called only if the knowledge graph seems full.
"""


class KnowledgeLink:
    """One relation between two nodes that is to be stored; ids are computed from the labels.

    `names` are the documents to read first, by kind and id.
    """

    def __init__(self, origin: KnowledgeNode, edge: KnowledgeEdge, target: KnowledgeNode) -> None:
        ends = [each.replaced(id=knowledge_node_id(each.label)) for each in (origin, target)]
        self._nodes = {each.id: each for each in ends}
        self._edge = edge.replaced(origin=ends[0].id, target=ends[1].id)
        self._key = knowledge_edge_id(self._edge.origin, self._edge.relation, self._edge.target)
        self.names = (
            *((NODE, each) for each in self._nodes),
            (EDGE, self._key),
            (KNOWLEDGE, KNOWLEDGE),
        )

    def changes(
        self, owner: str, stored: Iterable[Document], count: Count
    ) -> tuple[KnowledgeEdge, list[Document]]:
        """Return the relation and the documents that change, at most four.

        A repetition strengthens the relation. Raises Refused if there is no room for more.
        """
        known = {(fact.kind, fact.id): fact for fact in stored}
        nodes = (
            _changed_node_fact(owner, node, known.get((NODE, node.id)))
            for node in self._nodes.values()
        )
        changes = [change for change in nodes if change is not None]
        before = known.get((EDGE, self._key))
        kept = strengthen_knowledge_edge(before.read(KnowledgeEdge) if before else None, self._edge)
        changes.append(before.with_body(kept) if before else new_fact(owner, EDGE, self._key, kept))
        if added := [fact.kind for fact in changes if fact.version == 1]:
            extent = known.get((KNOWLEDGE, KNOWLEDGE))
            grown = _grow_extent(extent.read(GraphSize) if extent else GraphSize(), added, count)
            changes.append(
                extent.with_body(grown) if extent else new_fact(owner, KNOWLEDGE, KNOWLEDGE, grown)
            )
        return kept, changes


def _changed_node_fact(owner: str, new: KnowledgeNode, stored: Document | None) -> Document | None:
    """Return the document of a node with what is new; None if nothing changes."""
    if stored is None:
        return new_fact(owner, NODE, new.id, new)
    known = stored.read(KnowledgeNode)
    after = update_knowledge_node(known, new)
    return None if after == known else stored.with_body(after)


def _grow_extent(extent: GraphSize, added: list[str], count: Count) -> GraphSize:
    grown = _after(extent, added)
    if _is_too_large(grown):
        grown = _after(GraphSize(nodes=count(NODE), edges=count(EDGE)), added)
    if _is_too_large(grown):
        raise Refused(
            f"limit reached: {NODES} nodes and {EDGES} relations",
            cure="forget unused ones",
        )
    return grown


def _after(extent: GraphSize, added: list[str]) -> GraphSize:
    return GraphSize(nodes=extent.nodes + added.count(NODE), edges=extent.edges + added.count(EDGE))


def _is_too_large(extent: GraphSize) -> bool:
    return extent.nodes > NODES or extent.edges > EDGES
