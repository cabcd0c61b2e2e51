"""What a search and a save through REST cost after many memories were saved at the same time.

`python -m tests.bench.burst [MEMORIES]`. Each request is followed by one that only reads the agent:
the floor.
"""

import statistics
import sys
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from opencrab.adapters.local_files import LocalBlobs, LocalFiles
from opencrab.adapters.sqlite.home import open_sqlite_home
from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.document import new_fact
from opencrab.domain.memory.memory import MEMORY, Memory
from tests.bench.searching import conversations
from tests.running import Server, server

MEMORIES = 5_000
AGE_SECONDS = 600
"""How long ago the memories were saved: longer than ids may come in late."""

REQUESTS = 40
SECOND = timedelta(seconds=1)


def save_together(data: Path, agent_id: str, texts: list[str]) -> None:
    """Memories whose ids are of the same second, in the stopped installation."""
    clock = FakeClock(datetime.now(UTC) - timedelta(seconds=AGE_SECONDS))
    files = LocalFiles(data, quota_bytes=10**8)
    home, database = open_sqlite_home(data, clock, files=files, blobs=LocalBlobs(data))
    for first in range(0, len(texts), 50):
        clock.advance(SECOND.total_seconds() * 50 / len(texts))
        now = clock.now()
        memories = [
            Memory(id=clock.new_id(), category="fact", content=text, created_at=now, updated_at=now)
            for text in texts[first : first + 50]
        ]
        home.facts.commit(*(new_fact(agent_id, MEMORY, each.id, each) for each in memories))
    database.close()


def spent_ms(running: Server) -> float:
    """CPU of all threads of the server; finer than a tick of the clock."""
    tasks = Path(f"/proc/{running.process.pid}/task").iterdir()
    return sum(int((each / "schedstat").read_text().split()[0]) for each in tasks) / 1_000_000


def beside_floor(running: Server, floor: str, ask: Callable[[int], object]) -> str:
    """CPU of the server for a request, and as a multiple of the floor in the same minutes."""
    asked, floors = list[float](), list[float]()
    for number in range(REQUESTS):
        before = spent_ms(running)
        ask(number)
        between = spent_ms(running)
        running.call("GET", floor)
        asked.append(between - before)
        floors.append(spent_ms(running) - between)
    asked.sort()
    median, least = statistics.median(asked), statistics.median(floors)
    return (
        f"{median:.1f} ms, 95 of 100 at most {asked[len(asked) * 95 // 100]:.1f} ms,"
        f" {median / least:.1f} x the floor of {least:.2f} ms"
    )


def main(memories: int) -> None:
    """Print the figures."""
    docs, questions = conversations(memories)
    texts = [f"{doc['text'][:300]} {number}" for number, doc in enumerate(docs)]
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder)
        with server(data) as running:
            agent_id = running.call("POST", "/agents", {"name": "Ada"})["id"]
        save_together(data, agent_id, texts)
        with server(data) as running:
            floor, memory = f"/agents/{agent_id}", f"/agents/{agent_id}/memory"
            running.call("POST", f"{memory}/search", {"query": questions[0]})

            def search(number: int) -> None:
                running.call("POST", f"{memory}/search", {"query": questions[number]})

            def save(number: int) -> None:
                content = f"{texts[number]} again {number}"
                body = {"category": "note_summary", "content": content}
                running.call("POST", f"{memory}/curated", body)

            for name, ask in (("search", search), ("save", save), ("search again", search)):
                print(f"{name}: {beside_floor(running, floor, ask)}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else MEMORIES)
