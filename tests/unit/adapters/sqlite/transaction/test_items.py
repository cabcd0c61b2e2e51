"""Items: many in one statement, what must be new, and what the feed tells."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from opencrab.adapters.sqlite.database import (
    AlreadyThere,
    Database,
    FeedItem,
    ItemRow,
    WriteBatch,
    sqlite_milliseconds,
)
from tests.contract.example import JAPANESE, NOW
from tests.unit.adapters.sqlite.home import database


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Database]:
    with database(tmp_path) as found:
        yield found


def test_more_items_are_read_than_one_statement_can_name(opened: Database) -> None:
    rows = [ItemRow("p", f"{number:04d}", JAPANESE) for number in range(1_001)]
    with opened.write_transaction() as items:
        items.write(WriteBatch(new=rows))
    with opened.read_transaction() as items:
        found = items.get_many([(row.pk, row.sk) for row in rows] + [("p", "none")])
    assert found == {(row.pk, row.sk): JAPANESE for row in rows}


def test_no_items_are_read_where_none_are_named(opened: Database) -> None:
    with opened.read_transaction() as items:
        assert items.get_many(()) == {}


def test_an_item_that_is_there_keeps_all_new_ones_out_and_is_named(opened: Database) -> None:
    with opened.write_transaction() as items:
        items.put("p", "b", "first")
        with pytest.raises(AlreadyThere) as caught:
            items.write(
                WriteBatch(
                    new=[
                        ItemRow("p", "a", "new"),
                        ItemRow("p", "b", "new"),
                        ItemRow("p", "c", "new"),
                    ],
                    put=[ItemRow("p", "d", "new")],
                    removed=[("p", "b")],
                    feed=[FeedItem(NOW, "turn", "s1", "t1", "queued")],
                )
            )
        assert caught.value.place == ("p", "b")
        assert items.between("p", "a", "z") == [("b", "first")]
    with opened.read_transaction() as items:
        assert items.execute("SELECT count(*) FROM feed").fetchone() == (0,)


def test_the_last_of_two_rows_for_one_place_stays(opened: Database) -> None:
    with opened.write_transaction() as items:
        items.write(WriteBatch(put=[ItemRow("p", "a", "1"), ItemRow("p", "a", "2")]))
    with opened.read_transaction() as items:
        assert items.get("p", "a") == "2"


def test_a_body_is_changed_without_the_listing_and_times_of_its_item(opened: Database) -> None:
    row = ItemRow("p", "a", "1", "listing", ("due", NOW), NOW)
    with opened.write_transaction() as items:
        items.write(WriteBatch(new=[row]))
        items.write(WriteBatch(bodies=[ItemRow("p", "a", JAPANESE), ItemRow("p", "b", "new")]))
        rows = items.execute("SELECT * FROM item ORDER BY sk").fetchall()
    now = sqlite_milliseconds(NOW)
    assert rows == [
        ("p", "a", JAPANESE, "listing", "due", now, now),
        ("p", "b", "new", None, None, None, None),
    ]


@pytest.mark.parametrize(
    ("room", "characters", "kept"),
    [(0, 5, 5), (1, 5, 64), (1, 65, 128), (640, 5, 640), (640, 641, 704)],
)
def test_a_body_that_changes_often_has_room_to_grow_in(
    opened: Database, room: int, characters: int, kept: int
) -> None:
    body = "蟹" * characters
    with opened.write_transaction() as items:
        items.write(WriteBatch(new=[ItemRow("p", "a", body, room=room)]))
        stored = items.get("p", "a")
    assert stored == body.ljust(kept)


def test_a_partition_expires_with_what_the_same_batch_puts(opened: Database) -> None:
    with opened.write_transaction() as items:
        items.put("p", "before", "1")
        items.write(WriteBatch(new=[ItemRow("p", "new", "2")], expiring=[("p", NOW)]))
        rows = items.execute("SELECT sk, expires_at FROM item ORDER BY sk").fetchall()
    assert rows == [("before", sqlite_milliseconds(NOW)), ("new", sqlite_milliseconds(NOW))]


def test_the_feed_keeps_the_order_of_a_batch_and_lends_the_newest_time(opened: Database) -> None:
    later = NOW + timedelta(seconds=1)
    told = FeedItem(None, "fact", "", None, "{}")
    with opened.write_transaction() as items:
        items.write(WriteBatch(feed=[told]))
        items.write(WriteBatch(feed=[FeedItem(NOW, "line", "s1", None, "1")]))
        items.write(WriteBatch(feed=[told, FeedItem(later, "line", "s1", None, "2"), told]))
        rows = items.execute("SELECT at, kind, body FROM feed ORDER BY position").fetchall()
    now, after = sqlite_milliseconds(NOW), sqlite_milliseconds(later)
    assert rows == [
        (0, "fact", "{}"),
        (now, "line", "1"),
        (now, "fact", "{}"),
        (after, "line", "2"),
        (after, "fact", "{}"),
    ]
