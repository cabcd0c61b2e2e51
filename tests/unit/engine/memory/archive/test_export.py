"""Archives: what is exported comes back, and what others made is never taken for one's own."""

import io
import zipfile
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from opencrab.domain.agents.agent_state import MIND, AgentState
from opencrab.domain.agents.core_memory import CORE_MEMORIES
from opencrab.domain.conversation.session import Hearing
from opencrab.domain.document import new_fact
from opencrab.domain.errors import Invalid, NotFound, TooLarge
from opencrab.domain.memory.knowledge_graph import NODE, KnowledgeNode
from opencrab.domain.memory.memory import IMPRESSION, MEMORY, Impression, Provenance
from opencrab.domain.memory.write_policy import GATE, MEMORIES, MemoryCounts
from opencrab.engine.memory.archive.export import ExportSelection, export_memory_archive
from opencrab.engine.memory.archive.file import ARCHIVE_BYTES, MANIFEST, UNPACKED_BYTES
from opencrab.engine.memory.archive.restore import restore_memory_archive
from opencrab.engine.runtime import Runtime
from tests.unit.engine.archiving import NOW, installation, keep, kept, memory, row, zipped


@pytest.fixture
def runtime(tmp_path: Path) -> Iterator[Runtime]:
    with installation(tmp_path) as runtime:
        yield runtime


def test_what_was_exported_is_imported_as_it_was_and_a_second_time_changes_nothing(
    runtime: Runtime,
) -> None:
    keep(runtime.home, *(memory(number) for number in range(45)))
    impression = Impression(target_id="taro", target_name="太郎", created_at=NOW, updated_at=NOW)
    node = KnowledgeNode(id="n1", label="蟹", updated_at=NOW)
    runtime.home.facts.commit(new_fact("mika", IMPRESSION, "taro", impression))
    runtime.home.facts.commit(new_fact("mika", NODE, "n1", node))
    content = export_memory_archive(runtime.home, runtime.clock, "mika", ExportSelection())
    before = kept(runtime.home, "mika")
    for fact in runtime.home.facts.page("mika", MEMORY):
        runtime.home.facts.commit(fact.removed())
    first = restore_memory_archive(runtime.home, runtime.clock, "mika", content, trusted=True)
    assert kept(runtime.home, "mika") == before
    assert first.taken == {"memory": 45}
    assert first.known == {"impression": 1, "node": 1}
    second = restore_memory_archive(runtime.home, runtime.clock, "mika", content, trusted=True)
    assert second.taken == {}
    assert second.known == {"memory": 45, "impression": 1, "node": 1}


def test_an_archive_of_another_agent_is_foreign_private_and_knows_no_session(
    runtime: Runtime,
) -> None:
    keep(runtime.home, memory(1), memory(2, category="core", hearing=Hearing.PUBLIC))
    restore_memory_archive(
        runtime.home,
        runtime.clock,
        "ken",
        export_memory_archive(runtime.home, runtime.clock, "mika", ExportSelection()),
        trusted=False,
    )
    for each in kept(runtime.home, "ken"):
        assert each.tainted
        assert each.hearing is Hearing.PRIVATE
        assert each.session_id == ""
        assert each.category != "core"
        assert each.provenance is Provenance.IMPORT


def test_a_core_memory_comes_back_to_the_mind_as_far_as_there_is_room(runtime: Runtime) -> None:
    rows = "\n".join(
        row(id=f"c{n}", category="core", content=f"約束 {n}", session_id="s1") for n in range(25)
    )
    report = restore_memory_archive(
        runtime.home, runtime.clock, "mika", zipped(memory=rows), trusted=True
    )
    assert report.taken == {"memory": 25}
    held = runtime.home.facts.get("mika", MIND, MIND)
    assert held is not None
    core = {each.id for each in held.read(AgentState).core}
    assert len(core) == CORE_MEMORIES
    assert {each.id for each in kept(runtime.home, "mika") if each.category == "core"} == core


def test_an_archive_that_does_not_fit_is_refused_whole(runtime: Runtime) -> None:
    runtime.home.facts.commit(new_fact("mika", GATE, GATE, MemoryCounts(kept=MEMORIES)))
    with pytest.raises(TooLarge, match="memories are stored"):
        restore_memory_archive(
            runtime.home, runtime.clock, "mika", zipped(memory=row()), trusted=True
        )
    assert kept(runtime.home, "mika") == []


def test_even_a_trusted_archive_cannot_speak_to_sessions_of_others(runtime: Runtime) -> None:
    restore_memory_archive(
        runtime.home,
        runtime.clock,
        "mika",
        zipped(memory=row(session_id="s2", guild_id="g")),
        trusted=True,
    )
    (found,) = kept(runtime.home, "mika")
    assert (found.session_id, found.guild_id, found.hearing) == ("", None, Hearing.PRIVATE)


def test_an_id_that_says_something_else_here_is_left_out_and_counted(runtime: Runtime) -> None:
    keep(runtime.home, memory(1))
    report = restore_memory_archive(
        runtime.home, runtime.clock, "mika", zipped(memory=row(content="違う")), trusted=True
    )
    assert report.other == {"memory": 1}
    assert kept(runtime.home, "mika") == [memory(1)]


def test_sessions_are_exported_for_reading_within_their_time_and_only_the_agents_own(
    runtime: Runtime,
) -> None:
    content = export_memory_archive(runtime.home, runtime.clock, "mika", ExportSelection())
    names = zipfile.ZipFile(io.BytesIO(content)).namelist()
    assert "sessions/s1.md" in names
    assert "sessions/s2.md" not in names
    with pytest.raises(NotFound, match="s2"):
        export_memory_archive(runtime.home, runtime.clock, "mika", ExportSelection(session_id="s2"))
    with pytest.raises(Invalid, match="until"):
        export_memory_archive(
            runtime.home,
            runtime.clock,
            "mika",
            ExportSelection(since=NOW, until=NOW - timedelta(days=1)),
        )
    with pytest.raises(NotFound):
        export_memory_archive(runtime.home, runtime.clock, "nobody", ExportSelection())


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "invalid archive"),
        (b"PK\x03\x04 truncated", "invalid archive"),
        (zipped(manifest="{}"), "manifest.json"),
        (
            zipped(manifest='{"agent_id":"x","exported_at":"2026-02-17T09:00:00Z","version":2}'),
            "ver",
        ),
        (zipped(memory="[]"), "line 1"),
        (zipped(memory="{" * 100_000), "line 1"),
        (zipped(memory=f"{row()}\n{row(confidence=7)}"), "line 2"),
        (zipped(memory=row(id="../../etc/passwd")), "is not a valid ID"),
        (zipped(memory=row(id="é")), "is not a valid ID"),
        (zipped(memory=row(content="\udc80")), "line 1"),
        (zipped(memory=row(surprise=1)), "line 1"),
        (zipped(impression='{"target_id": "no id!"}'), "line 1"),
    ],
)
def test_a_bad_archive_is_told_with_its_place_and_nothing_is_taken_in(
    runtime: Runtime, content: bytes, told: str
) -> None:
    with pytest.raises(Invalid, match=told):
        restore_memory_archive(runtime.home, runtime.clock, "mika", content, trusted=True)
    assert kept(runtime.home, "mika") == []


def test_bombs_are_too_large_before_they_are_unpacked(runtime: Runtime) -> None:
    with pytest.raises(TooLarge, match="unpacks to more"):
        restore_memory_archive(
            runtime.home,
            runtime.clock,
            "mika",
            zipped(memory="\n" * (UNPACKED_BYTES + 1)),
            trusted=True,
        )
    with pytest.raises(TooLarge, match="bytes"):
        restore_memory_archive(
            runtime.home, runtime.clock, "mika", b"P" * (ARCHIVE_BYTES + 1), trusted=True
        )


def test_members_of_one_name_or_behind_a_password_are_refused(runtime: Runtime) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(MANIFEST, "{}")
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr(MANIFEST, "{}")
    with pytest.raises(Invalid, match="the same name"):
        restore_memory_archive(runtime.home, runtime.clock, "mika", buffer.getvalue(), trusted=True)
    locked = bytearray(zipped(memory=row()))
    place = locked.index(b"PK\x01\x02") + 8
    locked[place] |= 1
    with pytest.raises(Invalid, match="encrypted"):
        restore_memory_archive(runtime.home, runtime.clock, "mika", bytes(locked), trusted=True)
