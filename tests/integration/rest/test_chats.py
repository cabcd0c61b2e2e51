"""The setup of chat services over REST: for owners only, and only of services that exist."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.rest.house import House


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    made = House(tmp_path)
    yield made
    made.close()


def test_a_service_that_is_off_says_how_to_switch_it_on(house: House) -> None:
    (check,) = house.call("GET", "/chats/line").json()["checks"]
    assert (check["name"], check["state"]) == ("line", "problem")
    assert "gateway.line.enabled" in check["cure"]


def test_an_unknown_service_is_refused(house: House) -> None:
    assert house.call("GET", "/chats/pager").status_code == 422
