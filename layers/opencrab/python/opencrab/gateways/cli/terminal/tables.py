"""Rendering: an agent's words, tables and dim lines for a person, without losing a character.

Markdown is shown, not interpreted: what is not a heading, a bullet, bold or code stays as it was
written, line for line.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from opencrab.gateways.cli.terminal.text import clean_terminal_text, visible_terminal_text

_INLINE = re.compile(r"\*\*(?P<bold>[^*\n]+)\*\*|`(?P<code>[^`\n]+)`")
_HEADING = re.compile(r"^#{1,6} +(?P<text>.+)$")
_BULLET = re.compile(r"^(?P<indent> *)[-*+] +(?P<text>.+)$")
_FENCE = "```"
_BETWEEN = 2
_PART = 12
"""Columns of a word of wide characters that are never broken."""


def render_markdown_for_terminal(text: str) -> Text:
    """Convert the simple Markdown of an agent's text to styles."""
    return Text("\n").join(_lines(clean_terminal_text(text).strip("\n")))


def indent_terminal_text(text: Text) -> Padding:
    """Indent a text by two columns, to stand under its speaker's name."""
    return Padding.indent(text, 2)


def draw_table_on_terminal(
    console: Console, heads: Sequence[str], rows: Sequence[Sequence[object]]
) -> None:
    """Draw a table; the first column, which names the item, is never wrapped.

    If the terminal is too narrow for the words of the other columns, each row is drawn as a block
    of lines. Words of wide characters, as in Japanese, may be broken.
    """
    drawn = Table(box=None, pad_edge=False, header_style="dim")
    for number, head in enumerate(heads):
        drawn.add_column(head, no_wrap=number == 0, overflow="fold")
    for row in rows:
        drawn.add_row(*(Text(_plain(cell)) for cell in row))
    if _narrowest(heads, rows) <= console.width:
        console.print(drawn)
    else:
        _blocks(console, heads, rows)


def _narrowest(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> int:
    """Return the fewest columns of a table in which the first column and all words are whole."""
    first, *others = zip(heads, *rows, strict=True)
    widths = [max(cell_len(_plain(cell)) for cell in first)]
    widths += [max(map(_longest_word, column)) for column in others]
    return sum(widths) + _BETWEEN * len(others)


def _longest_word(cell: object) -> int:
    return max(map(_unbroken, _plain(cell).split()), default=1)


def _unbroken(word: str) -> int:
    """Return how many columns of a word stay together: all, or a part of wide characters."""
    width = cell_len(word)
    return min(width, _PART) if width > len(word) else width


def _plain(cell: object) -> str:
    return clean_terminal_text("" if cell is None else cell)


def _blocks(console: Console, heads: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    for first, *others in rows:
        console.print(Text(clean_terminal_text(first), style="bold"))
        for head, cell in zip(heads[1:], others, strict=True):
            if cell not in (None, ""):
                console.print(indent_terminal_text(terminal_table_cell(f"{head}: {cell}")))


def draw_fact_table_on_terminal(
    console: Console, pairs: Sequence[tuple[str, object]], *, exact: bool = False
) -> None:
    """Draw names and values in two columns; empty values are left out.

    With `exact`, values are shown character for character, without Markdown: somebody decides by
    them.
    """
    known = [(name, value) for name, value in pairs if value not in (None, "", [], {})]
    shown = (
        (name, Text(visible_terminal_text(v)) if exact else render_markdown_for_terminal(str(v)))
        for name, v in known
    )
    console.print(terminal_fact_table(shown))


def terminal_fact_table(pairs: Iterable[tuple[str, Text]]) -> Table:
    """Return a table of names and values in two columns."""
    drawn = Table(box=None, pad_edge=False, show_header=False)
    drawn.add_column(style="dim", no_wrap=True)
    drawn.add_column(overflow="fold")
    for name, value in pairs:
        drawn.add_row(terminal_table_cell(name), value)
    return drawn


def terminal_table_cell(text: object) -> Text:
    """Return a text without control characters as a table cell."""
    return Text(clean_terminal_text(text))


def _lines(text: str) -> Iterator[Text]:
    code = False
    for line in text.split("\n"):
        if line.lstrip().startswith(_FENCE):
            code = not code
            yield Text(line, style="dim")
        elif code:
            yield Text(line, style="cyan")
        elif heading := _HEADING.match(line):
            yield _inline(heading["text"], style="bold underline")
        elif bullet := _BULLET.match(line):
            yield Text(f"{bullet['indent']}• ").append_text(_inline(bullet["text"]))
        else:
            yield _inline(line)


def _inline(line: str, style: str = "") -> Text:
    text, end = Text(style=style), 0
    for found in _INLINE.finditer(line):
        text.append(line[end : found.start()])
        kind = str(found.lastgroup)
        text.append(found[kind], style="bold" if kind == "bold" else "cyan")
        end = found.end()
    return text.append(line[end:])
