"""Queues: in order within a group, one at a time per group, many groups at once."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from opencrab.adapters.system_clock import FakeClock
from opencrab.ports.turn.queue import Delivery, Queue
from tests.contract.example import ENGLISH, JAPANESE
from tests.contract.waiting import PATIENCE_SECONDS, at_once


@pytest.fixture(params=[0, 1], ids=["turns", "deliveries"])
def queue(request: pytest.FixtureRequest, queues: tuple[Queue, Queue]) -> Queue:
    found: Queue = queues[request.param]
    return found


def send(queue: Queue, *bodies: str, group: str = "g") -> None:
    for body in bodies:
        queue.send(body, group=group, deduplication=f"{group}/{body}")


def take(queue: Queue) -> Delivery | None:
    return queue.receive(visibility_seconds=30, wait_seconds=0)


def taken(queue: Queue) -> Delivery:
    delivery = take(queue)
    assert delivery is not None
    return delivery


def drained(queue: Queue) -> list[str]:
    bodies = []
    while (delivery := take(queue)) is not None:
        bodies.append(delivery.body)
        queue.acknowledge(delivery.receipt)
    return bodies


@pytest.mark.parametrize("body", [JAPANESE, ENGLISH, '{"v":1,"turn":"t1"}'])
def test_a_message_is_delivered_as_it_was_sent(queue: Queue, body: str) -> None:
    send(queue, body, group="朝の会")
    delivery = taken(queue)
    assert (delivery.body, delivery.group, delivery.count) == (body, "朝の会", 1)


def test_an_empty_queue_delivers_nothing(queue: Queue) -> None:
    assert take(queue) is None


def test_a_group_keeps_its_order(queue: Queue) -> None:
    bodies = [f"{number}番" for number in range(12)]
    send(queue, *bodies)
    assert drained(queue) == bodies


def test_a_group_has_one_message_in_flight(queue: Queue) -> None:
    send(queue, "一", "二")
    first = taken(queue)
    assert take(queue) is None
    queue.acknowledge(first.receipt)
    assert taken(queue).body == "二"


def test_groups_do_not_wait_for_each_other(queue: Queue) -> None:
    for group in ("a", "b", "c"):
        send(queue, "first", "second", group=group)
    assert {taken(queue).group for _ in range(3)} == {"a", "b", "c"}
    assert take(queue) is None


def test_the_two_queues_know_nothing_of_each_other(queues: tuple[Queue, Queue]) -> None:
    turns, deliveries = queues
    turns.send("turn", group="g", deduplication="d")
    deliveries.send("delivery", group="g", deduplication="d")
    assert (taken(turns).body, taken(deliveries).body) == ("turn", "delivery")


def test_the_same_message_within_five_minutes_is_added_once(queue: Queue, clock: FakeClock) -> None:
    send(queue, "朝")
    clock.advance(299)
    send(queue, "朝")
    assert drained(queue) == ["朝"]


def test_it_stays_known_after_it_was_done(queue: Queue, clock: FakeClock) -> None:
    send(queue, "朝")
    assert drained(queue) == ["朝"]
    clock.advance(200)
    send(queue, "朝")
    assert drained(queue) == []


def test_the_same_message_after_five_minutes_is_a_new_one(queue: Queue, clock: FakeClock) -> None:
    send(queue, "朝")
    clock.advance(301)
    send(queue, "朝")
    assert drained(queue) == ["朝", "朝"]


def test_a_repeat_does_not_lengthen_the_five_minutes(queue: Queue, clock: FakeClock) -> None:
    send(queue, "朝")
    clock.advance(200)
    send(queue, "朝")
    clock.advance(101)
    send(queue, "朝")
    assert drained(queue) == ["朝", "朝"]


def test_a_message_that_nobody_finishes_comes_again(queue: Queue, clock: FakeClock) -> None:
    send(queue, "一", "二")
    first = taken(queue)
    clock.advance(29)
    assert take(queue) is None
    clock.advance(2)
    again = taken(queue)
    assert (again.body, again.count) == ("一", 2)
    assert again.receipt != first.receipt


def test_an_old_receipt_finishes_nothing(queue: Queue, clock: FakeClock) -> None:
    send(queue, "一", "二")
    first = taken(queue)
    clock.advance(31)
    again = taken(queue)
    queue.acknowledge(first.receipt)
    assert not queue.continue_later(first.receipt, 0)
    assert take(queue) is None
    queue.acknowledge(again.receipt)
    assert drained(queue) == ["二"]


def test_an_unknown_receipt_is_ignored(queue: Queue) -> None:
    send(queue, "一")
    queue.acknowledge("どこにもない")
    assert not queue.continue_later("nowhere", 5)
    assert drained(queue) == ["一"]


def test_a_message_that_is_done_stays_done(queue: Queue, clock: FakeClock) -> None:
    send(queue, "一")
    delivery = taken(queue)
    queue.acknowledge(delivery.receipt)
    queue.acknowledge(delivery.receipt)
    clock.advance(1_000)
    assert take(queue) is None


def test_a_message_given_back_comes_again_later_and_its_group_waits(
    queue: Queue, clock: FakeClock
) -> None:
    send(queue, "一", "二")
    first = taken(queue)
    assert queue.continue_later(first.receipt, 10)
    clock.advance(9)
    assert take(queue) is None
    clock.advance(2)
    again = taken(queue)
    assert (again.body, again.count) == ("一", 2)
    queue.acknowledge(again.receipt)
    assert drained(queue) == ["二"]


def test_a_message_may_be_given_back_for_right_now(queue: Queue) -> None:
    send(queue, "一")
    assert queue.continue_later(taken(queue).receipt, 0)
    assert taken(queue).count == 2


def test_a_message_given_back_is_out_of_its_workers_hands(queue: Queue) -> None:
    send(queue, "一")
    delivery = taken(queue)
    queue.continue_later(delivery.receipt, 0)
    queue.acknowledge(delivery.receipt)
    assert drained(queue) == ["一"]


def test_a_message_that_is_done_is_not_given_back(queue: Queue) -> None:
    send(queue, "一")
    delivery = taken(queue)
    queue.acknowledge(delivery.receipt)
    assert not queue.continue_later(delivery.receipt, 5)


def test_dead_letters_are_kept_newest_first(queue: Queue, clock: FakeClock) -> None:
    for number, reason in enumerate(("壊れた", "broken", "三回失敗")):
        clock.advance(1)
        queue.dead_letter(f"letter {number}", group="g", reason=reason)
    assert queue.list_dead_letters(2) == (("letter 2", "三回失敗"), ("letter 1", "broken"))
    assert len(queue.list_dead_letters(10)) == 3
    assert take(queue) is None


def test_two_equal_letters_at_one_moment_are_both_kept(queue: Queue) -> None:
    queue.dead_letter("letter", group="g", reason="同じ")
    queue.dead_letter("letter", group="g", reason="同じ")
    assert queue.list_dead_letters(10) == (("letter", "同じ"), ("letter", "同じ"))


def test_eight_workers_get_eight_groups_and_no_message_twice(queue: Queue) -> None:
    for number in range(8):
        send(queue, f"{number}番", group=f"g{number}")
    found = at_once(8, lambda _: take(queue))
    bodies = [delivery.body for delivery in found if delivery is not None]
    assert len(set(bodies)) == len(bodies)
    assert sorted(bodies + drained(queue)) == sorted(f"{number}番" for number in range(8))


def test_eight_workers_on_one_group_get_one_message(queue: Queue) -> None:
    send(queue, "一", "二", "三")
    found = [delivery for delivery in at_once(8, lambda _: take(queue)) if delivery is not None]
    assert [delivery.body for delivery in found] == ["一"]


def test_a_waiting_worker_is_woken_by_a_message(queue: Queue) -> None:
    with ThreadPoolExecutor(1) as pool:
        started = time.monotonic()
        waiting = pool.submit(queue.receive, visibility_seconds=30, wait_seconds=PATIENCE_SECONDS)
        send(queue, "起きて")
        delivery = waiting.result(PATIENCE_SECONDS)
    assert delivery is not None
    assert delivery.body == "起きて"
    assert time.monotonic() - started < PATIENCE_SECONDS


def test_a_waiting_worker_is_woken_when_the_group_is_free(queue: Queue) -> None:
    send(queue, "一", "二")
    first = taken(queue)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(queue.receive, visibility_seconds=30, wait_seconds=PATIENCE_SECONDS)
        queue.acknowledge(first.receipt)
        delivery = waiting.result(PATIENCE_SECONDS)
    assert delivery is not None
    assert delivery.body == "二"


def test_a_worker_waits_no_longer_than_it_said(queue: Queue) -> None:
    started = time.monotonic()
    assert queue.receive(visibility_seconds=30, wait_seconds=0.05) is None
    assert 0.05 <= time.monotonic() - started < PATIENCE_SECONDS
