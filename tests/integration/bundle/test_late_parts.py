"""Parts and files that a slow request still writes when the import has ended: none of them counts.

A client whose connection was lost sends a part again and finishes; the first request may still be
at it. What it writes then would replace what the agent made of itself since.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread
from typing import Any, cast

import pytest

from opencrab.domain.autonomy.schedule import SCHEDULE, Schedule
from opencrab.domain.errors import Conflict, NotFound
from opencrab.domain.memory.memory import MEMORY
from opencrab.engine.bundle.importing import (
    begin_agent_import,
    finish_agent_import,
    list_agent_imports,
    take_agent_import_part,
    write_agent_import_file,
)
from opencrab.engine.bundle.reader import BundleReader
from opencrab.engine.bundle.undo import undo_agent_import
from opencrab.engine.runtime import Runtime
from tests.integration.bundle.moving import Place

PATH, NOTE = "notes/庭.md", "薔薇\n".encode()


@pytest.fixture
def reader(here: Place, rowan: str, tmp_path: Path) -> Iterator[BundleReader]:
    """A bundle of an agent with something of every kind."""
    here.run("agents", "bundle", "Rowan", "--to", tmp_path / "rowan.zip", "--people")
    with (tmp_path / "rowan.zip").open("rb") as opened:
        yield BundleReader(opened)


class Upload:
    """One import of a bundle, by the engine: its only part, and a file."""

    def __init__(self, runtime: Runtime, reader: BundleReader, number: int = 1) -> None:
        rows = reader.rows()
        lines = (f'{{"kind":{json.dumps(row.kind)},"value":{row.text}}}' for row in rows)
        self.part = "\n".join(lines).encode()
        self.runtime, self.import_id = runtime, f"import{number}"
        agent = reader.agent.replaced(name=f"Rowan {number}")
        self.agent_id = begin_agent_import(
            runtime, self.import_id, agent, owner="owner", bundle="0" * 64, trusted=True
        ).agent_id

    def send_part(self, runtime: Runtime | None = None) -> None:
        """Send the part, by the store of another process."""
        take_agent_import_part(runtime or self.runtime, self.import_id, 1, self.part)

    def send_file(self, runtime: Runtime | None = None) -> None:
        """Send the file."""
        write_agent_import_file(runtime or self.runtime, self.import_id, PATH, NOTE, clean=True)

    def finish(self) -> None:
        """Send all again, as a client whose connection was lost, and end the import."""
        self.send_part()
        self.send_file()
        finish_agent_import(self.runtime, self.import_id, parts=1, files=1)

    def undo(self) -> None:
        """Send all again, and remove it."""
        self.send_part()
        undo_agent_import(self.runtime, self.import_id)


def lives_on(place: Place, agent_id: str) -> None:
    """What an agent and its owner do soon after it came: a memory goes, others change."""
    facts = place.home.facts
    gone = facts.page(agent_id, MEMORY)[0]
    facts.commit(gone.removed())
    (schedule,) = facts.page(agent_id, SCHEDULE)
    edited = schedule.read(Schedule).replaced(instructions="水をやる。")
    facts.commit(schedule.with_body(edited))
    place.home.files.write(agent_id, PATH, b"since then", clean=True)


def slow(place: Place, at: int, meanwhile: Callable[[], None]) -> tuple[Runtime, list[int]]:
    """A process that is held up before its n-th write while something else happens."""
    whole, seen = place.house.runtime, list[int]()

    class Slow:
        def __init__(self, inner: Any) -> None:
            self._inner = inner

        def __getattr__(self, name: str) -> Any:
            inner = getattr(self._inner, name)
            if name not in {"commit", "write"}:
                return inner

            def call(*given: Any, **named: Any) -> Any:
                seen.append(len(seen) + 1)
                if seen[-1] == at:
                    meanwhile()
                return inner(*given, **named)

            return call

    facts, files = cast("Any", Slow(whole.home.facts)), cast("Any", Slow(whole.home.files))
    return replace(whole, home=replace(whole.home, facts=facts, files=files)), seen


SENT: tuple[Callable[[Upload, Runtime], None], ...] = (Upload.send_part, Upload.send_file)


@pytest.mark.parametrize("sent", SENT)
@pytest.mark.parametrize(("home", "step"), [("here", 1), ("there", 5)])
def test_what_comes_late_changes_nothing_of_an_agent_that_is_there(
    reader: BundleReader,
    home: str,
    step: int,
    sent: Callable[[Upload, Runtime], None],
    request: pytest.FixtureRequest,
) -> None:
    place: Place = request.getfixturevalue(home)
    runtime, writes = slow(place, 0, lambda: None)
    sent(Upload(place.house.runtime, reader, 99), runtime)
    for number in range(1, len(writes) + 1, step):
        upload = Upload(place.house.runtime, reader, number)

        made = dict[str, Any]()

        def meanwhile(upload: Upload = upload, made: dict[str, Any] = made) -> None:
            upload.finish()
            lives_on(place, upload.agent_id)
            made.update(place.stored(upload.agent_id))

        runtime, _ = slow(place, number, meanwhile)
        with pytest.raises((Conflict, NotFound)):
            sent(upload, runtime)
        assert place.stored(upload.agent_id) == made, number
        (schedule,) = place.home.facts.page(upload.agent_id, SCHEDULE)
        assert schedule.due_at is not None


@pytest.mark.parametrize("sent", SENT)
@pytest.mark.parametrize(("home", "step"), [("here", 1), ("there", 5)])
def test_what_comes_late_leaves_nothing_of_an_import_that_was_undone(
    reader: BundleReader,
    home: str,
    step: int,
    sent: Callable[[Upload, Runtime], None],
    request: pytest.FixtureRequest,
) -> None:
    place: Place = request.getfixturevalue(home)
    runtime, writes = slow(place, 0, lambda: None)
    sent(Upload(place.house.runtime, reader, 99), runtime)
    for number in range(1, len(writes) + 1, step):
        upload = Upload(place.house.runtime, reader, number)
        runtime, _ = slow(place, number, upload.undo)
        with pytest.raises((Conflict, NotFound)):
            sent(upload, runtime)
        assert place.stored(upload.agent_id) == {}, number


def test_a_file_that_comes_between_the_last_steps_of_an_undo_is_removed(
    here: Place, reader: BundleReader
) -> None:
    upload = Upload(here.house.runtime, reader)
    upload.send_part()
    almost, written = Event(), Event()

    def wait() -> None:
        almost.set()
        assert written.wait(60)

    # The last write of an undo removes the record; the files are gone before.
    counted, writes = slow(here, 0, lambda: None)
    undo_agent_import(counted, upload.import_id)
    upload = Upload(here.house.runtime, reader, 2)
    upload.send_part()
    undoing, _ = slow(here, len(writes), wait)
    undo = Thread(target=undo_agent_import, args=(undoing, upload.import_id))

    def begin_undo() -> None:
        undo.start()
        assert almost.wait(60)

    runtime, _ = slow(here, 1, begin_undo)
    with pytest.raises(Conflict):
        upload.send_file(runtime)
    written.set()
    undo.join(60)
    assert here.stored(upload.agent_id) == {}
    assert not list(list_agent_imports(here.house.runtime))


def test_two_processes_that_send_the_same_part_at_once_both_take_it(
    here: Place, rowan: str, reader: BundleReader
) -> None:
    runtime, writes = slow(here, 0, lambda: None)
    Upload(here.house.runtime, reader, 99).send_part(runtime)
    for number in range(1, len(writes) + 1, 3):
        upload = Upload(here.house.runtime, reader, number)
        runtime, _ = slow(here, number, upload.send_part)
        upload.send_part(runtime)
        upload.finish()
        came, own = here.stored(upload.agent_id), here.stored(rowan)
        assert {kind: len(came[kind]) for kind in came if kind != "file"} == {
            kind: len(own[kind]) for kind in own if kind != "file"
        }
