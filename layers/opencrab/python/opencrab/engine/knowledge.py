"""Knowledge: reading an agent's graph in pages, and linking what it knows."""

from collections.abc import Iterable
from dataclasses import dataclass

from opencrab.domain.errors import Changed, Refused
from opencrab.domain.fact import Fact, new_fact
from opencrab.domain.knowledge import (
    EDGE,
    EDGES,
    KNOWLEDGE,
    NODE,
    NODES,
    Edge,
    Extent,
    Node,
    edge_id,
    learned,
    node_id,
    strengthened,
)
from opencrab.ports.facts import Facts

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
    ends = [each.replaced(id=node_id(each.label)) for each in (origin, target)]
    named = {each.id: each for each in ends}
    changes = [change for each in named.values() if (change := _known(facts, agent_id, each))]
    edge = edge.replaced(origin=ends[0].id, target=ends[1].id)
    key = edge_id(edge.origin, edge.relation, edge.target)
    stored = facts.get(agent_id, EDGE, key)
    kept = strengthened(stored.read(Edge) if stored else None, edge)
    changes.append(stored.holding(kept) if stored else new_fact(agent_id, EDGE, key, kept))
    grown = _grown(facts, agent_id, changes)
    facts.commit(*changes, *([grown] if grown else []))
    return kept


def _known(facts: Facts, agent_id: str, new: Node) -> Fact | None:
    """A node with what is new of it; None where that changes nothing."""
    stored = facts.get(agent_id, NODE, new.id)
    if stored is None:
        return new_fact(agent_id, NODE, new.id, new)
    known = stored.read(Node)
    after = learned(known, new)
    return None if after == known else stored.holding(after)


def _grown(facts: Facts, agent_id: str, changes: Iterable[Fact]) -> Fact | None:
    """The counts after these changes; raises Refused where there is no room for them."""
    added = [fact.kind for fact in changes if fact.version == 1]
    if not added:
        return None
    stored = facts.get(agent_id, KNOWLEDGE, KNOWLEDGE)
    extent = _after(stored.read(Extent) if stored else Extent(), added)
    if _is_too_large(extent):
        nodes, edges = (_count(facts, agent_id, kind) for kind in (NODE, EDGE))
        extent = _after(Extent(nodes=nodes, edges=edges), added)
    if _is_too_large(extent):
        raise Refused(
            f"{NODES} nodes and {EDGES} relations are kept, and more are not allowed",
            cure="forget what is of no use",
        )
    if stored is not None:
        return stored.holding(extent)
    return new_fact(agent_id, KNOWLEDGE, KNOWLEDGE, extent)


def _after(extent: Extent, added: list[str]) -> Extent:
    return Extent(nodes=extent.nodes + added.count(NODE), edges=extent.edges + added.count(EDGE))


def _is_too_large(extent: Extent) -> bool:
    return extent.nodes > NODES or extent.edges > EDGES


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
