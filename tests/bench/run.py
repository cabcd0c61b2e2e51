"""`make bench`: measure, print, and write docs/benchmarks.md."""

import json
import platform
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from opencrab.domain.value import Language
from tests.bench import (
    autonomy,
    bill,
    door,
    handler,
    models,
    process,
    product,
    rows,
    searching,
    sections,
    streaming,
    turns,
)
from tests.bench.rows import Row
from tests.bench.world import ROOT, model_server, world

_HEAD = """\
# Benchmarks

Written by `make bench`: Python {python}, {system}, two shared cores.
Figures are CPU unless they say wall; medians. They come from one run on a shared machine, so
read the ratios first: *× floor* compares each turn with the bare loop that ran just before it.

The model is a stub behind real HTTP in a process of its own; the store is the durable SQLite home
(WAL; what somebody relies on is synced). The standard turn is one `ws_write` and two model calls
after 10 messages of history. Bytes written are those that the process gives to the system (`wchar`
of `/proc/PID/io`), the write-ahead log and checkpoints included; statements, transactions and waits
are counted by `tests/budgets`, those of checkpoints not.

{product}

### Where the CPU of a turn goes

A turn in process, sampled every 4 ms of CPU over 500 turns (816 samples, so ± 2 points), each
sample given to the innermost of these:

| part | share |
|---|---|
| SQLite: 46 statements and the rows for them | 30 % |
| SQLite: the commits of 7 transactions, 5 of which wait for the disk | 9 % |
| two model calls over HTTP | 13 % |
| the file: its condition, its content, rename and folder, two waits for the disk | 11 % |
| the prompts: skills, schemas, history, texts | 7 % |
| choice of the model and reservation | 5 % |
| changes: records, ledger rows, headers | 5 % |
| the end of the turn and what follows from it | 5 % |
| reading two answers | 5 % |
| admission and loading the turn | 4 % |
| encoding two requests | 1 % |
| the rest of the loop | 5 % |

So what is kept durably (statements, commits, file) is half of a turn, that is as much as the whole
target: nine times a floor that keeps nothing. The other half is as much as openai-agents needs
without its transform. Model calls go over httpcore without httpx, which takes a request of 6 KB on
a kept connection, again and again, from 0.20 to 0.16 ms. The five commits and the two waits for the
file are those of [ADR 0039](adr/0039-durable-where-somebody-relies-on-it.md), which says why not
fewer.

Through REST come the server's event loop, changes of thread, the feed, the index, and a new
connection for each model call, since the server of llama.cpp closes them unannounced. A session of
10,000 messages has 96 lines of history in its prompt, one of 10 has 10: that is the growth. What an
earlier turn parsed and rendered of them serves the next, for some 1,000 lines of all sessions. The
rest is reading them from the file, choosing the window, and writing it into two requests.

### What a turn writes

The write-ahead log gets 99 pages of 1 KB in 7 transactions: a commit writes each page that it
changed. The rest are these pages once more at checkpoints, as far as they differ, the search index
and the file.

| pages of | number |
|---|---|
| rows: header, records, lines, session, ledger, budgets, signals | 34 |
| the index of their keys | 18 |
| the file's first page and its pointer map, since each transaction makes it grow | 14 |
| the queue, its indexes and the numbers given out | 14 |
| the change feed | 6 |
| the indexes of due times, expiry and lists | 6 |
| the count of commits | 5 |
| deduplication | 2 |

### Where the CPU of many sessions goes

By thread, of a server on a busy machine (so read the shares). One interpreter runs one thread at a
time: at 16 ms of CPU a turn it ends at most 62 turns a second, whether a model answers at once or
after 200 ms; 70 would need 14 ms. [ADR 0045](adr/0045-turns-stay-in-the-servers-process.md) has
what several processes bring.

| threads | 32 sessions, a model of 200 ms | 8 sessions, a model at once |
|---|---|---|
| workers: the turns themselves | 62 % | 68 % |
| the event loop: HTTP, routes | 14 % | 15 % |
| admission and reading of answers for REST | 7 % | 10 % |
| the search index, each 5 s for all sessions | 13 % | 2 % |
| who follows the feed, receives, and starts what is due | 4 % | 5 % |

## Parts

{parts}

Searches are asked among made-up lines, the same everywhere, of which each has 6 of 28 words, so
that no word is rare; and among real conversations where those are at hand (`OPENCRAB_MEMORY_EVAL`).
The index of times, by which a question finds a day, is 19 bytes of a line.

Counted, not timed, and asserted in `tests/e2e`: loading agent and session is 2 reads; a turn writes
1 admission + 1 claim + 2 per model call + 1 per action that is not pure, its close being the last
model call's result. On the local home 5 of the standard turn's 7 commits wait for the disk, and its
file twice ([ADR 0039](adr/0039-durable-where-somebody-relies-on-it.md)).

## Living on its own

An agent that wakes of its own accord, beside model and network (`tests/bench/autonomy.py`). Of its
beliefs and peers it has the most salient in view: they lie in one fact.

{autonomy}

Seven reads are what it can do with: of its agent, its session, the newest lines of that, and all
that the agent has at hand in one (signs, goals, outlook, notes, expectations, and the goal that it
serves); where there are unread events they are a fifth, since the signs tell where they begin.
Then come the names of all agents that it knows, and the notices of the board. Claiming the turn
comes before, and reading the switches after.
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
lines (3.5 units) and the ledger's entry (1), and does not grow any
further. Admission is 9 write and 2 read units of each row, two boundaries are one strong read each.

Six transactions write the header and three the session: over 1 KB these would cost 12 and 6 more.
Both stay below with three agents, and for people of chat services but the public on LINE.

Beside a turn are read: {key_check:g} for each check of a key (the owner's: none), {look:g} for
each look of a client that waits (`Prefer: wait`, one each half second), {replies:g} for the answer,
and {sweep:g} each minute by the heartbeat. A message needs no item for idempotency: its own marker
is one.

A later turn, call by call (`+`: of these, for indexes):

{calls}

**Why not 48 and 5**, the next targets, and what it would take:

- An intent in the turn's header saves nothing: the header has 0.8 KB, an intent 0.4, so that
  two units begin, as many as two items cost.
- The result of a call and the intent after it in one item would save 2, a tool call's intent in the
  header alone 2 to 3, a message's marker in the header of its first turn 2. In a rolling deployment
  the release before would not find them, and after a crash append to a file twice, pay twice, or
  refuse a repeat. One release must read such items before another writes them.
- Tallies from the table's stream, or counted from the ledger's rows when somebody asks, would save
  4, signals of the end 2. A stack with a table of its own may have no stream; an agent with
  thousands of calls a day would read them all for each look; and what the release before adds in
  its turns would be counted twice in a rolling deployment, or not at all after going back.
- What a turn did not spend could return to the lease with the next draw, for 2. The sweep would
  read headers to learn what a dead process owed, in the one part where a mistake overspends.
- The intent of a tool call with the answer that asks for it would save 2. An answer that was paid
  for would then wait for the reads before the call, and be lost if the worker dies there.
- One entry instead of two for a file would save 1. The first says that a file is being written:
  after a crash nobody would know whose it is.
- Switches read eventually would save 1.5 read units, and a freeze would be seen late, after calls
  that it should prevent.

Of the reads 2 are the admission's, which must see the last change of session and agent; 5 are looks
at switches, sharing and forgetting that hold at once.

### Init

CPU until a function is ready for its first event, of the built artifact under Lambda's runtime
interface emulator (`python -m tests.emulated.init`), beside a function that does nothing, in turn.

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


def of_engine(directory: Path) -> list[Row]:
    """Loading and storing an agent in this process."""
    with model_server() as url, world(directory, url) as installation:
        return [
            Row("loading an agent whole", turns.load_ms(installation), "ms", 20),
            Row("storing an agent durably (wall)", turns.flush_ms(installation), "ms", 50),
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
            Row("the store is asked for that", reads, "times", 7),
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


def as_process(directory: Path) -> list[Row]:
    """Figures of `opencrab up` as its user meets it."""
    with model_server(0.2) as slow:
        health = process.health_ms_while_waiting(directory, slow)
    start, first = process.start_seconds(directory), process.first_answer_seconds(directory)
    return [
        Row("start of `opencrab up` to its first health answer (wall)", start, "s", 0.9),
        Row("start to an agent's first answer, agent and session included (wall)", first, "s", 0.9),
        Row("slowest health check while 200 clients wait (wall)", health, "ms", 100),
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
    shown = [
        f"| a later one of a session in a worker | {lines:,} | {_sums(found.later)} |"
        for lines, found in counted.items()
    ]
    shown += [
        f"| the first of a session in a worker | {lines:,} | {_sums(found.first)} |"
        for lines, found in counted.items()
    ]
    new = bill.new_file(Language.JA)
    shown.append(f"| an agent's first, with a new file and folder | 10 | {_sums(new)} |")
    calls = bill.table(counted[bill.HISTORIES[0]].later)
    return {"units": "\n".join(shown), "calls": calls, **vars(bill.around())}


def _sums(one: bill.Bill) -> str:
    return f"{one.writes} | {one.reads:g}"


def init() -> str | None:
    """The table of cold starts; None where there is nothing to measure with."""
    command = [sys.executable, "-m", "tests.emulated.init"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if ran.returncode:
        said = ran.stderr.strip().splitlines() or ["it said nothing"]
        sys.stderr.write(f"cold starts are not measured here: {said[-1]}\n")
        return None
    found = [json.loads(row) for row in ran.stdout.splitlines()]
    rows = ["| function | CPU | times an empty one | at most | met |", "|---|---|---|---|---|"]
    for one in found:
        met = {True: "yes", False: "**no**", None: ""}[one["met"]]
        target, figure = one["target"] or "", f"{one['init_cpu_ms']} ms"
        rows.append(f"| {one['function']} | {figure} | {one['ratio']} | {target} | {met} |")
    return "\n".join(rows)


def last_table(page: str, heading: str) -> str:
    """The table that a page has below a heading, for what cannot be measured here."""
    _, _, section = page.partition(f"\n### {heading}\n")
    section = re.split(r"^#+ ", section, maxsplit=1, flags=re.M)[0]
    return "\n".join(row for row in section.splitlines() if row.startswith("|"))


def on_aws(directory: Path, before: str) -> str:
    """The part of the page about the home on AWS."""
    limits = {"writes": bill.WRITE_UNITS, "reads": bill.READ_UNITS}
    limits |= {"measuring": bill.MEASURING, "active": bill.ACTIVE}
    measured = door.table()
    return _AWS.format(
        warm=rows.HEAD + rows.lines(warm(directory)),
        init=init() or last_table(before, "Init"),
        door=measured if measured.startswith("|") else last_table(before, "The door of Discord"),
        **limits,
        **units(),
    )


def _told(found: list[Row]) -> list[Row]:
    """Show figures as soon as they are there: what fails later does not take them with it."""
    sys.stderr.write(f"{rows.lines(found)}\n")
    return found


def main() -> None:
    """Measure everything; `--print` leaves the page as it is."""
    before = sections.PAGE.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        whole = _told(product.rows(folder))
        parts = _told(of_engine(folder / "engine-parts") + of_models() + searching.rows(folder))
        parts += _told(as_process(folder))
        text = _HEAD.format(
            python=platform.python_version(),
            system=f"{platform.system()} {platform.machine()}",
            product=rows.HEAD + rows.lines(whole),
            parts=rows.HEAD + rows.lines(parts),
            autonomy=rows.HEAD + rows.lines(_told(of_autonomy(folder / "autonomy"))),
        )
        text += _STREAMING.format(runs=streaming.RUNS, streaming=streaming.table(folder))
        text += on_aws(folder / "aws", before)
    sys.stdout.write(text)
    if "--print" not in sys.argv:
        sections.PAGE.write_text(text + sections.kept(before), encoding="utf-8")


if __name__ == "__main__":
    main()
