"""What Discord brings waits in a queue of its own, a channel's in order and each once."""

import json

import pytest

from opencrab.ports.home import Home
from opencrab.ports.turn.queue import Delivery, Queue
from tests.contract.example import ENGLISH, JAPANESE

CHANNEL, OTHER = "645027906669510667", "645027906669510668"


@pytest.fixture
def interactions(home: Home) -> Queue:
    assert home.interactions is not None
    return home.interactions


def bring(queue: Queue, interaction_id: str, text: str, channel_id: str = CHANNEL) -> str:
    body = json.dumps({"id": interaction_id, "data": {"text": text}}, ensure_ascii=False)
    queue.send(body, group=channel_id, deduplication=interaction_id)
    return body


def take(queue: Queue) -> Delivery | None:
    return queue.receive(visibility_seconds=30, wait_seconds=0)


@pytest.mark.parametrize("text", [JAPANESE, ENGLISH, "🦀" * 1_500])
def test_an_interaction_comes_as_it_was_brought(interactions: Queue, text: str) -> None:
    body = bring(interactions, "1", text)
    delivery = take(interactions)
    assert delivery is not None
    assert (delivery.body, delivery.group) == (body, CHANNEL)


def test_the_same_interaction_twice_is_one(interactions: Queue) -> None:
    for _ in range(2):
        bring(interactions, "1", JAPANESE)
    delivery = take(interactions)
    assert delivery is not None
    interactions.acknowledge(delivery.receipt)
    assert take(interactions) is None


def test_a_channel_keeps_its_order_and_does_not_hold_up_another(interactions: Queue) -> None:
    first = bring(interactions, "1", JAPANESE)
    second = bring(interactions, "2", ENGLISH)
    elsewhere = bring(interactions, "3", ENGLISH, OTHER)
    one, other = take(interactions), take(interactions)
    assert one is not None
    assert other is not None
    assert {one.body, other.body} == {first, elsewhere}
    assert take(interactions) is None
    interactions.acknowledge(one.receipt if one.body == first else other.receipt)
    following = take(interactions)
    assert following is not None
    assert following.body == second


def test_no_other_queue_has_it(home: Home, interactions: Queue) -> None:
    bring(interactions, "1", JAPANESE)
    for queue in (home.turns, home.deliveries, home.compactions):
        assert take(queue) is None
