"""Publishers that die, or are overtaken, at any call to the bucket: nothing is lost or left."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from opencrab.adapters.search_rows import LATE, ChangeHint
from opencrab.adapters.sqlite_search.publication.publication import TAIL_BYTES
from opencrab.adapters.sqlite_search.replica import IndexReplica
from opencrab.domain.errors import Unavailable
from opencrab.domain.memory.memory import MEMORY
from tests.published import numbered
from tests.soak import SOAK
from tests.unit.adapters.sqlite_search.publication.bucket import (
    LONG,
    SECRETS,
    Bucketed,
    Process,
    bucketed,
)


def whole(at: Bucketed, process: Process) -> None:
    """The next batch is the first one."""


def first(at: Bucketed, process: Process) -> None:
    """The next batch is upon a whole index."""
    at.index(process)


def next_one(at: Bucketed, process: Process) -> None:
    """The next batch takes the place of an increment."""
    at.index(process)
    at.say("one")
    at.index(process)


def seals(at: Bucketed, process: Process) -> None:
    """The next batch builds upon an increment."""
    at.index(process)
    while not at.is_increment() or at.newest().size <= TAIL_BYTES:
        at.say(length=LONG)
        at.index(process)


def merges(at: Bucketed, process: Process) -> None:
    """The next batch merges two increments."""
    seals(at, process)
    earlier = at.newest().size
    at.say("small")
    at.index(process)
    while at.newest().size <= TAIL_BYTES:
        at.say(length=LONG + 500)
        at.index(process)
    assert at.newest().size >= earlier


def erases(at: Bucketed, process: Process) -> None:
    """The next batch erases what is in the base and in an increment."""
    at.say(SECRETS[0])
    at.index(process)
    last = at.say(SECRETS[1])
    at.index(process)
    at.life.mark(("s1", last - 1, last))


STAGES: dict[str, Callable[[Bucketed, Process], None]] = {
    each.__name__: each for each in (whole, first, next_one, seals, merges, erases)
}


def secrets_gone(at: Bucketed) -> bool:
    kept = at.bytes_kept()
    return not any(each.encode() in kept for each in SECRETS)


@pytest.mark.parametrize("afterwards", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("stage", STAGES)
def test_a_publisher_that_dies_at_any_call_loses_nothing_and_leaves_nothing(
    tmp_path: Path, stage: str, *, afterwards: bool
) -> None:
    """The stream tells a batch again that was not answered, to a process that begins anew."""
    # What a call has done, the call after it finds: one is tried before, the other one after.
    for number in range(20) if SOAK else range(afterwards, 20, 2):
        with bucketed(tmp_path / str(number)) as at:
            process = at.process()
            STAGES[stage](at, process)
            at.say("新聞の話 the news")
            before = at.calm.newest("hana")
            entries = at.entries()
            process.trouble.arm(number, afterwards=afterwards)
            with suppress(Unavailable):
                process.search.index_entries(entries)
            has_failed = bool(process.trouble.failed)
            if before is not None or at.versions():
                at.published()
            assert len(at.find(at.process(), "新聞")) == 1
            retried = at.process()
            retried.search.index_entries(entries)
            assert at.published() == at.rebuilt()
            assert stage != "erases" or secrets_gone(at)
            at.life.remove(MEMORY, at.life.remember("gone soon"))
            last = at.say("soon erased")
            at.index(retried)
            at.life.mark(("s1", last, last))
            at.index(retried)
            assert len(at.versions()) == 1, "the next whole index leaves nothing before it"
            if not has_failed:
                assert number > 1
                return
    raise AssertionError("there are more calls than were tried")


@pytest.mark.parametrize("wording", ["別の言葉", "other words", None])
def test_of_two_who_changed_a_document_neither_brings_back_what_it_read_before(
    tmp_path: Path, wording: str | None
) -> None:
    with bucketed(tmp_path) as at:
        change_twice(at, wording)


def change_twice(at: Bucketed, wording: str | None) -> None:
    """One has read a document before it changed, the other one after, and publishes later."""
    at.index(at.process())
    early, late = (
        IndexReplica("hana", at.past, at.calm, numbered(at.folder), at.clock) for _ in range(2)
    )
    memory_id = at.life.remember("the first wording 初めの言葉")
    for each in (early, late):
        each.refresh()
    early.catch_up()
    if wording is None:
        at.life.remove(MEMORY, memory_id)
    else:
        at.life.reword(memory_id, wording)
    late.catch_up()
    late.reread(ChangeHint(kept=(("memory", memory_id),)))
    assert early.publish()
    assert not late.publish()
    # So much later that what is new is not read again.
    at.clock.advance(2 * LATE.total_seconds())
    late.refresh()
    late.catch_up()
    assert late.publish()
    assert at.published() == at.rebuilt()
    for each in (early, late):
        each.close()


def speak_elsewhere(at: Bucketed, other: Process, memory_id: str) -> None:
    at.say("from elsewhere 別の所", "s2")
    at.life.reword(memory_id, "second wording")
    at.index(other)


@pytest.mark.parametrize("stage", STAGES)
def test_another_publisher_at_any_call_takes_nothing_away(tmp_path: Path, stage: str) -> None:
    for number in range(20):
        with bucketed(tmp_path / str(number)) as at:
            process, other = at.process(), at.process()
            STAGES[stage](at, process)
            if stage != "whole":
                at.find(other, "crab")
            at.say("花の話")
            own = at.entries()
            at.life.meet("s2", "hana")
            memory_id = at.life.remember("first wording")

            process.trouble.between(number, partial(speak_elsewhere, at, other, memory_id))
            process.search.index_entries(own)
            has_happened = bool(process.trouble.failed)
            process.trouble.disarm()
            process.search.index_entries(at.entries())
            assert at.published() == at.rebuilt()
            assert stage != "erases" or secrets_gone(at)
            assert len(at.find(at.process(), "別の所")) == int(has_happened)
            if not has_happened:
                return
    raise AssertionError("there are more calls than were tried")
