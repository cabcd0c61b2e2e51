"""What a batch writes to the bucket, and what readers fetch, at three sizes of an agent's index.

`python -m tests.bench.publication 300` prints the table of docs/benchmarks.md, with so many batches
of one turn (a message and its answer). Real conversations where they are at hand. Nothing is timed:
the bytes are those of calls to a simulated S3.
"""

import statistics
import sys
import tempfile
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from opencrab.adapters.s3_files.snapshots import S3Snapshots
from opencrab.adapters.search_rows import Batch, ChangeHint, IndexProgress, SearchRowReader
from opencrab.adapters.sqlite_search.search import SqliteSearch
from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.memory.search_row import SearchRow
from opencrab.ports.conversation.feed import FeedEntry
from opencrab.ports.memory.search import SearchQuery
from tests.aws import account
from tests.bench.memory_system import rows_of
from tests.bench.searching import conversations

SIZES = (1_000, 10_000, 70_000)
BATCHES = 300
LINES = 2
REFRESHES = 6
"""Batches between two looks of the reader: one each ten seconds, a look each minute."""

_AGENT = "hana"


class Talk(SearchRowReader):
    """A past of lines alone, of which the first so many were said."""

    def __init__(self, rows: Iterable[SearchRow]) -> None:
        self._rows = tuple(rows)
        self._numbers: dict[str, list[SearchRow]] = {}
        self._said = 0

    def say(self, count: int) -> str:
        """Say more lines; return the session of the last one."""
        for row in self._rows[self._said : self._said + count]:
            self._numbers.setdefault(row.session_id, []).append(row)
        self._said += count
        return self._rows[self._said - 1].session_id

    def change_hints(self, entries: Iterable[FeedEntry]) -> dict[str, ChangeHint]:
        return {_AGENT: ChangeHint(sessions=tuple({each.session_id for each in entries}))}

    def new_batches(self, _agent_id: str, seen: IndexProgress, *_: str) -> Iterator[Batch]:
        # All sessions to the last line: only what is published is measured here.
        for session_id, rows in self._numbers.items():
            known = seen.lines.get(session_id, 0)
            if rows[-1].sequence > known:
                new = tuple(row for row in rows if row.sequence > known)
                yield Batch(rows=new, session_id=session_id, last=rows[-1].sequence)


class Counted:
    """An S3 client that counts requests and bytes of bodies."""

    def __init__(self, real: Any) -> None:
        self._real = real
        self.requests: list[str] = []
        self.bytes = 0

    def __getattr__(self, name: str) -> Any:
        def call(**asked: Any) -> Any:
            self.requests.append(name)
            if name == "put_object":
                self.bytes += asked["Body"].seek(0, 2)
                asked["Body"].seek(0)
            answer = getattr(self._real, name)(**asked)
            if name == "get_object":
                self.bytes += answer["ContentLength"]
            return answer

        return call

    def taken(self) -> int:
        """Bytes since the last look."""
        found, self.bytes = self.bytes, 0
        return found


def measure(rows: Iterable[SearchRow], size: int, batches: int, folder: Path) -> str:
    """One row of the table."""
    clock = FakeClock(datetime(2026, 2, 17, 9, 0, tzinfo=UTC))
    past = Talk(rows)
    with account(clock) as opened:
        s3, bucket = opened.client("s3"), opened.bucket()

        def process(name: str) -> tuple[Counted, SqliteSearch]:
            client = Counted(s3)
            store = S3Snapshots(client, bucket, clock)
            return client, SqliteSearch(past, store, folder / name, clock)

        (client, indexer), (fetching, reader) = process("indexer"), process("reader")
        past.say(size)
        indexer.index_entries([_told(past.say(LINES))])
        index_bytes = client.taken()
        reader.search(_AGENT, SearchQuery("crab"))
        fetching.taken()
        client.requests.clear()
        written, fetched = list[int](), list[int]()
        for number in range(batches):
            indexer.index_entries([_told(past.say(LINES))])
            written.append(client.taken())
            clock.advance(10.1)
            if number % REFRESHES == REFRESHES - 1:
                reader.status(_AGENT)
                fetched.append(fetching.taken())
        puts = client.requests.count("put_object") / batches
        lists = client.requests.count("list_object_versions") / batches
        fresh, cold = process("cold")
        cold.search(_AGENT, SearchQuery("crab"))
        for each in (indexer, reader, cold):
            each.close()
    written.sort()
    return (
        f"| {size:,} | {_kb(index_bytes)} | {_kb(statistics.median(written))}"
        f" | {_kb(written[len(written) * 95 // 100])} | {_kb(statistics.mean(written))}"
        f" | {_kb(statistics.median(fetched))} | {_kb(statistics.mean(fetched))}"
        f" | {_kb(fresh.bytes)} in {fresh.requests.count('get_object')}"
        f" | {puts:.2f} PUT, {lists:.2f} LIST |"
    )


def _told(session_id: str) -> FeedEntry:
    return FeedEntry(1, "line", session_id, None, "")


def _kb(size: float) -> str:
    return f"{size / 1_000:,.1f} KB" if size < 1_000_000 else f"{size / 1_000_000:,.1f} MB"


def main(batches: int) -> None:
    """Print the table."""
    docs, _ = conversations(max(SIZES) + LINES * (batches + 1))
    rows = list(rows_of(docs).values())
    print("| lines | index | a batch, median | 95 of 100 | mean | a look, median | mean", end="")
    print(" | a new copy | requests of a batch |\n|---|---|---|---|---|---|---|---|---|")
    for size in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            print(measure(rows, size, batches, Path(folder)), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else BATCHES)
