"""What a large folder and idle agents cost: `python -m tests.bench.upkeep`.

Forgetting one memory in a database of 1.25 GB, while another agent gets messages; a minute of 100
agents that have nothing to do. All through `opencrab up`, from what the kernel counts of it.
"""

import argparse
import random
import sqlite3
import sys
import tempfile
import threading
import time
from contextlib import closing
from pathlib import Path

from tests.bench import usage
from tests.running import Server, server

_ROWS_AT_ONCE = 5_000
_AGENTS = 100
_FLUSH_MINUTES = 10
_SYLLABLES = (
    "あいうえおかきくけこさしすせそたちつてとなにぬねのはひふへほまみむめもやゆよらりるれろわ"
)


def forgetting(data: Path, size: int, memories: int) -> dict[str, float]:
    """Seconds, bytes written and the longest wait of another agent's message."""
    with server(data, anew=True) as running:
        agent = running.call("POST", "/agents", {"name": "蟹", "language": "ja"})["id"]
        order = random.Random(2)  # noqa: S311 - the same memories each time
        for _ in range(memories):
            text = "".join(order.choices(_SYLLABLES, k=40))
            running.call("POST", f"/agents/{agent}/memory/curated", {"content": text})
    fill(data / "opencrab.db", size)
    with server(data, anew=True) as running:
        session = running.session("海老")
        running.say(session, "メモ")
        found = running.call("GET", f"/agents/{agent}/memory/curated?limit=10")["items"]
        waits, done = list[float](), threading.Event()
        other = threading.Thread(
            target=_save, args=(running, agent_of(running, session), waits, done)
        )
        other.start()
        figures = dict[str, float]()
        for name, memory in zip(("first", "second", "third"), found, strict=False):
            time.sleep(6)
            before, written, started = len(waits), usage.bytes_written(running), time.perf_counter()
            wish = {"scope": "memory", "id": memory["id"]}
            answer = running.call("POST", f"/agents/{agent}/memory/forget", wish)
            figures[f"{name}_seconds"] = time.perf_counter() - started
            assert answer["done"], answer
            time.sleep(1)
            figures[f"{name}_written_mb"] = (usage.bytes_written(running) - written) / 1e6
            figures[f"{name}_longest_wait_ms"] = max(waits[before:], default=0) * 1_000
        time.sleep(2)
        figures["usual_longest_wait_ms"] = max(waits[-30:]) * 1_000
        done.set()
        other.join()
        return figures


def _save(running: Server, agent: str, waits: list[float], done: threading.Event) -> None:
    """Write something small for another agent, again and again, and note how long each took."""
    number = 0
    while not done.wait(0.02):
        number += 1
        started = time.perf_counter()
        running.call("PATCH", f"/agents/{agent}", {"name": f"海老{number}"})
        waits.append(time.perf_counter() - started)


def agent_of(running: Server, session: str) -> str:
    """The only agent of a session."""
    (one,) = running.call("GET", f"/sessions/{session}")["participants"]
    return str(one["agent_id"])


def fill(path: Path, size: int) -> None:
    """Add rows of many sizes in any order until the file has this size."""
    order = random.Random(1)  # noqa: S311 - the same rows each time
    with closing(sqlite3.connect(path)) as file:
        while path.stat().st_size < size:
            file.executemany(
                "INSERT OR IGNORE INTO item (pk, sk, body) VALUES (?, ?, ?)",
                (
                    (
                        f"FILL#{order.randrange(2_000)}",
                        f"{order.random():.12f}",
                        "昔の話です。" * order.choice((10, 20, 40, 90, 300)),
                    )
                    for _ in range(_ROWS_AT_ONCE)
                ),
            )
            file.commit()
            file.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()


def idle(data: Path, minutes: float, settle_seconds: float = 150) -> dict[str, float]:
    """CPU and bytes written in a minute of agents that have nothing to do.

    What they keep in memory is written each ten minutes and at the end, so a tenth of what the end
    writes counts for each minute.
    """
    with server(data, anew=True) as running:
        for number in range(_AGENTS):
            running.call("POST", "/agents", {"name": f"蟹{number}", "language": "ja"})
        time.sleep(settle_seconds)
        cpu, written = usage.cpu_ms(running), usage.bytes_written(running)
        time.sleep(minutes * 60)
        spent, after = usage.cpu_ms(running) - cpu, usage.bytes_written(running)
        late = usage.bytes_written_while_stopping(running)
        return {
            "cpu_ms_a_minute": spent / minutes,
            "written_mb_a_minute": ((after - written) / minutes + late / _FLUSH_MINUTES) / 1e6,
        }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["forgetting", "idle"])
    parser.add_argument("--folder", help="an empty folder on the disk to measure")
    parser.add_argument("--bytes", type=float, default=1.25e9)
    parser.add_argument("--memories", type=int, default=300)
    parser.add_argument("--minutes", type=float, default=3)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=asked.folder) as made:
        data = Path(made) / "data"
        figures = (
            idle(data, asked.minutes)
            if asked.what == "idle"
            else forgetting(data, int(asked.bytes), asked.memories)
        )
    for name, figure in figures.items():
        sys.stdout.write(f"{name} {figure:.4g}\n")


if __name__ == "__main__":
    main()
