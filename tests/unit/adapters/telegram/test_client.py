"""What Telegram answers becomes an error by what the sender must do, and never shows a token."""

from dataclasses import dataclass

import pytest

from opencrab.adapters.system_clock import FakeClock
from opencrab.adapters.telegram.client import LONGEST_PAUSE, TelegramClient
from opencrab.domain.errors import Conflict, Invalid, NeverSent, OpenCrabError, Refused, Unavailable
from tests.contract.example import NOW
from tests.discord.faults import Drop, Fault, Limited, Status
from tests.telegram.fake import OWNER, TOKEN, FakeTelegram

HELLO = {"chat_id": int(OWNER), "text": "やあ"}


@dataclass
class Tokens:
    """The bot's token; a new one is found after it is forgotten."""

    known: str = TOKEN
    renewed: str = TOKEN

    def token(self) -> str:
        return self.known

    def forget(self) -> None:
        self.known = self.renewed


def talking() -> tuple[FakeTelegram, Tokens, TelegramClient]:
    clock = FakeClock(NOW)
    telegram, tokens = FakeTelegram(clock), Tokens()
    seconds = lambda: clock.now().timestamp()  # noqa: E731
    client = TelegramClient(telegram.connect, "https://telegram.test", tokens, seconds)
    return telegram, tokens, client


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (Drop("before"), Unavailable), (Drop("after"), Unavailable),
        (Status(500, "after"), Unavailable), (Status(403, "before"), Refused),
        (Status(400, "before"), Invalid), (Status(409, "before"), Conflict),
        (Limited(3), NeverSent),
    ],
)  # fmt: skip
def test_each_answer_says_what_to_do(fault: Fault, error: type[OpenCrabError]) -> None:
    telegram, _, client = talking()
    telegram.faults.plan("sendMessage", fault)
    with pytest.raises(error) as raised:
        client.call("sendMessage", HELLO)
    assert TOKEN not in f"{raised.value} {raised.value.cure}"


def test_a_chat_is_left_alone_for_as_long_as_was_asked_and_not_for_ever() -> None:
    telegram, _, client = talking()
    telegram.faults.plan("sendMessage", Limited(10**9))
    for _ in range(2):
        with pytest.raises(NeverSent):
            client.call("sendMessage", HELLO)
    client.call("sendMessage", {**HELLO, "chat_id": 1002})
    assert len(telegram.log) == 2
    telegram.clock.advance(LONGEST_PAUSE + 1)
    client.call("sendMessage", HELLO)
    assert telegram.texts() == ["やあ"]


def test_a_token_that_was_replaced_is_read_again() -> None:
    telegram, tokens, client = talking()
    telegram.token = "4242:new"
    with pytest.raises(Refused) as raised:
        client.call("getMe", {})
    assert TOKEN not in str(raised.value)
    tokens.renewed = "4242:new"
    assert client.call("getMe", {})["username"]


def test_half_an_emoji_is_sent_as_json_can_say_it() -> None:
    telegram, _, client = talking()
    client.call("sendMessage", {**HELLO, "text": "蟹 \ud83e"})
    assert telegram.log[-1].body["text"] == "蟹 \ud83e"
