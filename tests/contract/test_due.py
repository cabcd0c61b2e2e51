"""Due items: work that waits for its time, found oldest first and forgotten when it is done."""

import pytest

from opencrab.domain.turn.turn import Trigger
from opencrab.ports.home import Home
from tests.contract.example import ENGLISH, JAPANESE, due_item, later, running, session, step
from tests.contract.waiting import eventually


def due(home: Home, seconds: float = 1_000, limit: int = 10) -> list[str]:
    return [item.id for item in home.due.list_due(later(seconds), limit)]


@pytest.mark.parametrize("text", [JAPANESE, ENGLISH])
def test_an_item_comes_back_as_it_was_put(home: Home, text: str) -> None:
    item = due_item(text=text).replaced(hops=2)
    home.due.put(item)
    eventually(lambda: home.due.list_due(later(61), 10), (item,))


def test_an_item_keeps_what_its_turn_is_to_be(home: Home) -> None:
    item = due_item().replaced(
        trigger=Trigger.CONTINUATION, task="G1-T2", taint=True, session=session("s1", goal="G1")
    )
    home.due.put(item)
    eventually(lambda: home.due.list_due(later(61), 10), (item,))


def test_an_item_is_due_when_its_time_has_come(home: Home) -> None:
    home.due.put(due_item(seconds=60))
    eventually(lambda: due(home, 61), ["d1"])
    assert due(home, 59) == []


def test_items_come_oldest_first_and_no_more_than_asked_for(home: Home) -> None:
    for item_id, seconds in (("a", 30), ("b", 10), ("c", 40), ("d", 20)):
        home.due.put(due_item(item_id, seconds=seconds))
    eventually(lambda: due(home), ["b", "d", "a", "c"])
    assert due(home, limit=2) == ["b", "d"]
    assert due(home, 25) == ["b", "d"]


def test_an_item_is_kept_once_by_its_id(home: Home) -> None:
    home.due.put(due_item())
    home.due.put(due_item())
    eventually(lambda: due(home), ["d1"])


def test_an_item_of_a_turn_is_kept_once_by_its_id(home: Home) -> None:
    home.due.put(due_item())
    home.journal.commit(step(running(home), due=(due_item(), due_item("d2"))))
    eventually(lambda: sorted(due(home)), ["d1", "d2"])


def test_an_item_that_is_done_is_forgotten(home: Home) -> None:
    home.due.put(due_item("d1"))
    home.due.put(due_item("d2", seconds=61))
    home.due.remove("d1")
    eventually(lambda: due(home), ["d2"])


def test_an_unknown_item_is_done_already(home: Home) -> None:
    home.due.remove("どこにもない")
    home.due.put(due_item())
    home.due.remove("d1")
    home.due.remove("d1")
    eventually(lambda: due(home), [])
