"""An MCP server as a process of this computer, which speaks on its standard input and output.

It gets the variables that programs need and those of its settings, no others; it is the leader of a
process group that is ended as a whole; and what it says is read up to a limit.
"""

import os
import signal
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from time import monotonic
from typing import Any

from opencrab.adapters.mcp.messages import (
    Message,
    answer_to_mcp_server,
    is_progress_of_mcp_call,
    mcp_cancellation,
    mcp_message,
    params_with_progress,
    parse_mcp_message,
    result_of_mcp_answer,
)
from opencrab.adapters.mcp.running_call import RunningCall
from opencrab.domain.mcp.server import McpServer
from opencrab.ports.mcp import McpUnavailable

MESSAGE_BYTES = 4 * 1024 * 1024
"""The largest message of a server that is read."""

_STRAY_LINES = 100
"""Lines that are no messages, as of a server that logs to its output; more end it."""

_INHERITED = (
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR"),
    *("SYSTEMROOT", "APPDATA", "LOCALAPPDATA", "USERPROFILE", "TEMP", "PATHEXT", "COMSPEC"),
)
_END_SECONDS = 2.0
_FILE_BYTES = 2**30
_CURE = "run its command in a terminal to see what it says, or continue without it"


class StdioConnection:
    """A running server; raises McpUnavailable if it cannot be started.

    Args:
        server: The server.
        variables: The variables of this process; few of them are passed on.
    """

    def __init__(self, server: McpServer, variables: Mapping[str, str]) -> None:
        self.tools_changed = False
        self._name = server.name
        self._lock = Lock()
        self._number = 0
        self._waiting: dict[int, SimpleQueue[Message | None]] = {}
        self._running: dict[int, RunningCall] = {}
        self._broken = ""
        self._outgoing: SimpleQueue[bytes | None] = SimpleQueue()
        kept = {name: variables[name] for name in _INHERITED if name in variables}
        try:
            self._process = subprocess.Popen(  # noqa: S603 - the owner's own command
                [server.command, *server.args],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=kept | server.env,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or "its command has an invalid character"
            raise McpUnavailable(
                f"the MCP server {server.name} does not start: {why}",
                cure=f"correct mcp.servers.{server.name}.command",
            ) from None
        _limit(self._process.pid)
        for work in (self._read, self._write):
            Thread(target=work, name=f"mcp {server.name}", daemon=True).start()

    @property
    def is_open(self) -> bool:
        """True while it can be asked."""
        return not self._broken and self._process.poll() is None

    def request(
        self,
        method: str,
        params: Mapping[str, Any],
        deadline: float,
        running: RunningCall | None = None,
    ) -> dict[str, Any]:
        """Return the result of a request. Raises McpUnavailable, at the deadline at the latest."""
        answers: SimpleQueue[Message | None] = SimpleQueue()
        with self._lock:
            self._number += 1
            number = self._number
            self._waiting[number] = answers
            if running is not None:
                self._running[number] = running
        try:
            if self._broken:
                raise self._failed(sent=False)
            if running is not None:
                params = params_with_progress(params, number)
                running.begin(lambda: self._cancel(number))
            self._outgoing.put(mcp_message(method, params, number))
            try:
                found = answers.get(timeout=max(deadline - monotonic(), 0.0))
            except Empty:
                self._give_up(number)
                raise McpUnavailable(
                    f"the MCP server {self._name} did not answer {method} in time",
                    cure=_CURE,
                    sent=True,
                ) from None
        finally:
            with self._lock:
                self._waiting.pop(number, None)
                self._running.pop(number, None)
        if found is None:
            raise self._failed(sent=True)
        return result_of_mcp_answer(found, self._name, method)

    def notify(self, method: str, deadline: float) -> None:  # noqa: ARG002 - as over HTTP
        """Send a notification."""
        self._outgoing.put(mcp_message(method, {}))

    def close(self) -> None:
        """End the server and everything that it started."""
        self._break("it was ended")
        self._outgoing.put(None)
        process = self._process
        try:
            process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            _signal_group(process, "SIGTERM")
            with suppress(subprocess.TimeoutExpired):
                process.wait(_END_SECONDS)
        # What it started may live on in its group.
        _signal_group(process, "SIGKILL")
        with suppress(subprocess.TimeoutExpired):
            process.wait(_END_SECONDS)

    def kill(self) -> None:
        """End the server at once."""
        self._break("it was ended")
        self._outgoing.put(None)
        _signal_group(self._process, "SIGKILL")
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_SECONDS)

    def _cancel(self, number: int) -> None:
        self._outgoing.put(mcp_cancellation(number, "its turn was stopped"))
        # A server need not answer any more: whoever still waits for it would end it as hanging.
        with self._lock:
            waiting = self._waiting.get(number)
        if waiting is not None:
            waiting.put({"id": number})

    def _give_up(self, number: int) -> None:
        """Cancel a request that took too long; end a server that nobody else waits for."""
        self._outgoing.put(mcp_cancellation(number, "timeout"))
        with self._lock:
            is_last = len(self._waiting) == 1
        if is_last:
            Thread(target=self.close, name=f"mcp {self._name} end", daemon=True).start()

    def _failed(self, *, sent: bool) -> McpUnavailable:
        return McpUnavailable(
            f"the MCP server {self._name} is not usable: {self._broken}", cure=_CURE, sent=sent
        )

    def _break(self, why: str) -> None:
        with self._lock:
            self._broken = self._broken or why
            waiting = list(self._waiting.values())
        for each in waiting:
            each.put(None)

    def _read(self) -> None:
        output, stray = self._process.stdout, 0
        assert output is not None  # noqa: S101 - it is a pipe
        with output, suppress(OSError, ValueError):
            while line := output.readline(MESSAGE_BYTES + 1):
                if len(line) > MESSAGE_BYTES:
                    self._break(f"it sent a message larger than {MESSAGE_BYTES} bytes")
                    break
                message = parse_mcp_message(line)
                stray += message is None and bool(line.strip())
                if stray > _STRAY_LINES:
                    self._break("it sent lines that are no messages")
                    break
                if message is not None:
                    self._take(message)
        self._break("it ended")
        self._outgoing.put(None)
        _signal_group(self._process, "SIGKILL")
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_SECONDS)

    def _take(self, message: Message) -> None:
        if "method" in message:
            answer = answer_to_mcp_server(message)
            if answer is not None:
                self._outgoing.put(answer)
            elif message["method"] == "notifications/tools/list_changed":
                self.tools_changed = True
            elif message["method"] == "notifications/progress":
                self._take_progress(message)
            return
        number = message.get("id")
        with self._lock:
            waiting = self._waiting.get(number) if isinstance(number, int) else None
        if waiting is not None:
            waiting.put(message)

    def _take_progress(self, message: Message) -> None:
        with self._lock:
            running = list(self._running.items())
        for number, call in running:
            if is_progress_of_mcp_call(message, number):
                call.note_progress(message["params"])

    def _write(self) -> None:
        """Write in a thread of its own: a server that does not read must block nobody."""
        place = self._process.stdin
        assert place is not None  # noqa: S101 - it is a pipe
        with suppress(OSError, ValueError):
            while (message := self._outgoing.get()) is not None:
                place.write(message + b"\n")
                place.flush()
        with suppress(OSError, ValueError):
            place.close()


def _signal_group(process: "subprocess.Popen[bytes]", name: str) -> None:
    """Send a signal to a process group; where there are none, to the process."""
    number = getattr(signal, name, signal.SIGTERM)
    with suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, number)
        else:
            process.kill()


def _limit(pid: int) -> None:
    """Limit files and memory dumps of a process, where the system allows it."""
    try:
        import resource  # noqa: PLC0415 - Windows has none
    except ImportError:
        return
    set_limit = getattr(resource, "prlimit", None)
    if set_limit is None:
        return
    with suppress(OSError, ValueError):
        set_limit(pid, resource.RLIMIT_CORE, (0, 0))
        set_limit(pid, resource.RLIMIT_FSIZE, (_FILE_BYTES, _FILE_BYTES))
