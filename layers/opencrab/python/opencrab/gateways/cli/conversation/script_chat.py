"""Speaking: one message and its answers for a script, and what every message must be."""

import threading
from collections.abc import Callable
from typing import Any

from opencrab.domain.errors import Invalid, Unavailable
from opencrab.gateways.cli.program.conversation_exchange import Exchange, Patience
from opencrab.gateways.cli.program.terminal import Terminal, clean

MESSAGE_BYTES = 65_536


class Speaker:
    """Says things in one session, which it opens when there is something to say."""

    def __init__(self, terminal: Terminal, place: Callable[[], str], name: str | None) -> None:
        self._terminal = terminal
        self._place = place
        self._name = name
        self._patience = patience_of(terminal, terminal.complain)
        self._session_id = ""

    def say(self, text: str) -> None:
        """Say one thing and write what comes back."""
        text = checked(self._terminal, text)
        self._session_id = self._session_id or self._place()
        exchange = Exchange(self._terminal.client, self._session_id, text, self._name)
        waiting = self._hear(exchange)
        if self._terminal.options.json:
            self._terminal.json(exchange.report())
        for turn in waiting:
            self._terminal.note("how_to_decide", id=turn["id"])

    def _hear(self, exchange: Exchange) -> tuple[dict[str, Any], ...]:
        """Write replies as they come; the turns that wait for a human in the end."""
        while True:
            for reply in self._patience.ask(exchange):
                if not self._terminal.options.json:
                    name = f"{reply['agent_name']}: " if len(exchange.turn_ids) > 1 else ""
                    self._terminal.line(f"{name}{reply['text']}")
            waiting = exchange.waits_for_approval() if exchange.pending else ()
            if waiting or not exchange.pending:
                return waiting


def patience_of(terminal: Terminal, say: Callable[[str], None]) -> Patience:
    """Patience with a lost connection, which says what it does."""

    def tell(attempt: int, error: Unavailable) -> None:
        say(terminal.words("again", why=error.message, attempt=attempt))

    return Patience(terminal.options.pause or threading.Event().wait, tell)


def checked(terminal: Terminal, text: str) -> str:
    """A text that may be sent; raises Invalid for one that no server would take."""
    text = clean(text)
    if not text.strip():
        raise Invalid(terminal.words("empty"))
    size = len(text.encode())
    if size > MESSAGE_BYTES:
        raise Invalid(
            terminal.words("too_long", size=size, most=MESSAGE_BYTES),
            cure=terminal.words("too_long_cure"),
        )
    return text
