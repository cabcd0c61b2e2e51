"""Bot: the connection to Discord's gateway, held open by hikari, and the work it brings along.

The one asynchronous part: it hears, asks the relay what to do next, and does that.
"""

import asyncio
from collections.abc import Callable
from itertools import chain, repeat
from typing import Any

import hikari

from opencrab.domain.errors import (
    Conflict,
    Exhausted,
    Invalid,
    OpenCrabError,
    Refused,
    Unauthenticated,
    Unavailable,
)
from opencrab.gateways.discord_relay.connection import RelayConnection
from opencrab.gateways.discord_relay.reading import (
    message_for_discord_relay,
    reaction_for_discord_relay,
    relay_message_without_addresses,
)
from opencrab.gateways.discord_relay.relay import PAGE, FetchPage, Forward, Relay, RelayMessage

REFRESH_SECONDS = 60.0
_REACTIONS = 100
_UNREADABLE = (KeyError, TypeError, ValueError)
"""What hikari raises for an answer that is other than Discord's reference says."""
_CONFLICTS = 5
_DISALLOWED_INTENTS = 4014
_PORTAL = "https://discord.com/developers/applications"


def run_discord_relay_bot(connection: RelayConnection) -> None:
    """Relay until the process is stopped.

    Raises Refused if Discord rejects the token or the intents, Unauthenticated if OpenCrab rejects
    the API key, and any error of OpenCrab's first response.
    """
    presences = connection.presences()
    everything = any(s.reads and not s.mentions_only for p in presences for s in p.spots)
    try:
        bot = _create_bot(connection, everything=everything)
    except ValueError as error:
        raise _no_token() from error
    carrier = RelayCarrier(connection, bot)
    carrier.relay.update_presences(presences, connection.now())
    carrier.subscribe()
    try:
        bot.run(check_for_updates=False)
    except hikari.UnauthorizedError as error:
        raise _no_token() from error
    except hikari.GatewayServerClosedConnectionError as error:
        raise _connection_closed_error(error) from error
    except hikari.HikariError as error:
        raise Unavailable(
            f"the connection to Discord's gateway failed: {error}", cure="start it again"
        ) from error
    if carrier.failure is not None:
        raise carrier.failure


def _create_bot(connection: RelayConnection, *, everything: bool) -> hikari.GatewayBot:
    """Create a bot that only receives; raises ValueError for a malformed token."""
    return hikari.GatewayBot(
        connection.token,
        intents=_intents(everything=everything),
        rest_url=connection.api,
        auto_chunk_members=False,
        banner=None,
        suppress_optimization_warning=True,
        logs="WARNING",
    )


def _no_token() -> Refused:
    return Refused(
        "Discord does not accept the bot's token",
        cure=f"open {_PORTAL}, Bot, Reset Token, and store the new one",
    )


def _intents(*, everything: bool) -> hikari.Intents:
    """Return the gateway's intents; message content only if a channel is read as a whole."""
    intents = hikari.Intents.GUILDS | hikari.Intents.GUILD_MESSAGES | hikari.Intents.DM_MESSAGES
    intents |= hikari.Intents.GUILD_MESSAGE_REACTIONS | hikari.Intents.DM_MESSAGE_REACTIONS
    return intents | hikari.Intents.MESSAGE_CONTENT if everything else intents


def _connection_closed_error(error: hikari.GatewayServerClosedConnectionError) -> OpenCrabError:
    if error.code == _DISALLOWED_INTENTS:
        return Refused(
            "agents are set to hear all messages, but Message Content Intent is off",
            cure=f"open {_PORTAL}, Bot, and enable Message Content Intent",
        )
    return Unavailable(f"Discord closed the connection: {error}", cure="start it again")


class RelayCarrier:
    """The worker that posts messages and reactions from Discord, one after the other."""

    def __init__(self, connection: RelayConnection, bot: hikari.GatewayBot) -> None:
        self.relay = Relay(seen=connection.load_positions())
        self.failure: BaseException | None = None
        self._connection = connection
        self._bot = bot
        self._woken = asyncio.Event()
        self._reactions: list[dict[str, Any]] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._closing: asyncio.Task[None] | None = None

    def subscribe(self) -> None:
        """Subscribe to the events of the gateway."""
        for event, hear in (
            (hikari.StartedEvent, self._started),
            (hikari.StoppingEvent, self._stopping),
            (hikari.ShardReadyEvent, self._ready),
            (hikari.ShardResumedEvent, self._resumed),
            (hikari.MessageCreateEvent, self._heard),
            (hikari.ReactionAddEvent, self._reacted),
        ):
            self._bot.event_manager.subscribe(event, hear)

    async def _started(self, _event: hikari.StartedEvent) -> None:
        for work in (self._work(), self._refresh()):
            task = asyncio.create_task(work)
            task.add_done_callback(self._ended)
            self._tasks.append(task)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        """Close the bot when one of the two tasks failed; neither ends without an error."""
        if not task.cancelled() and self.failure is None:
            self.failure = task.exception()
            self._closing = asyncio.create_task(self._bot.close())

    async def _stopping(self, _event: hikari.StoppingEvent) -> None:
        for task in self._tasks:
            task.cancel()
        self._connection.save_positions(self.relay.seen)

    async def _ready(self, event: hikari.ShardReadyEvent) -> None:
        self.relay.own_id = str(event.my_user.id)
        self.relay.refetch_all()
        self._woken.set()
        self._connection.tell("ready", name=event.my_user.username)

    async def _resumed(self, _event: hikari.ShardResumedEvent) -> None:
        self.relay.refetch_all()
        self._woken.set()

    async def _heard(self, event: hikari.MessageCreateEvent) -> None:
        heard = message_for_discord_relay(event.message, self.relay.own_id)
        if heard is not None:
            self.relay.add_message(heard)
            self._woken.set()

    async def _reacted(self, event: hikari.ReactionAddEvent) -> None:
        reaction = reaction_for_discord_relay(event)
        if reaction is not None and len(self._reactions) < _REACTIONS:
            self._reactions.append(reaction)
            self._woken.set()

    async def _refresh(self) -> None:
        """Reload from time to time the channels where agents take part."""
        while True:
            await asyncio.sleep(REFRESH_SECONDS)
            presences = await self._patiently(self._connection.presences)
            if presences is not None:
                self.relay.update_presences(presences, self._connection.now())

    async def _work(self) -> None:
        while True:
            await self._next()

    async def _next(self) -> None:
        """Do the next job, or wait until there is one."""
        self._woken.clear()
        job = self.relay.next(self._connection.now())
        if isinstance(job, Forward):
            await self._forward(job.heard)
        elif isinstance(job, FetchPage):
            await self._fetch(job)
        elif self._reactions:
            reaction = self._reactions.pop(0)
            key = f"{reaction['message_id']}-{reaction['author']['id']}-{ord(reaction['emoji'][0])}"
            bring = self._connection.bring
            await self._patiently(lambda: bring("reactions", reaction, key=key))
        else:
            await self._woken.wait()

    async def _forward(self, heard: RelayMessage) -> None:
        """Post a message until OpenCrab accepts or permanently rejects it."""
        await self._patiently(lambda: self._bring_message(heard))
        self.relay.mark_forwarded(heard)
        await asyncio.to_thread(self._connection.save_positions, dict(self.relay.seen))

    def _bring_message(self, heard: RelayMessage) -> None:
        bring, key = self._connection.bring, f"discord-{heard.id}"
        try:
            bring("messages", heard.body, key=key)
        except Invalid:
            if "files" not in heard.body:
                raise
            # OpenCrab may be of an earlier version than its relay.
            bring("messages", relay_message_without_addresses(heard.body), key=key)

    async def _patiently(self, ask: Callable[[], Any]) -> Any:
        """Call OpenCrab, with retries while it is unavailable; returns None if it rejects the call.

        Raises Unauthenticated, for which a retry would be useless.
        """
        conflicts = 0
        pauses = self._connection.pauses
        for seconds in chain(pauses, repeat(pauses[-1])):
            try:
                return await asyncio.to_thread(ask)
            except Unauthenticated:
                raise
            except (Unavailable, Exhausted, Conflict) as error:
                conflicts += isinstance(error, Conflict)
                if conflicts > _CONFLICTS:
                    self._connection.tell("refused", why=error.message)
                    return None
                self._connection.tell("waits", why=error.message, seconds=seconds)
                await asyncio.sleep(seconds)
            except OpenCrabError as error:
                self._connection.tell("refused", why=error.message)
                return None
        return None

    async def _fetch(self, job: FetchPage) -> None:
        """Fetch a page of missed messages, with the members who wrote them if roles may matter."""
        channel_id = int(job.channel_id)
        try:
            channel = await self._bot.rest.fetch_channel(channel_id)
            guild_id = channel.guild_id if isinstance(channel, hikari.GuildChannel) else None
            pages = self._bot.rest.fetch_messages(channel_id, after=int(job.after))
            messages = list(await pages.limit(PAGE))
            found = [await self._read(message, guild_id) for message in messages]
        except (hikari.NotFoundError, hikari.ForbiddenError):
            self.relay.forget_channel(job.channel_id)
        except (hikari.HikariError, *_UNREADABLE) as error:
            self.relay.retry_fetch(job.channel_id)
            seconds = self._connection.pauses[-1]
            self._connection.tell("waits", why=repr(error), seconds=seconds)
            await asyncio.sleep(seconds)
        else:
            self.relay.add_fetched_page(job.channel_id, found)

    async def _read(self, message: hikari.Message, guild_id: int | None) -> RelayMessage:
        """Convert a fetched message; a system message gets the bot as author, so it is skipped."""
        own_id = self.relay.own_id
        heard = message_for_discord_relay(message, own_id, guild_id=guild_id)
        if heard is None:
            channel_id = str(message.channel_id)
            return RelayMessage(
                str(message.id), channel_id, own_id, None, mentions_bot=False, body={}
            )
        if (
            guild_id is None
            or not self.relay.should_forward(heard)
            or heard.body["author"]["is_bot"]
        ):
            return heard
        try:
            member = await self._bot.rest.fetch_member(guild_id, message.author.id)
        except (hikari.NotFoundError, hikari.ForbiddenError):
            return heard
        return message_for_discord_relay(message, own_id, guild_id=guild_id, member=member) or heard
