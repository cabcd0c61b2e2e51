"""Exchange: one message and everything that comes back for it, however long that takes.

The message has one name, under which it is sent again after a lost connection and to wait on:
to the server that is the same message, so nothing is said twice and nothing is lost.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from opencrab.domain.errors import Invalid, Unavailable
from opencrab.gateways.cli.connection.client import Client, new_idempotency_key
from opencrab.gateways.cli.terminal.terminal import Terminal
from opencrab.gateways.cli.terminal.text import clean_terminal_text

WAIT_SECONDS = 25
TRIES = 6
MESSAGE_BYTES = 65_536
_WITHOUT_ANSWER = {"idle", "stopped", "exhausted", "failed"}

Reply = dict[str, Any]


@dataclass
class Exchange:
    """A message and its turns; `replies` grows with every `ask` until no turn is `pending`."""

    client: Client
    session_id: str
    text: str
    speaker: str | None = None
    parts: tuple[dict[str, Any], ...] = ()
    key: str = field(default_factory=new_idempotency_key)
    turn_ids: tuple[str, ...] = ()
    pending: tuple[str, ...] = ()
    replies: list[Reply] = field(default_factory=list)

    def ask(self, wait: int = WAIT_SECONDS) -> list[Reply]:
        """Send the message, or poll it again; returns the new replies."""
        said: dict[str, Any] = {"text": self.text}
        said |= {"sender_name": self.speaker} if self.speaker else {}
        said |= {"parts": self.parts} if self.parts else {}
        answer = self.client.post(
            "sessions", self.session_id, "messages", body=said, key=self.key, wait=wait
        )
        self.turn_ids = tuple(answer.get("turn_ids", ()))
        self.pending = tuple(answer.get("pending", self.turn_ids))
        new = [reply for reply in answer.get("replies", ()) if reply not in self.replies]
        self.replies.extend(new)
        return new

    def waits_for_approval(self) -> tuple[dict[str, Any], ...]:
        """Return the pending turns if all of them wait for approval, else none."""
        turns = tuple(self.client.get("turns", turn_id) for turn_id in self.pending)
        return turns if all(turn["status"] == "waiting" for turn in turns) else ()

    def ended_without_answer(self) -> bool:
        """Check whether a turn with a notice failed, was stopped or exhausted its budget."""
        noticed = {reply["turn_id"] for reply in self.replies if reply["kind"] == "system"}
        turns = [self.client.get("turns", turn_id) for turn_id in sorted(noticed)]
        return any(turn["status"] in _WITHOUT_ANSWER for turn in turns)

    def cancel(self) -> None:
        """Ask every turn that has not ended to stop."""
        if not self.turn_ids:
            self.ask(wait=0)
        for turn_id in self.pending:
            self.client.post("turns", turn_id, "cancel")

    def report(self) -> dict[str, Any]:
        """Return the ids, replies and pending turns as JSON for a script."""
        return {
            "session_id": self.session_id,
            "turn_ids": list(self.turn_ids),
            "replies": self.replies,
            "pending": list(self.pending),
        }


@dataclass(frozen=True)
class RetryPolicy:
    """The retries of an exchange whose connection is lost, and the function that reports them."""

    pause: Callable[[float], object]
    tell: Callable[[int, Unavailable], None]
    tries: int = TRIES

    def ask(self, exchange: Exchange, wait: int = WAIT_SECONDS) -> list[Reply]:
        """Call `exchange.ask` and retry with backoff; raises Unavailable after the last attempt."""
        for attempt in range(1, self.tries + 1):
            try:
                return exchange.ask(wait)
            except Unavailable as error:
                if attempt == self.tries:
                    raise
                self.tell(attempt, error)
                self.pause(min(2.0 ** (attempt - 1), 8.0))
        raise AssertionError("the last try either answers or raises")


def reply_timeout(terminal: Terminal, say: Callable[[str], None]) -> RetryPolicy:
    """Return a retry policy that prints each retry."""

    def tell(attempt: int, error: Unavailable) -> None:
        say(terminal.words("again", why=error.message, attempt=attempt))

    return RetryPolicy(terminal.pause, tell)


def check_message_text(terminal: Terminal, text: str) -> str:
    """Return the text without control characters; raises Invalid if it is empty or too long."""
    text = clean_terminal_text(text)
    if not text.strip():
        raise Invalid(terminal.words("empty"), cure=terminal.words("empty_cure"))
    size = len(text.encode())
    if size > MESSAGE_BYTES:
        raise Invalid(
            terminal.words("too_long", size=size, most=MESSAGE_BYTES),
            cure=terminal.words("too_long_cure"),
        )
    return text
