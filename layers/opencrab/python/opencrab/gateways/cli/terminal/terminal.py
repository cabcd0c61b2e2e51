"""Terminal: where a command's words go, in which language, as text or as JSON.

It loads what draws tables when something is drawn, so that commands need not.
"""

import errno
import io
import os
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TextIO

from opencrab.gateways.cli.language.sentences import SentenceCatalog
from opencrab.gateways.cli.terminal.options import Options
from opencrab.gateways.cli.terminal.text import clean_terminal_text, terminal_json_line

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from opencrab.gateways.cli.connection.client import Client

_PIPE_WIDTH = 10_000


@dataclass(frozen=True)
class Terminal:
    """The streams of one command, its language and its server."""

    options: Options
    out: TextIO = field(default_factory=lambda: sys.stdout)
    err: TextIO = field(default_factory=lambda: sys.stderr)
    input: TextIO = field(default_factory=lambda: sys.stdin)

    def __post_init__(self) -> None:
        for stream in (self.out, self.err):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="replace")

    @cached_property
    def words(self) -> SentenceCatalog:
        """The catalog of sentences in the user's language."""
        return SentenceCatalog(self.options.language)

    def error_text(self, text: str) -> str:
        """Return what an error says, or its cure, in the user's language."""
        from opencrab.gateways.language.error_texts import error_text_in

        return error_text_in(self.options.language, text)

    @cached_property
    def client(self) -> "Client":
        """The client of the server, created when a command first needs it."""
        from opencrab.gateways.cli.connection.address import find_server_address
        from opencrab.gateways.cli.connection.client import Client

        options = self.options
        address = find_server_address(data=options.data, url=options.url, key=options.key)
        return Client(address, self.words, transport=options.transport)

    @cached_property
    def console(self) -> "Console":
        """Rich's console on standard output; very wide if the output is piped."""
        from rich.console import Console

        class PipedConsole(Console):
            """A console that leaves a closed pipe to the command and its exit code."""

            def on_broken_pipe(self) -> None:
                raise BrokenPipeError(errno.EPIPE, "the reader of the output has gone")

        return PipedConsole(
            file=self.out,
            width=None if self.out.isatty() else _PIPE_WIDTH,
            force_terminal=False if self.options.plain else None,
            markup=False,
            highlight=False,
            emoji=False,
        )

    @property
    def pause(self) -> Callable[[float], object]:
        """The function that sleeps for some seconds; tests replace it."""
        return self.options.pause or threading.Event().wait

    @property
    def interactive(self) -> bool:
        """True if a person reads the output and types the input, and may be asked."""
        asks = not (self.options.no_input or self.options.json)
        return asks and self.input.isatty() and self.out.isatty()

    @property
    def draws_in_place(self) -> bool:
        """True if what was drawn may be drawn again in its place, with colours."""
        return self.out.isatty() and not self.options.plain

    def print_sentence(self, key: str, **facts: object) -> None:
        """Print a sentence of the catalog on standard output."""
        self.line(self.words(key, **facts))

    def line(self, text: object = "") -> None:
        """Print any text as one line on standard output."""
        self.out.write(clean_terminal_text(text) + "\n")
        self.out.flush()

    def print_note(self, key: str, **facts: object) -> None:
        """Print a sentence of the catalog on standard error, so that scripts do not read it."""
        self.print_note_text(self.words(key, **facts))

    def print_note_text(self, text: str) -> None:
        """Print any text that is no error and no result as one line on standard error."""
        if not self.options.quiet:
            self.print_complaint(text)

    def print_complaint(self, text: str) -> None:
        """Print any text as one line on standard error, also with `--quiet`."""
        self.err.write(clean_terminal_text(text) + "\n")
        self.err.flush()

    def print_error(self, error: Mapping[str, Any]) -> None:
        """Print an error and what to do about it: two lines, or with `--json` one line of JSON."""
        if self.options.json:
            self.err.write(terminal_json_line({"error": error}) + "\n")
            self.err.flush()
            return
        self.print_complaint(f"opencrab: {self.error_text(error['message'])}")
        if error["cure"]:
            self.print_complaint(f"  → {self.error_text(error['cure'])}")

    def discard_output(self) -> None:
        """Send what is still to be written nowhere, as nobody can read it."""
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for stream in (self.out, self.err):
            with suppress(OSError, ValueError):
                os.dup2(nowhere, stream.fileno())

    def draw(self, thing: "RenderableType", style: str | None = None) -> None:
        """Draw something that rich renders; its texts must be free of control characters."""
        self.console.print(thing, style=style)

    def json(self, value: Any) -> None:
        """Print a value as JSON on one line of UTF-8."""
        self.out.write(terminal_json_line(value) + "\n")
        self.out.flush()

    def print_result(self, value: Any, key: str, /, **facts: object) -> None:
        """Print a command's result: the value as JSON, or a catalog sentence for a person."""
        if self.options.json:
            self.json(value)
        else:
            self.print_sentence(key, **facts)

    def show(self, value: Any, draw: "Callable[[Terminal, Any], None]") -> None:
        """Print a value as JSON, or draw it for a person."""
        if self.options.json:
            self.json(value)
        else:
            draw(self, value)

    def show_list(
        self,
        items: Sequence[Any],
        draw: "Callable[[Terminal, Any], None]",
        empty: str,
        /,
        **facts: object,
    ) -> None:
        """Print items as JSON, or draw them for a person; if there are none, print a sentence."""
        if items or self.options.json:
            self.show(items, draw)
        else:
            self.print_sentence(empty, **facts)

    def table(self, heads: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        """Draw rows in a table with the headings of these names."""
        from opencrab.gateways.cli.terminal.tables import draw_table_on_terminal

        draw_table_on_terminal(self.console, self.column_headings(*heads), rows)

    def print_fields(self, pairs: Sequence[tuple[str, object]], *, exact: bool = False) -> None:
        """Draw values beside the headings of these names; `exact` shows every character."""
        from opencrab.gateways.cli.terminal.tables import draw_fact_table_on_terminal

        named = [(self.words(f"head_{name}"), value) for name, value in pairs]
        draw_fact_table_on_terminal(self.console, named, exact=exact)

    def column_headings(self, *names: str) -> list[str]:
        """Return the headings of the columns with these names."""
        return [self.words(f"head_{name}") for name in names]

    def print_dim(self, text: str) -> None:
        """Draw a dim, indented line."""
        from opencrab.gateways.cli.terminal.tables import indent_terminal_text, terminal_table_cell

        self.draw(indent_terminal_text(terminal_table_cell(text)), style="dim")
