"""`make bench`: measure, print, and write docs/benchmarks.md."""

import platform
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.bench import process, turns
from tests.bench.world import ROOT, model_server, world

PAGE = ROOT / "docs" / "benchmarks.md"

_HEAD = """\
# Benchmarks

Written by `make bench`: Python {python}, {system}, two shared cores.
Figures are CPU unless they say wall; medians. They come from one run on a shared machine, so
read the ratios first: all rows of the engine ran beside the bare loop of the first row.

The model is a stub behind real HTTP in a process of its own; the store is the durable SQLite home
(WAL, synchronous FULL).

| what | figure | at most | met |
|---|---|---|---|
"""

_TAIL = """

Counted, not timed, and asserted in `tests/e2e`: loading agent and session is 2 reads; a turn writes
1 admission + 1 claim + 2 per model call + 1 or 2 per action that is not pure, its close being the
last model call's result.
"""


@dataclass(frozen=True)
class Row:
    """One figure, its unit, and what it should not exceed."""

    what: str
    figure: float
    unit: str
    target: float | None

    def __str__(self) -> str:
        if self.target is None:
            return f"| {self.what} | {self.figure:.3g} {self.unit} | | |"
        verdict = "yes" if self.figure <= self.target else "**no**"
        return f"| {self.what} | {self.figure:.3g} {self.unit} | {self.target:g} | {verdict} |"


def in_process(directory: Path) -> list[Row]:
    """Figures of the engine in this process, beside a bare loop in the same run."""
    with model_server() as url, world(directory, url) as installation:
        bare = turns.bare_loop_ms(url)
        turn = turns.turn_ms(installation, 10)
        grown = turns.turn_ms(installation, 10_000)
        prompt = turns.prompt_bytes(installation) / 1_024
        return [
            Row("bare loop: the same two model calls with json and http.client", bare, "ms", None),
            Row("a turn: one action, two model calls, 10 messages of history", turn, "ms", 8),
            Row("the same, as a multiple of the bare loop", turn / bare, "×", None),
            Row("growth of a turn from 10 to 10,000 messages", grown / turn, "×", 1.2),
            Row("loading an agent whole", turns.load_ms(installation), "ms", 20),
            Row("storing an agent durably (wall)", turns.flush_ms(installation), "ms", 50),
            Row("prompt and action schemas before the user's words", prompt, "KB", 8),
        ]


def as_process(directory: Path) -> list[Row]:
    """Figures of `opencrab up` as its user meets it."""
    with model_server() as url:
        rest, resident = process.rest_turn_ms(directory, url)
    with model_server(0.2) as slow:
        health = process.health_ms_while_waiting(directory, slow)
        one, many = process.at_once(directory, slow)
    start, first = process.start_seconds(directory), process.first_answer_seconds(directory)
    return [
        Row("start of `opencrab up` to its first health answer (wall)", start, "s", 0.9),
        Row("start to an agent's first answer, agent and session included (wall)", first, "s", 0.9),
        Row("a turn through REST, the server's CPU", rest, "ms", 14),
        Row("resident memory after 200 turns", resident, "MB", 80),
        Row("slowest health check while 200 clients wait (wall)", health, "ms", 100),
        Row("32 agents at once against one, model calls of 0.2 s (wall)", many / one, "×", 4),
    ]


def page(rows: list[Row]) -> str:
    """docs/benchmarks.md."""
    system = f"{platform.system()} {platform.machine()}"
    head = _HEAD.format(python=platform.python_version(), system=system)
    return head + "\n".join(map(str, rows)) + _TAIL


def main() -> None:
    """Measure everything; `--print` leaves the page as it is."""
    with tempfile.TemporaryDirectory() as folder:
        rows = in_process(Path(folder) / "engine") + as_process(Path(folder))
    text = page(rows)
    sys.stdout.write(text)
    if "--print" not in sys.argv:
        PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
