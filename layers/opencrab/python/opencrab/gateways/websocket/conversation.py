"""A conversation over a WebSocket that this very process holds open, as the local home's does."""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

from opencrab.domain.access.principal import Principal
from opencrab.domain.errors import Refused, Unauthenticated
from opencrab.domain.value import Language
from opencrab.engine.conversation.key_holders import KeyHolders
from opencrab.engine.conversation.live import LiveFollower, VisibleKinds, WatchTarget
from opencrab.engine.conversation.live_events import Event
from opencrab.engine.runtime import Runtime
from opencrab.engine.websocket.connections import (
    CONNECTION_LIVES,
    MOST_MESSAGES,
    MOST_WATCHED,
    WINDOW_SECONDS,
    websocket_flooding_error,
)
from opencrab.gateways.language.accept_language import language_of_http_request
from opencrab.gateways.websocket.authentication import ConnectionGate
from opencrab.gateways.websocket.dispatch import answer_websocket_frame
from opencrab.ports.conversation.feed import ChangeFeed


class LocalTalk:
    """The factory of conversations in this process."""

    def __init__(self, runtime: Runtime, feed: ChangeFeed, origins: frozenset[str]) -> None:
        self._runtime = runtime
        self._feed = feed
        self._entrance = ConnectionGate(runtime, origins)

    def enter(self, headers: Mapping[str, str], query: str) -> "Conversation":
        """Begin a conversation with the caller; raises Refused, Unauthenticated."""
        language = language_of_http_request(headers.get("accept-language", ""))
        key = self._entrance.key(headers, query)
        return Conversation(self._runtime, self._feed, key, language)


class Conversation:
    """A connected client, whose frames are answered and who receives the watched events.

    Only one thread may use it at a time. A revoked key is noticed with the next frame, or within a
    minute, however slowly the client reads. Its errors are told in `language`.
    """

    def __init__(
        self, runtime: Runtime, feed: ChangeFeed, key: str, language: Language = Language.EN
    ) -> None:
        self.language = language
        self._runtime = runtime
        self._key = key
        self._holders = KeyHolders(runtime)
        self._following = LiveFollower(runtime, feed, MOST_WATCHED)
        self._began = runtime.clock.now()
        self._said: deque[float] = deque(maxlen=MOST_MESSAGES)
        self._past: list[Iterable[Event]] = []

    def handle_frame(self, text: str) -> Iterator[Event]:
        """Return the answer to a frame, followed by the past lines that it asked for.

        Raises Exhausted if too many frames arrive, Unauthenticated when the key was revoked.
        """
        now = self._runtime.clock.monotonic_ms()
        if len(self._said) == MOST_MESSAGES and now - self._said[0] < WINDOW_SECONDS * 1_000:
            raise websocket_flooding_error()
        self._said.append(now)
        self._holders.known.clear()
        answered = answer_websocket_frame(
            self._runtime, self._principal(), self, text, lambda: self.language
        )
        past, self._past = self._past, []
        return chain((answered,), *past)

    def new_events(self) -> Iterator[Event]:
        """Return the events since the last call that the client may see.

        Raises Unauthenticated when the key was revoked, Unavailable when the client lags too far.
        """
        self._end_forbidden_watches()
        return self._following.new_events()

    def check_access(self) -> None:
        """Raise Unauthenticated, or Refused if something watched may no longer be watched.

        For events that were returned and not sent yet.
        """
        if self._end_forbidden_watches():
            raise Refused("a session is no longer shared with this key", cure="connect again")

    def begin(self, watched: WatchTarget, visible: VisibleKinds, after: int | None) -> int:
        """Implement `dispatch.Watches.begin`."""
        begun = self._following.begin(watched, visible, after)
        if begun.gap is not None:
            self._past.append((begun.gap,))
        self._past.append(self._following.past(watched))
        return begun.place

    def end(self, watched: WatchTarget) -> bool:
        """Implement `dispatch.Watches.end`."""
        return self._following.end(watched)

    def _end_forbidden_watches(self) -> bool:
        """End the watches that are no longer allowed; return whether there were any."""
        self._principal()
        ended = [
            watched
            for watched in self._following.targets()
            if not self._holders.may_watch(self._key, watched)
        ]
        for watched in ended:
            self._following.end(watched)
        return bool(ended)

    def _principal(self) -> Principal:
        if self._runtime.clock.now() - self._began >= CONNECTION_LIVES:
            raise Unauthenticated("this connection is two hours old", cure="connect again")
        return self._holders.get(self._key)
