"""Idempotency: a request is remembered for a day, and its answer with it."""

import pytest

from opencrab.ports.access.idempotency import RememberedRequest
from opencrab.ports.home import Home
from tests.contract.example import ENGLISH, JAPANESE, NOW, later
from tests.contract.waiting import at_once

DAY_SECONDS = 24 * 60 * 60


def test_the_first_request_with_a_key_is_new(home: Home) -> None:
    assert home.idempotency.begin("key", "hash", NOW) is None


def test_a_repeat_before_the_answer_finds_the_request_alone(home: Home) -> None:
    home.idempotency.begin("key", "hash", NOW)
    assert home.idempotency.begin("key", "hash", NOW) == RememberedRequest("hash", None, None)


@pytest.mark.parametrize("body", [JAPANESE, ENGLISH, ""])
def test_a_repeat_after_the_answer_finds_it(home: Home, body: str) -> None:
    home.idempotency.begin("key", "hash", NOW)
    home.idempotency.finish("key", 201, body)
    assert home.idempotency.begin("key", "hash", later(5)) == RememberedRequest("hash", 201, body)


def test_another_request_with_the_key_finds_the_first(home: Home) -> None:
    home.idempotency.begin("key", "hash of 朝", NOW)
    assert home.idempotency.begin("key", "hash of 夜", NOW) == RememberedRequest(
        "hash of 朝", None, None
    )
    assert home.idempotency.begin("key", "hash of 朝", NOW) == RememberedRequest(
        "hash of 朝", None, None
    )


def test_keys_do_not_know_each_other(home: Home) -> None:
    home.idempotency.begin("taro/鍵", "hash", NOW)
    assert home.idempotency.begin("jiro/鍵", "hash", NOW) is None


def test_a_request_is_remembered_for_a_day(home: Home) -> None:
    home.idempotency.begin("key", "hash", NOW)
    home.idempotency.finish("key", 200, "はい")
    found = home.idempotency.begin("key", "hash", later(DAY_SECONDS - 1))
    assert found == RememberedRequest("hash", 200, "はい")


def test_after_a_day_a_key_may_be_used_again(home: Home) -> None:
    home.idempotency.begin("key", "old", NOW)
    home.idempotency.finish("key", 200, "はい")
    tomorrow = later(DAY_SECONDS + 1)
    assert home.idempotency.begin("key", "new", tomorrow) is None
    assert home.idempotency.begin("key", "new", tomorrow) == RememberedRequest("new", None, None)


def test_an_answer_does_not_lengthen_the_day(home: Home) -> None:
    home.idempotency.begin("key", "hash", NOW)
    home.idempotency.finish("key", 200, "はい")
    assert home.idempotency.begin("key", "hash", later(DAY_SECONDS + 1)) is None


def test_an_answer_to_an_unknown_request_is_ignored(home: Home) -> None:
    home.idempotency.finish("key", 200, "はい")
    assert home.idempotency.begin("key", "hash", NOW) is None


def test_of_eight_equal_requests_at_once_one_is_the_first(home: Home) -> None:
    found = at_once(8, lambda _: home.idempotency.begin("key", "hash", NOW))
    assert found.count(None) == 1
