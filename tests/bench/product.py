"""The first table of docs/benchmarks.md: what one turn, one start and one memory cost a user.

CPU stands beside the floor, which ran in turn with it; targets are those that we set ourselves.
"""

from pathlib import Path

from tests.bench import burst, process, prompt, through_rest, throughput, turns, upkeep
from tests.bench.floor import Beside
from tests.bench.rows import Row
from tests.bench.world import model_server, world
from tests.budgets.turns import counted_turn

_LANGUAGES = {"ja": "Japanese", "en": "English"}
_FORGET_BYTES = 1.25e9
_MEMORIES = 300


def rows(folder: Path) -> list[Row]:
    """All of it, in some six minutes."""
    return [
        *_turn(folder),
        *_durable(folder),
        *_prompt(folder / "prompt"),
        *_start(folder / "start"),
        *_throughput(folder / "many"),
        *_memories(folder / "memories"),
        *_upkeep(folder),
    ]


def _turn(folder: Path) -> list[Row]:
    with model_server() as url, world(folder / "engine", url) as here:
        whole = turns.beside(here, url)
    with model_server(pieces=turns.PIECES) as url, world(folder / "streamed", url) as here:
        streamed = turns.beside(here, url, growing=False)[0]
    rest = through_rest.turns(folder / "rest")
    short, long = whole
    return [
        Row("the floor: two model calls with json and http.client", short.floor_ms, "ms"),
        *_beside("a turn in process", short, 9),
        Row("the same, answers streamed in 40 pieces", streamed.ratio, "× floor"),
        *_beside("a turn through REST, the server's CPU", rest.short, 16),
        Row("growth from 10 to 10,000 messages in process", long.ratio / short.ratio, "×", 1.15),
        Row("growth from 10 to 10,000 messages through REST", rest.growth, "×", 1.15),
    ]


def _beside(what: str, one: Beside, target: float | None = None) -> list[Row]:
    return [
        Row(what, one.turn_ms, "ms"),
        Row("the same, beside the floor", one.ratio, "× floor", target),
    ]


def _durable(folder: Path) -> list[Row]:
    life, counts = through_rest.life(folder / "life"), counted_turn()
    return [
        Row("given to the system to write for a turn", life.written_kb, "KB", 120),
        Row("waits for the disk in a turn (counted)", counts["fsyncs"], "", 4),
        Row("write transactions in a turn (counted)", counts["write_transactions"], "", 7),
        Row("SQL statements in a turn (counted)", counts["sql_statements"], "", 60),
        Row("growth of the data folder for a turn", life.growth_kb, "KB"),
        Row("resident memory after 100 turns", life.few_mb, "MB"),
        Row("resident memory after 1,000 turns", life.many_mb, "MB", 80),
    ]


def _prompt(folder: Path) -> list[Row]:
    return [
        Row(
            f"bytes before the user's words, an agent in {_LANGUAGES[language]}",
            sent.all,
            f"B (schemas {sent.schemas:,})",
            8_000,
        )
        for language, sent in prompt.sent(folder).items()
    ]


def _start(folder: Path) -> list[Row]:
    start = process.first_answer_cpu(folder)
    return [
        Row("start of `opencrab up` to its first answer", start.answer_ms, "ms"),
        Row("importing fastapi, uvicorn and httpx alone", start.imports_ms, "ms"),
        Row("the one as a multiple of the other", start.ratio, "×", 1.6),
    ]


def _throughput(folder: Path) -> list[Row]:
    found, made = throughput.figures(folder), list[Row]()
    for size, one in found.at_once.items():
        named = f"{size} session{'s' if size > 1 else ''}, model at once"
        made.append(Row(f"{named} (wall)", one.a_second, "turns/s"))
        made.append(Row("median of a turn (wall)", one.p50_ms, "ms"))
        made.append(Row("99 of 100 take at most (wall)", one.p99_ms, "ms"))
    most = found.at_once[max(found.at_once)]
    cores = most.a_second / found.on_one_core.a_second
    slow = found.slow_model
    return [
        *made,
        Row("32 sessions: p99 as a multiple of p50", most.p99_ms / most.p50_ms, "×", 2),
        Row("32 sessions: two cores against one", cores, "×", 1.7, at_least=True),
        Row("32 sessions, model of 200 ms (wall)", slow.a_second, "turns/s", 70, at_least=True),
        Row("99 of 100 of these take at most (wall)", slow.p99_ms, "ms"),
    ]


def _memories(folder: Path) -> list[Row]:
    found = burst.figures(folder)
    return [
        Row("saving a memory after 300 in a burst", found.burst_save.turn_ms, "ms", 10),
        Row("saving one beside 5,000", found.save.turn_ms, "ms", 10),
        Row("a search among 5,000 memories of one second", found.search.turn_ms, "ms"),
        Row("95 of 100 of these take at most", found.search.p95_ms, "ms", 40),
        Row("the search beside the floor", found.search.ratio, "× floor", 80),
        Row("importing 5,000 (wall)", found.import_seconds, "s", 20),
    ]


def _upkeep(folder: Path) -> list[Row]:
    forgot = upkeep.forgetting(folder / "forgetting", int(_FORGET_BYTES), _MEMORIES)
    idle = upkeep.idle(folder / "idle", settle_seconds=60, minutes=1)
    waits = max(value for name, value in forgot.items() if name.endswith("longest_wait_ms"))
    written = max(value for name, value in forgot.items() if name.endswith("written_mb"))
    seconds = max(value for name, value in forgot.items() if name.endswith("seconds"))
    return [
        Row("forgetting a memory in 1.25 GB (wall, slowest of 3)", seconds, "s", 1),
        Row("written for that", written, "MB"),
        Row("longest wait of another message meanwhile (wall)", waits, "ms", 100),
        Row("100 idle agents, CPU in a minute", idle["cpu_ms_a_minute"], "ms"),
        Row("the same, written in a minute", idle["written_mb_a_minute"], "MB", 0.3),
    ]
