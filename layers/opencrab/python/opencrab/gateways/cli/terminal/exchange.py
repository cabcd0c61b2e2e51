"""Exchange: one message and everything that comes back for it, however long that takes.

The message has one name, under which it is sent again after a lost connection and to wait on:
to the server that is the same message, so nothing is said twice and nothing is lost.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from opencrab.domain.errors import Invalid, Unavailable
from opencrab.gateways.cli.connection.client import Client, new_key_for_server_request
from opencrab.gateways.cli.scripting.error_json import error_json_for_scripts
from opencrab.gateways.cli.scripting.exit_code import WAITING
from opencrab.gateways.cli.terminal.terminal import Terminal
from opencrab.gateways.cli.terminal.text import clean_terminal_text

WAIT_SECONDS = 25
TRIES = 6
MESSAGE_BYTES = 65_536
_ERRORS = {
    "idle": "unanswered",
    "stopped": "stopped",
    "exhausted": "exhausted",
    "failed": "failed",
}
"""The type of the error of a turn that ended with a notice, for servers that do not tell it."""

_OPEN = ("waiting", "running", "queued")
_SPEECH = "speech"

Reply = dict[str, Any]
Outcome = dict[str, Any]
"""A turn's status, cost and error, as a server tells them."""


@dataclass
class Exchange:
    """A message and its turns; `replies` grows with every `ask` until no turn is `pending`."""

    client: Client
    session_id: str
    text: str
    speaker: str | None = None
    parts: tuple[dict[str, Any], ...] = ()
    key: str = field(default_factory=new_key_for_server_request)
    turn_ids: tuple[str, ...] = ()
    pending: tuple[str, ...] = ()
    replies: list[Reply] = field(default_factory=list)
    _told: tuple[Outcome, ...] | None = None

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
        told = answer.get("turns")
        self._told = None if told is None else tuple(told)
        new = [reply for reply in answer.get("replies", ()) if reply not in self.replies]
        self.replies.extend(new)
        return new

    def waits_for_approval(self) -> tuple[dict[str, Any], ...]:
        """Return the pending turns if all of them wait for approval, else none."""
        turns = tuple(self.client.get("turns", turn_id) for turn_id in self.pending)
        return turns if all(turn["status"] == "waiting" for turn in turns) else ()

    def outcomes(self) -> tuple[Outcome, ...]:
        """Return status, cost and error of every turn, as of the last `ask`.

        A turn that waits for approval has an error of that type. Where OpenCrab said something in
        place of the answer, that is the error's message.
        """
        if self._told is None:
            self._told = tuple(self._read_outcome(turn_id) for turn_id in self.turn_ids)
        return tuple(self._with_notice(told) for told in self._told)

    def cancel(self) -> None:
        """Ask every turn that has not ended to stop."""
        if not self.turn_ids:
            self.ask(wait=0)
        for turn_id in self.pending:
            self.client.post("turns", turn_id, "cancel")

    def report(self) -> dict[str, Any]:
        """Return everything as JSON for a script.

        Of several turns, `status` and `error` are those of the first with an error, if there is
        one, or of the first that has not ended.
        """
        turns = self.outcomes()
        wrong = [turn for turn in turns if turn["error"] is not None]
        still = [turn for turn in turns if turn["status"] in _OPEN]
        first = (*wrong, *still, *turns)[:1]
        return {
            "session_id": self.session_id,
            "turn_ids": list(self.turn_ids),
            "status": first[0]["status"] if first else None,
            "error": first[0]["error"] if first else None,
            "cost_micro_usd": sum(turn["cost_micro_usd"] for turn in turns),
            "replies": self.replies,
            "pending": list(self.pending),
            "turns": list(turns),
        }

    def _notices(self, turn_id: str) -> str:
        """Return what OpenCrab itself said in a turn."""
        mine = (reply for reply in self.replies if reply["turn_id"] == turn_id)
        return "\n".join(reply["text"] for reply in mine if reply["kind"] != _SPEECH)

    def _with_notice(self, told: Outcome) -> Outcome:
        error, said = told["error"], self._notices(told["id"])
        if told["status"] == WAITING:
            words = self.client.words
            message = said or words("waits_for_approval")
            error = error_json_for_scripts(WAITING, message, words("waits_cure", id=told["id"]))
        elif error is not None and said:
            error = {**error, "message": said}
        return {**told, "error": error}

    def _read_outcome(self, turn_id: str) -> Outcome:
        """Read the outcome of a turn from a server whose answer to a message has none."""
        turn = self.client.get("turns", turn_id)
        kind, said = _ERRORS.get(turn["status"]), self._notices(turn_id)
        return {
            "id": turn_id,
            "agent_id": turn["agent_id"],
            "status": turn["status"],
            "cost_micro_usd": turn["spent_micro_usd"],
            "error": error_json_for_scripts(kind, said, None) if kind and said else None,
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


def retry_policy_shown_on_terminal(terminal: Terminal, say: Callable[[str], None]) -> RetryPolicy:
    """Return a retry policy that prints each retry."""

    def tell(attempt: int, error: Unavailable) -> None:
        say(terminal.words("again", why=terminal.error_text(error.message), attempt=attempt))

    return RetryPolicy(terminal.pause, tell)


def clean_message_from_terminal(terminal: Terminal, text: str) -> str:
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
