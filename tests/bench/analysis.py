"""A month of 100,000 model calls, read from its tallies and analysed: CPU and memory.

Run by itself: `python -m tests.bench.analysis`.
"""

import sys
import tempfile
import tracemalloc
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import process_time

from opencrab.adapters.local_files import LocalBlobs, LocalFiles
from opencrab.adapters.sqlite.database import Database
from opencrab.adapters.sqlite.home import open_sqlite_home
from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.insight.figures import weeks_of_analytics
from opencrab.domain.insight.recommendations import Analysis, analyze_calls_of_period
from opencrab.domain.learning.evidence import Evidence, ModelEvidence
from opencrab.domain.models.routing import Use
from opencrab.domain.statistics.confidence import MomentSums
from opencrab.domain.turn.record import CallState
from opencrab.domain.usage.counters import DailyTally, merge_usage_tallies, usage_tally_of_call
from opencrab.domain.usage.ledger import Period
from opencrab.ports.usage.counters import Tallies
from tests.contract.example import usage_row
from tests.unit.domain.measured import apart

NOW = datetime(2026, 11, 22, 10, 30, tzinfo=UTC)
CALLS, DAYS = 100_000, 31
MODELS = ("gpt", "mini", "nano", "large", "meta/llama")
USES = (Use.CONVERSATION, Use.THINKING, Use.TOOL_CALLING, Use.ANALYSIS)
TASKS = ("conversation", "code", "routine")
AGENT = "hana"

CPU_MS, MEGABYTES = 300, 50
_TIMES = 5


@dataclass(frozen=True)
class Measured:
    """What one analysis took; `cells` is what was read for it."""

    cpu_ms: float
    megabytes: float
    cells: int
    calls: int


def month(calls: int = CALLS) -> tuple[DailyTally, ...]:
    """An agent's tallies of a month, as so many calls leave them."""
    return merge_usage_tallies(_calls(calls))


def evidence(more: int) -> Evidence:
    """What is known of each model for each kind of work; each time another, as in life."""
    known = dict[str, ModelEvidence]()
    for place, (use, task, model) in enumerate(_kinds()):
        n = 200 + place + 100 * more
        spent = MomentSums(n=n, total=n * (1e3 + place), squares=n * 2e6)
        quality = MomentSums(n=n, total=n * 0.8, squares=n * 0.7)
        known[f"{use}/{task}/openai:{model}"] = ModelEvidence(
            quality=quality, cost=spent, latency=spent, turns=n
        )
    return apart(known)


def analysis(tallies: Tallies, known: Evidence) -> Analysis:
    """The month, read and analysed."""
    period = Period.LAST_MONTH
    read = (
        tally
        for first, last in weeks_of_analytics(period, NOW)
        for tally in tallies.between(AGENT, first, last)
    )
    choices = {model.replace("/", "-"): f"openai:{model}" for model in MODELS}
    return analyze_calls_of_period(read, known, period=period, now=NOW, choices=choices)


def measured(folder: Path, *, calls: int = CALLS) -> Measured:
    """The median time and the most memory of an analysis from a store."""
    files, blobs = LocalFiles(folder / "agents"), LocalBlobs(folder)
    home, database = open_sqlite_home(
        folder, FakeClock(NOW), files=files, blobs=blobs, durable=False
    )
    with closing(database):
        tallies = month(calls)
        _store(database, tallies)
        spent = sorted(_timed(home.tallies, evidence(time)) for time in range(_TIMES))
        tracemalloc.start()
        found = analysis(home.tallies, evidence(_TIMES))
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    return Measured(spent[_TIMES // 2], peak / 1e6, len(tallies), found.totals.calls)


def _timed(tallies: Tallies, known: Evidence) -> float:
    before = process_time()
    analysis(tallies, known)
    return (process_time() - before) * 1_000


def _kinds() -> Iterator[tuple[Use, str, str]]:
    return ((use, task, model) for use in USES for task in TASKS for model in MODELS)


def _calls(calls: int) -> Iterator[DailyTally]:
    kinds = tuple(_kinds())
    for n in range(calls):
        use, task, model = kinds[n * 7 % len(kinds)]
        row = usage_row(
            n,
            at=NOW - timedelta(minutes=n * DAYS * 24 * 60 / calls * 0.97),
            agent_id=AGENT,
            model=model,
            purpose=use,
            task_type=task,
            complexity=(n // 60 % 3) / 2,
            cost=100 + n % 5_000,
            latency_ms=200 + n % 9_000,
            state=CallState.FAILED if n % 50 == 0 else CallState.COMPLETED,
        )
        yield usage_tally_of_call(row)


def _store(database: Database, tallies: tuple[DailyTally, ...]) -> None:
    """Put tallies where the journal would have counted them."""
    with database.write_transaction() as items:
        for n, tally in enumerate(tallies):
            items.put(f"TALLY#{AGENT}", f"{tally.day}#{n}", tally.model_dump_json())


def main() -> int:
    """Print the figures; 1 where one is too great."""
    with tempfile.TemporaryDirectory() as folder:
        found = measured(Path(folder))
    sys.stdout.write(
        f"{found.calls} calls in {found.cells} cells: {found.cpu_ms:.0f} ms CPU (at most {CPU_MS}),"
        f" {found.megabytes:.1f} MB (at most {MEGABYTES})\n"
    )
    return int(found.cpu_ms > CPU_MS or found.megabytes > MEGABYTES)


if __name__ == "__main__":
    raise SystemExit(main())
