"""The client sorts what Discord answers by what to do, keeps its limits and tells no token."""

import json
import logging
from collections.abc import Callable

import httpx
import pytest

from opencrab.adapters.discord.client import DiscordClient
from opencrab.domain.discord.community import InteractionReply
from opencrab.domain.errors import (
    Invalid,
    NeverSent,
    NotFound,
    OpenCrabError,
    Refused,
    TooLarge,
    Unavailable,
)
from opencrab.ports.discord import Attachment
from tests.discord.fake import ELSEWHERE, SERVER_CHANNEL, TOKEN
from tests.discord.faults import Drop, Limited, Status
from tests.discord.limits import Rate
from tests.unit.adapters.discord.speaking import CRAB, OWN_TOKEN, Talk, Tokens

CHANNEL = SERVER_CHANNEL.channel_id
Answering = Callable[[httpx.Request], httpx.Response]


def post(talk: Talk, text: str = "hi", nonce: str = "n1", token: str | None = None) -> str:
    return talk.client.post(CHANNEL, {"content": text}, nonce=nonce, token=token)


def client(talk: Talk, answer: Answering) -> DiscordClient:
    """A client of a Discord that answers so."""
    return DiscordClient(
        lambda: httpx.MockTransport(answer),
        "https://discord.example/api/v10",
        Tokens(),
        talk.clock,
        talk.clock.advance,
    )


def test_an_answer_replaces_the_first_one_and_can_be_taken_back(talk: Talk) -> None:
    reply = talk.asked()
    message_id = talk.client.edit_reply(reply, {"content": "考えました🦀"})
    (message,) = talk.shown()
    assert (message.id, message.content) == (message_id, "考えました🦀")
    talk.client.delete_reply(reply)
    talk.client.delete_reply(reply)
    assert talk.shown() == []
    assert talk.discord.complaints == []


def test_a_post_with_the_same_nonce_answers_the_message_that_is_there(talk: Talk) -> None:
    assert post(talk) == post(talk)
    assert len(talk.shown()) == 1


def test_files_travel_with_a_message_by_token_and_as_bot(talk: Talk) -> None:
    reply = talk.asked()
    file = Attachment("answer.md", "全文🦀\r\n--end".encode(), "text/markdown; charset=utf-8")
    talk.client.edit_reply(reply, {"content": "see"}, file)
    talk.client.follow_up(reply, {"content": "again"}, file)
    talk.client.post(CHANNEL, {"content": "here"}, file, nonce="n1", token=None)
    for message in talk.shown():
        assert [(each.name, each.content) for each in message.files] == [(file.name, file.content)]
    assert talk.discord.complaints == []


def test_mentions_are_off_whatever_a_message_says(talk: Talk) -> None:
    reply = talk.asked()
    loud = {"content": "@everyone", "allowed_mentions": {"parse": ["everyone"]}}
    talk.client.edit_reply(reply, loud)
    talk.client.follow_up(reply, loud)
    message_id = talk.client.post(CHANNEL, loud, nonce="n1", token=None)
    talk.client.edit(CHANNEL, message_id, loud)
    said = [each.request.json["allowed_mentions"] for each in talk.discord.log[1:]]
    assert said == [{"parse": []}] * 4


def test_other_calls_answer_what_discord_says(talk: Talk) -> None:
    assert talk.client.ask("GET", "/users/@me")["username"] == "OpenCrab"
    commands = f"/applications/{talk.discord.application_id}/commands"
    assert talk.client.ask("GET", f"{commands}?with_localizations=true") == []
    with pytest.raises(NotFound, match="Unknown Channel"):
        talk.client.ask("GET", "/channels/1")


def test_an_agents_own_bot_posts_with_its_own_token(talk: Talk) -> None:
    talk.tokens.known["CRAB"] = OWN_TOKEN
    post(talk, token="CRAB")
    assert talk.shown()[0].author == CRAB
    with pytest.raises(Refused, match="set OTHER"):
        post(talk, token="OTHER")


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, Invalid), (403, Refused), (404, NotFound), (405, Invalid), (413, TooLarge),
        (500, Unavailable), (502, Unavailable), (503, Unavailable), (302, Unavailable),
    ],
)  # fmt: skip
def test_each_status_becomes_the_error_that_says_what_to_do(
    talk: Talk, status: int, kind: type[OpenCrabError]
) -> None:
    reply = talk.asked()
    talk.discord.fail("PATCH", Status(status))
    with pytest.raises(kind) as raised:
        talk.client.edit_reply(reply, {"content": "hi"})
    assert type(raised.value) is kind
    assert str(status) in raised.value.message


def test_what_discord_finds_wrong_is_told_in_one_line(talk: Talk) -> None:
    reply = talk.asked()
    with pytest.raises(Invalid) as raised:
        talk.client.edit_reply(reply, {"content": "x" * 2_001, "embeds": [{"title": "x" * 300}]})
    assert "embeds.0.title: " in raised.value.message
    assert "(code 50035)" in raised.value.message
    assert "\n" not in raised.value.message


def test_a_deep_or_strange_tree_of_errors_is_no_trouble(talk: Talk) -> None:
    tree: object = {"_errors": "none"}
    for _ in range(900):
        tree = {"0": tree, "_errors": [None, {"message": "deep", "code": 1}]}
    body = json.dumps({"message": 5, "code": "x", "errors": tree}).encode()
    for content in (body, b"[]", b"null", b"\xff", b"", b'{"errors": [1]}'):
        asking = client(talk, lambda _, content=content: httpx.Response(400, content=content))  # type: ignore[misc]
        with pytest.raises(Invalid) as raised:
            asking.ask("GET", "/users/@me")
        assert len(raised.value.message) < 500


def test_a_connection_that_is_refused_sent_nothing(talk: Talk) -> None:
    def refuse(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused", request=request)

    with pytest.raises(NeverSent, match="ConnectError"):
        client(talk, refuse).ask("GET", "/users/@me")


@pytest.mark.parametrize("error", [httpx.ReadTimeout, httpx.ReadError, httpx.RemoteProtocolError])
def test_an_answer_that_does_not_come_leaves_it_open(
    talk: Talk, error: type[httpx.TransportError]
) -> None:
    def drop(request: httpx.Request) -> httpx.Response:
        raise error(f"while asking {request.url}", request=request)

    with pytest.raises(Unavailable) as raised:
        client(talk, drop).ask("GET", "/users/@me")
    assert not isinstance(raised.value, NeverSent)


def test_an_answer_that_is_no_json_was_an_answer(talk: Talk) -> None:
    broken = client(talk, lambda _: httpx.Response(200, content=b"<html>"))
    assert broken.post(CHANNEL, {"content": "hi"}, nonce="n", token=None) == ""


def test_a_further_answer_is_never_sent_twice_by_itself(talk: Talk) -> None:
    reply = talk.asked()
    talk.client.edit_reply(reply, {"content": "first"})
    talk.discord.fail("POST /webhooks", Drop("after"))
    with pytest.raises(Unavailable):
        talk.client.follow_up(reply, {"content": "second"})
    assert [each.content for each in talk.shown()] == ["first", "second"]
    assert len(talk.discord.requests("POST /webhooks")) == 1


def test_an_interaction_that_has_not_spread_yet_is_asked_again_later(talk: Talk) -> None:
    interaction = talk.discord.command("ask")
    young = InteractionReply(
        id=interaction.id,
        application_id=talk.discord.application_id,
        token=interaction.token,
        channel_id=CHANNEL,
    )
    with pytest.raises(NeverSent, match="yet"):
        talk.client.edit_reply(young, {"content": "hi"})
    with pytest.raises(NeverSent):
        talk.client.delete_reply(young)
    talk.clock.advance(61)
    with pytest.raises(NotFound, match="Unknown Webhook"):
        talk.client.edit_reply(young, {"content": "hi"})


def test_an_expired_token_is_gone_and_nothing_to_be_put_right(talk: Talk) -> None:
    reply = talk.asked()
    talk.clock.advance(16 * 60)
    with pytest.raises(NotFound, match="Invalid Webhook Token"):
        talk.client.edit_reply(reply, {"content": "hi"})


def test_a_token_that_was_replaced_is_read_again_once(talk: Talk) -> None:
    talk.tokens.known[None] = "old.token.of-the-bot"
    talk.tokens.renewed[None] = TOKEN
    post(talk)
    assert [each.status for each in talk.discord.log] == [401, 200]


def test_a_token_that_stays_wrong_is_refused(talk: Talk) -> None:
    talk.tokens.known[None] = "wrong.token.of-the-bot"
    with pytest.raises(Refused, match="401") as raised:
        post(talk)
    assert "doctor" in str(raised.value.cure)
    assert len(talk.discord.log) == 1


def test_no_token_is_told_by_an_error_or_a_log(
    talk: Talk, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    reply = talk.asked(place=ELSEWHERE)

    def echo(request: httpx.Request) -> httpx.Response:
        told = {"message": f"{request.url} {request.headers.get('authorization')}", "code": 1}
        return httpx.Response(400, json=told)

    echoing = client(talk, echo)
    calls: tuple[Callable[[], object], ...] = (
        lambda: echoing.edit_reply(reply, {"content": "x"}),
        lambda: echoing.post(CHANNEL, {"content": "x"}, nonce="n", token=None),
        lambda: talk.client.follow_up(reply, {"content": ""}),
        lambda: post(talk, text=""),
    )
    for call in calls:
        with pytest.raises(Invalid) as raised:
            call()
        assert reply.token not in str(raised.value)
        assert TOKEN not in str(raised.value)
    assert reply.token not in caplog.text
    assert TOKEN not in caplog.text


def test_a_token_stays_one_part_of_its_address(talk: Talk) -> None:
    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.raw_path.decode())
        return httpx.Response(200, json={"id": "1"})

    reply = talk.asked().replaced(token="a/../b+c=")
    client(talk, answer).edit_reply(reply, {"content": "hi"})
    hook = f"/api/v10/webhooks/{reply.application_id}"
    assert asked == [f"{hook}/a%2F..%2Fb+c=/messages/@original"]


def test_a_client_that_was_closed_connects_again(talk: Talk) -> None:
    post(talk)
    talk.client.close()
    post(talk, nonce="n2")
    assert len(talk.shown()) == 2


def test_a_short_limit_is_waited_for(talk: Talk) -> None:
    talk.discord.fail("POST", Limited(1.5))
    post(talk)
    assert talk.pauses == [1.5]
    assert [each.status for each in talk.discord.log] == [429, 200]


@pytest.mark.parametrize(
    "limited", [Limited(60), Limited(60, everywhere=True), Limited(9, via=False)]
)
def test_a_long_limit_is_for_another_time_and_asked_nothing_meanwhile(
    talk: Talk, limited: Limited
) -> None:
    talk.discord.fail("POST", limited)
    for _ in range(3):
        with pytest.raises(NeverSent, match="retry in"):
            post(talk)
    assert (len(talk.discord.log), talk.pauses) == (1, [])
    talk.clock.advance(61)
    post(talk)
    assert len(talk.shown()) == 1


def test_a_limit_of_everything_does_not_hold_for_answers_by_token(talk: Talk) -> None:
    reply = talk.asked()
    talk.discord.fail("POST /channels", Limited(60, everywhere=True))
    with pytest.raises(NeverSent):
        post(talk)
    with pytest.raises(NeverSent):
        talk.client.ask("GET", "/users/@me")
    talk.client.edit_reply(reply, {"content": "still here"})
    assert talk.shown()[0].content == "still here"


def test_limits_that_never_end_are_given_up(talk: Talk) -> None:
    talk.discord.fail("", Limited(0.0), times=50)
    with pytest.raises(NeverSent):
        post(talk)
    assert len(talk.discord.log) == 3
    reply = talk.asked()
    talk.discord.fail("PATCH", Limited(2.5), times=50)
    with pytest.raises(NeverSent):
        talk.client.edit_reply(reply, {"content": "hi"})
    assert sum(talk.pauses) <= 6


def test_limits_told_by_headers_are_kept_before_they_are_broken(talk: Talk) -> None:
    talk.discord.api.limits.enforced = True
    talk.discord.api.limits.rates["messages"] = Rate(2, 3)
    for number in range(5):
        post(talk, nonce=f"n{number}")
    assert 429 not in [each.status for each in talk.discord.log]
    assert talk.pauses == [3, 3]
