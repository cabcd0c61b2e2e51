"""`make bench`: measure, print, and write docs/benchmarks.md."""

import json
import platform
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opencrab.domain.value import Language
from tests.bench import (
    autonomy,
    bill,
    door,
    handler,
    learning,
    models,
    process,
    searching,
    streaming,
    turns,
)
from tests.bench.world import ROOT, model_server, world

PAGE = ROOT / "docs" / "benchmarks.md"
RETRIEVAL = "\n## Retrieval\n"
"""Where what is measured by hand begins, which `make bench` keeps: retrieval, then learning."""

_HEAD = """\
# Benchmarks

Written by `make bench`: Python {python}, {system}, two shared cores.
Figures are CPU unless they say wall; medians. They come from one run on a shared machine, so
read the ratios first: all rows of the engine ran beside the bare loop of the first row.

The model is a stub behind real HTTP in a process of its own; the store is the durable SQLite home
(WAL; what somebody relies on is synced).

| what | figure | at most | met |
|---|---|---|---|
"""

_TAIL = """

Counted, not timed, and asserted in `tests/e2e`: loading agent and session is 2 reads; a turn writes
1 admission + 1 claim + 2 per model call + 1 per action that is not pure, its close being the last
model call's result. On the local home 5 of the standard turn's 7 commits wait for the disk, and its
file twice ([ADR 0039](adr/0039-durable-where-somebody-relies-on-it.md)).

## Living on its own

An agent that wakes of its own accord, beside model and network (`tests/bench/autonomy.py`). Of its
beliefs and peers it has the most salient in view: they lie in one fact.

| what | figure | at most | met |
|---|---|---|---|
{autonomy}

The target of two reads is missed. A turn asks the store for its agent, its session, the newest
lines of that, and all that the agent has at hand in one read (signs, goals, outlook, notes,
expectations, and the goal that it serves); where there are unread events they are a fifth, since
the signs tell where they begin. Claiming the turn comes before, and reading the switches after.
"""

_STREAMING = """
## Time to first visible token and to closed stream

A vendor that streams, in a process of its own, sends a word each 50 ms; each word is the moment at
which it was sent (`tests/bench/streaming.py`; wall, {runs} answers each). The end is
`RUN_FINISHED`, in the terminal the prompt. A stop is measured from the request that cancels the
turn until the vendor sees its connection closed: while an answer arrives, a worker looks for a stop
each 100 ms.

{streaming}
"""

_AWS = """
## The home on AWS

### A warm turn of `agent_turn`

CPU of our code and the SDK; AWS answers from a recording, where botocore would send the request
(`tests/bench/handler.py`), so connection, encryption and waiting are not in it. The local home ran
the same turns beside it.

| what | figure | at most | met |
|---|---|---|---|
{warm}

What it has more is the SDK: so many calls, each with its endpoint, signature and events. One call a
step is what the journal promises (a record before the next thing happens), so fewer would promise
less; the last figure is the turn without them.

### Units of DynamoDB in a turn of the standard shape

One `ws_write` and two model calls, admission included; ids, receipt and texts as long as in life.
Counted by a meter that follows AWS's published rules (`tests/bench/units.py`), the same for
Japanese and English, and asserted in `tests/bench/test_units.py`.

| turn | lines of history | write units (at most {writes}) | read units (at most {reads:g}) |
|---|---|---|---|
{units}

Measuring what helps adds {measuring} of the write units: a tally for each call, and the signals
of the end (`bill.MEASURING`). Without it a later turn keeps to the target, **with it the target is
missed**. An agent's first call of a day in a worker is {active} more.

A worker keeps the newest lines of sessions and what it last wrote in the ledger of files, so that a
later turn reads only what is new. The first turn of a session in a worker reads a page of up to 64
lines (3.5 units) and the ledger's entry (1): that is beyond the eight, and does not grow any
further. Admission is 9 write and 2 read units of each row, two boundaries are one strong read each.

Beside a turn are read: {key_check:g} for each check of a key (the owner's: none), {look:g} for
each look of a client that waits (`Prefer: wait`, one each half second), {replies:g} for the answer,
and {sweep:g} each minute by the heartbeat. A message needs no item for idempotency: its own marker
is one.

A later turn, call by call (`+`: of these, for indexes):

{calls}

### Init

CPU until a function is ready for its first event, of the built artifact under Lambda's runtime
interface emulator (`python -m tests.emulated.init`), with the layers' bytecode and without.

{init}

### The door of Discord

All CPU of the process, of the built artifact under Lambda's runtime interface emulator (`python -m
tests.bench.door`): Python itself, AWS's runtime, our imports, the TLS context, and for a first
interaction two TLS connections and both requests, to a queue and to Discord. The function that does
nothing shows what is not ours, and how far from rest the machine was. The last three rows are the
door as it is usually built, in the same run; it does less, as it answers inline without calling
Discord.

{door}
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
            return f"| {self.what} | {self.figure:.3g} {self.unit}".rstrip() + " | | |"
        verdict = "yes" if self.figure <= self.target else "**no**"
        return f"| {self.what} | {self.figure:.3g} {self.unit} | {self.target:g} | {verdict} |"


def in_process(directory: Path) -> list[Row]:
    """Figures of the engine in this process, beside a bare loop in the same run."""
    with model_server() as url, world(directory, url) as installation:
        bare = turns.bare_loop_ms(url)
        turn = turns.turn_ms(installation, 10)
        full = turns.turn_ms(installation, 100)
        grown = turns.turn_ms(installation, 10_000)
        prompt = turns.prompt_bytes(installation) / 1_024
        return [
            Row("bare loop: the same two model calls with json and http.client", bare, "ms", None),
            Row("a turn: one action, two model calls, 10 messages of history", turn, "ms", 8),
            Row("the same, as a multiple of the bare loop", turn / bare, "×", None),
            Row("growth of a turn from 10 to 10,000 messages", grown / turn, "×", 1.2),
            Row("growth of a turn from 100 to 10,000 messages", grown / full, "×", 1.2),
            Row("loading an agent whole", turns.load_ms(installation), "ms", 20),
            Row("storing an agent durably (wall)", turns.flush_ms(installation), "ms", 50),
            Row("prompt and action schemas before the user's words", prompt, "KB", 8),
        ]


def of_autonomy(directory: Path) -> list[Row]:
    """Figures of an agent that lives on its own."""
    with model_server() as url, world(directory, url) as installation:
        load_ms, reads = autonomy.load(installation)
        flush_ms = autonomy.flush_ms(installation)
        weighing = "reading, gate, ranking and orientation with 100 goals, 1,000 beliefs, 50 peers"
        return [
            Row(weighing, autonomy.decide_ms(), "ms", 5),
            Row("ranking 100 goals", autonomy.ranking_ms(), "ms", 1),
            Row("loading the turn of an agent that woke for an event, whole", load_ms, "ms", 20),
            Row("the store is asked for that", reads, "times", 2),
            Row("keeping what a waking changed in one transaction (wall)", flush_ms, "ms", 50),
            Row("clearing a working memory of 64 KB", autonomy.clear_ms(), "ms", 0.1),
        ]


def of_models() -> list[Row]:
    """Figures of a model call beside its network."""
    vendor, call = models.dearest_call()
    each = f"a model call without the network, {models.MESSAGES} messages, {models.ACTIONS} actions"
    return [
        Row(f"{each} (dearest vendor: {vendor})", call, "ms", 2),
        Row("encoding 10 × the messages, over 10 × the time", models.growth(), "×", 1.2),
        Row("importing the router and one provider", models.import_ms(), "ms", 200),
        Row("the same with the HTTP client", models.import_ms(network=True), "ms", 200),
    ]


def of_search(directory: Path) -> list[Row]:
    """Figures of the index that an agent searches its past with."""
    few, many = (searching.figures(directory, size) for size in searching.SIZES)
    return [
        Row("a search among 10,000 lines", few.median_ms, "ms", None),
        Row("the same, 95 of 100 take at most", few.p95_ms, "ms", 15),
        Row("a search among 100,000 lines", many.median_ms, "ms", None),
        Row("the same, 95 of 100 take at most", many.p95_ms, "ms", 40),
        Row("taking in 10,000 lines", 10_000 / many.rows_a_second, "s", 1),
        Row("a line in the file, text and all", many.bytes_a_row, "bytes", 320),
        Row("importing the index beside the domain", searching.import_ms(), "ms", 50),
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


def warm(directory: Path) -> list[Row]:
    """What a warm turn costs on AWS beside the local home."""
    with model_server() as url:
        found = handler.figures(directory, url)
    calls = found.calls * found.call_ms
    rest = (found.aws_ms - calls) / found.sqlite_ms
    return [
        Row("a warm turn on the local home", found.sqlite_ms, "ms", None),
        Row("the same on the home of AWS", found.aws_ms, "ms", None),
        Row("the same, as a multiple", found.ratio, "×", 1.5),
        Row("calls of AWS in it", found.calls, "", None),
        Row("one small call in the SDK alone", found.call_ms, "ms", None),
        Row("a warm turn without its calls, as a multiple", rest, "×", None),
    ]


def units() -> dict[str, Any]:
    """What DynamoDB charges, as the page shows it."""
    counted = {lines: bill.bills(Language.JA, lines) for lines in bill.HISTORIES}
    rows = [
        f"| a later one of a session in a worker | {lines:,} | {_sums(found.later)} |"
        for lines, found in counted.items()
    ]
    rows += [
        f"| the first of a session in a worker | {lines:,} | {_sums(found.first)} |"
        for lines, found in counted.items()
    ]
    new = bill.new_file(Language.JA)
    rows.append(f"| an agent's first, with a new file and folder | 10 | {_sums(new)} |")
    calls = bill.table(counted[bill.HISTORIES[0]].later)
    return {"units": "\n".join(rows), "calls": calls, **vars(bill.around())}


def _sums(one: bill.Bill) -> str:
    return f"{one.writes} | {one.reads:g}"


def init() -> str:
    """The table of cold starts, or why there is none."""
    command = [sys.executable, "-m", "tests.emulated.init"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if ran.returncode:
        said = ran.stderr.strip().splitlines() or ["it said nothing"]
        return f"Not measured here: {said[-1]}"
    found = [json.loads(row) for row in ran.stdout.splitlines()]
    rows = ["| function | bytecode | CPU | at most | met |", "|---|---|---|---|---|"]
    for one in found:
        bytecode = "yes" if one["bytecode"] else "no"
        met = {True: "yes", False: "**no**", None: ""}[one["met"]]
        target = one["target_ms"] or ""
        figure = f"{one['init_cpu_ms']} ms"
        rows.append(f"| {one['function']} | {bytecode} | {figure} | {target} | {met} |")
    return "\n".join(rows)


def on_aws(directory: Path) -> str:
    """The part of the page about the home on AWS."""
    measured = "\n".join(map(str, warm(directory)))
    limits = {"writes": bill.WRITE_UNITS, "reads": bill.READ_UNITS}
    limits |= {"measuring": bill.MEASURING, "active": bill.ACTIVE}
    return _AWS.format(warm=measured, init=init(), door=door.table(), **limits, **units())


def page(rows: list[Row], living: list[Row], live: str, aws: str) -> str:
    """docs/benchmarks.md."""
    system = f"{platform.system()} {platform.machine()}"
    head = _HEAD.format(python=platform.python_version(), system=system)
    shown = _STREAMING.format(runs=streaming.RUNS, streaming=live)
    return head + "\n".join(map(str, rows)) + _living(living) + shown + aws


def _living(rows: list[Row]) -> str:
    return _TAIL.format(autonomy="\n".join(map(str, rows)))


def main() -> None:
    """Measure everything; `--print` leaves the page as it is."""
    with tempfile.TemporaryDirectory() as folder:
        rows = in_process(Path(folder) / "engine") + of_models() + of_search(Path(folder))
        rows += as_process(Path(folder))
        living = of_autonomy(Path(folder) / "autonomy")
        live = streaming.table(Path(folder))
        text = page(rows, living, live, on_aws(Path(folder) / "aws"))
    sys.stdout.write(text)
    if "--print" not in sys.argv:
        before = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(text + learning.kept(before, RETRIEVAL), encoding="utf-8")


if __name__ == "__main__":
    main()
