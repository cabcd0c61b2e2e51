"""An agent's turns in order: by their first model calls, from the ledger that has them anyway."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from opencrab.domain.usage.ledger import UsageRow
from opencrab.engine.insight import turn_index
from opencrab.engine.insight.turn_index import (
    LIFE,
    SETTLED,
    insight_turn_entries,
    insight_turn_entry,
    is_insight_turn_entry_settled,
    newest_turn_ids_for_insight,
)
from tests.contract.example import NOW, running, step, usage_row
from tests.crash.outside import Reply
from tests.e2e.house import START, House
from tests.unit.engine.telling import house as opened


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    """A house at the time of the examples."""
    with opened(tmp_path) as found:
        found.clock.advance((NOW - START).total_seconds())
        yield found


def keep(house: House, *rows: UsageRow) -> None:
    """Rows as turns write them."""
    house.home.journal.commit(step(running(house.home), usage=rows))


def turns(house: House, *, after: str | None = None, newest_first: bool = False) -> list[str]:
    found = insight_turn_entries(house.runtime, "hana", after=after, newest_first=newest_first)
    return [each.turn_id for each in found]


def at(n: int) -> timedelta:
    return timedelta(seconds=n)


def test_turns_come_by_their_first_rows_and_each_of_them_once(house: House) -> None:
    keep(
        house,
        usage_row(1, turn_id="b", at=NOW - at(9)),
        usage_row(1, turn_id="a", at=NOW - at(8)),
        usage_row(3, turn_id="b", at=NOW - at(7)),
        usage_row(3, turn_id="a", at=NOW - at(6)),
        usage_row(1, turn_id="c", at=NOW - at(5)),
    )
    assert turns(house) == ["b", "a", "c"]
    assert turns(house, newest_first=True) == ["c", "a", "b"]
    first = next(insight_turn_entries(house.runtime, "hana"))
    assert insight_turn_entry(house.runtime.home.usage, "hana", first.id) == first
    assert turns(house, after=first.id) == ["a", "c"]
    assert insight_turn_entry(house.runtime.home.usage, "ken", first.id) is None
    assert insight_turn_entry(house.runtime.home.usage, "hana", "../x") is None
    assert list(insight_turn_entries(house.runtime, "ken")) == []


def test_long_turns_are_read_past(house: House) -> None:
    many = [usage_row(n, turn_id="a", at=NOW - at(200 - n)) for n in range(1, 120)]
    keep(house, *many[:60])
    current = house.home.journal.header("t1")
    house.home.journal.commit(step(current, usage=(*many[60:], usage_row(1, turn_id="b", at=NOW))))
    assert turns(house) == ["a", "b"]
    assert turns(house, newest_first=True) == ["b", "a"]


def test_what_is_older_than_its_records_is_left_out(house: House) -> None:
    keep(
        house,
        usage_row(1, turn_id="a", at=NOW - LIFE - at(1)),
        usage_row(1, turn_id="b", at=NOW - LIFE),
    )
    assert turns(house) == turns(house, newest_first=True) == ["b"]


def test_an_entry_settles_after_some_seconds(house: House) -> None:
    keep(house, usage_row(1, at=NOW))
    (found,) = insight_turn_entries(house.runtime, "hana")
    house.clock.advance(SETTLED.total_seconds())
    assert not is_insight_turn_entry_settled(house.runtime.clock, found)
    house.clock.advance(0.001)
    assert is_insight_turn_entry_settled(house.runtime.clock, found)


def test_a_turn_in_its_first_call_is_the_newest_already(house: House) -> None:
    seen: list[tuple[str, ...]] = []
    house.session(house.agent("crab", (Reply(text="1"),)))
    house.interrupt(lambda: seen.append(newest_turn_ids_for_insight(house.runtime, "crab")))
    (one,) = house.say("こんにちは")
    assert newest_turn_ids_for_insight(house.runtime, "crab") == ()
    house.work()
    house.clock.advance(1)
    house.scripts["crab"] = (Reply(text="2"),)
    (two,) = house.say("hello", "m2")
    house.work()
    assert seen == [(one.id,), (two.id,)]
    assert newest_turn_ids_for_insight(house.runtime, "crab", 5) == (two.id, one.id)
    assert newest_turn_ids_for_insight(house.runtime, "crab") == (two.id,)
    assert turn_index.unfinished_turns_for_insight(house.runtime, "crab") == ()
