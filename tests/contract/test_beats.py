"""The queue of beats: no order, and each message is kept back until its second."""

from pathlib import Path

import pytest

from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.errors import Invalid
from opencrab.ports.home import Home
from opencrab.ports.turn.queue import LONGEST_DELAY_SECONDS, Queue
from tests.contract.example import JAPANESE
from tests.contract.homes import sqlite


def beat(home: Home, body: str, seconds: int = 0, group: str = "") -> None:
    """Send a beat of its own group, or of one that it shares."""
    home.beats.send(body, group=group or body, deduplication=body, delay_seconds=seconds)


def beats(home: Home, *, visibility_seconds: int = 30) -> set[str]:
    """What there is to be taken now; it stays in flight."""
    found = set()
    while (
        delivery := home.beats.receive(visibility_seconds=visibility_seconds, wait_seconds=0)
    ) is not None:
        found.add(delivery.body)
    return found


def test_a_beat_comes_at_its_second_and_not_before(home: Home, clock: FakeClock) -> None:
    beat(home, "later", 31)
    beat(home, "sooner", 7)
    beat(home, "now")
    assert beats(home) == {"now"}
    clock.advance(6.9)
    assert beats(home) == set()
    clock.advance(0.1)
    assert beats(home) == {"sooner"}
    clock.advance(23.9)
    assert "later" not in beats(home)
    clock.advance(0.2)
    assert "later" in beats(home)


def test_the_beats_of_one_group_wait_for_their_own_second_only(
    home: Home, clock: FakeClock
) -> None:
    beat(home, "late", 20, group="hana")
    beat(home, "early", 10, group="hana")
    clock.advance(11)
    assert beats(home, visibility_seconds=300) == {"early"}
    clock.advance(10)
    assert beats(home) == {"late"}


def test_a_beat_is_done_once_and_comes_again_when_it_was_given_back(
    home: Home, clock: FakeClock
) -> None:
    beat(home, JAPANESE, 5)
    clock.advance(5.1)
    first = home.beats.receive(visibility_seconds=30, wait_seconds=0)
    assert first is not None
    assert (first.body, first.group, first.count) == (JAPANESE, JAPANESE, 1)
    assert home.beats.continue_later(first.receipt, 2)
    assert beats(home) == set()
    clock.advance(2.1)
    second = home.beats.receive(visibility_seconds=30, wait_seconds=0)
    assert second is not None
    assert second.count == 2
    home.beats.acknowledge(second.receipt)
    clock.advance(60)
    assert beats(home) == set()


def test_a_beat_may_be_buried(home: Home) -> None:
    home.beats.dead_letter(JAPANESE, group="hana", reason="no such agent")
    assert home.beats.list_dead_letters(9) == ((JAPANESE, "no such agent"),)


@pytest.mark.parametrize("seconds", [-1, LONGEST_DELAY_SECONDS + 1])
def test_a_delay_that_no_queue_keeps_is_refused(home: Home, seconds: int) -> None:
    with pytest.raises(Invalid, match="cannot be delayed"):
        beat(home, "never", seconds)
    assert beats(home) == set()


@pytest.mark.parametrize("name", ["turns", "deliveries", "compactions"])
def test_a_queue_that_keeps_an_order_refuses_a_delay(home: Home, name: str) -> None:
    queue: Queue = getattr(home, name)
    with pytest.raises(Invalid, match="FIFO queue"):
        queue.send("x", group="g", deduplication="x", delay_seconds=1)
    queue.send("x", group="g", deduplication="x", delay_seconds=0)
    assert queue.receive(visibility_seconds=30, wait_seconds=0) is not None


def test_beats_on_the_local_home_end_with_it_since_the_first_sweep_sends_them(
    tmp_path: Path, clock: FakeClock
) -> None:
    with sqlite(tmp_path, clock) as before:
        beat(before, "waiting", 10)
        before.beats.dead_letter(JAPANESE, group="hana", reason="no such agent")
    with sqlite(tmp_path, clock) as after:
        clock.advance(10)
        assert beats(after) == set()
        assert after.beats.list_dead_letters(9) == ((JAPANESE, "no such agent"),)
        beat(after, "waiting")
        assert beats(after) == {"waiting"}
