"""Knowledge: reading an agent's graph in pages, and linking what it knows."""

from dataclasses import dataclass
from functools import partial

from opencrab.domain.errors import Changed
from opencrab.domain.memory.knowledge_graph import EDGE, NODE, Edge, Node, node_id
from opencrab.domain.memory.knowledge_link import Link
from opencrab.ports.documents import Facts

_TRIES = 3
_PAGE = 500


@dataclass(frozen=True)
class Page:
    """A part of an agent's graph: nodes, the relations that begin at them, and where to go on."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    after: str | None = None


def graph(facts: Facts, agent_id: str, *, after: str = "", limit: int = 100) -> Page:
    """Nodes in the order of their ids after the given one, with the relations that begin there."""
    page = facts.page(agent_id, NODE, after=after, limit=limit + 1)
    nodes = tuple(fact.read(Node) for fact in page[:limit])
    edges = tuple(edge for node in nodes for edge in _beginning_at(facts, agent_id, node.id))
    return Page(nodes, edges, nodes[-1].id if len(page) > limit else None)


def node(facts: Facts, agent_id: str, label: str) -> Node | None:
    """What an agent knows under a label."""
    fact = facts.get(agent_id, NODE, node_id(label))
    return None if fact is None else fact.read(Node)


def link(facts: Facts, agent_id: str, origin: Node, edge: Edge, target: Node) -> Edge:
    """Keep that one thing relates to another; repetition makes it stronger.

    The ids are those of the labels, whatever the given values say. Raises Refused where the graph
    is full.
    """
    for _ in range(_TRIES - 1):
        try:
            return _linked(facts, agent_id, origin, edge, target)
        except Changed:
            continue
    return _linked(facts, agent_id, origin, edge, target)


def _linked(facts: Facts, agent_id: str, origin: Node, edge: Edge, target: Node) -> Edge:
    linking = Link(origin, edge, target)
    stored = facts.several(agent_id, *linking.names)
    kept, changes = linking.changes(agent_id, stored, partial(_count, facts, agent_id))
    facts.commit(*changes)
    return kept


def _beginning_at(facts: Facts, agent_id: str, origin: str) -> list[Edge]:
    found, after = list[Edge](), f"{origin}."
    while page := facts.page(agent_id, EDGE, after=after, limit=_PAGE):
        own = [fact.read(Edge) for fact in page if fact.id.startswith(f"{origin}.")]
        found.extend(own)
        if len(own) < len(page) or len(page) < _PAGE:
            break
        after = page[-1].id
    return found


def _count(facts: Facts, agent_id: str, kind: str) -> int:
    counted, after = 0, ""
    while page := facts.page(agent_id, kind, after=after, limit=_PAGE):
        counted, after = counted + len(page), page[-1].id
    return counted
