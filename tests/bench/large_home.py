"""Makes a large local home: many turns in many sessions, and many memories, of one agent.

Memories are saved by the product's own adapter. Of turns the engine runs one session with a
scripted user; its rows are then copied with other ids, days and words, so they equal what this
version writes. Days are spread over the last month; the feed, which lives for minutes, is not
copied, and each day's counts are those of the one session. The same sizes and the same day give the
same rows, but for receipts of the queue and inodes.
"""

import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from opencrab.adapters.local_files import LocalBlobs, LocalFiles
from opencrab.adapters.providers.registry import ProviderModels
from opencrab.adapters.sqlite.home import open_sqlite_home
from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.document import new_fact
from opencrab.domain.identifier import stable_id
from opencrab.domain.memory.memory import MEMORY, Memory
from tests.bench.searching import conversations
from tests.bench.standard import NOWHERE, Thinking
from tests.bench.world import World, models_at, runtime_with

DAYS = 30
_DAY_MS = 86_400_000
_SESSIONS_AT_ONCE = 200
_MEMORIES_AT_ONCE = 50
_QUOTA = 10**9
_ID = re.compile(r"[0-9a-z]{26}")
_COLUMNS = ("pk", "sk", "body", "listing", "due_list", "due_at", "expires_at")
_COPY = f"INSERT INTO item ({', '.join(_COLUMNS)}) VALUES (?, ?, ?, ?, ?, ?, ?)"  # noqa: S608

Row = tuple[str, str, str, str | None, str | None, int | None, int | None]


@dataclass(frozen=True)
class Large:
    """What was made."""

    agent_id: str
    session_id: str
    """The session that the engine ran, the newest."""


def make_large_home(
    folder: Path, *, turns: int, sessions: int, memories: int, today: datetime
) -> Large:
    """Write the home; nothing else may have it open."""
    each = max(1, turns // sessions)
    texts = [doc["text"][:200] for doc in conversations(max(turns, memories))[0]]
    clock = FakeClock(today.replace(hour=9, minute=0, second=0, microsecond=0))
    made = _by_the_engine(folder, clock, each)
    _copy_session(folder / "opencrab.db", made, sessions - 1, each, texts, at=clock.now())
    _save_memories(folder, made.agent_id, texts, memories, today - timedelta(days=DAYS))
    return made


def _said(number: int) -> str:
    return f"発言{number:06d}です。"


def _by_the_engine(folder: Path, clock: FakeClock, turns: int) -> Large:
    files, blobs = LocalFiles(folder, quota_bytes=_QUOTA), LocalBlobs(folder)
    home, database = open_sqlite_home(folder, clock, files=files, blobs=blobs)
    models = ProviderModels(lambda: models_at(NOWHERE), lambda: Thinking(clock))
    world = World(runtime_with(home, clock, models))
    agent_id = world.agent("蟹")
    session_id = world.session(agent_id)
    for number in range(turns):
        world.say(session_id, _said(number))
        world.work()
        clock.advance(60)
    database.close()
    return Large(agent_id, session_id)


def _copy_session(
    path: Path, made: Large, copies: int, turns: int, texts: list[str], *, at: datetime
) -> None:
    """Add so many sessions like the one that is there, and the agent's counts of each day."""
    with closing(sqlite3.connect(path)) as file:
        file.execute("PRAGMA synchronous=OFF")
        file.execute("PRAGMA cache_size=-200000")
        own = f"%{made.session_id}%"
        ids = _ids_of(file, made, own)
        marks = " OR ".join(["pk || sk || body LIKE ?"] * len(ids))
        rows = _rows(file, f"WHERE {marks}", [f"%{each}%" for each in ids])
        session = _Session(rows, ids, at, turns, texts)
        for first in range(1, copies + 1, _SESSIONS_AT_ONCE):
            with file:
                for number in range(first, min(first + _SESSIONS_AT_ONCE, copies + 1)):
                    file.executemany(_COPY, session.copied(number, number * DAYS // (copies + 1)))
        day = f"{at:%Y-%m-%d}"
        counts = _rows(file, "WHERE sk LIKE ? AND pk NOT LIKE 'SESSION%'", [f"{day}%"])
        with file:
            for back in range(1, DAYS):
                file.executemany(_COPY, _changed(counts, _days(at, back), back))
        file.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()


def _ids_of(file: sqlite3.Connection, made: Large, own: str) -> list[str]:
    """The session's id, and those of its turns and messages."""
    found = {made.session_id}
    for pk, sk, body in file.execute("SELECT pk, sk, body FROM item WHERE body LIKE ?", [own]):
        values = json.loads(body) if body.startswith("{") else {}
        named = (values.get(name) for name in ("turn_id", "message_id", "group"))
        found |= {each for each in named if isinstance(each, str) and _ID.fullmatch(each)}
        found |= {pk.removeprefix("TURN#")} if pk.startswith("TURN#") and sk == "H" else set()
    return sorted(found)


def _rows(file: sqlite3.Connection, where: str, values: list[str]) -> list[Row]:
    chosen = f"SELECT {', '.join(_COLUMNS)} FROM item {where} ORDER BY pk, sk"  # noqa: S608
    return file.execute(chosen, values).fetchall()


@dataclass(frozen=True)
class _Session:
    """The rows of a session, to be copied."""

    rows: list[Row]
    ids: list[str]
    at: datetime
    turns: int
    texts: list[str]

    def copied(self, number: int, days_back: int) -> Iterator[Row]:
        """The same rows with other ids, words and day."""
        others = {each: stable_id(each, f"{number}") for each in self.ids}
        for turn in range(self.turns):
            text = self.texts[(number * self.turns + turn) % len(self.texts)]
            others[_said(turn)] = json.dumps(text, ensure_ascii=False)[1:-1]
        return _changed(self.rows, others | _days(self.at, days_back), days_back)


def _days(at: datetime, back: int) -> dict[str, str]:
    """A day as rows write it, and the one so many days earlier."""
    day = at - timedelta(days=back)
    return {f"{at:%Y-%m-%d}": f"{day:%Y-%m-%d}", f"{at:%Y%m%d}T": f"{day:%Y%m%d}T"}


def _changed(rows: list[Row], others: dict[str, str], days_back: int) -> Iterator[Row]:
    """The rows with other words for these, and that much earlier."""
    wanted, back = re.compile("|".join(map(re.escape, others))), days_back * _DAY_MS
    for pk, sk, body, listing, due_list, due_at, expires_at in rows:
        named = (wanted.sub(lambda found: others[found[0]], each) for each in (pk, sk, body))
        due, expires = (each and each - back for each in (due_at, expires_at))
        yield (*named, listing, due_list, due, expires)  # type: ignore[misc]


def _save_memories(
    folder: Path, agent_id: str, texts: list[str], count: int, since: datetime
) -> None:
    """Memories of a month, by the adapter of documents."""
    clock = FakeClock(since)
    files = LocalFiles(folder, quota_bytes=_QUOTA)
    home, database = open_sqlite_home(
        folder, clock, files=files, blobs=LocalBlobs(folder), durable=False
    )
    for first in range(0, count, _MEMORIES_AT_ONCE):
        numbers = range(first, min(first + _MEMORIES_AT_ONCE, count))
        memories = [_memory(clock, f"{texts[number]} {number}") for number in numbers]
        home.facts.commit(*(new_fact(agent_id, MEMORY, each.id, each) for each in memories))
        clock.advance((DAYS - 1) * 86_400 * len(numbers) / count)
    database.close()


def _memory(clock: FakeClock, content: str) -> Memory:
    now = clock.now()
    return Memory(
        id=clock.new_id(), category="fact", content=content, created_at=now, updated_at=now
    )


def today() -> datetime:
    """The day that a home is made for."""
    return datetime.now(UTC)
