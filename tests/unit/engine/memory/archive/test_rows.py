"""Exports in parts: every row once, from whatever place a part begins."""

import io
import json
import zipfile
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from opencrab.domain.errors import Invalid, NotFound, TooLarge
from opencrab.engine.memory.archive.export import export_memory_archive
from opencrab.engine.memory.archive.rows import (
    ROW_KINDS,
    ExportSelection,
    archive_rows,
    export_memory_part,
)
from opencrab.engine.memory.archive.writer import ArchiveWriter
from opencrab.engine.runtime import Runtime
from tests.contract.example import admission, line, session, turn
from tests.unit.engine.archiving import NOW, installation, keep, memory

EVERYTHING = ExportSelection()


@pytest.fixture
def runtime(tmp_path: Path) -> Iterator[Runtime]:
    with installation(tmp_path) as runtime:
        keep(runtime.home, *(memory(number) for number in range(1_300)))
        for number, text in enumerate(("蟹は好き？", "Do you like crabs?", "はい"), 1):
            asked = turn(f"t{number}")
            runtime.home.journal.admit(admission(asked, message_id=f"m{number}", text=text))
        yield runtime


def test_parts_have_every_row_once_and_make_the_same_zip(runtime: Runtime) -> None:
    place, parts = "", list[str]()
    into = io.BytesIO()
    with ArchiveWriter(into, "mika", runtime.clock.now(), sessions=True, most=1 << 22) as archive:
        while (part := export_memory_part(runtime.home, "mika", EVERYTHING, place)).text:
            parts.append(part.text)
            for row in map(json.loads, part.text.splitlines()):
                archive.add(row["kind"], ROW_KINDS[row["kind"]].model_validate(row["value"]))
            place = part.place
    assert part.place == place
    assert len(parts) > 1
    assert into.getvalue() == export_memory_archive(runtime.home, runtime.clock, "mika", EVERYTHING)


def test_an_export_goes_on_after_any_row(runtime: Runtime) -> None:
    for wanted in (EVERYTHING, ExportSelection(session_id="s1")):
        rows = list(archive_rows(runtime.home, "mika", wanted))
        assert {row.kind for row in rows} >= {"memory", "session", "line"}
        for number in (0, 700, 1_299, *range(1_300, len(rows))):
            assert (
                list(archive_rows(runtime.home, "mika", wanted, rows[number].place))
                == rows[number + 1 :]
            )


def test_a_place_of_nothing_and_sessions_of_others_are_refused(runtime: Runtime) -> None:
    for place in ("secret/x", "memory/", "line/s1/x", "line/s1/-1"):
        with pytest.raises(Invalid):
            list(archive_rows(runtime.home, "mika", EVERYTHING, place))
    with pytest.raises(NotFound):
        list(archive_rows(runtime.home, "mika", EVERYTHING, "line/s2/1"))
    with pytest.raises(NotFound):
        archive_rows(runtime.home, "mika", ExportSelection(session_id="s2"))


def test_a_zip_without_a_limit_can_be_read(runtime: Runtime) -> None:
    into = io.BytesIO()
    with ArchiveWriter(into, "mika", NOW, sessions=False) as archive:
        archive.add("memory", memory(1))
    with zipfile.ZipFile(into) as written:
        assert written.testzip() is None
        assert written.read("memory.jsonl").count(b"\n") == 1
        assert "sessions.jsonl" not in written.namelist()


def test_of_many_sessions_only_one_is_held(runtime: Runtime) -> None:
    into, held = io.BytesIO(), list[io.BytesIO]()

    def spool() -> io.BytesIO:
        held.append(io.BytesIO())
        return held[-1]

    with ArchiveWriter(into, "mika", NOW, sessions=True, spool=spool) as archive:
        for number in range(50):
            archive.add("session", session(f"s{number}", "mika", name=f"雑談{number}"))
            archive.add("line", line(f"{number}番の話", f"s{number}", sequence=1))
        assert len(held) <= 2
    with zipfile.ZipFile(into) as written:
        told = written.read("sessions/s7.md").decode()
        assert told.startswith("# 雑談7\n")
        assert told.endswith("> 7番の話\n")
        assert told.count("番の話") == 1


def test_a_zip_that_gets_too_large_is_given_up_at_once(runtime: Runtime) -> None:
    into, added = io.BytesIO(), list[int]()

    def write() -> None:
        with ArchiveWriter(into, "mika", NOW, sessions=True, most=10_000) as archive:
            for number in range(1_300):
                content = sha256(b"%d" % number).hexdigest()
                archive.add("memory", memory(number, content=content))
                added.append(number)

    with pytest.raises(TooLarge, match="10000 bytes"):
        write()
    assert len(added) < 1_000
    assert into.tell() < 100_000
