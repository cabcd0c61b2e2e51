"""Terminal: where a command's words go, in which language, as text or as JSON.

It loads what draws tables when something is drawn, so that commands need not.
"""

import io
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TextIO

from opencrab.gateways.cli.language.sentences import SentenceCatalog
from opencrab.gateways.cli.terminal.options import Options
from opencrab.gateways.cli.terminal.text import clean_terminal_text, json_line

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from opencrab.gateways.cli.connection.client import Client

_PIPE_WIDTH = 10_000


@dataclass(frozen=True)
class Terminal:
    """The streams of one command, the language it speaks and the server that it speaks to."""

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
        """Our sentences in the user's language."""
        return SentenceCatalog(self.options.language)

    @cached_property
    def client(self) -> "Client":
        """The connection to the server, made by the first command that needs it."""
        from opencrab.gateways.cli.connection.address import find_server_address
        from opencrab.gateways.cli.connection.client import Client

        options = self.options
        address = find_server_address(data=options.data, url=options.url, key=options.key)
        return Client(address, self.words, transport=options.transport)

    @cached_property
    def console(self) -> "Console":
        """Rich's console on standard output; as wide as it takes where nobody looks."""
        from rich.console import Console

        width = None if self.out.isatty() else _PIPE_WIDTH
        return Console(file=self.out, width=width, markup=False, highlight=False, emoji=False)

    @property
    def pause(self) -> Callable[[float], object]:
        """Waits so many seconds, or as long as a test says."""
        return self.options.pause or threading.Event().wait

    @property
    def interactive(self) -> bool:
        """Whether a person sits on both ends."""
        return self.input.isatty() and self.out.isatty()

    def say(self, key: str, **facts: object) -> None:
        """One of our sentences, on standard output."""
        self.line(self.words(key, **facts))

    def line(self, text: object = "") -> None:
        """Any text as one line on standard output."""
        self.out.write(clean_terminal_text(text) + "\n")
        self.out.flush()

    def note(self, key: str, **facts: object) -> None:
        """One of our sentences, on standard error: scripts that read the answer do not see it."""
        self.print_complaint(self.words(key, **facts))

    def print_complaint(self, text: str) -> None:
        """Any text as one line on standard error."""
        self.err.write(clean_terminal_text(text) + "\n")
        self.err.flush()

    def draw(self, thing: "RenderableType", style: str | None = None) -> None:
        """Something that rich renders, made of texts that were cleaned."""
        self.console.print(thing, style=style)

    def json(self, value: Any) -> None:
        """A value for a script: one line of UTF-8."""
        self.out.write(json_line(value) + "\n")
        self.out.flush()

    def answer(self, value: Any, key: str, /, **facts: object) -> None:
        """What came of a command: the value for a script, one of our sentences for a person."""
        if self.options.json:
            self.json(value)
        else:
            self.say(key, **facts)

    def show(self, value: Any, draw: "Callable[[Terminal, Any], None]") -> None:
        """A value for a script, or drawn for a person."""
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
        """Things for a script, or drawn for a person, whom a sentence tells that there are none."""
        if items or self.options.json:
            self.show(items, draw)
        else:
            self.say(empty, **facts)

    def table(self, heads: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        """Rows under the heads of these names."""
        from opencrab.gateways.cli.terminal.tables import draw_table

        draw_table(self.console, self.heads(*heads), rows)

    def facts(self, pairs: Sequence[tuple[str, object]], *, exact: bool = False) -> None:
        """Values beside the heads of these names; exact ones character for character."""
        from opencrab.gateways.cli.terminal.tables import draw_fact_table

        named = [(self.words(f"head_{name}"), value) for name, value in pairs]
        draw_fact_table(self.console, named, exact=exact)

    def heads(self, *names: str) -> list[str]:
        """What stands above the columns of these names."""
        return [self.words(f"head_{name}") for name in names]

    def dim(self, text: str) -> None:
        """A line that matters less."""
        from opencrab.gateways.cli.terminal.tables import indent_terminal_text, plain_table_cell

        self.draw(indent_terminal_text(plain_table_cell(text)), style="dim")
