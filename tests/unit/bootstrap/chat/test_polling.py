"""A server on the owner's computer asks Telegram only where that is switched on."""

from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from opencrab.bootstrap.chat.polling import polled_chats
from opencrab.settings import load_settings
from tests.contract.homes import HOMES
from tests.crash.outside import Reply
from tests.e2e.telegram_house import TelegramHouse


@pytest.mark.parametrize("is_polled", [True, False])
def test_a_message_is_queued_and_somebody_is_woken(tmp_path: Path, *, is_polled: bool) -> None:
    house = TelegramHouse(HOMES[0], tmp_path)
    house.agent("kani", (Reply(text="やあ"),))
    house.vendor.webhook = ""
    house.vendor.says("元気?")
    given = {"OPENCRAB_GATEWAY__TELEGRAM__POLLING": str(is_polled).lower()}
    woken = Event()
    plain: Any = replace(house.runtime, home=house.home)
    with polled_chats(load_settings({}, given), plain, woken.set):
        assert woken.wait(20 if is_polled else 0.1) is is_polled
    house.rest()
    assert house.vendor.texts() == (["やあ"] if is_polled else [])
    house.close()
