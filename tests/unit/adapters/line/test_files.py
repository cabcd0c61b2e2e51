"""Files on LINE: the content of a message, by its id alone, with the token."""

import pytest

from opencrab.adapters.chat.files import FilesWithToken
from opencrab.adapters.line.files import LineFiles
from opencrab.domain.errors import NotFound, Refused
from tests.line.fake import CONTENT, TOKEN
from tests.unit.adapters.telegram.test_client import Tokens
from tests.unit.adapters.web.net import Net, reply


def through(net: Net) -> LineFiles:
    return LineFiles(FilesWithToken(net.files(CONTENT), Tokens(TOKEN)), CONTENT)


def test_a_message_s_content_is_fetched_with_the_token() -> None:
    net = Net(lambda _: reply(b"crab"))
    assert through(net).fetch("354718705033693859", most=9, seconds=9) == b"crab"
    (request,) = net.requests
    assert request.startswith("GET /v2/bot/message/354718705033693859/content HTTP/1.1")
    assert f"authorization: Bearer {TOKEN}\r\n" in request
    assert net.looked_up == ["api-data.line.example.org"]


@pytest.mark.parametrize(
    "url", ["https://example.com/a.jpg", "../../info", "elsewhere:", "1/2", ""]
)
def test_what_is_no_message_s_id_is_not_asked_for(url: str) -> None:
    net = Net(lambda _: reply(b"never"))
    with pytest.raises(Refused):
        through(net).fetch(url, most=9, seconds=9)
    assert net.looked_up == []


@pytest.mark.parametrize("status", [403, 404, 410])
def test_content_that_line_no_longer_has_is_gone(status: int) -> None:
    with pytest.raises(NotFound):
        through(Net(lambda _: reply(status=status))).fetch("1", most=9, seconds=9)
