"""Discord from the settings: its API client, delivery channel, and the ids of known users.

No code of it is loaded, and no token is read, before the first use.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cache
from threading import Event
from typing import TYPE_CHECKING, Any, cast

from pydantic import ValidationError

from opencrab import settings
from opencrab.domain.access.authority import CHAT_KINDS
from opencrab.domain.discord.community import KIND, Community
from opencrab.domain.errors import Invalid, NeverSent, Refused, Unavailable
from opencrab.ports.access.secrets import Secrets
from opencrab.ports.clock import Clock
from opencrab.ports.conversation.channel import DeliveryChannel, PreviewChannel
from opencrab.ports.discord import Discord
from opencrab.ports.documents import Documents
from opencrab.ports.web import SignedPost

if TYPE_CHECKING:
    from opencrab.ports.conversation.file_source import FileSource
    from opencrab.settings import Settings

FRESH = timedelta(minutes=5)
"""Time after which a token is read again."""

FILE_HOSTS = ("https://cdn.discordapp.com/", "https://media.discordapp.net/")
"""Where Discord keeps the files of messages; nothing else is fetched."""

_VARIABLE = "DISCORD_TOKEN"


@dataclass(frozen=True)
class DiscordParts:
    """The parts of a `Runtime` for Discord, and for posts to addresses of others."""

    discord: Discord | None = None
    community: Community = field(default_factory=Community)
    channels: Mapping[str, DeliveryChannel] = field(default_factory=dict)
    previews: Mapping[str, PreviewChannel] = field(default_factory=dict)
    discord_files: "FileSource | None" = None
    signed_post: SignedPost | None = None


def discord_of(
    configured: "Settings",
    secrets: Secrets,
    clock: Clock,
    facts: Documents,
    *,
    load: Callable[..., "Settings"] = settings.load_settings,
) -> DiscordParts:
    """Return the parts for Discord, empty if it is disabled; raises Invalid for malformed ids."""
    if not configured.get("gateway.discord.enabled"):
        return DiscordParts()
    tokens = StoredBotTokens(secrets, clock, load)
    api = str(configured.get("gateway.discord.api"))
    discord = cast("Discord", _Later(lambda: _client(api, tokens, clock)))
    channel = cast("DeliveryChannel", _Later(lambda: _channel(discord, facts, clock)))
    previews = cast("PreviewChannel", _Later(lambda: _previews(discord, facts, clock)))
    streams = bool(configured.get("gateway.discord.stream"))
    return DiscordParts(
        discord,
        _community(configured),
        {KIND: channel},
        {KIND: previews} if streams else {},
        cast("FileSource", _Later(discord_files)),
    )


def channel_parts(
    configured: "Settings",
    secrets: Secrets,
    clock: Clock,
    facts: Documents,
    *,
    load: Callable[..., "Settings"] = settings.load_settings,
) -> DiscordParts:
    """Return what `discord_of` does, and what posts answers and events to addresses of others."""
    parts = discord_of(configured, secrets, clock, facts, load=load)
    channel = cast("DeliveryChannel", _Later(lambda: _webhook_answers(facts, clock)))
    posts = cast("SignedPost", _Later(lambda: _signed_post(clock)))
    return replace(parts, channels={**parts.channels, "webhook": channel}, signed_post=posts)


def configured_channels(
    configured: "Settings",
    secrets: Secrets,
    clock: Clock,
    facts: Documents,
    *,
    load: Callable[..., "Settings"] = settings.load_settings,
) -> dict[str, Any]:
    """Return what `channel_parts` does, with the chat services that are enabled."""
    parts = vars(channel_parts(configured, secrets, clock, facts, load=load))
    if not any(configured.get(f"gateway.{kind}.enabled") for kind in CHAT_KINDS):
        return parts
    from opencrab.bootstrap.chat.parts import with_chat_services

    return with_chat_services(parts, configured, secrets, clock, facts, load=load)


class StoredBotTokens:
    """`BotTokens` from the settings, or from the secrets store by name, kept for FRESH."""

    def __init__(
        self,
        secrets: Secrets,
        clock: Clock,
        load: Callable[..., "Settings"] = settings.load_settings,
    ) -> None:
        self._secrets = secrets
        self._clock = clock
        self._load = load
        self._known: dict[str | None, tuple[str, datetime]] = {}

    def token(self, secret: str | None) -> str:
        now = self._clock.now()
        token, until = self._known.get(secret, ("", now))
        if now >= until:
            token = self._read(secret)
            self._known[secret] = (token, now + FRESH)
        return token

    def forget(self) -> None:
        self._known.clear()
        self._secrets.forget()

    def _read(self, secret: str | None) -> str:
        try:
            token = self._own() if secret is None else self._secrets.get(secret) or ""
        except Unavailable as error:
            raise NeverSent(error.message, cure=error.cure) from None
        if token and token.isascii() and token.isprintable() and " " not in token:
            return token
        name = _VARIABLE if secret is None else secret
        what = "is malformed" if token else "is not set"
        raise Refused(
            f"Discord is enabled, but the bot's token {what}: set {name}",
            cure=f"store {name}, and see `opencrab admin discord doctor`",
        )

    def _own(self) -> str:
        configured = self._load({}, secret=self._secrets.get)
        return str(configured.get("gateway.discord.token")).strip()


class _Later:
    """A proxy that creates its object at the first use."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._made = cache(make)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._made(), name)


def _community(configured: "Settings") -> Community:
    try:
        return Community.model_validate(
            {name: configured.get(f"gateway.discord.{name}") for name in Community.model_fields}
        )
    except ValidationError as error:
        name = ".".join(map(str, error.errors()[0]["loc"][:1]))
        raise Invalid(
            f"gateway.discord.{name} must be a list of Discord's ids, as numbers",
            field=f"gateway.discord.{name}",
            cure="copy the ids in Discord with its developer mode on",
        ) from None


def _client(api: str, tokens: StoredBotTokens, clock: Clock) -> Discord:
    from opencrab.adapters.address import BaseUrlRules
    from opencrab.adapters.discord.client import DiscordClient
    from opencrab.adapters.providers.transport.httpx_client import new_client

    checked = BaseUrlRules("Discord", "gateway.discord.api").validate(api)
    return DiscordClient(new_client, checked, tokens, clock, Event().wait)


def discord_files() -> "FileSource":
    """Build the access to Discord's files, which needs no token."""
    from opencrab.adapters.providers.transport.http_connections import TimedBackend
    from opencrab.adapters.web.address import AllowList
    from opencrab.adapters.web.files import HttpFiles

    return HttpFiles(AllowList(FILE_HOSTS), TimedBackend())


def _channel(discord: Discord, facts: Documents, clock: Clock) -> DeliveryChannel:
    from opencrab.adapters.discord.channel import DiscordChannel

    return DiscordChannel(discord, facts, clock)


def _webhook_answers(facts: Documents, clock: Clock) -> DeliveryChannel:
    from opencrab.adapters.providers.transport.http_connections import TimedBackend
    from opencrab.adapters.web.webhook_answers import WebhookAnswerChannel

    return WebhookAnswerChannel(facts, clock, TimedBackend())


def _signed_post(clock: Clock) -> SignedPost:
    from opencrab.adapters.providers.transport.http_connections import TimedBackend
    from opencrab.adapters.web.signed_post import HttpSignedPost

    return HttpSignedPost(clock, TimedBackend())


def _previews(discord: Discord, facts: Documents, clock: Clock) -> PreviewChannel:
    from opencrab.adapters.discord.preview import DiscordPreviews

    return DiscordPreviews(discord, facts, clock)
