"""The setup of chat services over REST: for owners only, and only of services that exist."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from opencrab.adapters.system_clock import FakeClock
from opencrab.adapters.telegram.client import TelegramClient
from opencrab.adapters.telegram.link import TelegramLink
from opencrab.domain.chat.people import ChatPeople
from opencrab.domain.errors import Refused
from opencrab.ports.conversation.chat_link import Chat
from tests.contract.example import NOW
from tests.e2e.chat_house import OneToken
from tests.integration.rest.house import House, problem
from tests.telegram.fake import SECRET, TOKEN, FakeTelegram


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


def test_telegram_is_told_where_to_post_with_the_secret_in_no_answer(house: House) -> None:
    path = "/chats/telegram/webhook"
    problem(house.call("POST", path, {"url": "https://crab.example.org"}), 409)
    telegram = FakeTelegram(FakeClock(NOW), webhook="")
    client = TelegramClient(telegram.connect, "https://telegram.test", OneToken(TOKEN))
    link = TelegramLink(client)
    house.furnish(chats={"telegram": Chat(ChatPeople(), link, lambda: SECRET, "X")})
    for url in ("https://crab.example.org", "https://crab.example.org/channels/telegram/"):
        answer = house.call("POST", path, {"url": url})
        assert answer.json() == {"url": "https://crab.example.org/channels/telegram"}
        assert SECRET not in answer.text
    assert telegram.webhook == "https://crab.example.org/channels/telegram"
    assert telegram.secret == SECRET
    assert house.made(path, {"url": ""}) == {"url": ""}
    assert telegram.webhook == ""
    assert house.call("POST", path, {"url": "http://crab.example.org"}).status_code == 422

    def none() -> str:
        raise Refused("X is not set", cure="store X")

    house.furnish(chats={"telegram": Chat(ChatPeople(), link, none, "X")})
    problem(house.call("POST", path, {"url": "https://crab.example.org"}), 403)
    assert telegram.webhook == ""
