"""A window that becomes narrower breaks rows: all of them are erased before the next are drawn."""

import io

import pytest
from rich.console import Console
from rich.text import Text

from opencrab.gateways.cli.conversation.reflowing_live import ReflowingLive

UP = "\x1b[1A"


def moves(text: str, *, before: int, after: int) -> int:
    """How many rows the cursor moves up to draw a text again after the window has changed."""
    out = io.StringIO()
    console = Console(file=out, width=before, height=20, force_terminal=True)
    with ReflowingLive(Text(text), console=console, auto_refresh=False, transient=True) as live:
        live.refresh()
        out.truncate(0)
        console.width = after
        live.refresh()
        return out.getvalue().count(UP)


@pytest.mark.parametrize(
    ("text", "before", "after", "rows"),
    [
        ("x" * 70, 80, 80, 0),
        ("x" * 70, 80, 100, 0),
        ("x" * 70, 80, 40, 1),
        ("x" * 70, 80, 70, 0),
        ("蟹" * 35, 80, 30, 2),
        ("x" * 70 + "\n" + "y", 80, 40, 2),
        ("🦀" * 30 + "\n" + "蟹" * 40, 80, 50, 3),
    ],
)
def test_broken_rows_are_counted(text: str, before: int, after: int, rows: int) -> None:
    assert moves(text, before=before, after=after) == rows
