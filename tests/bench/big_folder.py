"""What a home of 100,000 turns, 10,000 sessions and 100,000 memories costs its user.

`python -m tests.bench.big_folder [--turns N] [--write]`: there is a session for ten turns and a
memory for each turn. The same is measured in a home of a tenth, to see what grows. `--write` puts
the table into docs/benchmarks.md.
"""

import argparse
import http.client
import itertools
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.bench import usage
from tests.bench.large_home import Large, make_large_home, today
from tests.bench.searching import conversations
from tests.bench.sections import LARGE, write_section
from tests.bench.through_rest import folder_bytes
from tests.bench.world import model_server
from tests.running import KEY, Server, server

TURNS = 100_000
SHARE = 10
REPEATS = 7
SLOW_SECONDS = 1.0
GROWS, GROWS_SECONDS = 4.0, 0.02
"""So many times the CPU in the small home counts as growing with it, if it is worth a word."""

_MOST_REQUESTS = 40

_HEAD = """\
Written by `python -m tests.bench.big_folder --write`: one agent with {turns:,} turns in
{sessions:,} sessions and {turns:,} memories, over a month, {size:,.1f} GB, and beside it a home
of a tenth ({small:,.1f} GB), both made by `tests/bench/large_home.py`. All through REST of a real
`opencrab up`: wall time of a request, the median of {repeats} where it can be repeated, and CPU of
the server. *Grows*: takes {grows:g} times the CPU or more in ten times the home.

| what | a tenth | {turns:,} turns | CPU | grows |
|---|---|---|---|---|
"""


@dataclass(frozen=True)
class Cost:
    """Seconds that a request took, and CPU of the server; a note instead where it was refused."""

    seconds: float
    cpu_seconds: float
    note: str = ""


class Asking:
    """A running server with a large home, and what is asked of it."""

    def __init__(self, running: Server, made: Large) -> None:
        self._running, self._agent = running, f"/agents/{made.agent_id}"
        self._made, self._questions = made, itertools.cycle(conversations(1_000)[1])
        self.costs = dict[str, Cost]()

    def every(self) -> None:
        """Ask everything; what changes the home comes last."""
        memory, session = f"{self._agent}/memory", f"/sessions/{self._made.session_id}"
        self._once("the first search, which builds the index", self._search)
        self._often("a search", self._search)
        for what, path in (
            ("reading the agent", self._agent),
            ("listing 50 agents", "/agents?limit=50"),
            ("listing 50 sessions", "/sessions?limit=50"),
            (
                "listing 50 sessions of the agent",
                f"/sessions?limit=50&agent_id={self._made.agent_id}",
            ),
            ("listing 50 turns of the agent", f"/turns?limit=50&agent_id={self._made.agent_id}"),
            (
                "listing 50 turns of a session",
                f"/turns?limit=50&session_id={self._made.session_id}",
            ),
            ("reading a session", f"{session}/messages"),
            ("listing 50 memories", f"{memory}/curated?limit=50"),
            ("status of the memory", f"{memory}/status"),
            ("sums of all model calls", f"{self._agent}/llm/metrics/summary"),
            ("the analysis of a month's usage", f"{self._agent}/analytics/usage"),
        ):
            self._often(what, lambda path=path: self._fetch(path))  # type: ignore[misc]
        self._often("exporting one session", lambda: self._fetch(f"{memory}/export?{self._one}"))
        self._once("the zip of everything", lambda: self._fetch(f"{memory}/export?sessions=true"))
        self._once("exporting everything in parts", self._export)
        self._often("saving a memory", self._save)
        self._often("a message until its answer", self._speak)
        self._often("forgetting a memory that nobody repeats", self._forget_own, repeats=3)
        self._often("forgetting the oldest memory, a greeting", self._forget, repeats=2)

    @property
    def _id(self) -> str:
        return self._made.session_id

    @property
    def _one(self) -> str:
        return f"session_id={self._id}"

    def _once(self, what: str, ask: Callable[[], str | None]) -> None:
        self._often(what, ask, repeats=1)

    def _often(self, what: str, ask: Callable[[], str | None], repeats: int = REPEATS) -> None:
        taken, spent, note = list[float](), list[float](), ""
        for _ in range(repeats):
            before, started = usage.cpu_ms(self._running), time.perf_counter()
            try:
                note = ask() or ""
            except Refused as refused:
                note = str(refused)
            taken.append(time.perf_counter() - started)
            spent.append((usage.cpu_ms(self._running) - before) / 1_000)
        self.costs[what] = Cost(statistics.median(taken), statistics.median(spent), note)
        sys.stderr.write(f"{what}: {self.costs[what]}\n")

    def _get(self, path: str, accept: str = "*/*") -> tuple[bytes, str]:
        """A request whose answer may be an archive, and may be refused; the next part's cursor."""
        connection = http.client.HTTPConnection("127.0.0.1", self._running.port, timeout=300)
        headers = {"authorization": f"Bearer {KEY}", "accept": accept}
        connection.request("GET", f"/api{path}", headers=headers)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        if answer.status >= 300:
            raise Refused(f"answered with {answer.status}")
        return content, answer.headers.get("x-opencrab-next-cursor", "")

    def _export(self) -> str:
        path, parts, cursor = f"{self._agent}/memory/export", 0, ""
        while True:
            after = f"?after={cursor}" if cursor else ""
            content, cursor = self._get(f"{path}{after}", "application/x-ndjson")
            if not content:
                return f"{parts} parts"
            parts += 1

    def _search(self) -> None:
        self._running.call("POST", f"{self._agent}/memory/search", {"query": next(self._questions)})

    def _speak(self) -> None:
        self._running.say(self._id, "メモ")

    def _save(self) -> None:
        content = f"{next(self._questions)} {time.perf_counter()}"
        self._running.call("POST", f"{self._agent}/memory/curated", {"content": content})

    def _fetch(self, path: str) -> None:
        self._get(path)

    def _forget(self) -> str:
        """Forget the oldest memory, whose sentence others and turns have, too."""
        memory = f"{self._agent}/memory"
        found = self._running.call("GET", f"{memory}/curated?limit=1")["items"][0]
        return self._forget_memory(found["id"])

    def _forget_own(self) -> str:
        """Forget a memory that was just saved."""
        content = f"夕凪{time.perf_counter_ns()}番の灯台は蟹だけが知っている。"
        path = f"{self._agent}/memory/curated"
        return self._forget_memory(
            self._running.call("POST", path, {"content": content})["memory"]["id"]
        )

    def _forget_memory(self, memory_id: str) -> str:
        """Forget a memory; a request that did not find the time for all is repeated."""
        memory, wish = f"{self._agent}/memory", {"scope": "memory", "id": memory_id}
        for requests in range(1, _MOST_REQUESTS):
            if self._running.call("POST", f"{memory}/forget", wish)["done"]:
                return f"{requests} requests" if requests > 1 else ""
        raise AssertionError("it was not forgotten")


class Refused(Exception):
    """The answer of a request that the server refused."""


@dataclass(frozen=True)
class Measured:
    """A home's size, and what was asked of it."""

    gigabytes: float
    costs: dict[str, Cost]


def measured(folder: Path, turns: int) -> Measured:
    """Make a home and ask."""
    made = make_large_home(
        folder, turns=turns, sessions=max(2, turns // 10), memories=turns, today=today()
    )
    gigabytes = folder_bytes(folder) / 1e9
    sys.stderr.write(f"{turns} turns: {gigabytes:.2f} GB\n")
    with model_server() as url, server(folder, model_url=url, anew=True) as running:
        running.call("GET", "/health")
        start = time.perf_counter() - running.started
        begun = Cost(start, usage.cpu_ms(running) / 1_000)
        asking = Asking(running, made)
        asking.every()
        memory = usage.resident_mb(running)
    costs = {"start of `opencrab up` to its first health answer": begun} | asking.costs
    return Measured(gigabytes, costs | {"resident memory after all this": Cost(memory, 0)})


def table(turns: int, small: Measured, large: Measured) -> str:
    """The section of docs/benchmarks.md."""
    rows = []
    for what, cost in large.costs.items():
        before = small.costs[what]
        grown = cost.cpu_seconds >= max(GROWS * before.cpu_seconds, GROWS_SECONDS)
        grows = "**yes**" if grown else ""
        if what.startswith("resident"):
            rows.append(f"| {what} | {before.seconds:.0f} MB | {cost.seconds:.0f} MB | | |")
            continue
        note = f" ({cost.note})" if cost.note else ""
        slow = "**" if cost.seconds > SLOW_SECONDS else ""
        figures = f"{_time(before.seconds)} | {slow}{_time(cost.seconds)}{slow}"
        rows.append(f"| {what}{note} | {figures} | {_time(cost.cpu_seconds)} | {grows} |")
    head = _HEAD.format(
        turns=turns,
        sessions=turns // 10,
        size=large.gigabytes,
        small=small.gigabytes,
        repeats=REPEATS,
        grows=GROWS,
    )
    return head + "\n".join(rows)


def _time(seconds: float) -> str:
    return f"{seconds:.3g} s" if seconds >= 1 else f"{seconds * 1_000:.3g} ms"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--folder", type=Path, help="a folder on the disk to measure")
    parser.add_argument("--write", action="store_true", help="into docs/benchmarks.md")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=asked.folder) as made:
        small = measured(Path(made) / "small", max(10, asked.turns // SHARE))
        large = measured(Path(made) / "large", asked.turns)
    text = table(asked.turns, small, large)
    sys.stdout.write(f"{text}\n")
    if asked.write:
        write_section(LARGE, text)


if __name__ == "__main__":
    main()
