"""Who may send what: senders, channels, nonces, limits and faults."""

from http.client import RemoteDisconnected

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from tests.discord import spec
from tests.discord.calling import AGENT, SILENT, Caller
from tests.discord.fake import (
    APPLICATION_ID,
    GUILD_ID,
    MEMBER,
    OTHER_CHANNEL,
    SERVER_CHANNEL,
    TOKEN,
    FakeDiscord,
)
from tests.discord.faults import Delay, Drop, Limited, Status
from tests.discord.limits import Rate
from tests.discord.state import Person

HERE = SERVER_CHANNEL.channel_id


def test_the_same_nonce_is_the_same_message_for_some_minutes(
    discord: FakeDiscord, call: Caller
) -> None:
    first = call.post(HERE, "n1", content="x").json["id"]
    discord.wait(170)
    assert call.post(HERE, "n1", content="x").json["id"] == first
    assert call.post(HERE, "n2", content="x").json["id"] != first
    discord.wait(20)
    assert call.post(HERE, "n1", content="x").json["id"] != first
    assert len(discord.shown(SERVER_CHANNEL)) == 3


def test_a_bot_edits_only_what_it_wrote(discord: FakeDiscord, call: Caller) -> None:
    foreign = discord.say("hello", MEMBER)
    own = call.post(HERE, "n1", content="x").json["id"]
    path = f"/channels/{HERE}/messages"
    assert call("PATCH", f"{path}/{own}", {**SILENT, "content": "y"}, as_bot=True).status == 200
    heard = call("PATCH", f"{path}/{foreign.id}", {**SILENT, "content": "y"}, as_bot=True)
    assert (heard.status, heard.code) == (403, 50005)
    assert call("PATCH", f"{path}/1", {**SILENT, "content": "y"}, as_bot=True).code == 10008


def test_channels_may_be_unknown_unseen_or_silent(discord: FakeDiscord, call: Caller) -> None:
    assert call.post("99", "n", content="x").code == 10003
    discord.place(SERVER_CHANNEL).can_send = False
    heard = call.post(HERE, "n", content="x")
    assert (heard.status, heard.code) == (403, 50013)
    discord.place(OTHER_CHANNEL).can_view = False
    heard = call.post(OTHER_CHANNEL.channel_id, "n", content="x")
    assert (heard.status, heard.code) == (403, 50001)
    assert not discord.complaints


def test_messages_are_read_newest_first(discord: FakeDiscord, call: Caller) -> None:
    said = [discord.say(f"m{number}", MEMBER) for number in range(5)]
    path = f"/channels/{HERE}/messages"
    told = call("GET", f"{path}?limit=2", as_bot=True).json
    assert [each["content"] for each in told] == ["m4", "m3"]
    told = call("GET", f"{path}?after={said[1].id}&limit=2", as_bot=True).json
    assert [each["content"] for each in told] == ["m3", "m2"]
    assert call("GET", f"{path}/{said[0].id}", as_bot=True).json["content"] == "m0"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"user_agent": "python-httpx/0.28"}, 403),
        ({"user_agent": "DiscordBot (opencrab)"}, 403),
        ({"authorization": ""}, 401),
        ({"authorization": TOKEN}, 401),
        ({"authorization": f"Bearer {TOKEN}"}, 401),
    ],
)
def test_a_sender_who_does_not_say_who_it_is_is_refused(
    discord: FakeDiscord, call: Caller, headers: dict[str, str], status: int
) -> None:
    heard = call("GET", "/users/@me", as_bot=True, **headers)
    assert heard.status == status
    assert len(discord.complaints) == 1


def test_a_wrong_token_is_refused_without_blame(discord: FakeDiscord, call: Caller) -> None:
    assert call("GET", "/users/@me", authorization="Bot other").status == 401
    assert not discord.complaints


def test_a_bots_token_never_travels_where_none_is_needed(
    discord: FakeDiscord, call: Caller
) -> None:
    interaction = discord.command("ask")
    path = f"/interactions/{interaction.id}/{interaction.token}/callback"
    assert call("POST", path, {"type": 5}, as_bot=True).status == 400
    assert "a bot's token" in discord.complaints[0]


def test_only_json_and_forms_are_read(discord: FakeDiscord, call: Caller) -> None:
    headers = {"user-agent": AGENT, "authorization": f"Bot {TOKEN}"}
    path = f"/channels/{HERE}/messages"
    for media_type, body in (("text/plain", b"{}"), ("application/json", b"{")):
        heard = call.raw("POST", path, body, {**headers, "content-type": media_type})
        assert heard.status == 400
    assert call("GET", "/nothing", as_bot=True).status == 404
    assert len(discord.complaints) == 3


def test_a_bucket_tells_what_is_left_and_then_refuses(discord: FakeDiscord, call: Caller) -> None:
    discord.api.limits.enforced = True
    discord.api.limits.rates = {"POST /channels": Rate(2, 5)}
    assert call.post(HERE, "a", content="x").headers["x-ratelimit-remaining"] == "1"
    discord.wait(1)
    assert call.post(HERE, "b", content="x").headers["x-ratelimit-reset-after"] == "4.000"
    heard = call.post(HERE, "c", content="x")
    assert (heard.status, heard.json["retry_after"], heard.json["global"]) == (429, 4.0, False)
    assert heard.headers["x-ratelimit-scope"] == "user"
    assert call.post(OTHER_CHANNEL.channel_id, "d", content="x").status == 200
    discord.wait(4)
    assert call.post(HERE, "c", content="x").status == 200
    assert len(discord.shown(SERVER_CHANNEL)) == 3


def test_fifty_requests_a_second_are_enough_for_one_bot(discord: FakeDiscord, call: Caller) -> None:
    discord.api.limits.enforced = True
    discord.api.limits.overall = Rate(3, 1)
    for number in range(3):
        assert (
            call("GET", f"/channels/{HERE}/messages?limit={number + 1}", as_bot=True).status == 200
        )
    heard = call("GET", "/users/@me", as_bot=True)
    assert (heard.status, heard.json["global"]) == (429, True)
    assert heard.headers["x-ratelimit-global"] == "true"
    interaction = discord.command("ask")
    assert call.acknowledge(interaction, {"type": 5}).status == 204


def test_faults_befall_the_requests_that_a_test_names(discord: FakeDiscord, call: Caller) -> None:
    discord.fail("POST /channels", Status(503), skip=1)
    assert call.post(HERE, "a", content="x").status == 200
    assert call.post(HERE, "b", content="x").status == 503
    assert call.post(HERE, "b", content="x").status == 200
    assert len(discord.shown(SERVER_CHANNEL)) == 2


@pytest.mark.parametrize(("when", "seen"), [("before", 0), ("after", 1)])
def test_a_connection_drops_before_or_after_the_effect(
    discord: FakeDiscord, call: Caller, when: str, seen: int
) -> None:
    discord.fail("POST", Drop("after" if when == "after" else "before"))
    with pytest.raises(RemoteDisconnected):
        call.post(HERE, "a", content="x")
    assert len(discord.shown(SERVER_CHANNEL)) == seen
    assert discord.log[-1].status is None


def test_time_passes_before_a_late_answer(discord: FakeDiscord, call: Caller) -> None:
    interaction = discord.command("ask")
    discord.fail("callback", Delay(4))
    assert call.acknowledge(interaction, {"type": 5}).code == 10062


def test_the_network_in_front_of_discord_refuses_in_its_own_words(
    discord: FakeDiscord, call: Caller
) -> None:
    discord.fail("GET", Limited(2.5))
    discord.fail("GET", Limited(60, via=False))
    heard = call("GET", "/users/@me", as_bot=True)
    assert (heard.json["retry_after"], heard.headers["via"]) == (2.5, "1.1 google")
    heard = call("GET", "/users/@me", as_bot=True)
    assert (heard.status, "via" in heard.headers) == (429, False)
    assert heard.headers["content-type"] == "text/html"


def test_everything_sent_to_the_door_is_signed(discord: FakeDiscord) -> None:
    seen: list[tuple[dict[str, str], bytes]] = []

    def door(headers: object, body: bytes) -> tuple[int, dict[str, str], bytes]:
        assert isinstance(headers, dict)
        seen.append((headers, body))
        return 200, {}, b'{"type":1}'

    discord.door = door
    assert discord.ping() == (200, {"type": 1})
    ((headers, body),) = seen
    key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(discord.public_key))
    stamp = headers["x-signature-timestamp"]
    key.verify(bytes.fromhex(headers["x-signature-ed25519"]), stamp.encode() + body)
    assert int(stamp) == discord.clock.now().timestamp()


def test_what_the_doctor_asks_for_is_there(discord: FakeDiscord, call: Caller) -> None:
    discord.add_bot("other", Person("77", "Kani", is_bot=True))
    assert call("GET", "/users/@me", authorization="Bot other").json["id"] == "77"
    told = call("GET", "/applications/@me", as_bot=True).json
    assert (told["id"], told["verify_key"]) == (APPLICATION_ID, discord.public_key)
    assert call("GET", "/users/@me/guilds", as_bot=True).json[0]["id"] == GUILD_ID
    assert call("GET", f"/guilds/{GUILD_ID}", as_bot=True).status == 200
    assert call("GET", "/guilds/1", as_bot=True).code == 10004
    assert call("GET", f"/guilds/{GUILD_ID}/roles", as_bot=True).json[0]["name"] == "@everyone"
    assert len(call("GET", f"/guilds/{GUILD_ID}/channels", as_bot=True).json) == 2
    assert call("GET", f"/guilds/{GUILD_ID}/members/{APPLICATION_ID}", as_bot=True).status == 200
    assert call("GET", f"/channels/{HERE}", as_bot=True).json["guild_id"] == GUILD_ID
    assert call("GET", "/gateway/bot", as_bot=True).json["shards"] == 1
    assert not discord.complaints


def test_the_published_description_is_the_judge_where_it_is_at_hand() -> None:
    if spec.document() is None:
        pytest.skip("no description of Discord's API: set OPENCRAB_WIRE")
    assert spec.answers_as("/applications/@me", "GET", 200, {}) is not None
