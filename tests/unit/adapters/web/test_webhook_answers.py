"""Answers to a webhook's address: signed, to the public internet only, repeated under one id."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.conversation.message import Channel, Utterance
from opencrab.domain.document import new_fact
from opencrab.domain.errors import Invalid, NotFound, OpenCrabError, Refused, Unavailable
from opencrab.domain.webhooks.webhook import ANSWERS, WEBHOOK, WEBHOOKS, Webhook, WebhookAnswers
from opencrab.ports.home import Home
from tests.contract.example import NOW
from tests.contract.homes import sqlite
from tests.unit.adapters.web.net import PUBLIC, Net, moved, reply
from tests.unit.gateways.door.visiting import OLD, SECRET, Visit, standard

URL = "https://hooks.example.org/crab?x=1"


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    with sqlite(tmp_path, FakeClock(NOW)) as made:
        yield made


def add(home: Home, **fields: Any) -> None:
    given = {"secrets": ("x",), "agent_id": "hana", "created_by": "taro", "created_at": NOW}
    given |= {"reply_to": URL, "reply_secret": SECRET, **fields}
    hook = Webhook.model_validate(given)
    home.facts.commit(new_fact(WEBHOOKS, WEBHOOK, "ci", hook).replaced(version=0))


def utterance(text: str = "蟹が来ました 🦀", **changes: Any) -> Utterance:
    return Utterance(
        channel=Channel(kind="webhook", address="ci"),
        turn_id="t1",
        ordinal=1,
        agent_id="hana",
        session_id="s1",
        text=text,
        nonce="n",
        created_at=NOW,
        updated_at=NOW,
    ).replaced(**changes)


def send(home: Home, net: Net, said: Utterance | None = None) -> None:
    net.answers(home.facts, FakeClock(NOW)).send(said or utterance())


def received(net: Net) -> tuple[str, dict[str, str], bytes]:
    """The last request: its first line, headers and body."""
    head, _, body = net.requests[-1].partition("\r\n\r\n")
    first, *lines = head.split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines)
    return first, {name.lower(): text for name, text in headers.items()}, body.encode("latin-1")


def problem(home: Home) -> str:
    found = home.facts.get(WEBHOOKS, ANSWERS, "ci")
    return "" if found is None else found.read(WebhookAnswers).problem


def test_an_answer_is_posted_and_signed(home: Home) -> None:
    add(home)
    net = Net(lambda url: reply(b"thanks, and a very long text" * 1_000, status=204))
    send(home, net, utterance(closes=True))
    first, headers, body = received(net)
    assert first == "POST /crab?x=1 HTTP/1.1"
    assert json.loads(body) == {
        "type": "message.sent",
        "timestamp": NOW.isoformat(),
        "data": {
            "webhook": "ci",
            "agent_id": "hana",
            "session_id": "s1",
            "turn_id": "t1",
            "text": "蟹が来ました 🦀",
            "last": True,
        },
    }
    assert (net.dialled, net.proved) == ([(PUBLIC, 443)], ["hooks.example.org"])
    # Our own door, which the official library agrees with (tests/interop), takes it.
    epoch = NOW.timestamp()
    assert Visit({"ci": standard()}).ask("ci", headers, body, now=epoch).status == 202
    other = Visit({"ci": standard(secrets=[OLD])})
    assert other.ask("ci", headers, body, now=epoch).status == 401
    assert SECRET not in net.requests[0]
    assert problem(home) == ""


def test_a_repeat_has_the_same_id_and_another_answer_another(home: Home) -> None:
    add(home)
    net = Net(lambda url: reply())
    ids = []
    for ordinal in (1, 1, 2):
        send(home, net, utterance(ordinal=ordinal))
        ids.append(received(net)[1]["webhook-id"])
    assert ids[0] == ids[1] != ids[2]
    channel = net.answers(home.facts, FakeClock(NOW))
    assert channel.is_idempotent(utterance())
    assert channel.piece_count(utterance("x" * 100_000)) == 1


def test_an_approval_that_is_asked_for_says_which(home: Home) -> None:
    add(home)
    net = Net(lambda url: reply())
    send(home, net, utterance(approval="a1"))
    told = json.loads(received(net)[2])
    assert (told["type"], told["data"]["approval_id"]) == ("approval.requested", "a1")


def test_a_turn_that_says_nothing_is_said_to_have_ended(home: Home) -> None:
    add(home)
    net = Net(lambda url: reply())
    send(home, net, utterance("", closes=True, opens=True))
    assert json.loads(received(net)[2])["type"] == "turn.ended"


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (reply(status=500), Unavailable), (reply(status=503), Unavailable),
        (reply(status=429), Unavailable), (reply(status=400), Invalid),
        (reply(status=404), Invalid), (reply(status=410), Invalid),
        (moved("https://elsewhere.example.org/"), Refused), (moved("", 308), Refused),
        ([], Unavailable), ([b"SSH-2.0-OpenSSH\r\n"], Unavailable),
    ],
)  # fmt: skip
def test_what_fails_is_said_by_what_helps_and_shown_until_one_arrives(
    home: Home, answer: Iterable[bytes], error: type[OpenCrabError]
) -> None:
    add(home)
    with pytest.raises(error) as raised:
        send(home, Net(lambda url: answer))
    assert problem(home) == raised.value.message
    assert SECRET not in raised.value.message
    send(home, Net(lambda url: reply()))
    assert problem(home) == ""


def test_a_receiver_that_says_nothing_is_given_up_in_time(home: Home) -> None:
    add(home)
    net = Net(lambda url: [b"HTTP/1.1 ", *[b"x"] * 100], seconds_per_piece=4.0)
    with pytest.raises(Unavailable, match="in time"):
        send(home, net)
    assert net.now <= 1_020.0


@pytest.mark.parametrize("numbers", [("10.0.0.7",), (PUBLIC, "169.254.169.254"), ("::1",)])
def test_a_private_address_is_not_dialled(home: Home, numbers: tuple[str, ...]) -> None:
    add(home)
    net = Net(lambda url: reply(), {"hooks.example.org": numbers})
    with pytest.raises(Refused, match="public internet"):
        send(home, net)
    assert net.dialled == []


@pytest.mark.parametrize(
    "url",
    ["https://10.0.0.7/", "https://localhost/x", "https://u@example.org/", "https://x.local/"],
)
def test_an_address_that_is_none_of_the_internet_is_not_looked_up(home: Home, url: str) -> None:
    add(home, reply_to=url)
    net = Net(lambda url: reply())
    with pytest.raises(Invalid):
        send(home, net)
    assert net.looked_up == []


def test_a_webhook_that_was_removed_or_changed_gets_nothing_more(home: Home) -> None:
    net = Net(lambda url: reply())
    with pytest.raises(NotFound, match="no webhook 'ci'"):
        send(home, net)
    add(home, reply_to="", reply_secret="")
    with pytest.raises(Refused):
        send(home, net)
    assert net.requests == []
