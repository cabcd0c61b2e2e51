"""The ground of `opencrab up`: one SQLite file and real files; every call of a port is I/O."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from pydantic import TypeAdapter

from opencrab.adapters.local_files import Disk, LocalBlobs, LocalFiles
from opencrab.adapters.sqlite.database import sqlite_milliseconds
from opencrab.adapters.sqlite.home import open_sqlite_home
from opencrab.adapters.sqlite.queue import PendingClaim, SqliteQueue
from opencrab.adapters.sqlite.turn.rows import RECORD
from opencrab.domain.agents.agent import Profile
from opencrab.domain.conversation.message import Line
from opencrab.domain.conversation.session import Session
from opencrab.domain.turn.turn import Turn
from opencrab.ports.home import Home
from tests.crash.ground import Awaited, Hands, Stage
from tests.crash.scheduling import Gate
from tests.crash.watching import Watch


def _nothing(_descriptor: int) -> None:
    """What a temporary directory needs of fsync."""


_OF_A_RUN = "(pk<'AGENT#' OR pk>='AGENT$')"

QUICK = Disk(fsync=_nothing)


_TURN, _SESSION, _LINE = TypeAdapter(Turn), TypeAdapter(Session), TypeAdapter(Line)


def _whole(pk: str, sk: str, body: str) -> str:
    """An item with the fields that have their default, which the file leaves out."""
    match pk.partition("#")[0], sk:
        case "TURN", "H":
            return _filled_in(_TURN, body)
        case "TURN", _:
            return _filled_in(RECORD, body)
        case "SESSION", "S":
            return _filled_in(_SESSION, body)
        case "SESSION", _ if sk.startswith("L#"):
            return _filled_in(_LINE, body)
    return body


@lru_cache(maxsize=4_096)
def _filled_in(kind: TypeAdapter[Any], body: str) -> str:
    """Most items of a run are those of the run before: each is read once."""
    return kind.dump_json(kind.validate_json(body)).decode()


def _lapse(due_list: str, due_at: int, body: str) -> tuple[str, int]:
    """From when the sweep may find an item; a turn may lie in its list too early."""
    lease = Turn.model_validate_json(body).lease_until if due_list == "turn" else None
    return due_list, due_at if lease is None else sqlite_milliseconds(lease)


class SqliteGround:
    """`ground.Ground` on one file."""

    name = "sqlite"
    rewrites = True

    def __init__(self, folder: Path) -> None:
        self.clock = Hands()
        self._blobs = folder.resolve() / "blobs"
        files, blobs = LocalFiles(folder / "files", disk=QUICK), LocalBlobs(folder, disk=QUICK)
        self.home, self.database = open_sqlite_home(
            folder, self.clock, files=files, blobs=blobs, durable=False
        )
        self._agents: set[str] = set()

    def close(self) -> None:
        self.database.close()

    def enter(self, stage: Stage) -> None:
        self._stage = stage

    def wipe(self, seen: Watch, profiles: Iterable[Profile]) -> None:
        """As the ground says: exactly the files and blobs that were seen, by name."""
        self._remove(seen)
        with self.database.write_transaction() as items:
            items.execute(f"DELETE FROM item WHERE {_OF_A_RUN} OR sk='MIND'")  # noqa: S608 - the names above
            for table in ("queue", "sent", "feed"):
                items.execute(f"DELETE FROM {table}")  # noqa: S608 - the names above
        for queue in (self.home.turns, self.home.compactions):
            cast(SqliteQueue, queue).release()
        self.clock.reset()
        for profile in profiles:
            if profile.agent.id not in self._agents:
                self.home.agents.create(profile)
                self._agents.add(profile.agent.id)

    def gated(self, home: Home) -> Home:
        """The home with an I/O point before and after every call of every port."""
        stage = self._stage
        ports: dict[str, Any] = {
            name: Gate(
                getattr(home, name),
                name,
                lambda: stage.scheduler,
                getattr(stage.watch, f"on_{name}", None),
            )
            for name in Home.__dataclass_fields__
        }
        return replace(home, **ports)

    def items(self) -> Iterator[tuple[str, str, str]]:
        with self.database.read_transaction() as items:
            # Agents stay from run to run, and no law is about their rows.
            rows = items.execute(f"SELECT pk, sk, body FROM item WHERE {_OF_A_RUN}").fetchall()  # noqa: S608 - the names above
        for pk, sk, body in rows:
            yield pk, sk, _whole(pk, sk, body)

    def queued(self) -> dict[str, int]:
        with self.database.read_transaction() as items:
            return dict(items.execute("SELECT queue, count(*) FROM queue GROUP BY queue"))

    def awaited(self) -> Awaited:
        with self.database.read_transaction() as items:
            visible = dict(items.execute("SELECT position, visible_at FROM queue"))
            rows = items.execute("SELECT due_list, due_at, body FROM item WHERE due_list>''")
            due = [_lapse(*row) for row in rows]
        # Who died with a message that another worker then ended holds nothing: nobody waits for it.
        held = (each.until for each in self._taken() if each.position in visible)
        return Awaited((*(at or 0 for at in visible.values()), *held), tuple(due))

    def has_work(self, queue: str) -> bool:
        visible_at = cast(SqliteQueue, getattr(self.home, queue)).next_visible_at()
        return visible_at is not None and visible_at <= sqlite_milliseconds(self.clock.now())

    def _taken(self) -> Iterator[PendingClaim]:
        """What workers hold without a claim."""
        for queue in (self.home.turns, self.home.compactions):
            taken, name = cast(SqliteQueue, queue)._taken, cast(SqliteQueue, queue)._name
            assert taken is not None
            with taken.choosing(name) as held:
                yield from held.values()

    def file(self, agent_id: str, path: str) -> bytes | None:
        if self.home.files.info(agent_id, path) is None:
            return None
        return self.home.files.read(agent_id, path)[1]

    def _remove(self, seen: Watch) -> None:
        for agent_id, path in seen.written:
            if self.home.files.info(agent_id, path) is not None:
                self.home.files.delete(agent_id, path)
        for digest in seen.blobs:
            (self._blobs / digest[:2] / digest[2:]).unlink(missing_ok=True)
