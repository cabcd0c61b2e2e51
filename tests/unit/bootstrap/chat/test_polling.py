"""A server on the owner's computer asks Telegram only where that is switched on."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from opencrab.bootstrap.chat.polling import polled_chats
from opencrab.domain.document import INSTALLATION_FACTS
from opencrab.domain.email.letter import MAILBOX
from opencrab.settings import load_settings
from tests.contract.homes import HOMES
from tests.crash.outside import Reply
from tests.e2e.email_house import RULES, EmailHouse
from tests.e2e.telegram_house import TelegramHouse
from tests.email.fake import ADDRESS


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


@pytest.mark.parametrize("is_verified", [True, False])
def test_a_mailbox_is_read_and_left_alone_where_nobody_can_be_verified(
    tmp_path: Path, *, is_verified: bool
) -> None:
    house = EmailHouse(HOMES[0], tmp_path)
    house.agent("kani", (Reply(text="やあ"),))
    if not is_verified:
        house.rules = RULES.replaced(authserv_id="")
        house.begin()
    given = {"OPENCRAB_GATEWAY__EMAIL__ADDRESS": ADDRESS}
    woken = Event()
    plain: Any = replace(house.runtime, home=house.home)
    house.vendor.door = lambda: 200
    with polled_chats(load_settings({}, given), plain, woken.set):
        ready = wait_for(
            lambda: house.home.facts.page(INSTALLATION_FACTS, MAILBOX)[1:],
            tries=1_000 if is_verified else 5,
        )
        assert ready is is_verified
        house.vendor.says("元気?")
        assert woken.wait(20 if is_verified else 0.1) is is_verified
    house.rest()
    assert house.vendor.texts(EmailHouse.owner) == (["やあ"] if is_verified else [])
    house.close()


def wait_for(found: Callable[[], object], *, tries: int) -> bool:
    """Whether something is found within some seconds."""
    never = Event()
    return any(found() or never.wait(0.02) for _ in range(tries))
