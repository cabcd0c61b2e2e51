"""The sweep: what was lost on its way is sent again, once, and is not dropped as a repeat."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from opencrab.domain.agents.heartbeat import Heartbeat
from opencrab.domain.autonomy.vital_signs import VITALS, VitalSigns
from opencrab.domain.document import Document, new_fact
from opencrab.domain.errors import Unavailable
from opencrab.domain.turn.due_item import DueItem
from opencrab.domain.turn.turn import Turn, TurnStatus
from opencrab.engine.agents.heartbeat_queue import HeartbeatMessage
from opencrab.engine.autonomy.heartbeat import (
    HeartbeatResult,
    decide_queued_heartbeat,
    run_heartbeat,
)
from opencrab.engine.autonomy.sweep import run_autonomy_sweep
from opencrab.engine.autonomy.sweep_queue import queue_ending_leases
from opencrab.engine.turn.run import Pace, run_turn, turn_id_in_queue_message
from opencrab.ports.documents import DUE_PARTS
from opencrab.ports.turn.queue import MessageOutcome, Queue
from tests.contract.homes import sqlite
from tests.crash.outside import Reply
from tests.crash.scenarios import message
from tests.e2e.house import House

STALE = 61
"""Seconds after which nobody is taken to work on what was not sent."""


class Raced:
    """A journal in which something happens between what a sweep reads and what it writes."""

    def __init__(self, journal: Any, happens: Any) -> None:
        self._journal = journal
        self._happens = happens

    def __getattr__(self, name: str) -> Any:
        return getattr(self._journal, name)

    def list_overdue(self, now: datetime, limit: int, **named: Any) -> tuple[Turn, ...]:
        found: tuple[Turn, ...] = self._journal.list_overdue(now, limit, **named)
        happens, self._happens = self._happens, lambda: None
        happens()
        return found


class Behind:
    """Due items as an index lists them that has the old time of one that was put off."""

    def __init__(self, due: Any, item_id: str) -> None:
        self._due = due
        self._item_id = item_id

    def __getattr__(self, name: str) -> Any:
        return getattr(self._due, name)

    def list_due(self, now: datetime, limit: int) -> tuple[DueItem, ...]:
        found: tuple[DueItem, ...] = self._due.list_due(now, limit)
        return tuple(sorted(found, key=lambda item: item.id != self._item_id))


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    house = House(sqlite, tmp_path)
    with closing(house):
        house.session(house.agent("crab", (Reply("はい, yes"),)))
        yield house


def lose(queue: Queue) -> int:
    """Take all messages that are visible away, as if they had never been sent; how many."""
    lost = 0
    while (delivery := queue.receive(visibility_seconds=600, wait_seconds=0)) is not None:
        queue.acknowledge(delivery.receipt)
        lost += 1
    return lost


def test_a_turn_whose_message_was_lost_is_queued_again(house: House) -> None:
    (turn,) = house.say("こんにちは")
    assert lose(house.home.turns) == 1
    house.later(STALE)
    assert house.turn(turn.id).status is TurnStatus.COMPLETED


def test_speech_whose_message_was_lost_is_shown_once_all_the_same(house: House) -> None:
    house.say("hello", channel="wall")
    delivery = house.home.turns.receive(visibility_seconds=600, wait_seconds=0)
    assert delivery is not None
    assert run_turn(house.runtime, delivery, Pace()) is MessageOutcome.FINISHED
    house.home.turns.acknowledge(delivery.receipt)
    assert lose(house.home.deliveries) == 1
    house.later(STALE)
    house.later(STALE)
    assert [text for _, text in house.wall.shown] == ["はい, yes"]


def test_two_sweeps_at_once_queue_a_turn_once(house: House) -> None:
    house.say("hello")
    lose(house.home.turns)
    house.clock.advance(STALE)

    def other() -> None:
        house.clock.advance(1)
        assert run_autonomy_sweep(replace(house.runtime, home=house.home)).requeued == 1

    raced = replace(house.home, journal=Raced(house.home.journal, other))
    assert run_autonomy_sweep(replace(house.runtime, home=raced)).requeued == 0
    assert lose(house.home.turns) == 1


def test_a_turn_that_is_lost_again_and_again_is_queued_each_time(house: House) -> None:
    house.say("hello")
    for _ in range(3):
        assert lose(house.home.turns) == 1
        house.clock.advance(STALE + 600)
        assert run_autonomy_sweep(house.runtime).requeued == 1


def due_later(house: House, number: int) -> DueItem:
    """A message that is due now, in a session of its own."""
    told = message(f"Hello {number}", f"m{number}")
    house.session(house.home.agents.get("crab").agent, id=f"s{number}")
    return DueItem(id=f"d{number:03d}", at=house.clock.now(), session_id=f"s{number}", message=told)


def work_beats(house: House, *, twice: bool = False) -> int:
    """Handle what is in the queue of heartbeats; `twice` delivers each message again."""
    handled = 0
    while (found := house.home.beats.receive(visibility_seconds=60, wait_seconds=0)) is not None:
        for _ in range(1 + twice):
            assert decide_queued_heartbeat(house.runtime, found) is MessageOutcome.FINISHED
        house.home.beats.acknowledge(found.receipt)
        handled += 1
    return handled


def test_what_is_due_beyond_the_first_hundred_is_started_by_others_once(house: House) -> None:
    for number in range(130):
        house.home.due.put(due_later(house, number))
    swept = run_autonomy_sweep(house.runtime)
    assert (swept.admitted, swept.queued) == (100, 30)
    assert len(house.home.due.list_due(house.clock.now(), 1_000)) == 30
    assert run_autonomy_sweep(house.runtime).admitted == 30, "a second sweep does no harm"
    assert work_beats(house, twice=True) == 30
    assert house.home.due.list_due(house.clock.now(), 1_000) == ()
    assert lose(house.home.turns) == 130


def test_what_becomes_due_before_the_next_sweep_starts_at_its_second(house: House) -> None:
    for number, seconds in enumerate((5, 59.5, 61)):
        at = house.clock.now() + timedelta(seconds=seconds)
        house.home.due.put(due_later(house, number).replaced(at=at))
    swept = run_autonomy_sweep(house.runtime)
    assert (swept.admitted, swept.queued) == (0, 2)
    for seconds, handled in ((4, 0), (1, 1), (54, 0), (1, 1), (2, 0)):
        house.clock.advance(seconds)
        assert (work_beats(house, twice=True), lose(house.home.turns)) == (handled, handled)
    swept = run_autonomy_sweep(house.runtime)
    assert (swept.admitted, swept.queued) == (1, 0), "only the one of the second minute"


def test_what_was_cancelled_or_put_off_after_the_sweep_looked_is_not_started(house: House) -> None:
    items = [due_later(house, number) for number in range(3)]
    for item in items:
        house.home.due.put(item.replaced(at=item.at + timedelta(seconds=30)))
    run_autonomy_sweep(house.runtime)
    house.home.due.remove(items[0].id)
    house.home.due.put(items[1].replaced(at=items[1].at + timedelta(hours=1)))
    house.home.due.put(items[2].replaced(at=items[2].at + timedelta(seconds=50)))
    house.clock.advance(30)
    early = [house.home.beats.receive(visibility_seconds=600, wait_seconds=0) for _ in items]
    outcomes = [decide_queued_heartbeat(house.runtime, each) for each in early if each is not None]
    assert outcomes.count(MessageOutcome.FINISHED) == 2
    assert (outcomes.count(MessageOutcome.CONTINUE), lose(house.home.turns)) == (1, 0)
    house.clock.advance(20)
    assert (work_beats(house), lose(house.home.turns)) == (1, 1), "put off by 20 seconds"
    assert house.home.due.get(items[1].id) is not None


def test_what_was_put_off_by_seconds_starts_then_though_the_index_is_behind(house: House) -> None:
    off, due = due_later(house, 0), due_later(house, 1)
    house.home.due.put(off.replaced(at=off.at + timedelta(seconds=30)))
    house.home.due.put(due)
    home = replace(house.home, due=Behind(house.home.due, off.id))
    swept = run_autonomy_sweep(replace(house.runtime, home=home))
    assert (swept.admitted, swept.queued, lose(house.home.turns)) == (1, 1, 1)
    house.clock.advance(30)
    assert (work_beats(house), lose(house.home.turns)) == (1, 1)


def beating_agents(house: House) -> list[str]:
    """So many agents with a heartbeat in the coming minute that parts of them are queued."""
    now, facts = house.clock.now(), list[Document]()
    for number in range(1_000):
        at = now + timedelta(seconds=number % 50 + 1)
        signs = VitalSigns(
            agent_id=f"a{number}", next_beat_at=at, lived_at=now, reviewed_at=now
        ).replaced(heartbeat=Heartbeat(enabled=True, interval_seconds=61))
        facts.append(new_fact(f"a{number}", VITALS, VITALS, signs).replaced(due_at=at))
    for start in range(0, len(facts), 50):
        house.home.facts.commit(*facts[start : start + 50])
    return sorted(fact.owner for fact in facts)


def queued_heartbeats(house: House) -> list[str]:
    """The agents whose heartbeats are in the queue, which is empty then."""
    told = list[str]()
    while (found := house.home.beats.receive(visibility_seconds=60, wait_seconds=0)) is not None:
        told.append(HeartbeatMessage.from_stored(found.body).agent)
    return sorted(told)


def test_the_heartbeats_of_many_agents_are_queued_by_parts_side_by_side(house: House) -> None:
    agents = beating_agents(house)
    run_autonomy_sweep(house.runtime)
    assert work_beats(house, twice=True) == DUE_PARTS
    house.clock.advance(51)
    assert queued_heartbeats(house) == agents


def test_a_release_without_parts_drops_them_and_its_own_sweep_finds_the_heartbeats(
    house: House,
) -> None:
    agents = len(beating_agents(house))
    run_autonomy_sweep(house.runtime)
    # As that release reads the queue: by this value alone, which was the first of its readers.
    parts = 0
    while (found := house.home.beats.receive(visibility_seconds=60, wait_seconds=0)) is not None:
        told = HeartbeatMessage.from_stored(found.body)
        became = run_heartbeat(house.runtime, told.agent, told.slot)
        assert (told.slot, became) == (0, HeartbeatResult.DROPPED)
        house.home.beats.acknowledge(found.receipt)
        parts += 1
    assert (parts, house.home.beats.list_dead_letters(9)) == (DUE_PARTS, ())
    house.clock.advance(60)
    run_autonomy_sweep(house.runtime)
    assert work_beats(house) == DUE_PARTS + agents - 100, "the sweep decided a hundred itself"
    assert house.home.facts.list_due(VITALS, house.clock.now(), 9) == ()


def test_parts_in_the_form_of_an_older_release_are_read(house: House) -> None:
    agents = beating_agents(house)
    for part in range(DUE_PARTS):
        house.home.beats.send(f'{{"part":{part}}}', group="g", deduplication=str(part))
    assert work_beats(house) == DUE_PARTS
    house.clock.advance(51)
    assert queued_heartbeats(house) == agents


def test_a_part_that_fails_keeps_no_other_part_from_its_work(house: House) -> None:
    def fails() -> None:
        raise Unavailable("the list of turns does not answer")

    house.home.due.put(due_later(house, 1))
    broken = replace(house.home, journal=Raced(house.home.journal, fails))
    with pytest.raises(Unavailable, match="list of turns"):
        run_autonomy_sweep(replace(house.runtime, home=broken))
    assert house.home.due.list_due(house.clock.now(), 9) == ()
    assert lose(house.home.turns) == 1


def test_queued_work_that_a_dead_worker_left_is_found_by_the_next_sweep(house: House) -> None:
    for number in range(101):
        house.home.due.put(due_later(house, number))
    assert run_autonomy_sweep(house.runtime).queued == 1
    lost = house.home.beats.receive(visibility_seconds=1, wait_seconds=0)
    assert lost is not None
    house.home.beats.acknowledge(lost.receipt)
    house.clock.advance(60)
    assert run_autonomy_sweep(house.runtime).admitted == 1


def test_without_time_left_a_sweep_begins_nothing_and_the_next_one_continues(house: House) -> None:
    for number in range(150):
        house.home.due.put(due_later(house, number))
    seconds = iter([50.0] * 7 + [4.0])
    swept = run_autonomy_sweep(house.runtime, lambda: next(seconds))
    assert (swept.admitted, swept.queued) == (100, 0)
    assert run_autonomy_sweep(house.runtime, lambda: 4.0).admitted == 0
    assert run_autonomy_sweep(house.runtime).admitted == 50


def test_a_message_that_names_nothing_goes_to_the_dead_letters(house: House) -> None:
    house.home.beats.send('{"v":1}', group="g", deduplication="d")
    house.home.beats.send('{"v":1,"due":"gone"}', group="g", deduplication="e")
    assert work_beats(house) == 2
    assert [body for body, _ in house.home.beats.list_dead_letters(9)] == ['{"v":1}']


def claimed(house: House, seconds: int) -> Turn:
    """A turn of a worker that holds it for so many seconds, and is then heard of no more."""
    house.say("hello")
    taken = house.home.turns.receive(visibility_seconds=1_800, wait_seconds=0)
    assert taken is not None
    until = house.clock.now() + timedelta(seconds=seconds)
    turn_id = turn_id_in_queue_message(taken.body)
    found = house.home.journal.claim(turn_id, lease_until=until, receipt=taken.receipt)
    assert found is not None
    return found.turn


def test_the_turn_of_a_dead_worker_is_freed_when_its_lease_ends_not_a_sweep_later(
    house: House,
) -> None:
    turn = claimed(house, 45)
    assert run_autonomy_sweep(house.runtime).freed == 0
    house.clock.advance(44)
    assert work_beats(house) == lose(house.home.turns) == 0
    house.clock.advance(1)
    assert work_beats(house, twice=True) == 1
    freed = house.home.turns.receive(visibility_seconds=60, wait_seconds=0)
    assert freed is not None
    assert turn.id in freed.body
    assert (freed.count, run_autonomy_sweep(house.runtime).freed) == (2, 0)


def test_a_worker_that_renews_its_lease_keeps_its_turn(house: House) -> None:
    turn = claimed(house, 45)
    run_autonomy_sweep(house.runtime)
    house.clock.advance(30)
    assert house.home.journal.extend(turn, house.clock.now() + timedelta(seconds=75))
    house.clock.advance(15)
    assert work_beats(house) == 1
    assert lose(house.home.turns) == 0
    house.clock.advance(15)
    assert run_autonomy_sweep(house.runtime).freed == 0
    house.clock.advance(45)
    assert work_beats(house) == 1
    assert lose(house.home.turns) == 1


def test_leases_that_end_after_the_next_sweep_are_left_to_it(house: House) -> None:
    claimed(house, 61)
    run_autonomy_sweep(house.runtime)
    house.clock.advance(59)
    assert work_beats(house) == 0
    house.clock.advance(2)
    assert run_autonomy_sweep(house.runtime).freed == 1


def test_a_turn_that_was_only_just_queued_is_left_alone(house: House) -> None:
    house.say("hello")
    assert lose(house.home.turns) == 1
    house.clock.advance(30)
    assert run_autonomy_sweep(house.runtime).requeued == 0
    assert work_beats(house) == 0


def test_a_lease_that_ends_while_its_sweep_is_at_work_is_looked_at_at_once(house: House) -> None:
    turn = claimed(house, 45)
    house.clock.advance(46)
    queue_ending_leases(house.runtime, [turn])
    assert work_beats(house) == 1
    assert lose(house.home.turns) == 1
