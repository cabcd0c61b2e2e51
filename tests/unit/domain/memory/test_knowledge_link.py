"""Links of what an agent knows, on the real store."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.document import new_fact
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
)
from opencrab.ports.documents import Documents
from tests import linking
from tests.contract.homes import sqlite

NOW = datetime(2026, 2, 17, 9, 0, tzinfo=UTC)


@pytest.fixture
def facts(tmp_path: Path) -> Iterator[Documents]:
    with sqlite(tmp_path, FakeClock(NOW)) as home:
        yield home.facts


def link(
    facts: Documents, one: str, other: str, relation: str = "eats", **changes: Any
) -> KnowledgeEdge:
    nodes = [KnowledgeNode(id="", label=label, updated_at=NOW, **changes) for label in (one, other)]
    edge = KnowledgeEdge(origin="", target="", relation=relation, updated_at=NOW, **changes)
    return linking.link(facts, "mika", nodes[0], edge, nodes[1])


def drawn(facts: Documents) -> list[tuple[str, str, str]]:
    nodes = [fact.read(KnowledgeNode) for fact in facts.page("mika", NODE)]
    edges = [fact.read(KnowledgeEdge) for fact in facts.page("mika", EDGE)]
    names = {each.id: each.label for each in nodes}
    return sorted((names[e.origin], e.relation, names[e.target]) for e in edges)


def test_what_is_linked_is_one_graph(facts: Documents) -> None:
    link(facts, "蟹", "海藻")
    link(facts, "Crab", "海藻", "fears")
    link(facts, "\uff23RAB", "蟹", "is")
    assert drawn(facts) == [
        ("Crab", "fears", "海藻"),
        ("Crab", "is", "蟹"),
        ("蟹", "eats", "海藻"),
    ]


def test_the_same_link_again_is_stronger_and_no_second_one(facts: Documents) -> None:
    first, second = link(facts, "蟹", "海藻"), link(facts, "蟹", "海藻")
    assert first.weight < second.weight < 1
    assert len(drawn(facts)) == 1


def test_a_thing_may_relate_to_itself(facts: Documents) -> None:
    link(facts, "蟹", "蟹", "knows")
    assert drawn(facts) == [("蟹", "knows", "蟹")]


@pytest.mark.parametrize("full", [GraphSize(nodes=NODES), GraphSize(edges=EDGES)])
def test_a_full_graph_is_counted_again_before_anything_is_refused(
    facts: Documents, full: GraphSize
) -> None:
    facts.commit(new_fact("mika", KNOWLEDGE, KNOWLEDGE, full))
    link(facts, "蟹", "海藻")
    counted = facts.get("mika", KNOWLEDGE, KNOWLEDGE)
    assert counted is not None
    assert counted.read(GraphSize) == GraphSize(nodes=2, edges=1)


def test_a_graph_that_is_full_refuses_what_is_new(facts: Documents) -> None:
    link(facts, "蟹", "海藻")
    many = (KnowledgeNode(id=f"n{each}", label="海", updated_at=NOW) for each in range(NODES - 2))
    facts.commit(*(new_fact("mika", NODE, each.id, each) for each in many))
    counted = facts.get("mika", KNOWLEDGE, KNOWLEDGE)
    assert counted is not None
    facts.commit(counted.with_body(GraphSize(nodes=NODES, edges=1)))
    with pytest.raises(Refused, match="limit reached"):
        link(facts, "蟹", "蛸")
    assert link(facts, "蟹", "海藻").weight > 0.5
    assert link(facts, "海藻", "蟹").weight == 0.5
