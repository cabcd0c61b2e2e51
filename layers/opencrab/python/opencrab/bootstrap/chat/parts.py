"""Chat services from the settings, beside Discord.

No client is loaded, and no token is read, before the first use.
"""

import re
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from functools import cache, partial
from typing import TYPE_CHECKING, Any, cast

from opencrab import settings
from opencrab.domain.chat.people import LINE, SLACK, TELEGRAM, ChatPeople, GroupRule
from opencrab.domain.email.address import EMAIL
from opencrab.domain.errors import Invalid, NeverSent, Refused, Unavailable
from opencrab.ports.access.secrets import Secrets
from opencrab.ports.clock import Clock
from opencrab.ports.conversation.channel import DeliveryChannel
from opencrab.ports.conversation.chat_link import Chat, ChatLink
from opencrab.ports.documents import Documents

if TYPE_CHECKING:
    from opencrab.adapters.line.client import LineClient
    from opencrab.adapters.slack.client import SlackClient
    from opencrab.adapters.telegram.client import TelegramClient
    from opencrab.settings import Settings

FRESH = timedelta(minutes=5)
"""Time after which a secret is read again."""

LINE_SECRET, LINE_TOKEN = "LINE_CHANNEL_SECRET", "LINE_CHANNEL_ACCESS_TOKEN"
"""The names of LINE's secrets."""

SLACK_SECRET, SLACK_TOKEN = "SLACK_SIGNING_SECRET", "SLACK_BOT_TOKEN"
"""The names of Slack's secrets."""

TELEGRAM_SECRET, TELEGRAM_TOKEN = "TELEGRAM_WEBHOOK_SECRET", "TELEGRAM_BOT_TOKEN"
"""The names of Telegram's secrets."""

EMAIL_PASSWORD = "EMAIL_PASSWORD"  # noqa: S105 - the name of it
"""The name of the mailbox's password."""

_USER_IDS = {
    LINE: re.compile(r"U[0-9a-f]{32}"),
    SLACK: re.compile(r"[UW][A-Z0-9]{2,20}"),
    TELEGRAM: re.compile(r"[0-9]{1,20}", re.ASCII),
}


def with_chat_services(
    parts: Mapping[str, Any],
    configured: "Settings",
    secrets: Secrets,
    clock: Clock,
    facts: Documents,
    *,
    load: Callable[..., "Settings"] = settings.load_settings,
) -> dict[str, Any]:
    """Return the parts of a `Runtime` with those of the chat services that are enabled."""
    channels, chats = dict(parts["channels"]), dict[str, Chat]()
    if configured.get("gateway.line.enabled"):
        token = StoredChatSecret("gateway.line.access_token", LINE_TOKEN, secrets, clock, load)
        api = str(configured.get("gateway.line.api"))
        line = cast("LineClient", _LaterChat(partial(_line_client, api, token)))
        channels[LINE] = cast("DeliveryChannel", _LaterChat(lambda: _channel(line, facts, clock)))
        link = cast("ChatLink", _LaterChat(lambda: _link(line)))
        secret = StoredChatSecret("gateway.line.channel_secret", LINE_SECRET, secrets, clock, load)
        chats[LINE] = Chat(_people(configured, LINE), link, secret.token, LINE_SECRET)
    if configured.get("gateway.slack.enabled"):
        token = StoredChatSecret("gateway.slack.bot_token", SLACK_TOKEN, secrets, clock, load)
        api = str(configured.get("gateway.slack.api"))
        slack = cast("SlackClient", _LaterChat(partial(_slack_client, api, token)))
        channels[SLACK] = cast("DeliveryChannel", _LaterChat(lambda: _slack_channel(slack)))
        link = cast("ChatLink", _LaterChat(lambda: _slack_link(slack)))
        name = "gateway.slack.signing_secret"
        secret = StoredChatSecret(name, SLACK_SECRET, secrets, clock, load)
        chats[SLACK] = Chat(_people(configured, SLACK), link, secret.token, SLACK_SECRET)
    if configured.get("gateway.telegram.enabled"):
        channels[TELEGRAM], chats[TELEGRAM] = _telegram(configured, secrets, clock, load)
    if configured.get("gateway.email.enabled"):
        password = _email_password(secrets, clock, load)
        channels[EMAIL], chats[EMAIL] = _email(configured, password, facts)
    return {**parts, "channels": channels, "chats": chats}


class _LaterChat:
    """A proxy that creates its object at the first use."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._made = cache(make)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._made(), name)


class StoredChatSecret:
    """A secret of a chat service from the settings, kept for FRESH."""

    def __init__(
        self,
        setting: str,
        name: str,
        secrets: Secrets,
        clock: Clock,
        load: Callable[..., "Settings"] = settings.load_settings,
        *,
        may_have_spaces: bool = False,
    ) -> None:
        self._may_have_spaces = may_have_spaces
        self._setting = setting
        self._name = name
        self._secrets = secrets
        self._clock = clock
        self._load = load
        self._known: tuple[str, datetime] | None = None

    def token(self) -> str:
        """Return the secret; raises Refused without one, NeverSent if it cannot be read now."""
        now = self._clock.now()
        if self._known is None or now >= self._known[1]:
            self._known = self._read(), now + FRESH
        return self._known[0]

    def forget(self) -> None:
        """Drop the secret, so that the next call reads the store again."""
        self._known = None
        self._secrets.forget()

    def _read(self) -> str:
        try:
            configured = self._load({}, secret=self._secrets.get)
        except Unavailable as error:
            raise NeverSent(error.message, cure=error.cure) from None
        found = str(configured.get(self._setting)).strip()
        is_whole = self._may_have_spaces or " " not in found
        if found and found.isascii() and found.isprintable() and is_whole:
            return found
        what = "is malformed" if found else "is not set"
        service = self._setting.split(".")[1]
        raise Refused(
            f"{service} is enabled, but {self._name} {what}",
            cure=f"store {self._name}, and see `opencrab admin {service} doctor`",
        )


def _people(configured: "Settings", kind: str) -> ChatPeople:
    """Return who is who on a service; raises Invalid for a malformed setting."""

    def listed(name: str) -> tuple[str, ...]:
        found = tuple(map(str, configured.get(f"gateway.{kind}.{name}") or ()))
        if not all(map(_USER_IDS[kind].fullmatch, found)):
            raise _setting_error(kind, name, "a list of user ids, as the service shows them")
        return found

    try:
        groups = GroupRule(str(configured.get(f"gateway.{kind}.groups")))
    except ValueError:
        raise _setting_error(kind, "groups", " or ".join(GroupRule)) from None
    return ChatPeople(
        agent=str(configured.get(f"gateway.{kind}.agent")),
        owner_ids=listed("owner_ids"),
        user_ids=listed("user_ids"),
        groups=groups,
    )


def _setting_error(kind: str, name: str, form: str) -> Invalid:
    setting = f"gateway.{kind}.{name}"
    return Invalid(
        f"{setting} must be {form}", field=setting, cure="correct it, as docs/how-to explains"
    )


def _line_client(api: str, token: StoredChatSecret) -> "LineClient":
    from opencrab.adapters.address import BaseUrlRules
    from opencrab.adapters.line.client import LineClient
    from opencrab.adapters.providers.transport.httpx_transport import new_client

    checked = BaseUrlRules("LINE", "gateway.line.api").validate(api)
    return LineClient(new_client, checked, token)


def _channel(line: "LineClient", facts: Documents, clock: Clock) -> DeliveryChannel:
    from opencrab.adapters.line.channel import LineChannel

    return LineChannel(line, facts, clock)


def _link(line: "LineClient") -> ChatLink:
    from opencrab.adapters.line.link import LineLink

    return LineLink(line)


def _slack_client(api: str, token: StoredChatSecret) -> "SlackClient":
    from opencrab.adapters.address import BaseUrlRules
    from opencrab.adapters.providers.transport.httpx_transport import new_client
    from opencrab.adapters.slack.client import SlackClient

    checked = BaseUrlRules("Slack", "gateway.slack.api").validate(api)
    return SlackClient(new_client, checked, token)


def _slack_channel(slack: "SlackClient") -> DeliveryChannel:
    from opencrab.adapters.slack.channel import SlackChannel

    return SlackChannel(slack)


def _slack_link(slack: "SlackClient") -> ChatLink:
    from opencrab.adapters.slack.link import SlackLink

    return SlackLink(slack)


def _telegram(
    configured: "Settings", secrets: Secrets, clock: Clock, load: Callable[..., "Settings"]
) -> tuple[DeliveryChannel, Chat]:
    token = StoredChatSecret("gateway.telegram.bot_token", TELEGRAM_TOKEN, secrets, clock, load)
    api = str(configured.get("gateway.telegram.api"))
    telegram = cast("TelegramClient", _LaterChat(partial(_telegram_client, api, token)))
    channel = cast("DeliveryChannel", _LaterChat(lambda: _telegram_channel(telegram)))
    link = cast("ChatLink", _LaterChat(lambda: _telegram_link(telegram)))
    name = "gateway.telegram.webhook_secret"
    secret = StoredChatSecret(name, TELEGRAM_SECRET, secrets, clock, load)
    is_polled = bool(configured.get("gateway.telegram.polling"))
    people = _people(configured, TELEGRAM)
    return channel, Chat(people, link, secret.token, TELEGRAM_SECRET, is_polled)


def _telegram_client(api: str, token: StoredChatSecret) -> "TelegramClient":
    from opencrab.adapters.address import BaseUrlRules
    from opencrab.adapters.providers.transport.httpx_transport import new_client
    from opencrab.adapters.telegram.client import TelegramClient

    checked = BaseUrlRules("Telegram", "gateway.telegram.api").validate(api)
    return TelegramClient(new_client, checked, token)


def _telegram_channel(telegram: "TelegramClient") -> DeliveryChannel:
    from opencrab.adapters.telegram.channel import TelegramChannel

    return TelegramChannel(telegram)


def _telegram_link(telegram: "TelegramClient") -> ChatLink:
    from opencrab.adapters.telegram.link import TelegramLink

    return TelegramLink(telegram)


def _email_password(
    secrets: Secrets, clock: Clock, load: Callable[..., "Settings"]
) -> StoredChatSecret:
    """Return the mailbox's password: some services show theirs in groups with spaces."""
    setting = "gateway.email.password"
    return StoredChatSecret(setting, EMAIL_PASSWORD, secrets, clock, load, may_have_spaces=True)


def _email(
    configured: "Settings", password: StoredChatSecret, facts: Documents
) -> tuple[DeliveryChannel, Chat]:
    from opencrab.bootstrap.chat import email

    rules = email.email_rules_from_settings(configured)
    channel = _LaterChat(partial(email.email_channel_from_settings, configured, password, facts))
    link = _LaterChat(partial(email.email_link_from_settings, configured, password, facts))
    people = email.email_people_from_settings(configured)
    chat = Chat(
        people,
        cast("ChatLink", link),
        password.token,
        EMAIL_PASSWORD,
        agents=tuple(each for each in rules.aliases.values() if each),
    )
    return cast("DeliveryChannel", channel), chat
