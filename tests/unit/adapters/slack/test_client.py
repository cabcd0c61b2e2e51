"""What Slack answers becomes an error by what the sender must do, and never shows a token."""

from dataclasses import dataclass

import pytest

from opencrab.adapters.slack.client import SlackClient
from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.errors import Invalid, NeverSent, NotFound, OpenCrabError, Refused, Unavailable
from tests.contract.example import NOW
from tests.discord.faults import Drop, Limited, Status
from tests.slack.fake import TOKEN, FakeSlack


@dataclass
class Tokens:
    """The bot's token; a new one is found after it is forgotten."""

    known: str = TOKEN
    renewed: str = TOKEN

    def token(self) -> str:
        return self.known

    def forget(self) -> None:
        self.known = self.renewed


def talking() -> tuple[FakeSlack, Tokens, SlackClient]:
    slack, tokens = FakeSlack(FakeClock(NOW)), Tokens()
    return slack, tokens, SlackClient(slack.connect, "https://slack.test/api", tokens)


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({"channel": "X1", "text": "?"}, NotFound),
        ({"channel": "C1", "text": ""}, Invalid),
        ({"channel": "C1", "text": "x" * 40_001}, Invalid),
    ],
)
def test_a_code_of_slack_says_what_to_do(body: dict[str, str], kind: type[OpenCrabError]) -> None:
    _, _, client = talking()
    with pytest.raises(kind, match="Slack answered"):
        client.call("chat.postMessage", body)


def test_faults_are_told_apart_by_whether_anything_may_be_seen() -> None:
    slack, _, client = talking()
    body = {"channel": "C1", "text": "やあ"}
    for fault, kind in ((Drop(), Unavailable), (Status(503), Unavailable), (Limited(), NeverSent)):
        slack.faults.plan("", fault)
        with pytest.raises(kind) as raised:
            client.call("chat.postMessage", body)
        assert isinstance(raised.value, NeverSent) is (kind is NeverSent)
    assert slack.texts("C1") == []
    client.call("chat.postMessage", body)
    assert slack.texts("C1") == ["やあ"]


def test_a_replaced_token_is_read_again_and_never_shown() -> None:
    slack, tokens, client = talking()
    slack.token = "xoxb-new"
    with pytest.raises(Refused, match="invalid_auth") as refused:
        client.call("auth.test", {})
    assert TOKEN not in f"{refused.value} {refused.value.cure}"
    tokens.renewed = "xoxb-new"
    assert client.call("auth.test", {})["user"] == "kani"
