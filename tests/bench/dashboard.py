"""The dashboard in Chromium beside a real `opencrab up`: first page, large lists, a live session.

`make bench-web` prints the table of docs/benchmarks.md, and writes it with `--write`. The memory of
a live session takes an hour: `python -m tests.bench.dashboard_live 60`.
"""

import json
import os
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.bench.dashboard_live import feed, frame_times, sign_in
from tests.bench.large_home import Large, make_large_home, today
from tests.bench.rows import HEAD, Row, lines
from tests.bench.sections import DASHBOARD, write_section
from tests.integration.browser.webdriver import MISSING, Browser, browser
from tests.running import Server, server

LOADS = 9
FED_SECONDS, EACH_SECONDS = 60, 1 / 50
FEW, SESSIONS, LINES = 10, 10_000, 100_000
LONGEST_INDEXING_SECONDS, IDLE_CPU_MS = 300, 50

_WATCH = """
window.shownAt = {}; window.longest = 0;
new PerformanceObserver((list) => list.getEntries().forEach((each) => {
  longest = Math.max(longest, each.duration); })).observe({ type: "longtask", buffered: true });
new MutationObserver(() => {
  for (const each of %s) {
    if (!(each in shownAt) && document.querySelector(each)) shownAt[each] = performance.now();
  }
}).observe(document, { childList: true, subtree: true });
"""
_AGENT, _SESSION, _LINE = "main[data-area=home] .agents li", "#view-sessions li", ".rows > article"
_IS_SHOWN = "return arguments[0] in window.shownAt"
_BYTES = """
return performance.getEntries().filter((each) => "transferSize" in each)
  .reduce((sum, each) => sum + each.encodedBodySize, 0)
"""
_NOTE = """\
{version} before a real `opencrab up` on the same two shared cores (load {load:.1f}; wall; medians
of {loads} loads; `make bench-web`). Interactive is when the agents of the first page are shown. A
large list opens with its newest page, whatever its length; the server has indexed it before.
Frames are those of a session that is fed with 50 lines a second for {seconds} seconds.

{table}
"""


@dataclass(frozen=True)
class Loads:
    """Milliseconds until something was shown, the longest task, and bytes of the last load."""

    shown_ms: float
    longest_ms: float
    size: int


def load(window: Browser, url: str, selector: str, *, cached: bool = True) -> Loads:
    """Open an address again and again, and wait until an element is there."""
    shown, longest = [], [0.0]
    for _ in range(LOADS):
        if not cached:
            window.devtools("Network.clearBrowserCache")
        window.open(url)
        window.until(lambda: window.run(_IS_SHOWN, selector), f"no {selector}")
        shown.append(float(window.run("return window.shownAt[arguments[0]]", selector)))
        longest.append(float(window.run("return window.longest")))
    return Loads(statistics.median(shown), max(longest), int(window.run(_BYTES)))


@contextmanager
def before(data: Path) -> Iterator[tuple[Server, Browser, str]]:
    """A server on this data, and a browser whose owner is signed in."""
    with server(data, anew=True) as running, browser() as window:
        url = sign_in(window, running)
        wanted = json.dumps([_AGENT, _SESSION, _LINE])
        window.devtools("Page.addScriptToEvaluateOnNewDocument", source=_WATCH % wanted)
        yield running, window, url


def wait_until_idle(running: Server) -> None:
    """Let the server index what the made home has: one that people live in has done so long ago."""
    for _ in range(LONGEST_INDEXING_SECONDS):
        used = running.cpu_ms()
        time.sleep(1)
        if running.cpu_ms() - used < IDLE_CPU_MS:
            return
    raise AssertionError("the server never came to rest")


def add_lines(data: Path, made: Large, count: int) -> None:
    """Give the newest session of a stopped installation so many lines in all."""
    with closing(sqlite3.connect(data / "opencrab.db")) as file, file:
        pk = f"SESSION#{made.session_id}"
        found = file.execute(
            "SELECT sk, body FROM item WHERE pk = ? AND sk LIKE 'L#%' ORDER BY sk DESC", [pk]
        ).fetchall()
        last, body = int(found[0][0].removeprefix("L#")), json.loads(found[0][1])
        file.executemany(
            "INSERT INTO item (pk, sk, body) VALUES (?, ?, ?)",
            (
                (pk, f"L#{each:010d}", json.dumps({**body, "sequence": each}))
                for each in range(last + 1, count + 1)
            ),
        )


def opening(folder: Path, sessions: int, length: int) -> tuple[float, float, int]:
    """Milliseconds to open the list of so many sessions, and one with so many lines."""
    data = folder / f"{sessions}"
    data.mkdir()
    made = make_large_home(data, turns=sessions, sessions=sessions, memories=0, today=today())
    add_lines(data, made, length)
    with before(data) as (running, window, url):
        wait_until_idle(running)
        found = load(window, f"{url}/sessions", _SESSION).shown_ms
        line = load(window, f"{url}/sessions/{made.session_id}", _LINE).shown_ms
        return found, line, window.count(_LINE)


def first_page(data: Path) -> list[Row]:
    """Bytes and times of the first page."""
    with before(data) as (running, window, url):
        running.call("POST", "/agents", {"name": "蟹 Ada"})
        empty = load(window, f"{url}/", _AGENT, cached=False)
        cached = load(window, f"{url}/", _AGENT)
    return [
        Row("first page, compressed", empty.size / 1_000, "KB", 200),
        Row("interactive, empty cache", empty.shown_ms, "ms", 1_000),
        Row("the same, from the cache", cached.shown_ms, "ms", 1_000),
        Row("longest task of all these loads", max(empty.longest_ms, cached.longest_ms), "ms"),
    ]


def live(data: Path) -> list[Row]:
    """The frames of a session that very many lines come to."""
    with before(data) as (running, window, url):
        session_id = running.session("Live")
        window.open(f"{url}/sessions/{session_id}")
        window.shown(".rows")
        with feed(running, session_id, EACH_SECONDS) as failed:
            found = sorted(frame_times(window, FED_SECONDS))
            assert not failed.is_set(), "the server refused a line"
        page = running.call(
            "GET", f"/sessions/{session_id}/messages?order=newest&limit=1&kinds=system"
        )
    rate = page["items"][0]["sequence"] / FED_SECONDS
    rare = found[int(len(found) * 0.999) - 1]
    return [
        Row("lines a second that came", rate, "", 45, at_least=True),
        Row("999 of 1,000 frames take at most", rare, "ms", 50),
        Row("the longest frame", found[-1], "ms", 50),
    ]


def lists(folder: Path) -> list[Row]:
    """How long large lists take to open, beside short ones."""
    few, many = opening(folder, FEW, FEW), opening(folder, SESSIONS, LINES)
    return [
        Row(f"sessions open, {FEW} of them", few[0], "ms"),
        Row(f"the same with {SESSIONS:,}", many[0], "ms"),
        Row("ratio", many[0] / few[0], "×", 1.5),
        Row(f"a session opens, {FEW} lines", few[1], "ms"),
        Row(f"the same with {LINES:,}", many[1], "ms"),
        Row("ratio", many[1] / few[1], "×", 1.5),
        Row("lines of them in the document", many[2], "", 300),
    ]


def main() -> None:
    """Measure, print, and write the section with `--write`."""
    if MISSING:
        sys.exit(MISSING)
    with browser() as window:
        version = window.devtools("Browser.getVersion")["product"].replace("/", " ")
    load_before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = [*first_page(folder / "first"), *lists(folder), *live(folder / "live")]
    body = _NOTE.format(
        version=version,
        load=load_before,
        loads=LOADS,
        seconds=FED_SECONDS,
        table=HEAD + lines(rows),
    )
    sys.stdout.write(body)
    if "--write" in sys.argv:
        write_section(DASHBOARD, body)


if __name__ == "__main__":
    main()
