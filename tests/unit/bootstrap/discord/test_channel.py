"""Discord as settings allow it: off by default, quick to load, and clear about what it lacks."""

import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest

from opencrab.adapters.system_clock import FakeClock
from opencrab.bootstrap.discord.channel import (
    FRESH,
    DiscordParts,
    StoredBotTokens,
    discord_files,
    discord_of,
)
from opencrab.domain.discord.community import Community
from opencrab.domain.errors import Invalid, NeverSent, Refused, Unavailable
from opencrab.settings import load_settings
from tests.discord.fake import FakeDiscord

ON = {"OPENCRAB_GATEWAY__DISCORD__ENABLED": "true"}
TOKEN = {"DISCORD_TOKEN": "MTQw.fake.token"}


class Kept:
    """`ports.secrets.Secrets`, and how often they were forgotten."""

    def __init__(self, **values: str) -> None:
        self.values = values
        self.forgotten = 0
        self.is_silent = False

    def get(self, name: str) -> str | None:
        if self.is_silent:
            raise Unavailable("the store does not answer", cure="wait")
        return self.values.get(name)

    def put(self, name: str, value: str) -> None:
        self.values[name] = value

    def forget(self) -> None:
        self.forgotten += 1


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(datetime(2026, 1, 5, 9, 0, tzinfo=UTC))


def parts(clock: FakeClock, environment: dict[str, str], secrets: Kept | None = None) -> Any:
    reading = partial(load_settings, environment=environment)
    facts: Any = None
    return discord_of(load_settings({}, environment), secrets or Kept(), clock, facts, load=reading)


def tokens(
    clock: FakeClock, secrets: Kept, environment: dict[str, str] | None = None
) -> StoredBotTokens:
    return StoredBotTokens(secrets, clock, partial(load_settings, environment=environment or {}))


def test_nothing_is_made_of_it_unless_it_is_switched_on(clock: FakeClock) -> None:
    assert parts(clock, TOKEN) == DiscordParts(None, Community(), {})


def test_switched_on_it_has_an_api_a_channel_and_who_is_who(clock: FakeClock) -> None:
    lists = {"OPENCRAB_GATEWAY__DISCORD__OWNER_IDS": "11, 12"}
    made = parts(clock, ON | TOKEN | lists)
    assert made.community == Community(owner_ids=("11", "12"))
    assert set(made.channels) == {"discord"}
    assert callable(made.discord.post)
    assert callable(made.channels["discord"].send)
    assert callable(made.discord_files.fetch)


def test_what_is_made_speaks_with_the_discord_of_the_settings(clock: FakeClock) -> None:
    with FakeDiscord(clock) as discord:
        where = {"OPENCRAB_GATEWAY__DISCORD__API": discord.url}
        made = parts(clock, ON | where | {"DISCORD_TOKEN": discord.token})
        with closing(made.discord):
            assert made.discord.ask("GET", "/users/@me")["id"] == discord.application_id
        assert discord.complaints == []


@pytest.mark.parametrize("given", ["taro", "0", "1 2", "-5"])
def test_ids_that_are_none_are_named(clock: FakeClock, given: str) -> None:
    with pytest.raises(Invalid, match=r"gateway\.discord\.role_ids"):
        parts(clock, ON | {"OPENCRAB_GATEWAY__DISCORD__ROLE_IDS": given})


@pytest.mark.parametrize("api", ["http://discord.com/api", "ftp://x", "https://u:p@x/api"])
def test_an_address_that_a_token_must_not_go_to_is_refused(clock: FakeClock, api: str) -> None:
    made = parts(clock, ON | TOKEN | {"OPENCRAB_GATEWAY__DISCORD__API": api})
    with pytest.raises(Invalid, match="Discord"):
        made.discord.ask("GET", "/users/@me")


def test_nothing_heavy_is_loaded_before_somebody_speaks() -> None:
    code = (
        "import sys\n"
        "from opencrab.bootstrap.discord.channel import discord_of\n"
        "from opencrab.settings import load_settings\n"
        "from opencrab.adapters.system_clock import SystemClock\n"
        f"made = discord_of(load_settings({{}}, {ON!r}), None, SystemClock(), None)\n"
        "assert made.channels\n"
        "print([m for m in ('httpx', 'opencrab.adapters.discord') if m in sys.modules])\n"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"


def test_the_token_comes_from_the_environment_or_the_store(clock: FakeClock) -> None:
    assert tokens(clock, Kept(), TOKEN).token(None) == TOKEN["DISCORD_TOKEN"]
    assert tokens(clock, Kept(**TOKEN)).token(None) == TOKEN["DISCORD_TOKEN"]
    assert tokens(clock, Kept(CRAB="own.token")).token("CRAB") == "own.token"


def test_a_token_is_read_again_after_a_while_or_when_it_is_refused(clock: FakeClock) -> None:
    secrets = Kept(DISCORD_TOKEN="first")
    asked = tokens(clock, secrets)
    assert asked.token(None) == "first"
    secrets.put("DISCORD_TOKEN", "second")
    assert asked.token(None) == "first"
    asked.forget()
    assert (asked.token(None), secrets.forgotten) == ("second", 1)
    secrets.put("DISCORD_TOKEN", "third")
    clock.advance(FRESH / timedelta(seconds=1))
    assert asked.token(None) == "third"


def test_a_token_that_is_missing_is_named_with_what_to_set(clock: FakeClock) -> None:
    with pytest.raises(Refused, match="DISCORD_TOKEN"):
        tokens(clock, Kept()).token(None)
    with pytest.raises(Refused, match="CRAB_TOKEN"):
        tokens(clock, Kept()).token("CRAB_TOKEN")


@pytest.mark.parametrize("token", ["two words", "トークン", "tab\there", "line\nbreak"])
def test_what_cannot_be_a_token_is_not_sent_and_not_told(clock: FakeClock, token: str) -> None:
    with pytest.raises(Refused) as raised:
        tokens(clock, Kept(CRAB=token)).token("CRAB")
    assert token not in str(raised.value)


def test_a_store_that_is_silent_means_that_nothing_was_sent(clock: FakeClock) -> None:
    secrets = Kept()
    secrets.is_silent = True
    for name in (None, "CRAB"):
        with pytest.raises(NeverSent, match="store"):
            tokens(clock, secrets).token(name)


def test_answers_flow_unless_it_is_switched_off(clock: FakeClock) -> None:
    assert list(parts(clock, {**ON, **TOKEN}).previews) == ["discord"]
    off = {"OPENCRAB_GATEWAY__DISCORD__STREAM": "false"}
    assert parts(clock, {**ON, **TOKEN, **off}).previews == {}
    assert parts(clock, {}).previews == {}


@pytest.mark.parametrize(
    "url",
    [
        "http://169.254.169.254/latest/meta-data/",
        "https://example.com/a.png",
        "https://discord.com/api/v10/users/@me",
        "https://cdn.discordapp.com.example.com/a.png",
        "https://cdn.discordapp.com@example.com/a.png",
        "http://cdn.discordapp.com/attachments/1/2/a.png",
    ],
)
def test_only_the_hosts_of_discords_files_are_asked_for_files(url: str) -> None:
    with pytest.raises((Refused, Invalid)):
        discord_files().fetch(url, most=9, seconds=1.0)
