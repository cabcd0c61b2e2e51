"""Archives that come in: ids, trust and marks decide what becomes an agent's own, and how."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.document import new_fact
from opencrab.domain.erasure.request import FORGOTTEN, ErasureMark, ErasureScope
from opencrab.domain.errors import TooLarge
from opencrab.domain.identifier import new_ulid, ulid_milliseconds
from opencrab.domain.memory.knowledge_graph import (
    EDGE,
    NODE,
    KnowledgeEdge,
    KnowledgeNode,
    knowledge_edge_id,
)
from opencrab.domain.memory.memory import EXPERIENCE, MEMORY, Experience
from opencrab.domain.memory.write_policy import MEMORIES, TAINTED_CONFIDENCE
from opencrab.engine.memory.archive.export import ExportSelection, export_memory_archive
from opencrab.engine.memory.archive.restore import restore_memory_archive
from opencrab.engine.runtime import Runtime
from opencrab.ports.memory.search import SearchQuery
from tests.searching import searching
from tests.unit.engine.archiving import NOW, installation, keep, kept, memory, row, zipped


@pytest.fixture
def runtime(tmp_path: Path) -> Iterator[Runtime]:
    with installation(tmp_path) as runtime:
        yield runtime


def mark(runtime: Runtime, **changes: object) -> datetime:
    """Have Mika forget something."""
    at = runtime.clock.now()
    made = ErasureMark.model_validate({"scope": ErasureScope.MEMORY, "at": at} | changes)
    runtime.home.facts.commit(new_fact("mika", FORGOTTEN, runtime.clock.new_id(), made))
    return at


@pytest.mark.parametrize("words", ["合言葉は山", "The password is mountain"])
@pytest.mark.parametrize("everything", [False, True])
def test_what_was_forgotten_comes_back_only_for_an_owner_who_trusts_the_archive(
    runtime: Runtime, tmp_path: Path, words: str, *, everything: bool
) -> None:
    old, beside = memory(1, content=words, category="core"), memory(2)
    lived = {"id": memory(3).id, "experience": words, "outcome": "success", "lesson": "x"}
    experience = Experience.model_validate({**lived, "at": NOW})
    later = NOW + timedelta(hours=1)
    linked = memory(4, links=(old.id,), updated_at=later)
    node = KnowledgeNode(id="n1", label="蟹", memory_id=old.id, updated_at=later)
    content = zipped(
        memory="\n".join(each.model_dump_json() for each in (old, beside, linked)),
        experience=experience.model_dump_json(),
        node=node.model_dump_json(),
    )
    named = (f"memory:{old.id}", f"experience:{experience.id}")
    at = mark(runtime, refs=() if everything else named, everything=everything)
    report = restore_memory_archive(runtime.home, runtime.clock, "mika", content, trusted=False)
    assert report.forgotten == {"memory": 1 + everything, "experience": 1}
    assert old.id not in {each.id for each in kept(runtime.home, "mika")}
    assert all(old.id not in each.links for each in kept(runtime.home, "mika"))
    for fact in runtime.home.facts.page("mika", MEMORY):
        runtime.home.facts.commit(fact.removed())
    trusted = restore_memory_archive(runtime.home, runtime.clock, "mika", content, trusted=True)
    assert (trusted.forgotten, trusted.taken) == ({}, {"memory": 3, "experience": 1})
    (back,) = (each for each in kept(runtime.home, "mika") if each.content == words)
    assert back.id != old.id
    assert back.updated_at > at
    (pointing,) = (each for each in kept(runtime.home, "mika") if each.links)
    assert pointing.links == (back.id,)
    search = searching(runtime.home, runtime.clock, tmp_path / "search")
    found = {each.row.ref for each in search.search("mika", SearchQuery(words))}
    (again,) = runtime.home.facts.page("mika", EXPERIENCE)
    assert {back.id, again.id} <= found
    assert (
        restore_memory_archive(runtime.home, runtime.clock, "mika", content, trusted=True).taken
        == {}
    )


def test_knowledge_from_before_everything_was_forgotten_stays_away(runtime: Runtime) -> None:
    node = KnowledgeNode(id="n1", label="蟹", updated_at=NOW)
    mark(runtime, scope=ErasureScope.EVERYTHING, everything=True)
    report = restore_memory_archive(
        runtime.home, runtime.clock, "mika", zipped(node=node.model_dump_json()), trusted=False
    )
    assert (report.forgotten, report.taken) == ({"node": 1}, {})
    assert restore_memory_archive(
        runtime.home, runtime.clock, "mika", zipped(node=node.model_dump_json()), trusted=True
    ).taken == {"node": 1}


def future(at: datetime) -> str:
    """An id that could not have been made before a time."""
    return new_ulid(int(at.timestamp() * 1_000), b"\xff" * 10)


@pytest.mark.parametrize("old_id", ["m1", "z" * 26, "zz9", future(NOW + timedelta(days=1))])
@pytest.mark.parametrize("born", [NOW - timedelta(days=400), NOW, NOW + timedelta(days=400)])
def test_an_id_that_was_not_made_by_now_is_replaced_by_the_same_one_each_time(
    runtime: Runtime, old_id: str, born: datetime
) -> None:
    assert isinstance(runtime.clock, FakeClock)
    rows = "\n".join(
        (row(id=old_id, created_at=born.isoformat()), row(id="other", links=[old_id, "gone"]))
    )
    experience = f'{{"id": "{old_id}", "experience": "x", "outcome": "success", "lesson": "y"'
    experience += f', "at": "{born.isoformat()}"}}'
    content = zipped(memory=rows, experience=experience)
    assert restore_memory_archive(
        runtime.home, runtime.clock, "mika", content, trusted=True
    ).taken == {
        "memory": 2,
        "experience": 1,
    }
    memories = kept(runtime.home, "mika")
    (linked,) = (each for each in memories if each.links)
    (other,) = (each for each in memories if not each.links)
    assert linked.links == (other.id, "gone")
    for fact in (
        *runtime.home.facts.page("mika", MEMORY),
        *runtime.home.facts.page("mika", EXPERIENCE),
    ):
        made = ulid_milliseconds(fact.id)
        assert made is not None
        assert made <= NOW.timestamp() * 1_000
        assert fact.body is not None
        assert fact.body["id"] == fact.id
    runtime.clock.advance(3_600)
    again = restore_memory_archive(runtime.home, runtime.clock, "mika", content, trusted=True)
    assert (again.taken, again.known) == ({}, {"memory": 2, "experience": 1})


@pytest.mark.parametrize("words", ["蟹は横に歩く", "Crabs walk sideways"])
@pytest.mark.parametrize("count", [1, 60])
def test_a_copy_that_knows_later_things_finds_what_was_imported(
    runtime: Runtime, tmp_path: Path, words: str, count: int
) -> None:
    assert isinstance(runtime.clock, FakeClock)
    search = searching(runtime.home, runtime.clock, tmp_path / "search")
    runtime.clock.advance(86_400)
    new = memory(1, id=runtime.clock.new_id(), content="海 sea")
    lived = Experience.model_validate(
        {"id": new.id, "experience": "海 sea", "outcome": "success", "lesson": "x", "at": NOW}
    )
    keep(runtime.home, new)
    runtime.home.facts.commit(new_fact("mika", EXPERIENCE, new.id, lived))
    assert len(search.search("mika", SearchQuery("海 sea"))) == 2
    rows = "\n".join(row(id=f"{n:026d}", content=f"{words} {n}") for n in range(count))
    old = lived.replaced(id="x1", experience=words, at=NOW - timedelta(days=9))
    content = zipped(memory=rows, experience=old.model_dump_json())
    restore_memory_archive(runtime.home, runtime.clock, "mika", content, trusted=True)
    found = search.search("mika", SearchQuery(words, limit=50))
    assert len(found) == min(count + 1, 50)
    if count == 1:
        assert {each.row.kind for each in found} == {"memory", "experience"}


def test_no_kind_has_more_rows_than_memories_may_be_kept(runtime: Runtime) -> None:
    node = KnowledgeNode(id="n", label="蟹", updated_at=NOW)
    rows = "\n".join([node.model_dump_json()] * (MEMORIES + 1))
    with pytest.raises(TooLarge, match=f"{NODE}.jsonl has more than {MEMORIES} rows"):
        restore_memory_archive(runtime.home, runtime.clock, "mika", zipped(node=rows), trusted=True)


def test_what_strangers_say_is_neither_sure_nor_important(runtime: Runtime) -> None:
    node = KnowledgeNode(id="n1", label="蟹", confidence=1.0, updated_at=NOW)
    edge = KnowledgeEdge(origin="n1", target="n1", relation="is", updated_at=NOW)
    content = zipped(
        memory=row(confidence=1.0, importance=1.0),
        node=node.model_dump_json(),
        edge=edge.model_dump_json(),
    )
    restore_memory_archive(runtime.home, runtime.clock, "mika", content, trusted=False)
    (found,) = kept(runtime.home, "mika")
    assert (found.confidence, found.importance) == (TAINTED_CONFIDENCE, 0.5)
    (known,) = runtime.home.facts.page("mika", NODE)
    assert known.read(KnowledgeNode).confidence == TAINTED_CONFIDENCE
    (related,) = runtime.home.facts.page("mika", EDGE)
    assert related.read(KnowledgeEdge).tainted


def test_what_was_taken_in_as_a_strangers_is_ones_own_once_it_is_trusted(runtime: Runtime) -> None:
    keep(runtime.home, memory(1, confidence=0.9))
    content = export_memory_archive(runtime.home, runtime.clock, "mika", ExportSelection())
    for fact in runtime.home.facts.page("mika", MEMORY):
        runtime.home.facts.commit(fact.removed())
    restore_memory_archive(runtime.home, runtime.clock, "mika", content, trusted=False)
    assert kept(runtime.home, "mika")[0].tainted
    assert restore_memory_archive(
        runtime.home, runtime.clock, "mika", content, trusted=True
    ).taken == {"memory": 1}
    assert kept(runtime.home, "mika") == [memory(1, confidence=0.9)]
    # And back again it does not go: what is trusted stays so.
    assert (
        restore_memory_archive(runtime.home, runtime.clock, "mika", content, trusted=False).taken
        == {}
    )
    assert kept(runtime.home, "mika") == [memory(1, confidence=0.9)]


@pytest.mark.parametrize("trusted", [False, True])
def test_what_comes_in_points_at_no_file_and_a_stranger_speaks_of_no_turn(
    runtime: Runtime, *, trusted: bool
) -> None:
    lived = {"id": memory(3).id, "experience": "x", "outcome": "success", "lesson": "y"}
    experience = Experience.model_validate({**lived, "about_turn": "t1", "at": NOW})
    content = zipped(
        memory=memory(1, path="data/秘密.md").model_dump_json(),
        experience=experience.model_dump_json(),
    )
    restore_memory_archive(runtime.home, runtime.clock, "mika", content, trusted=trusted)
    assert [each.path for each in kept(runtime.home, "mika")] == [""]
    (stored,) = runtime.home.facts.page("mika", EXPERIENCE)
    assert stored.read(Experience).about_turn == ("t1" if trusted else "")


def test_a_relation_comes_back_as_the_one_that_is_there(runtime: Runtime) -> None:
    edge = KnowledgeEdge(origin="n1", target="n2", relation="is", updated_at=NOW)
    runtime.home.facts.commit(new_fact("mika", EDGE, knowledge_edge_id("n1", "is", "n2"), edge))
    wanted = ExportSelection()
    content = export_memory_archive(runtime.home, runtime.clock, "mika", wanted)
    report = restore_memory_archive(runtime.home, runtime.clock, "mika", content, trusted=True)
    assert (report.known, report.taken) == ({"edge": 1}, {})
    assert len(runtime.home.facts.page("mika", EDGE)) == 1
