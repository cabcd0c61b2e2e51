"""Rows of turns: what a change depends on is read with one statement."""

from pathlib import Path

from opencrab.adapters.sqlite.database import ItemRow, WriteBatch
from opencrab.adapters.sqlite.turn.rows import read_with_last_line
from tests.unit.adapters.sqlite.home import database


def test_items_and_the_last_line_of_a_session_are_read_at_once(tmp_path: Path) -> None:
    places = [("SESSION#s1", "S"), ("TURN#無", "H")]
    with database(tmp_path) as opened, opened.write_transaction() as items:
        assert read_with_last_line(items, "s1", places) == ({}, None)
        keys = [("SESSION#s1", sk) for sk in ("A", "L#1", "L#2", "S")]
        others = [("SESSION#s0", "L#9"), ("SESSION#s2", "L#8")]
        rows = [ItemRow(*each, "本文") for each in (*keys, *others)]
        items.write(WriteBatch(put=rows))
        assert read_with_last_line(items, "s1", places) == ({("SESSION#s1", "S"): "本文"}, "L#2")
