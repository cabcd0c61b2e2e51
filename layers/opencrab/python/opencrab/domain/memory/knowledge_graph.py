"""Knowledge: what an agent holds to be so, as nodes and the weighted relations between them."""

import unicodedata
from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import StringConstraints

from opencrab.domain.identifier import stable_id
from opencrab.domain.text.plain import text_on_one_line
from opencrab.domain.value import Name, Stripped, Unit, Value

NODE, EDGE = "node", "edge"
"""The kinds of documents that store nodes and relations."""

KNOWLEDGE = "knowledge"
"""Kind and id of the document that counts nodes and relations."""

NODES, EDGES = 2_000, 10_000
"""The limits of nodes and relations of one agent."""

STRENGTHENED_BY = 0.25
"""The share of the distance to 1 that a repetition adds to a relation or to a belief."""

Relation = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,39}$")]


class KnowledgeSource(StrEnum):
    """The source of knowledge."""

    ORACLE = "oracle"
    EXPERIENCE = "experience"
    INFERENCE = "inference"
    PEER = "peer"


class KnowledgeNode(Value):
    """A known thing: label, content, source and confidence."""

    id: str
    label: Name
    content: Annotated[Stripped, StringConstraints(max_length=2_000)] = ""
    source: KnowledgeSource = KnowledgeSource.INFERENCE
    confidence: Unit = 0.5
    memory_id: str = ""
    tainted: bool = False
    turn_id: str = ""
    session_id: str = ""
    person_id: str = ""
    updated_at: datetime

    @property
    def texts(self) -> tuple[str, str]:
        """All texts of the node: label and content."""
        return self.label, self.content


class KnowledgeEdge(Value):
    """A relation between two nodes with its strength: 0 never, 1 always.

    `origin` and `target` are ids of nodes.
    """

    origin: str
    target: str
    relation: Relation
    weight: Unit = 0.5
    tainted: bool = False
    turn_id: str = ""
    updated_at: datetime


class GraphSize(Value):
    """The counts of nodes and relations; counted again when they reach the limits."""

    nodes: int = 0
    edges: int = 0


def knowledge_node_id(label: str) -> str:
    """Compute the id of a node from its label, independent of case and width."""
    folded = unicodedata.normalize("NFKC", text_on_one_line(label)).casefold()
    return stable_id("node", folded)


def knowledge_edge_id(origin: str, relation: str, target: str) -> str:
    """Return the id of the only relation of this kind between two nodes."""
    return f"{origin}.{relation}.{target}"


def update_knowledge_node(stored: KnowledgeNode | None, new: KnowledgeNode) -> KnowledgeNode:
    """Return a node updated with new knowledge.

    The same content again raises the confidence; other content replaces content that is not more
    certain. Tainted content never changes a node that is not tainted, and a tainted node becomes
    trusted only with the content and the label that trusted words give it.
    """
    if stored is None:
        return new
    if new.tainted and not stored.tainted:
        return stored
    if new.content == stored.content or not new.content:
        surer = _stronger(max(stored.confidence, new.confidence))
        vouched = stored.tainted and not new.tainted and new.content == stored.content
        return stored.replaced(
            confidence=surer,
            label=new.label if vouched else stored.label,
            memory_id=stored.memory_id or new.memory_id,
            tainted=stored.tainted and not vouched,
            updated_at=new.updated_at,
        )
    cleaner = stored.tainted and not new.tainted
    if new.confidence < stored.confidence and not cleaner:
        return stored
    return new.replaced(id=stored.id, label=new.label if cleaner else stored.label)


def strengthen_knowledge_edge(stored: KnowledgeEdge | None, new: KnowledgeEdge) -> KnowledgeEdge:
    """Return a relation after it was seen again: its weight moves closer to 1."""
    if stored is None:
        return new
    if new.tainted and not stored.tainted:
        return stored
    if stored.tainted and not new.tainted:
        return new
    weight = _stronger(max(stored.weight, new.weight))
    return stored.replaced(weight=weight, turn_id=new.turn_id, updated_at=new.updated_at)


def _stronger(strength: float) -> float:
    return min(strength + (1 - strength) * STRENGTHENED_BY, 1.0)
