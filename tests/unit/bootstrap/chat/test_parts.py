"""Chat services from the settings: off by default, with people, secrets and channels if on."""

from typing import Any

import pytest

from opencrab.adapters.line.channel import LineChannel
from opencrab.adapters.slack.channel import SlackChannel
from opencrab.adapters.system_clock import FakeClock
from opencrab.adapters.telegram.channel import TelegramChannel
from opencrab.bootstrap.chat.parts import FRESH, StoredChatSecret, with_chat_services
from opencrab.bootstrap.discord.channel import configured_channels
from opencrab.domain.access.authority import Authority
from opencrab.domain.chat.people import GroupRule
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
