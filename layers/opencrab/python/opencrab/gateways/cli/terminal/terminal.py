"""Terminal: where a command's words go, in which language, and how they look.

Whatever comes from outside is cleaned of control characters before it reaches the screen, so
that nobody's words can move the cursor, hide text or speak to the terminal itself.
"""

import io
import json
import re
import sys
import unicodedata
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TextIO

from opencrab.gateways.cli.language.sentences import Speech
from opencrab.gateways.cli.terminal.options import Options

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from opencrab.gateways.cli.connection.client import Client

_CONTROL = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # what moves and colours
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?"  # what names windows and links
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]"
)
_UNSAFE_IN_JSON = re.compile(r"[\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U000e0100-\U000e01ef]"
)
"""Characters that show as nothing although Unicode counts them among letters, marks and symbols."""
_PIPE_WIDTH = 10_000


def clean(text: object) -> str:
    """A text that can do nothing to a terminal but be read; half characters become marks."""
    whole = str(text).encode("utf-8", "replace").decode()
    return _CONTROL.sub("", whole.replace("\t", "    "))


def visible(text: object) -> str:
    """A text with everything that does not show written out, so that it is read as it is."""
    return "".join(_shown(character) for character in str(text))


def _shown(character: str) -> str:
    if character == "\n":
        return character
    kind = unicodedata.category(character)
    hidden = kind[0] == "C" or kind in {"Zl", "Zp"} or _BLANK.match(character)
    return _written_out(character) if hidden else character


def _written_out(character: str) -> str:
    """A character as JSON escapes it: in two halves beyond the first 65,536."""
    halves = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{halves[n : n + 4]}" for n in range(0, len(halves), 4))


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
    def words(self) -> Speech:
        """Our sentences in the user's language."""
        return Speech(self.options.language)

    @cached_property
    def client(self) -> "Client":
        """The connection to the server, made by the first command that needs it."""
        from opencrab.gateways.cli.connection.address import find_address
        from opencrab.gateways.cli.connection.client import Client

        options = self.options
        address = find_address(data=options.data, url=options.url, key=options.key)
        return Client(address, self.words, transport=options.transport)

    @cached_property
    def console(self) -> "Console":
        """Rich's console on standard output; as wide as it takes where nobody looks."""
        from rich.console import Console

        width = None if self.out.isatty() else _PIPE_WIDTH
        return Console(file=self.out, width=width, markup=False, highlight=False, emoji=False)

    @property
    def interactive(self) -> bool:
        """Whether a person sits on both ends."""
        return self.input.isatty() and self.out.isatty()

    def say(self, key: str, **facts: object) -> None:
        """One of our sentences, on standard output."""
        self.line(self.words(key, **facts))

    def line(self, text: object = "") -> None:
        """Any text as one line on standard output."""
        self.out.write(clean(text) + "\n")
        self.out.flush()

    def note(self, key: str, **facts: object) -> None:
        """One of our sentences, on standard error: scripts that read the answer do not see it."""
        self.complain(self.words(key, **facts))

    def complain(self, text: str) -> None:
        """Any text as one line on standard error."""
        self.err.write(clean(text) + "\n")
        self.err.flush()

    def draw(self, thing: "RenderableType", style: str | None = None) -> None:
        """Something that rich renders, made of texts that were cleaned."""
        self.console.print(thing, style=style)

    def json(self, value: Any) -> None:
        """A value for a script: one line of UTF-8."""
        text = json.dumps(value, ensure_ascii=False)
        self.out.write(_UNSAFE_IN_JSON.sub(_escaped, text) + "\n")
        self.out.flush()


def _escaped(character: re.Match[str]) -> str:
    return _written_out(character.group())
