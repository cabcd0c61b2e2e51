"""What a chat waited for when its terminal closed: kept in a file, to wait for it again.

The file has one exchange, the last one that was accepted and not yet answered. It is asked for
under the same idempotency key, so that nothing is said twice.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from opencrab.gateways.cli.terminal.exchange import Exchange
from opencrab.gateways.cli.terminal.terminal import Terminal

FRESH = timedelta(days=1)
"""How long an exchange is waited for again: the server knows its key far longer."""

_FIELDS = ("session_id", "text", "speaker", "key")


class OpenExchange:
    """The file that keeps the exchange; without a clock nothing is kept."""

    def __init__(self, terminal: Terminal, file: Path) -> None:
        self._terminal = terminal
        self._file = file

    def note(self, exchange: Exchange) -> None:
        """Keep an exchange while turns of it are pending, and forget it afterwards."""
        now = self._terminal.options.now
        with suppress(OSError):
            if not exchange.pending or now is None:
                self._file.unlink(missing_ok=True)
                return
            kept: dict[str, Any] = {name: getattr(exchange, name) for name in _FIELDS}
            kept |= {"parts": list(exchange.parts), "at": now().isoformat()}
            self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._file.touch(mode=0o600)
            self._file.write_text(json.dumps(kept), encoding="utf-8")

    def of_session(self, session_id: str) -> Exchange | None:
        """Return the exchange that was left in a session, if it is not too old."""
        now = self._terminal.options.now
        try:
            kept = json.loads(self._file.read_text(encoding="utf-8"))
            fresh = now is not None and now() - datetime.fromisoformat(kept["at"]) < FRESH
            if kept["session_id"] != session_id or not fresh:
                return None
            facts = {name: kept[name] for name in _FIELDS}
            return Exchange(self._terminal.client, **facts, parts=tuple(kept["parts"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None


class TerminalClosed(Exception):
    """The window of the terminal was closed, or its connection was lost."""


@contextmanager
def end_chat_on_hangup() -> Iterator[None]:
    """Raise TerminalClosed within the block when the terminal closes, where it tells so."""
    import signal
    import threading

    hangup = getattr(signal, "SIGHUP", None)
    if hangup is None or threading.current_thread() is not threading.main_thread():
        yield
        return

    def close(_number: int, _frame: object) -> None:
        raise TerminalClosed

    before = signal.signal(hangup, close)
    try:
        yield
    finally:
        signal.signal(hangup, before)
