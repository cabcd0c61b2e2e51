"""Publications in a bucket: small, whole after any fault, and without a byte of what was erased."""

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from opencrab.adapters.search_rows import Batch, IndexProgress
from opencrab.adapters.sqlite_search.index import TOKENIZER
from opencrab.adapters.sqlite_search.publication.increment import (
    INCREMENT,
    Increment,
    IndexChange,
    read_sqlite_search_increment,
    write_sqlite_search_increment,
)
from opencrab.adapters.sqlite_search.publication.publication import (
    BASE_KEPT,
    INCREMENT_BYTES,
    TAIL_BYTES,
    WORDING_KEPT,
    PublishedNews,
)
from opencrab.adapters.sqlite_search.replica import IndexReplica
from opencrab.adapters.sqlite_search.search import REFRESH_SECONDS
from opencrab.domain.errors import Unavailable
from opencrab.domain.memory.memory import MEMORY
from opencrab.ports.memory.snapshots import Snapshot
from tests.conftest import ROOT
from tests.published import numbered
from tests.unit.adapters.sqlite_search.machine import saved
from tests.unit.adapters.sqlite_search.publication.bucket import (
    LONG,
    SECRETS,
    Bucketed,
    Process,
    bucketed,
)


@pytest.fixture
def at(tmp_path: Path) -> Iterator[Bucketed]:
    with bucketed(tmp_path) as made:
        yield made


def content(at: Bucketed) -> tuple[Snapshot, int]:
    """The base of the newest increment, and how many increments it builds upon."""
    file = at.folder / "newest"
    assert at.calm.fetch(at.newest(), file)
    increment = read_sqlite_search_increment(file)
    assert increment is not None
    return increment.base, len(increment.earlier)


def sealed(at: Bucketed, process: Process, number: int) -> None:
    """Publish until the newest increment builds upon so many."""
    for _ in range(100):
        at.say(length=LONG)
        at.index(process)
        if at.is_increment() and content(at)[1] == number:
            return
    raise AssertionError("it never did")


def test_after_a_whole_index_a_batch_is_one_small_put(at: Bucketed) -> None:
    process = at.process()
    at.index(process)
    whole = at.newest()
    assert whole.tokenizer == TOKENIZER
    process.client.sent.clear()
    process.trouble.disarm()
    for text in ("海の蟹", "a crab of the sea"):
        at.say(text)
        at.index(process)
        assert at.is_increment()
        assert at.published() == at.rebuilt()
    assert max(process.client.sent) < 1_024
    assert process.trouble.calls == [
        "head_object",
        "put_object",
        "head_object",
        "put_object",
        "delete_object",
    ]
    assert content(at) == (whole, 0)
    assert len(at.versions()) == 2


def test_what_a_batch_writes_does_not_grow_with_the_index(at: Bucketed) -> None:
    process = at.process()
    for _ in range(750):
        at.life.say("これは蟹と海の長い話です and a story of the sea " * 6)
    at.index(process)
    assert at.newest().size > 20 * TAIL_BYTES
    process.client.sent.clear()
    for _ in range(30):
        at.say(length=100)
        at.index(process)
    assert max(process.client.sent) < 2 * TAIL_BYTES
    assert at.published() == at.rebuilt()


def test_a_warm_reader_fetches_increments_only_and_a_cold_one_few(at: Bucketed) -> None:
    process, reader = at.process(), at.process(refresh_seconds=REFRESH_SECONDS)
    for _ in range(750):
        at.life.say("これは蟹と海の長い話です and a story of the sea " * 6)
    at.index(process)
    base = at.newest().size
    at.find(reader, "蟹")
    reader.client.received.clear()
    at.life.meet("quiet", "hana")
    for _ in range(20):
        at.say("静かな quiet", "quiet", length=600)
        at.index(process)
        at.clock.advance(REFRESH_SECONDS + 1)
        at.find(reader, "crab")
    assert content(at)[1] > 0
    assert len(at.find(reader, "静かな")) == 20
    assert len(reader.client.received) <= 40
    assert max(reader.client.received) < 4 * TAIL_BYTES < base
    cold = at.process()
    assert len(at.find(cold, "quiet")) == 20
    assert len(cold.client.received) <= 6
    assert sum(cold.client.received) < base + max(INCREMENT_BYTES, base // 8)


def test_increments_of_about_a_size_are_merged_until_a_whole_index_is_due(at: Bucketed) -> None:
    process = at.process()
    at.index(process)
    wholes, most = 0, 0
    for _ in range(40):
        at.say(length=LONG // 2)
        at.index(process)
        if at.is_increment():
            most = max(most, content(at)[1])
            assert len(at.versions()) == content(at)[1] + 2, "nothing more is kept than is needed"
        else:
            wholes += 1
            assert len(at.versions()) == 1
    assert 1 <= wholes <= 5
    assert 2 <= most <= 3
    assert at.published() == at.rebuilt()


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("where", ["base", "earlier", "newest"])
def test_forgetting_leaves_no_byte_in_a_base_or_an_increment(
    at: Bucketed, where: str, secret: str
) -> None:
    process, other = at.process(), at.process()
    if where != "base":
        at.index(process)
    last = at.say(secret)
    memory_id = at.life.remember(f"{secret} memory")
    at.index(process)
    if where == "earlier":
        sealed(at, process, 1)
    else:
        at.say("after it")
        at.index(process)
    assert at.is_increment()
    assert secret.encode() in at.bytes_kept()
    assert len(at.find(other, secret)) == 2
    at.life.mark(("s1", last, last), refs=(f"memory:{memory_id}",))
    at.index(process)
    assert secret.encode() not in at.bytes_kept(), "whoever follows the feed erases it, too"
    at.say("of no interest")
    at.index(process)
    other.search.apply_erasures("hana")
    assert len(at.versions()) == 1
    assert secret.encode() not in at.bytes_kept()
    assert at.find(at.process(), secret) == at.find(other, secret) == []


@pytest.mark.parametrize("secret", SECRETS)
def test_a_removed_memory_leaves_at_once_and_a_replaced_wording_within_a_day(
    at: Bucketed, secret: str
) -> None:
    process = at.process()
    at.index(process)
    removed, reworded = at.life.remember(f"{secret} removed"), at.life.remember(f"{secret} worded")
    at.index(process)
    at.life.remove(MEMORY, removed)
    at.index(process)
    assert f"{secret} removed".encode() not in at.bytes_kept()
    at.life.reword(reworded, "other words 別の言葉")
    at.index(process)
    assert at.is_increment()
    assert at.published() == at.rebuilt()
    at.clock.advance(WORDING_KEPT.total_seconds() + 1)
    at.say("the next day")
    at.index(process)
    assert secret.encode() not in at.bytes_kept()
    assert at.published() == at.rebuilt()


def test_an_old_base_is_replaced_before_the_bucket_removes_it(at: Bucketed) -> None:
    process = at.process()
    at.index(process)
    at.clock.advance((BASE_KEPT - timedelta(hours=1)).total_seconds())
    at.say("in time")
    at.index(process)
    assert at.is_increment()
    at.clock.advance(7_200)
    at.say("too late")
    at.index(process)
    assert not at.is_increment()


def test_the_template_lets_a_base_outlive_its_increments() -> None:
    template = (ROOT / "infra" / "data.yaml").read_text(encoding="utf-8")
    rule = r"Prefix: search/\n +NoncurrentVersionExpiration: { NoncurrentDays: ([0-9]+) }"
    (days,) = re.findall(rule, template)
    assert timedelta(days=int(days)) >= 2 * BASE_KEPT


@pytest.mark.parametrize("part", ["base", "earlier"])
def test_if_a_part_is_gone_the_index_is_built_anew_and_published_whole(
    at: Bucketed, part: str
) -> None:
    process = at.process()
    at.index(process)
    sealed(at, process, 1)
    base, _ = content(at)
    file = at.folder / "increment"
    assert at.calm.fetch(at.newest(), file)
    increment = read_sqlite_search_increment(file)
    assert increment is not None
    gone = base if part == "base" else increment.earlier[0].snapshot
    version_id = gone.version.partition(":")[2]
    at.s3.delete_object(Bucket=at.bucket, Key="search/hana/index.db", VersionId=version_id)
    other = at.process()
    at.say("later 後で")
    assert len(at.find(other, "後で")) == 1
    at.index(other)
    assert not at.is_increment()
    assert at.published() == at.rebuilt()
    assert len(at.find(process, "lighthouse")) == 1


@pytest.mark.parametrize("is_warm", [False, True], ids=["cold", "warm"])
def test_an_increment_that_cannot_be_taken_in_makes_the_index_begin_anew(
    at: Bucketed, *, is_warm: bool
) -> None:
    """Its hash is right: somebody published it like that."""
    process = at.process()
    at.index(process)
    if is_warm:
        at.find(process, "灯台")
    far = replace(next(iter(at.past.new_batches("hana", IndexProgress()))).rows[0], sequence=2**70)
    change = IndexChange(1, at.clock.now(), (Batch(rows=(far,), session_id="s1", last=9),))
    file = at.folder / "made"
    write_sqlite_search_increment(Increment(at.newest(), (), (change,)), file)
    keeps = frozenset([at.newest().version])
    assert at.calm.publish("hana", file, rows=1, tokenizer=INCREMENT, over=at.newest(), keeps=keeps)
    at.clock.advance(REFRESH_SECONDS + 1)
    other = process if is_warm else at.process()
    at.say("後で later")
    assert len(at.find(other, "灯台")) == len(at.find(other, "後で")) == 1
    at.index(other)
    assert not at.is_increment()
    assert at.published() == at.rebuilt()


def test_a_copy_that_was_cut_off_between_base_and_increments_is_not_used(at: Bucketed) -> None:
    """What only the increments know would be missing, and would be published as missing."""
    process = at.process()
    at.index(process)
    at.life.meet("quiet", "hana")
    at.say("静かな quiet", "quiet")
    at.index(process)
    copy = CutOff("hana", at.past, at.calm, numbered(at.folder), at.clock)
    with pytest.raises(Unavailable):
        copy.refresh()
    copy.refresh()
    at.say("later")
    copy.catch_up("s1")
    assert copy.publish()
    copy.close()
    assert at.published() == at.rebuilt()


class CutOff(IndexReplica):
    """A copy that finds no space the first time that it takes in increments."""

    is_full = True

    def _add(self, news: PublishedNews) -> None:
        if self.is_full:
            self.is_full = False
            raise Unavailable("there is no space left")
        super()._add(news)


def test_the_release_before_builds_anew_and_what_it_publishes_is_read(at: Bucketed) -> None:
    process = at.process()
    at.index(process)
    sealed(at, process, 1)
    assert at.newest().tokenizer == INCREMENT != TOKENIZER
    at.say("said meanwhile 間の話")
    at.entries()
    file = saved(at)  # type: ignore[arg-type]
    rows = len(at.rebuilt()[0])
    made = at.calm.publish("hana", file, rows=rows, tokenizer=TOKENIZER, over=at.newest())
    assert made is not None
    at.clock.advance(REFRESH_SECONDS + 1)
    assert len(at.find(process, "間の話")) == 1
    at.say("after the upgrade")
    at.index(process)
    assert content(at) == (made, 0)
    assert len(at.versions()) == 2
    assert at.published() == at.rebuilt()
