"""Files on Slack: only from its file servers, with the token, and never a page for people."""

import pytest

from opencrab.adapters.chat.files import FilesWithToken
from opencrab.adapters.slack.files import SlackFiles
from opencrab.adapters.system_clock import FakeClock
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
from tests.slack.fake import FILES, TOKEN, FakeSlack
from tests.unit.adapters.telegram.test_client import Tokens
from tests.unit.adapters.web.net import Net, moved, reply

PAGE = b"\n<!DOCTYPE html><html><title>Slack</title>"


class World:
    """A Slack with files, and the product's way to them."""

    def __init__(self) -> None:
        self.slack = FakeSlack(FakeClock(NOW))
        self.net = Net(self.slack.download)
        self.tokens = Tokens("xoxb-old", TOKEN)
        source = FilesWithToken(self.net.files(FILES), self.tokens)
        self.files = SlackFiles(source, FILES)

    def fetch(self, url: str | None = None) -> bytes:
        address = url or self.slack.file("a.txt", b"crab")["url_private_download"]
        return self.files.fetch(address, most=100, seconds=10)


def test_a_file_is_fetched_with_the_token() -> None:
    world = World()
    assert world.fetch() == b"crab"
    (request,) = world.net.requests
    assert "authorization: Bearer xoxb-old\r\n" in request


@pytest.mark.parametrize(
    "url",
    [
        "https://docs.google.com/a", "https://files.slack.example.org.evil.com/a",
        "http://files.slack.example.org/a", "https://slack.example.org/a", "F0S43PZDF",
    ],
)  # fmt: skip
def test_no_other_address_is_asked_or_told_the_token(url: str) -> None:
    world = World()
    with pytest.raises(Refused):
        world.fetch(url)
    assert world.net.looked_up == []


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (moved("https://t0team.slack.example.org/?redir=x"), Unauthenticated),
        (reply(PAGE, "text/html"), Unauthenticated),
        (reply(status=404), NotFound), (reply(status=503), Unavailable),
        (reply(bytes(101)), TooLarge),
    ],
)  # fmt: skip
def test_each_answer_about_a_file_says_what_to_do(
    answer: list[bytes], error: type[OpenCrabError]
) -> None:
    world = World()
    world.slack.file_faults.append(answer)
    with pytest.raises(error) as raised:
        world.fetch()
    assert type(raised.value) is error
    assert "xoxb" not in f"{raised.value} {raised.value.cure}"


def test_without_the_scope_slack_asks_to_sign_in() -> None:
    world = World()
    world.slack.scopes = "chat:write"
    with pytest.raises(Unauthenticated):
        world.fetch()


def test_a_page_that_somebody_attached_is_taken() -> None:
    world = World()
    address = f"{FILES}files-pri/T-F/download/page.html"
    world.slack.files[address] = PAGE
    assert world.fetch(address) == PAGE


def test_a_token_that_was_replaced_is_read_again() -> None:
    world = World()
    world.slack.file_faults.append(reply(status=401))
    with pytest.raises(Unavailable):
        world.fetch()
    assert world.fetch() == b"crab"
    assert f"Bearer {TOKEN}" in world.net.requests[-1]


def test_an_address_that_is_none_is_no_fault_of_the_token() -> None:
    world = World()
    with pytest.raises(Invalid) as raised:
        world.fetch(f"{FILES}../x")
    assert raised.value.field == "url"
    assert world.tokens.token() == "xoxb-old"


def test_without_a_token_nothing_is_asked() -> None:
    class NoToken:
        def token(self) -> str:
            raise Refused("SLACK_BOT_TOKEN is not set")

        def forget(self) -> None:
            """There is none."""

    net = Net(lambda _: reply())
    with pytest.raises(Unauthenticated, match="SLACK_BOT_TOKEN"):
        FilesWithToken(net.files(FILES), NoToken()).fetch(f"{FILES}a", most=1, seconds=1)
    assert net.looked_up == []
