"""Items: values come back exactly, shards stay where they are, versions are kept apart."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.adapters.dynamodb.item import (
    SHARDS,
    Fields,
    Schema,
    from_item_microseconds,
    item_shard,
    item_time_to_live,
    to_item_microseconds,
)
from opencrab.domain.errors import Unavailable

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
NUMBERS = st.integers(-(10**37), 10**37)
NAMES = TEXT | st.sampled_from(["S", "N", "B", "SS", "NS", "BS", "M", "L", "NULL", "BOOL"])
PLAIN = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=12,
)
SETS = st.sets(TEXT.filter(bool), min_size=1, max_size=4)
OWN = {"pk", "sk", "schema"}
FIELDS = st.dictionaries(TEXT.filter(lambda name: name not in OWN), PLAIN | SETS, max_size=6)


@given(FIELDS)
def test_fields_come_back_as_they_were_put(fields: dict[str, Any]) -> None:
    item = Schema("thing").encode_item("THING#蟹", "A", fields)
    told = {name: value for name, value in fields.items() if value is not None}
    assert Schema("thing").decode_item(item) == told | {"pk": "THING#蟹", "sk": "A", "schema": 1}


@given(
    st.datetimes(
        datetime(1, 1, 2),  # noqa: DTZ001  # hypothesis adds the zone itself
        datetime(9999, 12, 30),  # noqa: DTZ001
        timezones=st.sampled_from([UTC, timezone(timedelta(hours=9))]),
    )
)
def test_a_time_comes_back_to_the_microsecond(at: datetime) -> None:
    assert from_item_microseconds(to_item_microseconds(at)) == at


def test_a_time_to_live_is_in_whole_seconds() -> None:
    at = datetime(2026, 2, 17, 9, 0, 0, 999_999, tzinfo=UTC)
    assert from_item_microseconds(item_time_to_live(at) * 1_000_000) == at.replace(microsecond=0)


@pytest.mark.parametrize(
    ("name", "expected"), [("AGENT#hana", 2), ("SESSION#s1", 6), ("花", 1), ("", 0)]
)
def test_a_name_stays_in_its_shard_for_ever(name: str, expected: int) -> None:
    assert item_shard(name) == expected


def test_names_are_spread_over_all_shards() -> None:
    assert {item_shard(f"agent{number}") for number in range(100)} == set(range(SHARDS))


def _renamed(fields: Fields) -> Fields:
    return {"name" if key == "nickname" else key: value for key, value in fields.items()}


def _greeted(fields: Fields) -> Fields:
    return {**fields, "greeting": f"{fields['name']}さん"}


FIRST = Schema("guest")
SECOND = Schema("guest", (_renamed,))
THIRD = Schema("guest", (_renamed, _greeted))


def test_an_older_item_is_brought_up_to_date_one_version_after_the_other() -> None:
    old = FIRST.encode_item("G#1", "A", {"nickname": "花"})
    middle = SECOND.encode_item("G#1", "A", {"name": "花"})
    new = THIRD.encode_item("G#1", "A", {"name": "花", "greeting": "やあ"})
    assert [THIRD.decode_item(one)["greeting"] for one in (old, middle, new)] == [
        "花さん",
        "花さん",
        "やあ",
    ]
    assert [one["schema"] for one in (old, middle, new)] == [{"N": "1"}, {"N": "2"}, {"N": "3"}]


def test_an_item_without_a_version_is_of_the_first() -> None:
    old = FIRST.encode_item("G#1", "A", {"nickname": "花"})
    del old["schema"]
    assert SECOND.decode_item(old)["name"] == "花"


def test_an_item_of_a_newer_version_is_left_to_the_code_that_wrote_it() -> None:
    item = SECOND.encode_item("G#1", "A", {"name": "花"})
    with pytest.raises(Unavailable, match=r"guest 'G#1' .*schema 2, .*knows 1") as caught:
        FIRST.decode_item(item)
    assert caught.value.cure
