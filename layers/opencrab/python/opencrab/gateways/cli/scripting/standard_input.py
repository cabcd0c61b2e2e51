"""Standard input as text: UTF-8, whole or refused, so that no message is sent in part."""

import codecs
import os
import select
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TextIO

from opencrab.domain.errors import Invalid, OpenCrabError
from opencrab.gateways.cli.language.sentences import SentenceCatalog

SILENT_SECONDS = 2.0
MOST_BYTES = 8 * 1024 * 1024
"""More than any text that a command sends; the limit of a message is checked where it is known."""


@dataclass(frozen=True)
class StandardInput:
    """A stream of bytes that are to be text; `tell` is called when nothing comes for a while."""

    stream: TextIO
    words: SentenceCatalog
    tell: Callable[[str], None]

    @property
    def has_text(self) -> bool:
        """True for a pipe or a file, and not for a terminal or /dev/null."""
        if self.stream.isatty():
            return False
        try:
            mode = os.fstat(self.stream.fileno()).st_mode
        except (OSError, ValueError):
            return True  # an object in place of a stream
        return stat.S_ISFIFO(mode) or stat.S_ISREG(mode) or stat.S_ISSOCK(mode)

    def read(self) -> str:
        """Read it to its end; raises Invalid if it is no UTF-8 text or too large."""
        self._say_what_is_awaited()
        content = b"".join(self._parts())
        return self._decode(content)

    def lines(self) -> Iterator[str | OpenCrabError]:
        """Read lines as they come; a line that is no text is an error in its place."""
        for number, line in enumerate(self._bytes(), start=1):
            try:
                yield self._decode(line, line=number).rstrip("\r\n")
            except OpenCrabError as error:
                yield error

    def _parts(self) -> Iterator[bytes]:
        size = 0
        for part in self._bytes():
            size += len(part)
            if size > MOST_BYTES:
                why = self.words("stdin_too_long", most=MOST_BYTES)
                raise Invalid(why, cure=self.words("too_long_cure"))
            yield part

    def _bytes(self) -> Iterator[bytes]:
        binary = getattr(self.stream, "buffer", None)
        if binary is not None:
            return iter(lambda: binary.readline(MOST_BYTES + 1), b"")
        return (line.encode(errors="surrogateescape") for line in self.stream)

    def _decode(self, content: bytes, *, line: int | None = None) -> str:
        """Return bytes as text without a byte order mark; raises Invalid."""
        try:
            text = content.removeprefix(codecs.BOM_UTF8).decode()
            place = text.find("\0")
        except UnicodeDecodeError as error:
            text, place = "", error.start
        if place < 0:
            return text
        where = self.words("stdin_byte", place=place + 1)
        if line is not None:
            where = self.words("stdin_line", line=line, where=where)
        raise Invalid(self.words("stdin_binary", where=where), cure=self.words("stdin_binary_cure"))

    def _say_what_is_awaited(self) -> None:
        with suppress(OSError, ValueError):
            ready, _, _ = select.select([self.stream.fileno()], [], [], SILENT_SECONDS)
            if not ready:
                self.tell(self.words("stdin_awaited"))
