"""What a search costs: the whole of `find`, taking in, size and import, at two sizes of an index.

Made-up lines, the same everywhere: of 28 words in all, so each word is in a fifth of them. And real
conversations where they are at hand (OPENCRAB_MEMORY_EVAL).
"""

import gzip
import json
import os
import random
import subprocess
import sys
import time
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from opencrab.adapters.sqlite_search.index import Index
from opencrab.domain.memory.search_row import SearchRow
from opencrab.ports.memory.search import SearchQuery
from tests.bench.memory_system import Doc, batches_of, rows_of
from tests.bench.rows import Row
from tests.bench.world import ROOT

SIZES = (10_000, 100_000)
QUERIES = 200
_LIMITS = (15, 40)

_EVALUATION = Path(os.environ.get("OPENCRAB_MEMORY_EVAL", ROOT.parent / "shared" / "memory-eval"))
_PUBLIC = _EVALUATION / "data" / "public"
_WORDS = (
    *[
        "温泉",
        "旅行",
        "電車",
        "週末",
        "天気",
        "料理",
        "映画",
        "音楽",
        "仕事",
        "会議",
        "写真",
        "散歩",
        "図書館",
        "子供",
        "夏休み",
        "約束",
    ],
    *[
        "hotel",
        "train",
        "dinner",
        "garden",
        "music",
        "weather",
        "window",
        "letter",
        "summer",
        "paper",
        "river",
        "morning",
    ],
)


@dataclass(frozen=True)
class Figures:
    """CPU of one search in ms (median, 95th of 100), rows taken in a second, bytes of a row."""

    median_ms: float
    p95_ms: float
    rows_a_second: float
    bytes_a_row: float


def rows(directory: Path) -> list[Row]:
    """Figures of the index that an agent searches its past with."""
    made_up = [figures(directory, size, made_up=True) for size in SIZES]
    found = [*_searches("made-up lines of 28 words", made_up)]
    measured = made_up
    if at_hand():
        measured = [figures(directory, size, made_up=False) for size in SIZES]
        found += _searches("lines of conversations", measured)
    many = measured[-1]
    return [
        *found,
        Row("taking in 10,000 lines", 10_000 / many.rows_a_second, "s", 1),
        Row("a line in the file, text and all", many.bytes_a_row, "bytes", 320),
        Row("importing the index beside the domain", import_ms(), "ms", 50),
    ]


def _searches(lines: str, found: list[Figures]) -> list[Row]:
    return [
        row
        for size, limit, one in zip(SIZES, _LIMITS, found, strict=True)
        for row in (
            Row(f"a search among {size:,} {lines}", one.median_ms, "ms", None),
            Row("the same, 95 of 100 take at most", one.p95_ms, "ms", limit),
        )
    ]


def at_hand() -> bool:
    """Whether there are real conversations."""
    return _PUBLIC.is_dir()


def figures(directory: Path, size: int, *, made_up: bool) -> Figures:
    """Make an index of so many rows in a file, then ask it whole questions."""
    docs, questions = _made_up(size) if made_up else conversations(size)
    rows = list(rows_of(docs).values())
    now = max(row.at for row in rows)
    path = directory / f"index-{size}-{made_up}"
    index = Index("agent", path)
    taken = _taken_s(index, rows)
    index.find(SearchQuery(questions[0]), now)
    spent = sorted(_found_ms(index, SearchQuery(text), rows[-1]) for text in questions)
    bytes_a_row = path.stat().st_size / len(rows)
    index.close()
    return Figures(
        spent[len(spent) // 2], spent[len(spent) * 95 // 100], len(rows) / taken, bytes_a_row
    )


def import_ms() -> float:
    """CPU to import the index in a process that knows the domain, as every one that runs turns."""
    code = (
        "import opencrab.adapters.search_rows, time; started = time.process_time();"
        "import opencrab.adapters.sqlite_search.index;"
        "print((time.process_time() - started) * 1_000)"
    )
    command = [sys.executable, "-c", code]
    return min(float(subprocess.check_output(command, cwd=ROOT)) for _ in range(5))


def _taken_s(index: Index, rows: list[SearchRow]) -> float:
    batches = batches_of(rows)
    started = time.process_time()
    index.take(batches, rows[-1].at)
    return time.process_time() - started


def _found_ms(index: Index, query: SearchQuery, last: SearchRow) -> float:
    started = time.process_time()
    index.find(query, last.at)
    return (time.process_time() - started) * 1_000


def conversations(size: int) -> tuple[list[Doc], list[str]]:
    """Documents and questions: real ones where they are at hand."""
    if not at_hand():
        return _made_up(size)
    with gzip.open(_PUBLIC / "background_ja.jsonl.gz", "rt", encoding="utf-8") as lines:
        docs = [json.loads(line) for line in islice(lines, size)]
    questions = list[str]()
    for name in ("asdc_scud_ja", "locomo_en"):
        with (_PUBLIC / name / "queries.jsonl").open(encoding="utf-8") as lines:
            questions += [json.loads(line)["text"] for line in islice(lines, QUERIES // 2)]
    return docs, questions


def _made_up(size: int) -> tuple[list[Doc], list[str]]:
    chance = random.Random(6)  # noqa: S311 - no secret
    docs = [
        {
            "id": str(number),
            "text": "".join(
                f"{word}は{chance.randrange(size)} " for word in chance.choices(_WORDS, k=6)
            ),
            "speaker": f"話者{number % 40}",
            "ts": float(number),
            "session": f"session{number // 30}",
        }
        for number in range(size)
    ]
    asked = ["と".join(chance.choices(_WORDS, k=4)) + "はいつでしたか?" for _ in range(QUERIES)]
    return docs, asked
