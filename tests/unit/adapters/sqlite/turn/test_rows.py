"""Rows of turns: what a change depends on is read with one statement, and a line parsed once."""

import json
from pathlib import Path

import pytest

from opencrab.adapters.sqlite.database import ItemRow, WriteBatch
from opencrab.adapters.sqlite.turn.rows import (
    ParsedLines,
    read_sqlite_rows_with_last_line,
    read_stored_lines,
)
from opencrab.domain.conversation.message import Line
from opencrab.domain.money.budget import Price
from opencrab.domain.turn.record import (
    ActionCall,
    CallState,
    ModelAnswer,
    ModelIntent,
    ModelResult,
    Record,
)
from tests.contract.example import JAPANESE, later, line, running, step, usage_row
from tests.unit.adapters.sqlite.home import database, home

ARGUMENTS = {"path": "メモ.txt", "empty": None, "inner": {"none": None}}
PRICE = Price(input_per_million=1, output_per_million=2)
CALLED = ModelAnswer(text=JAPANESE, calls=(ActionCall(id="c1", name="x", arguments=ARGUMENTS),))


def test_items_and_the_last_line_of_a_session_are_read_at_once(tmp_path: Path) -> None:
    places = [("SESSION#s1", "S"), ("TURN#無", "H")]
    with database(tmp_path) as opened, opened.write_transaction() as items:
        assert read_sqlite_rows_with_last_line(items, "s1", places) == ({}, None)
        keys = [("SESSION#s1", sk) for sk in ("A", "L#1", "L#2", "S")]
        others = [("SESSION#s0", "L#9"), ("SESSION#s2", "L#8")]
        rows = [ItemRow(*each, "本文") for each in (*keys, *others)]
        items.write(WriteBatch(put=rows))
        assert read_sqlite_rows_with_last_line(items, "s1", places) == (
            {("SESSION#s1", "S"): "本文"},
            "L#2",
        )


@pytest.mark.parametrize(
    "record",
    [
        ModelIntent(n=1, model="stub:stub", request_hash="h", reserved=5, price=PRICE),
        ModelResult(n=1, state=CallState.COMPLETED, answer=CALLED),
    ],
)
def test_records_of_model_calls_are_stored_without_defaults_and_read_as_they_were(
    tmp_path: Path, record: Record
) -> None:
    with home(tmp_path) as (opened, file):
        opened.journal.commit(step(running(opened), record))
        with file.read_transaction() as items:
            ((_, body),) = items.between("TURN#t1", "0", ":")
        assert len(body) < len(record.model_dump_json())
        assert json.loads(body)["kind"] == record.kind
        assert opened.journal.load("t1").records == (record,)


def test_what_a_turn_writes_is_stored_without_defaults_and_read_as_it_was(tmp_path: Path) -> None:
    said, paid = line(turn_id="t1", group_line=1), usage_row()
    with home(tmp_path) as (opened, file):
        current = opened.journal.commit(step(running(opened), lines=(said,), usage=(paid,)))
        with file.read_transaction() as items:
            rows = items.execute("SELECT body FROM item WHERE pk GLOB '[STU][EUS][SRA]*'")
            bodies = [body for (body,) in rows if body.startswith("{")]
        assert len(bodies) == 5
        assert not [body for body in bodies if "null" in body]
        assert opened.journal.header("t1") == current
        assert opened.journal.lines("s1")[-1] == said.replaced(sequence=2)
        assert opened.usage.rows("hana") == (paid,)


@pytest.mark.parametrize(("moved", "is_indexed"), [(150, False), (200, True)])
def test_the_index_of_due_turns_follows_a_lease_by_the_minute(
    tmp_path: Path, moved: int, *, is_indexed: bool
) -> None:
    with home(tmp_path) as (opened, file):
        current = running(opened)
        opened.journal.commit(step(current.replaced(lease_until=later(moved))))
        with file.read_transaction() as items:
            early = items.query_due("turn", later(moved - 1), 10)
        assert (not early) is is_indexed
        assert opened.journal.list_overdue(later(moved - 1), 10) == ()
        (found,) = opened.journal.list_overdue(later(moved), 10)
        assert found.lease_until == later(moved)


def _bodies(*lines: Line) -> list[str]:
    return [line.without_defaults() for line in lines]


def test_what_is_stored_as_before_is_the_same_line() -> None:
    parsed = ParsedLines()
    before = parsed.read(_bodies(line(sequence=1), line(sequence=2)))
    after = parsed.read(_bodies(line(sequence=2), line(sequence=3), line(sequence=1)))
    assert after == (line(sequence=2), line(sequence=3), line(sequence=1))
    assert (after[0] is before[1], after[2] is before[0]) == (True, True)


def test_an_erased_line_is_read_as_it_is_stored_now() -> None:
    parsed = ParsedLines()
    parsed.read(_bodies(line("秘密", sequence=1)))
    assert parsed.read(_bodies(line("", sequence=1))) == (line("", sequence=1),)


def test_long_lines_and_more_than_a_thousand_are_parsed_again() -> None:
    parsed = ParsedLines()
    (long,) = parsed.read(_bodies(line("海" * 3_000, sequence=1)))
    assert parsed.read(_bodies(line("海" * 3_000, sequence=1)))[0] is not long
    (first,) = parsed.read(_bodies(line(sequence=1)))
    parsed.read(_bodies(*(line(sequence=number) for number in range(2, 1_100))))
    (again,) = parsed.read(_bodies(line(sequence=1)))
    assert again == first
    assert again is not first


def test_lines_read_in_one_go_are_equal() -> None:
    lines = (line(sequence=1), line("浜", sequence=2))
    assert read_stored_lines(_bodies(*lines)) == lines
