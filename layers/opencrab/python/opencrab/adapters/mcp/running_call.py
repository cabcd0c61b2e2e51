"""A call of a tool while it runs: how far the server says it has come, and its cancellation.

The call itself has a thread of its own, since a server may say nothing for as long as it likes, and
its turn may be stopped meanwhile.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from threading import Event, Lock, Thread
from typing import Any

from opencrab.domain.errors import OpenCrabError
from opencrab.domain.mcp.text import visible_mcp_text
from opencrab.ports.conversation.answers import CallProgressWatch
from opencrab.ports.mcp import McpUnavailable

LOOK_SECONDS = 0.25
"""The time between two looks at whether the turn was stopped."""

TEXT = 200
"""The most characters of what a server says of its progress."""

_MOST = 1e15
_STOPPED = "the call of the MCP server's tool was cancelled, since its turn was stopped"

Progress = tuple[float, float | None, str]


class RunningCall:
    """One call: the connection that makes it says how to cancel it, and what the server says.

    Of what the server says only the newest is kept, however much it is.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._news = Event()
        self._progress: Progress | None = None
        self._cancel: Callable[[], None] | None = None
        self._is_cancelled = False

    def begin(self, cancel: Callable[[], None]) -> None:
        """Note how the request that begins now is cancelled; raises McpUnavailable if it was."""
        with self._lock:
            if self._is_cancelled:
                raise McpUnavailable(_STOPPED)
            self._cancel = cancel

    def note_progress(self, params: Any) -> None:
        """Keep what a server says of its progress; nothing, if it makes no sense."""
        found = mcp_progress(params)
        if found is not None:
            with self._lock:
                self._progress = found
            self._news.set()

    def run(
        self, request: Callable[[], dict[str, Any]], watch: CallProgressWatch
    ) -> dict[str, Any]:
        """Make a request, and let it be watched.

        Raises what it raises, and McpUnavailable once the turn was stopped.
        """
        results, errors = list[dict[str, Any]](), list[BaseException]()

        def work() -> None:
            try:
                results.append(request())
            except BaseException as error:  # noqa: BLE001 - raised again by who waits
                errors.append(error)
            finally:
                self._news.set()

        Thread(target=work, name="mcp call", daemon=True).start()
        while True:
            self._news.wait(LOOK_SECONDS)
            self._news.clear()
            has_ended = bool(results or errors)
            self._show(watch)
            if has_ended:
                break
            if watch.is_stopped():
                raise McpUnavailable(_STOPPED, sent=self._cancel_request())
        if errors:
            raise errors[0]
        return results[0]

    def _show(self, watch: CallProgressWatch) -> None:
        with self._lock:
            progress, self._progress = self._progress, None
        if progress is not None:
            watch.show(*progress)

    def _cancel_request(self) -> bool:
        """Cancel the request, or see to it that it does not begin; True if it may have begun."""
        with self._lock:
            self._is_cancelled, cancel = True, self._cancel
        if cancel is None:
            return False
        # A server that cannot be reached is not worth an error: the turn ends anyway.
        with suppress(OpenCrabError):
            cancel()
        return True


def mcp_progress(params: Any) -> Progress | None:
    """Return progress, total and words of a `notifications/progress`; None if it has no number."""
    told: Mapping[str, Any] = params if isinstance(params, dict) else {}
    done = _number(told.get("progress"))
    if done is None:
        return None
    said = told.get("message")
    text = visible_mcp_text(said, TEXT) if isinstance(said, str) else ""
    return done, _number(told.get("total")), text


def _number(said: Any) -> float | None:
    is_number = isinstance(said, int | float) and not isinstance(said, bool)
    return float(said) if is_number and abs(said) < _MOST else None
