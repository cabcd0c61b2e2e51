"""Files on Telegram: asked for by id, fetched in the time that is left, the token never shown."""

import pytest

from opencrab.adapters.system_clock import FakeClock
from opencrab.adapters.telegram.client import TelegramClient
from opencrab.adapters.telegram.files import TelegramFiles
from opencrab.domain.errors import (
    Invalid,
    NotFound,
    OpenCrabError,
    Refused,
    TooLarge,
    Unauthenticated,
    Unavailable,
)
from tests.contract.example import NOW
from tests.discord.faults import Drop, Fault, Limited, Status
from tests.telegram.fake import DOWNLOAD, TOKEN, FakeTelegram
from tests.unit.adapters.telegram.test_client import Tokens
from tests.unit.adapters.web.net import Net

API = "https://telegram.example.org"


class World:
    """A Telegram with files, and the product's way to them."""

    def __init__(self, token: str = TOKEN, below: str = f"{API}/file/") -> None:
        clock = FakeClock(NOW)
        self.clock = clock
        self.telegram = FakeTelegram(clock)
        self.net = Net(self.telegram.download)
        seconds = lambda: clock.now().timestamp()  # noqa: E731
        client = TelegramClient(self.telegram.connect, API, Tokens(token, token), seconds)
        self.files = TelegramFiles(client, self.net.files(below), seconds)

    def fetch(self, content: bytes = b"crab", *, seconds: float = 10) -> bytes:
        file_id = self.telegram.document("a.txt", content)["document"]["file_id"]
        return self.files.fetch(file_id, most=100, seconds=seconds)


def test_a_file_is_fetched_where_telegram_says_it_is() -> None:
    world = World()
    assert world.fetch() == b"crab"
    (request,) = world.net.requests
    assert request.startswith(f"GET /file/bot{TOKEN}/documents/AgAD-0 ")
    assert world.net.looked_up == ["telegram.example.org"]


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (Drop("before"), Unavailable), (Status(500, "after"), Unavailable),
        (Limited(3), Unavailable), (Status(400, "before"), Unavailable),
        (Status(401, "before"), Unauthenticated), (Status(403, "before"), Unauthenticated),
    ],
)  # fmt: skip
def test_each_answer_about_a_file_says_what_to_do(fault: Fault, error: type[OpenCrabError]) -> None:
    world = World()
    world.telegram.faults.plan("getFile", fault)
    world.telegram.faults.plan("getFile", fault)
    with pytest.raises(error) as raised:
        world.fetch()
    assert TOKEN not in f"{raised.value} {raised.value.cure}"


def test_what_telegram_does_not_hand_out_is_too_large_or_gone() -> None:
    world = World()
    with pytest.raises(TooLarge):
        world.fetch(bytes(DOWNLOAD + 1))
    with pytest.raises(TooLarge):
        world.fetch(bytes(101))
    world.telegram.file_faults.append([b"HTTP/1.1 404 X\r\ncontent-length: 0\r\n\r\n"])
    with pytest.raises(NotFound) as raised:
        world.fetch()
    assert TOKEN not in str(raised.value)


def test_a_path_that_leads_elsewhere_is_not_asked_for() -> None:
    world = World()
    for folder in ("../../", "..%2fother", "/var/lib/", ""):
        world.telegram.folder = folder
        with pytest.raises((Invalid, NotFound, Refused)):
            world.fetch()
    assert all(f"GET /file/bot{TOKEN}/" in each for each in world.net.requests)


def test_the_time_of_both_requests_is_shared() -> None:
    world = World()
    world.net.seconds_per_piece = 3
    with pytest.raises(Unavailable):
        world.fetch(seconds=2)
    assert world.fetch(seconds=60) == b"crab"


def test_a_server_that_is_not_on_the_internet_hands_out_no_files() -> None:
    world = World(below="https://telegram.example.com/file/")
    with pytest.raises(Refused):
        world.fetch()
    assert world.net.looked_up == []
