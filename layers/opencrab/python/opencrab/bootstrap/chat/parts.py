"""Chat services from the settings, beside Discord.

No client is loaded, and no token is read, before the first use.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache, partial
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

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
    from opencrab.adapters.web.files import HttpFiles
    from opencrab.ports.conversation.file_source import FileSource
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
    for service in _SERVICES:
        kind = service.kind
        if not configured.get(f"gateway.{kind}.enabled"):
            continue
        token = StoredChatSecret(*service.token, secrets, clock, load)
        secret = StoredChatSecret(*service.secret, secrets, clock, load)
        api = str(configured.get(f"gateway.{kind}.api"))
        made = cache(partial(service.make, api, token, facts, clock))
        channels[kind] = cast("DeliveryChannel", _LaterChat(made, 0))
        chats[kind] = Chat(
            _people(configured, kind),
            cast("ChatLink", _LaterChat(made, 1)),
            secret.token,
            service.secret[1],
            is_polled=kind == TELEGRAM and bool(configured.get("gateway.telegram.polling")),
            files=cast("FileSource", _LaterChat(made, 2)),
        )
    if configured.get("gateway.email.enabled"):
        password = _email_password(secrets, clock, load)
        channels[EMAIL], chats[EMAIL] = _email(configured, password, facts)
    return {**parts, "channels": channels, "chats": chats}


class _LaterChat:
    """A proxy of one of several objects, which are created at the first use."""

    def __init__(self, make: Callable[[], tuple[Any, ...]], place: int) -> None:
        self._make, self._place = make, place

    def __getattr__(self, name: str) -> Any:
        return getattr(self._made(), name)

    def _made(self) -> Any:
        return self._make()[self._place]


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


def _make_line(
    api: str, token: StoredChatSecret, facts: Documents, clock: Clock
) -> "tuple[DeliveryChannel, ChatLink, FileSource]":
    from opencrab.adapters.chat.files import FilesWithToken
    from opencrab.adapters.line.channel import LineChannel
    from opencrab.adapters.line.client import LineClient
    from opencrab.adapters.line.files import LineFiles
    from opencrab.adapters.line.link import LineLink

    connect, address = _transport("LINE", LINE, api)
    line = LineClient(connect, address, token)
    # LINE has hosts of its own for content: `api-data` beside `api`.
    host = re.sub(r"^api\.", "api-data.", urlsplit(address).hostname or "")
    below = f"https://{host}/v2/bot/message/"
    files = LineFiles(FilesWithToken(_later_files(below), token), below)
    return LineChannel(line, facts, clock), LineLink(line), files


def _make_slack(
    api: str, token: StoredChatSecret, _facts: Documents, _clock: Clock
) -> "tuple[DeliveryChannel, ChatLink, FileSource]":
    from opencrab.adapters.chat.files import FilesWithToken
    from opencrab.adapters.slack.channel import SlackChannel
    from opencrab.adapters.slack.client import SlackClient
    from opencrab.adapters.slack.files import SlackFiles
    from opencrab.adapters.slack.link import SlackLink

    connect, address = _transport("Slack", SLACK, api)
    slack = SlackClient(connect, address, token)
    below = f"https://files.{urlsplit(address).hostname}/"
    files = SlackFiles(FilesWithToken(_later_files(below), token), below)
    return SlackChannel(slack), SlackLink(slack), files


def _make_telegram(
    api: str, token: StoredChatSecret, _facts: Documents, _clock: Clock
) -> "tuple[DeliveryChannel, ChatLink, FileSource]":
    from opencrab.adapters.telegram.channel import TelegramChannel
    from opencrab.adapters.telegram.client import TelegramClient
    from opencrab.adapters.telegram.files import TelegramFiles
    from opencrab.adapters.telegram.link import TelegramLink

    connect, address = _transport("Telegram", TELEGRAM, api)
    telegram = TelegramClient(connect, address, token)
    files = TelegramFiles(telegram, _later_files(f"{address}/file/"))
    return TelegramChannel(telegram), TelegramLink(telegram), files


def _later_files(*prefixes: str) -> "HttpFiles":
    """Return access to files below addresses on the internet; it is set up at the first use."""

    def make() -> "tuple[HttpFiles]":
        from opencrab.adapters.providers.transport.http_connections import TimedBackend
        from opencrab.adapters.web.address import AllowList
        from opencrab.adapters.web.files import HttpFiles

        return (HttpFiles(AllowList(prefixes), TimedBackend()),)

    return cast("HttpFiles", _LaterChat(cache(make), 0))


def _transport(name: str, kind: str, api: str) -> tuple[Callable[[], Any], str]:
    """Return what connects to a service, and its checked address; raises Invalid."""
    from opencrab.adapters.address import BaseUrlRules
    from opencrab.adapters.providers.transport.httpx_client import new_client

    return new_client, BaseUrlRules(name, f"gateway.{kind}.api").validate(api)


@dataclass(frozen=True)
class _Service:
    """A chat service: its secrets by setting and name; `make` makes channel, link and files."""

    kind: str
    token: tuple[str, str]
    secret: tuple[str, str]
    make: Callable[..., tuple[Any, ...]]


_SERVICES = (
    _Service(
        LINE,
        ("gateway.line.access_token", LINE_TOKEN),
        ("gateway.line.channel_secret", LINE_SECRET),
        _make_line,
    ),
    _Service(
        SLACK,
        ("gateway.slack.bot_token", SLACK_TOKEN),
        ("gateway.slack.signing_secret", SLACK_SECRET),
        _make_slack,
    ),
    _Service(
        TELEGRAM,
        ("gateway.telegram.bot_token", TELEGRAM_TOKEN),
        ("gateway.telegram.webhook_secret", TELEGRAM_SECRET),
        _make_telegram,
    ),
)


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

    def make() -> tuple[DeliveryChannel, ChatLink]:
        made = configured, password, facts
        return email.email_channel_from_settings(*made), email.email_link_from_settings(*made)

    def make_files() -> "tuple[FileSource]":
        return (email.email_files_from_settings(configured, password),)

    made = cache(make)
    people = email.email_people_from_settings(configured)
    chat = Chat(
        people,
        cast("ChatLink", _LaterChat(made, 1)),
        password.token,
        EMAIL_PASSWORD,
        agents=tuple(each for each in rules.aliases.values() if each),
        files=cast("FileSource", _LaterChat(cache(make_files), 0)),
    )
    return cast("DeliveryChannel", _LaterChat(made, 0)), chat
