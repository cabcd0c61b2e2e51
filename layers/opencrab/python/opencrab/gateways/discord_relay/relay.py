"""Relay: what is brought to OpenCrab, in which order, and what was missed and must be fetched.

It does no input or output: whoever runs it tells it what happens, and asks what to do next. It
knows of a channel up to which message everything was brought; after a lost connection, and when
more comes than it may hold, it has the rest fetched from there.
"""

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from opencrab.domain.discord.community import Presence

PAGE = 100
"""Messages of one fetch, as many as Discord gives."""

MOST = 1_000
"""Messages that are held at once."""

OLDEST = timedelta(days=1)
"""What is older is not answered any more."""

_EPOCH_MILLISECONDS = 1_420_070_400_000


@dataclass(frozen=True)
class RelayMessage:
    """A message as the API takes it, with the fields that decide whether it is relayed."""

    id: str
    channel_id: str
    author_id: str
    guild_id: str | None
    mentions_bot: bool
    body: Mapping[str, Any]


@dataclass(frozen=True)
class Forward:
    """The job to post this message and then call `accepted`; its channel waits for it."""

    heard: RelayMessage


@dataclass(frozen=True)
class FetchPage:
    """The job to fetch a page of a channel's messages after an id and then call `fetched`."""

    channel_id: str
    after: str


@dataclass
class Relay:
    """The messages that wait to be relayed; `seen` has each channel's last relayed message."""

    seen: dict[str, str] = field(default_factory=dict)
    own_id: str = ""
    most: int = MOST
    _everything: frozenset[str] = frozenset()
    _waiting: dict[str, deque[RelayMessage]] = field(default_factory=dict)
    _behind: set[str] = field(default_factory=set)
    _fetching: dict[str, list[RelayMessage]] = field(default_factory=dict)

    def update_presences(self, presences: Iterable[Presence], now: datetime) -> None:
        """Set the channels that agents read; older messages of new channels are not relayed."""
        spots = [spot for each in presences for spot in each.spots if spot.reads]
        self._everything = frozenset(s.channel_id for s in spots if not s.mentions_only)
        for spot in spots:
            self.seen.setdefault(spot.channel_id, lowest_discord_relay_id_at(now))

    def should_forward(self, heard: RelayMessage) -> bool:
        """Check whether to relay a message: private, naming the bot, or in a fully read channel."""
        if heard.author_id == self.own_id:
            return False
        named = heard.mentions_bot or heard.guild_id is None
        return named or heard.channel_id in self._everything

    def add_message(self, heard: RelayMessage) -> None:
        """Queue a received message; one that is not relayed only updates `seen` of its channel."""
        channel_id = heard.channel_id
        if channel_id in self._behind:
            return
        if channel_id in self._fetching:
            self._fetching[channel_id].append(heard)
        elif self.should_forward(heard) or channel_id in self.seen:
            self._hold(heard)

    def refetch_all(self) -> None:
        """Mark all known channels for fetching: messages may be missing after a reconnection."""
        self._behind.update(self.seen)
        self._fetching.clear()

    def next(self, now: datetime) -> Forward | FetchPage | None:
        """Return the next job, the same again until it is done; None if there is nothing to do."""
        for channel_id in tuple(self._waiting):
            heard = self._first(channel_id)
            if heard is not None:
                return Forward(heard)
        for channel_id in sorted(self._behind):
            self._behind.discard(channel_id)
            self._fetching[channel_id] = []
            return self._fetch(channel_id, now)
        return None

    def mark_forwarded(self, heard: RelayMessage) -> None:
        """Remove a message that was posted, or that was permanently rejected."""
        waiting = self._waiting.get(heard.channel_id)
        if waiting and waiting[0] == heard:
            waiting.popleft()
        self._advance(heard)

    def add_fetched_page(self, channel_id: str, found: Iterable[RelayMessage]) -> None:
        """Queue a fetched page; after a full page the next one is fetched."""
        held = self._fetching.pop(channel_id, None)
        if held is None:
            return
        page = {heard.id: heard for heard in sorted(found, key=lambda each: int(each.id))}
        more = len(page) >= PAGE
        for heard in (page if more else page | {each.id: each for each in held}).values():
            self._waiting.setdefault(channel_id, deque()).append(heard)
        if more:
            self._behind.add(channel_id)

    def retry_fetch(self, channel_id: str) -> None:
        """Mark a channel for fetching again after a page could not be fetched."""
        if self._fetching.pop(channel_id, None) is not None:
            self._behind.add(channel_id)

    def forget_channel(self, channel_id: str) -> None:
        """Forget a channel that was deleted or that the bot may no longer read."""
        self._fetching.pop(channel_id, None)
        self.seen.pop(channel_id, None)

    def _hold(self, heard: RelayMessage) -> None:
        if sum(map(len, self._waiting.values())) >= self.most:
            self.seen.setdefault(heard.channel_id, str(int(heard.id) - 1))
            self._behind.add(heard.channel_id)
            return
        self._waiting.setdefault(heard.channel_id, deque()).append(heard)

    def _first(self, channel_id: str) -> RelayMessage | None:
        """Return a channel's first message to relay, after skipping those that are not relayed."""
        waiting = self._waiting[channel_id]
        while waiting:
            if self.should_forward(waiting[0]):
                return waiting[0]
            self._advance(waiting.popleft())
        del self._waiting[channel_id]
        return None

    def _fetch(self, channel_id: str, now: datetime) -> FetchPage:
        after = max(
            int(self.seen.get(channel_id, "0")), int(lowest_discord_relay_id_at(now - OLDEST))
        )
        return FetchPage(channel_id, str(after))

    def _advance(self, heard: RelayMessage) -> None:
        known = int(self.seen.get(heard.channel_id, "0"))
        self.seen[heard.channel_id] = str(max(known, int(heard.id)))


def lowest_discord_relay_id_at(moment: datetime) -> str:
    """Return the lowest snowflake id of a time; the inverse of `time_of_discord_snowflake`."""
    milliseconds = int(moment.timestamp() * 1_000) - _EPOCH_MILLISECONDS
    return str(max(milliseconds, 1) << 22)
