"""A terminal: bash on a screen of 80 columns, typed into and read as its user does.

It is a plain one (TERM=dumb): programs show there what is left on a better one in the end, without
colours and moving parts.
"""

import codecs
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from time import monotonic

from tests.docs.page import CTRL_C, PROMPTS, SHELL

COLUMNS, ROWS = 80, 50
_MARK = "\x1d"
_SERVERS = {
    "make up": r"^(ready|準備ができました)$",
    "opencrab admin discord relay": (
        r"(^connected to Discord as .*| として Discord に接続しました)\n"
    ),
}
"""Programs that go on until they are interrupted, and the line after which they wait."""


_TAKE_TERMINAL = """
import fcntl, os, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execvp("bash", ["bash", "--norc", "--noprofile", "--noediting", "-i"])
"""


class ScreenTimeoutError(AssertionError):
    """A program did not come to the end that a page expects; the text is what was on the screen."""


class Terminal:
    """One shell; `is_busy` says that a program runs in it until it is interrupted."""

    def __init__(self, folder: Path, environment: Mapping[str, str], seconds: float) -> None:
        self._seconds = seconds
        self._screen, side = pty.openpty()
        fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        own = {"TERM": "dumb", "NO_COLOR": "1", "PS1": f"{_MARK}{SHELL}", "PS2": "", "HISTFILE": ""}
        self._process = subprocess.Popen(
            [sys.executable, "-S", "-c", _TAKE_TERMINAL],
            stdin=side,
            stdout=side,
            stderr=side,
            cwd=folder,
            env={**environment, **own},
            start_new_session=True,
        )
        os.close(side)
        self._seen = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.is_busy = False
        self._until(None)

    def type(self, typed: tuple[str, ...]) -> list[str]:
        """Type something; the lines that come until the next prompt, or until a server waits."""
        if typed == (CTRL_C,):
            os.write(self._screen, b"\x03")
        else:
            os.write(self._screen, "".join(f"{line}\n" for line in typed).encode())
        server = next((_SERVERS[each] for each in _SERVERS if typed[0].startswith(each)), None)
        shown = self._until(server)
        self.is_busy = server is not None
        if typed == (CTRL_C,):
            return shown.partition(CTRL_C)[2].lstrip("\n").splitlines()
        return shown.split("\n", len(typed))[-1].splitlines()

    def close(self) -> None:
        """End what runs here, and the shell."""
        with suppress(ScreenTimeoutError, OSError):
            if self.is_busy:
                self.type((CTRL_C,))
        with suppress(OSError):
            foreground = os.tcgetpgrp(self._screen)
            for group in {foreground, self._process.pid}:
                os.killpg(group, signal.SIGKILL)
        self._process.wait()
        os.close(self._screen)

    def _until(self, server: str | None) -> str:
        """Wait for a prompt, or for a server's last line; what was shown until then."""
        deadline = monotonic() + self._seconds
        while True:
            shown = self._seen.replace("\r\n", "\n")
            end = _prompt_at_end(shown)
            if server and (found := re.search(server, shown, re.MULTILINE)):
                end = len(shown) - found.end()
            if end is not None:
                self._seen = ""
                return shown[: len(shown) - end].replace("\r", "").replace(_MARK, "")
            if monotonic() > deadline or not self._read():
                raise ScreenTimeoutError(shown)

    def _read(self) -> bool:
        ready, _, _ = select.select([self._screen], [], [], 0.5)
        if not ready:
            return self._process.poll() is None
        try:
            self._seen += self._decoder.decode(os.read(self._screen, 65_536))
        except OSError:  # what Linux says when the other side is closed
            return False
        return True


def _prompt_at_end(shown: str) -> int | None:
    """The length of the prompt that the screen ends with."""
    line = shown.rpartition("\n")[2]
    prompts = (f"{_MARK}{SHELL}", *(each for each in PROMPTS if each != SHELL))
    return next((len(each) for each in prompts if line.endswith(each)), None)
