"""An agent whose index is published in a bucket, through clients that fail or let others in."""

import random
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any

from opencrab.adapters.s3_files.snapshots import S3Snapshots
from opencrab.adapters.search_rows import IndexProgress
from opencrab.adapters.sqlite_search.index import Index
from opencrab.adapters.sqlite_search.publication.increment import INCREMENT
from opencrab.adapters.sqlite_search.search import SqliteSearch
from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.memory.search_row import SearchClearance
from opencrab.ports.home import Home
from opencrab.ports.memory.search import SearchQuery
from opencrab.ports.memory.snapshots import Snapshot
from tests.aws import account
from tests.contract.example import NOW
from tests.contract.homes import sqlite
from tests.lived import Life
from tests.published import index_of
from tests.searching import past_of
from tests.unit.adapters.s3_files.trouble import Trouble

CALLS = (
    "head_object",
    "get_object",
    "put_object",
    "delete_object",
    "list_object_versions",
)
KANJI = "".join(map(chr, range(0x4E00, 0x9FA6)))
"""So many that a text of them hardly gets smaller."""

SECRETS = ("極秘の合言葉", "qqzebrakk")
LONG = 2_500
"""Characters of a line of which a few fill an increment."""


class Client:
    """An S3 client whose calls pass through trouble, and whose bodies are counted."""

    def __init__(self, real: Any, trouble: Trouble) -> None:
        self.sent: list[int] = []
        self.received: list[int] = []
        for name in CALLS:
            setattr(
                self,
                name,
                trouble.passing(name, getattr(self, f"_{name}", None) or getattr(real, name)),
            )
        self._real = real

    def _put_object(self, **asked: Any) -> Any:
        self.sent.append(len(asked["Body"].read()))
        asked["Body"].seek(0)
        return self._real.put_object(**asked)

    def _get_object(self, **asked: Any) -> Any:
        answer = self._real.get_object(**asked)
        self.received.append(answer["ContentLength"])
        return answer


class Process:
    """What one function has: a search, and its way to the bucket."""

    def __init__(self, search: SqliteSearch, client: Client, trouble: Trouble) -> None:
        self.search, self.client, self.trouble = search, client, trouble


class Bucketed:
    """A home that is lived in, and the bucket in which hana's index is published."""

    def __init__(self, home: Home, clock: FakeClock, folder: Path, s3: Any, bucket: str) -> None:
        self.home, self.clock, self.folder = home, clock, folder
        self.s3, self.bucket = s3, bucket
        self.life = Life(home, clock)
        self.past = past_of(home, clock)
        self.calm = S3Snapshots(s3, bucket, clock)
        self.processes: list[Process] = []
        self._chance = random.Random(7)  # noqa: S311 - no secret
        self._numbers = count(1)
        self._read = 0

    def process(self, **limits: Any) -> Process:
        """Another function that begins without a copy."""
        trouble = Trouble()
        client = Client(self.s3, trouble)
        store = S3Snapshots(client, self.bucket, self.clock)
        folder = self.folder / f"copies{len(self.processes)}"
        search = SqliteSearch(self.past, store, folder, self.clock, **limits)
        self.processes.append(Process(search, client, trouble))
        return self.processes[-1]

    def say(self, text: str = "", session_id: str = "s1", *, length: int = 0) -> int:
        """A line that no other equals, with so many characters that cannot be compressed well."""
        noise = "".join(self._chance.choices(KANJI, k=length))
        return self.life.say(f"{text} crab {next(self._numbers)} {noise}", session_id)

    def entries(self) -> tuple[Any, ...]:
        """What the feed has told since the last look."""
        assert self.home.feed is not None
        found = self.home.feed.read(after=self._read, limit=10_000)
        self._read = found[-1].position if found else self._read
        return found

    def index(self, process: Process) -> None:
        """One batch."""
        process.search.index_entries(self.entries())

    def newest(self) -> Snapshot:
        newest = self.calm.newest("hana")
        assert newest is not None
        return newest

    def versions(self) -> list[str]:
        """The ids of all versions that the bucket keeps."""
        listed = self.s3.list_object_versions(Bucket=self.bucket)
        assert not listed.get("DeleteMarkers")
        return [each["VersionId"] for each in listed.get("Versions", ())]

    def bytes_kept(self) -> bytes:
        """All that the bucket keeps, of all versions; increments without compression."""
        found = b""
        for each in self.versions():
            key = "search/hana/index.db"
            got = self.s3.get_object(Bucket=self.bucket, Key=key, VersionId=each)["Body"].read()
            with suppress(zlib.error):
                got = zlib.decompress(got)
            found += got
        return found

    def published(self) -> Any:
        """The content of what is published, as a new reader puts it together."""
        file = self.folder / "published.db"
        file.unlink(missing_ok=True)
        assert index_of(self.calm, self.newest(), file)
        with closing(Index("hana", file)) as index:
            assert index.rows() == self.newest().rows
            return index.content()

    def rebuilt(self) -> Any:
        """The content of an index made from the journal."""
        with closing(Index("hana", None)) as index:
            index.take(list(self.past.new_batches("hana", IndexProgress())), self.clock.now())
            return index.content()

    def is_increment(self) -> bool:
        return self.newest().tokenizer == INCREMENT

    def find(self, process: Process, text: str) -> list[str]:
        """What a turn of the session finds with these words, without the lines beside it."""
        here = SearchClearance(whole=True, session_id="s1")
        found = process.search.search("hana", SearchQuery(text, here, limit=50))
        return sorted(each.row.text for each in found if text in each.row.text)


@contextmanager
def bucketed(folder: Path) -> Iterator[Bucketed]:
    """Hana has said one thing so far."""
    clock = FakeClock(NOW)
    with account(clock) as opened, sqlite(folder / "home", clock) as home:
        made = Bucketed(home, clock, folder, opened.client("s3"), opened.bucket())
        made.life.meet("s1", "hana")
        made.say("灯台 lighthouse")
        yield made
        for each in made.processes:
            with suppress(OSError):
                each.search.close()
