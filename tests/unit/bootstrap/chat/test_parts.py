"""Chat services from the settings: off by default, with people, secrets and channels if on."""

import re
from typing import Any

import pytest

from opencrab.adapters.email.channel import EmailChannel
from opencrab.adapters.email.files import EmailFiles
from opencrab.adapters.line.channel import LineChannel
from opencrab.adapters.slack.channel import SlackChannel
from opencrab.adapters.system_clock import FakeClock
from opencrab.adapters.telegram.channel import TelegramChannel
from opencrab.bootstrap.chat.parts import FRESH, StoredChatSecret, with_chat_services
from opencrab.bootstrap.discord.channel import configured_channels
from opencrab.domain.access.authority import Authority
from opencrab.domain.chat.people import GroupRule
from opencrab.domain.email.address import email_person_id
from opencrab.domain.errors import Invalid, NeverSent, Refused, Unavailable
from opencrab.settings import load_settings
from tests.contract.example import NOW
from tests.line.fake import GUEST, OWNER
from tests.unit.adapters.discord.speaking import FewFacts


class Stored:
    """A secrets store."""

    def __init__(self, **kept: str) -> None:
        self.kept = kept
        self.is_silent = False

    def get(self, name: str) -> str | None:
        if self.is_silent:
            raise Unavailable("the store does not answer")
        return self.kept.get(name)

    def forget(self) -> None:
        """It keeps nothing."""


def parts(secrets: Stored | None = None, **variables: str) -> dict[str, Any]:
    given = {f"OPENCRAB_GATEWAY__LINE__{name}": value for name, value in variables.items()}
    store: Any = secrets or Stored()
    return with_chat_services(
        {"channels": {"discord": None}, "previews": {}},
        load_settings({}, given),
        store,
        FakeClock(NOW),
        FewFacts(),
    )


def test_nothing_is_there_unless_it_is_enabled() -> None:
    found = parts()
    assert (set(found["channels"]), found["chats"]) == ({"discord"}, {})


def test_people_come_from_the_settings_and_nothing_is_read_at_once() -> None:
    found = parts(ENABLED="true", OWNER_IDS=OWNER, USER_IDS=f"{GUEST},{OWNER}", GROUPS="off")
    people = found["chats"]["line"].people
    assert [people.authority(each) for each in (OWNER, GUEST, "U0")] == [
        Authority.OWNER,
        Authority.USER,
        Authority.PUBLIC,
    ]
    assert people.groups is GroupRule.OFF
    assert isinstance(found["channels"]["line"]._made(), LineChannel)


def test_slack_has_people_and_a_channel_of_its_own() -> None:
    given = {"ENABLED": "true", "OWNER_IDS": "U061F7AUR"}
    variables = {f"OPENCRAB_GATEWAY__SLACK__{name}": value for name, value in given.items()}
    secrets: Any = Stored(SLACK_BOT_TOKEN="xoxb-1", SLACK_SIGNING_SECRET="s")
    found = configured_channels(
        load_settings({}, variables), secrets, FakeClock(NOW), FewFacts(), load=load_settings
    )
    assert (set(found["channels"]), set(found["chats"])) == ({"slack", "webhook"}, {"slack"})
    chat = found["chats"]["slack"]
    assert chat.people.authority("U061F7AUR") is Authority.OWNER
    assert (chat.signing_secret(), chat.signing_secret_name) == ("s", "SLACK_SIGNING_SECRET")
    assert isinstance(found["channels"]["slack"]._made(), SlackChannel)


def test_telegram_has_people_and_is_polled_unless_it_posts() -> None:
    for polling in ("true", "false"):
        given = {"ENABLED": "true", "OWNER_IDS": "5551234567", "POLLING": polling}
        variables = {f"OPENCRAB_GATEWAY__TELEGRAM__{name}": value for name, value in given.items()}
        secrets: Any = Stored(TELEGRAM_BOT_TOKEN="1:x", TELEGRAM_WEBHOOK_SECRET="s")
        found = configured_channels(
            load_settings({}, variables), secrets, FakeClock(NOW), FewFacts(), load=load_settings
        )
        chat = found["chats"]["telegram"]
        assert chat.people.authority("5551234567") is Authority.OWNER
        assert (chat.signing_secret(), chat.is_polled) == ("s", polling == "true")
        assert isinstance(found["channels"]["telegram"]._made(), TelegramChannel)


@pytest.mark.parametrize(
    ("name", "value"), [("OWNER_IDS", "me"), ("USER_IDS", f"{OWNER}x"), ("GROUPS", "loud")]
)
def test_a_malformed_setting_is_named(name: str, value: str) -> None:
    with pytest.raises(Invalid, match=f"gateway.line.{name.lower()}"):
        parts(None, ENABLED="true", **{name: value})


def test_a_secret_is_kept_for_a_while_and_missing_ones_are_named() -> None:
    clock, store = FakeClock(NOW), Stored(LINE_CHANNEL_ACCESS_TOKEN=" old ")
    secrets: Any = store
    secret = StoredChatSecret(
        "gateway.line.access_token", "LINE_CHANNEL_ACCESS_TOKEN", secrets, clock
    )
    assert secret.token() == "old"
    store.kept["LINE_CHANNEL_ACCESS_TOKEN"] = "new"
    assert secret.token() == "old"
    clock.advance(FRESH.total_seconds())
    assert secret.token() == "new"
    for bad, what in (("", "is not set"), ("a b", "is malformed"), ("蟹", "is malformed")):
        store.kept["LINE_CHANNEL_ACCESS_TOKEN"] = bad
        secret.forget()
        with pytest.raises(Refused, match=f"LINE_CHANNEL_ACCESS_TOKEN {what}") as refused:
            secret.token()
        assert "opencrab admin line doctor" in str(refused.value.cure)
    store.is_silent = True
    with pytest.raises(NeverSent):
        secret.token()


def email_parts(secrets: Stored | None = None, **variables: str) -> dict[str, Any]:
    usual = {
        "ENABLED": "true",
        "ADDRESS": "Crab@example.org",
        "IMAP": "imaps://imap.example.org",
        "SMTP": "smtp://smtp.example.org",
    }
    given = {
        f"OPENCRAB_GATEWAY__EMAIL__{name}": value for name, value in (usual | variables).items()
    }
    store: Any = secrets or Stored()
    return configured_channels(
        load_settings({}, given), store, FakeClock(NOW), FewFacts(), load=load_settings
    )


def test_email_has_people_by_verified_address_and_agents_by_ours() -> None:
    store = Stored(EMAIL_PASSWORD="abcd efgh")
    found = email_parts(
        store,
        OWNER_ADDRESSES="Me@Example.net",
        ALIASES="Mika+x@example.org=mika =x,b@example.org=b",
        AUTHSERV_ID="mx.example.org",
        UNVERIFIED="answer",
    )
    chat = found["chats"]["email"]
    ids = [email_person_id("me@example.net", verified=each) for each in (True, False)]
    assert [chat.people.authority(each) for each in ids] == [Authority.OWNER, Authority.PUBLIC]
    assert (chat.signing_secret(), chat.agents) == ("abcd efgh", ("mika =x", "b"))
    assert isinstance(found["channels"]["email"]._made(), EmailChannel)
    rules = chat.link.rules
    assert dict(rules.aliases) == {
        "crab@example.org": "",
        "mika+x@example.org": "mika =x",
        "b@example.org": "b",
    }
    assert (rules.authserv_id, rules.answers_unverified) == ("mx.example.org", True)
    # A new password is found as soon as the old one was refused.
    store.kept["EMAIL_PASSWORD"] = "new"
    chat.link.mailbox._passwords.forget()
    assert chat.link.mailbox._passwords.token() == "new"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ADDRESS", ""),
        ("ADDRESS", "crab"),
        ("ADDRESS", "crab..y@docomo.ne.jp"),
        ("OWNER_ADDRESSES", "me"),
        ("USER_ADDRESSES", "a@b.c,x@"),
        ("ALIASES", "a@b.c"),
        ("ALIASES", "a@b.c=x,A@b.c=y"),
        ("ALIASES", "a@b.c= "),
        ("ALIASES", ".a@au.com=x"),
    ],
)
def test_a_malformed_setting_of_email_is_named(name: str, value: str) -> None:
    with pytest.raises(Invalid, match=rf"gateway\.email\.{name.lower()}"):
        email_parts(None, **{name: value})


@pytest.mark.parametrize("name", ["IMAP", "SMTP"])
def test_a_server_that_is_none_is_named_when_it_is_used(name: str) -> None:
    link = email_parts(None, **{name: "https://x"})["chats"]["email"].link
    with pytest.raises(Invalid, match=rf"gateway\.email\.{name.lower()}"):
        link.checks()


def test_each_service_fetches_files_below_its_own_addresses_only() -> None:
    variables = {
        f"OPENCRAB_GATEWAY__{kind}__ENABLED": "true" for kind in ("LINE", "SLACK", "TELEGRAM")
    }
    store: Any = Stored(
        LINE_CHANNEL_ACCESS_TOKEN="l", SLACK_BOT_TOKEN="xoxb-1", TELEGRAM_BOT_TOKEN="1:x"
    )
    configured = load_settings({}, variables)
    found = configured_channels(configured, store, FakeClock(NOW), FewFacts())
    files = {kind: chat.files._made() for kind, chat in found["chats"].items()}
    below = {
        "line": (files["line"]._below, files["line"]._addresses._addresses._made()._allowed),
        "slack": (files["slack"]._below, files["slack"]._addresses._addresses._made()._allowed),
        "telegram": ("", files["telegram"]._addresses._made()._allowed),
    }
    assert {kind: (start, str(allowed)) for kind, (start, allowed) in below.items()} == {
        "line": ("https://api-data.line.me/v2/bot/message/",) * 2,
        "slack": ("https://files.slack.com/",) * 2,
        "telegram": ("", "https://api.telegram.org/file/"),
    }


def test_from_a_service_that_is_not_on_the_internet_no_file_is_fetched() -> None:
    variables = {
        "OPENCRAB_GATEWAY__TELEGRAM__ENABLED": "true",
        "OPENCRAB_GATEWAY__TELEGRAM__API": "http://127.0.0.1:8081",
    }
    store: Any = Stored(TELEGRAM_BOT_TOKEN="1:x")
    configured = load_settings({}, variables)
    found = configured_channels(configured, store, FakeClock(NOW), FewFacts())
    assert isinstance(found["channels"]["telegram"]._made(), TelegramChannel)
    addresses = found["chats"]["telegram"].files._made()._addresses
    with pytest.raises(Invalid):
        addresses.fetch("http://127.0.0.1:8081/file/bot1:x/a", most=9, seconds=1)


def test_files_of_mails_are_read_by_connections_of_their_own() -> None:
    chat = email_parts(None)["chats"]["email"]
    files = chat.files._made()
    assert isinstance(files, EmailFiles)
    assert files._mailbox is not chat.link.mailbox
    assert re.fullmatch("[0-9a-f]{32}", files._name)
