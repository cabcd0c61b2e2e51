"""The setup check of Discord: reads every setting that matters, and says what to click.

It changes nothing; each check is a few calls to Discord at most.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from opencrab.domain.discord.community import Presence, Spot
from opencrab.domain.errors import NotFound, OpenCrabError, Refused, Unavailable
from opencrab.domain.value import Language, Value
from opencrab.engine.discord.advice import PERMISSION_NAMES, discord_advice
from opencrab.engine.discord.presence import discord_presences
from opencrab.engine.discord.setup import (
    ATTACH,
    EMBED,
    HISTORY,
    IN_THREADS,
    SEND,
    VIEW,
    BotApplication,
    discord_registration_difference,
)
from opencrab.engine.runtime import Runtime
from opencrab.ports.discord import Discord

_MESSAGE_CONTENT = 1 << 18 | 1 << 19
"""The application flags of the message content intent, for verified and for small bots."""

_ADMINISTRATOR = 1 << 3
_EVERYTHING = (1 << 60) - 1
_THREADS = {10, 11, 12}


class DiagnosisResult(StrEnum):
    """Result of a check; with a problem the bot does not work, or only in part."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


class Check(Value):
    """One check of the setup: its result, and what to do if it failed."""

    name: str
    state: DiagnosisResult
    what: str
    cure: str = ""


@dataclass(frozen=True)
class _Doctor:
    runtime: Runtime
    application: BotApplication
    language: Language
    discord: Discord

    def well(self, name: str, key: str, /, **facts: object) -> Check:
        what, _ = discord_advice(key, self.language, **facts)
        return Check(name=name, state=DiagnosisResult.OK, what=what)

    def ill(self, name: str, key: str, /, **facts: object) -> Check:
        return self._found(DiagnosisResult.PROBLEM, name, key, facts)

    def doubtful(self, name: str, key: str, /, **facts: object) -> Check:
        return self._found(DiagnosisResult.WARNING, name, key, facts)

    def _found(
        self, state: DiagnosisResult, name: str, key: str, facts: Mapping[str, object]
    ) -> Check:
        what, cure = discord_advice(key, self.language, **facts)
        return Check(name=name, state=state, what=what, cure=cure)


def discord_setup_checks(
    runtime: Runtime, application: BotApplication, language: Language
) -> tuple[Check, ...]:
    """Return all checks of the setup, in the order in which to fix them."""
    if runtime.discord is None:
        what, cure = discord_advice("off", language)
        return (Check(name="discord", state=DiagnosisResult.PROBLEM, what=what, cure=cure),)
    doctor = _Doctor(runtime, application, language, runtime.discord)
    kept = discord_presences(runtime.home.facts)
    return (*_of_bot(doctor, kept), _of_owners(doctor, kept), *_of_secrets(doctor, kept))


def _of_bot(doctor: _Doctor, kept: tuple[Presence, ...]) -> Iterator[Check]:
    """Yield the checks that need a valid token; without one, only that problem."""
    try:
        bot = doctor.discord.ask("GET", "/users/@me")
    except Unavailable as error:
        yield doctor.ill("token", "unreachable", why=error.message)
        return
    except OpenCrabError as error:
        yield doctor.ill("token", "token_wrong", why=error.message)
        return
    yield doctor.well("token", "token", name=bot.get("username"), id=bot.get("id"))
    try:
        found = doctor.discord.ask("GET", "/applications/@me")
    except OpenCrabError as error:
        yield doctor.ill("application", "application_unread", why=error.message)
        return
    yield from _of_application(doctor, found, kept)
    yield _of_commands(doctor)
    for spot in _spots(kept):
        yield _of_channel(doctor, spot, str(bot.get("id")))


def _of_application(
    doctor: _Doctor, found: Mapping[str, Any], kept: tuple[Presence, ...]
) -> Iterator[Check]:
    wanted = doctor.application
    if str(found.get("id")) == wanted.application_id:
        yield doctor.well("application", "application", name=found.get("name"))
    else:
        facts = {"id": found.get("id"), "wanted": wanted.application_id or "-"}
        yield doctor.ill("application", "application_other", **facts)
    keys = {each.strip().lower() for each in wanted.public_key.split(",")}
    if str(found.get("verify_key") or "").lower() in keys - {""}:
        yield doctor.well("public_key", "public_key")
    else:
        yield doctor.ill("public_key", "public_key_other", key=found.get("verify_key"))
    yield _of_endpoint(doctor, str(found.get("interactions_endpoint_url") or ""))
    yield _of_guilds(doctor, is_public=bool(found.get("bot_public")))
    yield _of_installation(doctor, found.get("integration_types_config") or {})
    yield _of_content(doctor, int(found.get("flags") or 0), kept)


def _of_guilds(doctor: _Doctor, *, is_public: bool) -> Check:
    """Check who can use the bot: a list of servers also excludes strangers' private messages."""
    guild_ids = doctor.runtime.community.guild_ids
    if guild_ids:
        return doctor.well("guilds", "guilds_listed", count=len(guild_ids))
    if is_public:
        return doctor.doubtful("guilds", "anybody")
    return doctor.well("guilds", "guilds")


def _of_endpoint(doctor: _Doctor, url: str) -> Check:
    wanted = doctor.application.endpoint
    if not url:
        return doctor.ill(
            "endpoint", "endpoint_none", wanted=wanted or _discord_endpoint_advice(doctor)
        )
    if wanted is None:
        return doctor.well("endpoint", "endpoint_set", url=url)
    if url.rstrip("/") != wanted.rstrip("/"):
        return doctor.ill("endpoint", "endpoint_other", url=url, wanted=wanted)
    return doctor.well("endpoint", "endpoint", url=url)


def _discord_endpoint_advice(doctor: _Doctor) -> str:
    """Return a description of the endpoint's URL where its address is not known."""
    return discord_advice("endpoint_form", doctor.language)[0]


def _of_installation(doctor: _Doctor, kinds: Mapping[str, Any]) -> Check:
    if "0" not in kinds:
        return doctor.doubtful("install", "install_server")
    if "1" not in kinds:
        return doctor.doubtful("install", "install_user")
    return doctor.well("install", "install")


def _of_content(doctor: _Doctor, flags: int, kept: tuple[Presence, ...]) -> Check:
    """Check the message content intent: without it, only messages mentioning the bot have text."""
    if flags & _MESSAGE_CONTENT:
        return doctor.well("message_content", "content")
    everything = any(each.reads and not each.mentions_only for p in kept for each in p.spots)
    if everything:
        return doctor.ill("message_content", "content_needed")
    return doctor.well("message_content", "content_not_needed")


def _of_commands(doctor: _Doctor) -> Check:
    """Check that the commands are registered globally, or in every server of the installation."""
    try:
        found = discord_registration_difference(doctor.runtime.discord, doctor.application, None)
        if not found.is_none and _in_guilds(doctor):
            return doctor.well("commands", "commands_guilds")
    except OpenCrabError as error:
        return doctor.ill("commands", "commands_unread", why=error.message)
    if not found.is_none:
        counts = {"added": len(found.added), "changed": len(found.changed)}
        return doctor.ill("commands", "commands_differ", removed=len(found.removed), **counts)
    return doctor.well("commands", "commands", count=len(found.same))


def _in_guilds(doctor: _Doctor) -> bool:
    guild_ids = doctor.runtime.community.guild_ids
    return bool(guild_ids) and all(
        discord_registration_difference(doctor.runtime.discord, doctor.application, each).is_none
        for each in guild_ids
    )


def _spots(kept: tuple[Presence, ...]) -> tuple[Spot, ...]:
    """Return each channel once, with the union of the agents' permissions to read and write."""
    found = dict[str, Spot]()
    for spot in (each for presence in kept for each in presence.spots):
        other = found.get(spot.channel_id, spot)
        reads, writes = spot.reads or other.reads, spot.writes or other.writes
        found[spot.channel_id] = spot.replaced(reads=reads, writes=writes)
    return tuple(found.values())


def _of_channel(doctor: _Doctor, spot: Spot, bot_id: str) -> Check:
    name = f"channel {spot.channel_id}"
    try:
        channel, given = _permissions(doctor.discord, spot.channel_id, bot_id)
    except (NotFound, Refused) as error:
        return doctor.ill(name, "channel_hidden", id=spot.channel_id, why=error.message)
    except OpenCrabError as error:
        return doctor.ill(name, "channel_unread", id=spot.channel_id, why=error.message)
    is_thread = channel.get("type") in _THREADS
    needed = [VIEW, EMBED, ATTACH]
    needed += [HISTORY] if spot.reads else []
    needed += [IN_THREADS if is_thread else SEND] if spot.writes else []
    missing = [bit for bit in needed if not given & bit]
    shown = channel.get("name") or spot.channel_id
    if not missing:
        return doctor.well(name, "channel", name=shown)
    names = ", ".join(PERMISSION_NAMES[bit][doctor.language] for bit in missing)
    return doctor.ill(name, "channel_lacks", name=shown, missing=names)


def _permissions(discord: Discord, channel_id: str, bot_id: str) -> tuple[Mapping[str, Any], int]:
    """Return a channel and the bot's permissions in it (Discord's reference, "Permissions")."""
    channel = discord.ask("GET", f"/channels/{channel_id}")
    ruling = channel
    if channel.get("type") in _THREADS:
        ruling = discord.ask("GET", f"/channels/{channel.get('parent_id')}")
    guild_id = str(channel.get("guild_id"))
    member = discord.ask("GET", f"/guilds/{guild_id}/members/{bot_id}")
    roles = discord.ask("GET", f"/guilds/{guild_id}/roles")
    own = {guild_id, *map(str, member.get("roles") or ())}
    base = 0
    for role in roles:
        base |= int(role.get("permissions") or 0) if str(role.get("id")) in own else 0
    if base & _ADMINISTRATOR:
        return channel, _EVERYTHING
    return channel, _overwritten(base, ruling, guild_id, own - {guild_id}, bot_id)


def _overwritten(
    base: int, channel: Mapping[str, Any], guild_id: str, roles: set[str], bot_id: str
) -> int:
    """Apply a channel's overwrites: for everyone, then for roles, then for the bot."""
    overwrites = channel.get("permission_overwrites") or ()
    for ids in ({guild_id}, roles, {bot_id}):
        here = [each for each in overwrites if str(each.get("id")) in ids]
        for each in here:
            base &= ~int(each.get("deny") or 0)
        for each in here:
            base |= int(each.get("allow") or 0)
    return base


def _of_owners(doctor: _Doctor, kept: tuple[Presence, ...]) -> Check:
    if doctor.runtime.community.owner_ids or any(each.owner_ids for each in kept):
        return doctor.well("owners", "owners")
    return doctor.doubtful("owners", "owners_none")


def _of_secrets(doctor: _Doctor, kept: tuple[Presence, ...]) -> Iterator[Check]:
    """Check that each agent's own bot has a token, without showing it."""
    secrets = doctor.runtime.secrets
    for presence in kept:
        if presence.token_secret is None:
            continue
        name, secret = f"bot of {presence.agent_id}", presence.token_secret
        try:
            is_there = secrets is not None and secrets.get(secret)
        except Unavailable as error:
            yield doctor.ill(name, "secret_unread", secret=secret, why=error.message)
            continue
        key = "secret" if is_there else "secret_none"
        yield (doctor.well if is_there else doctor.ill)(name, key, secret=secret)
