"""What saving and searching through REST cost after many memories were saved at the same time.

`python -m tests.bench.burst [MEMORIES]`. Each request is followed by one that only reads the agent,
and by the floor: the bare loop of two model calls in this process.
"""

import http.client
import json
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from opencrab.adapters.local_files import LocalBlobs, LocalFiles
from opencrab.adapters.sqlite.home import open_sqlite_home
from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.document import new_fact
from opencrab.domain.memory.memory import MEMORY, Memory
from tests.bench import usage
from tests.bench.floor import Beside, bare_loop, beside_floor
from tests.bench.searching import conversations
from tests.bench.world import model_server
from tests.running import KEY, Server, server

MEMORIES = 5_000
BURST = 300
AGE_SECONDS = 600
"""How long ago the memories were saved: longer than ids may come in late."""

REQUESTS = 40
SECOND = timedelta(seconds=1)


@dataclass(frozen=True)
class Figures:
    """CPU of the server beside the floor; seconds that an import took."""

    burst_save: Beside
    search: Beside
    save: Beside
    import_seconds: float


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


def figures(data: Path, memories: int = MEMORIES) -> Figures:
    """Save after a burst; then search among many, import those into another agent, and save."""
    docs, questions = conversations(memories)
    texts = [f"{doc['text'][:300]} {number}" for number, doc in enumerate(docs)]
    with model_server() as url:
        floor = bare_loop(url)
        with server(data, anew=True) as running:
            busy, agent_id, other = (_agent(running, name) for name in ("Bea", "Ada", "Cleo"))
            save = _saving(running, busy, texts)
            for _ in range(BURST):
                save()
            burst = _beside(running, floor, save)
        save_together(data, agent_id, texts)
        with server(data, anew=True) as running:
            search = _searching(running, agent_id, questions)
            search()
            found = _beside(running, floor, search)
            seconds = _import_seconds(running, agent_id, other)
            saved = _beside(running, floor, _saving(running, agent_id, texts))
            return Figures(burst, found, saved, seconds)


def _agent(running: Server, name: str) -> str:
    return str(running.call("POST", "/agents", {"name": name})["id"])


def _saving(running: Server, agent_id: str, texts: list[str]) -> Callable[[], None]:
    left = iter(texts)

    def save() -> None:
        body = {"category": "note_summary", "content": f"{next(left)} again"}
        running.call("POST", f"/agents/{agent_id}/memory/curated", body)

    return save


def _searching(running: Server, agent_id: str, questions: list[str]) -> Callable[[], None]:
    left = iter(questions)

    def search() -> None:
        running.call("POST", f"/agents/{agent_id}/memory/search", {"query": next(left)})

    return search


def _beside(running: Server, floor: Callable[[], None], ask: Callable[[], None]) -> Beside:
    (found,) = beside_floor(floor, ask, turns=REQUESTS, cpu=lambda: usage.cpu_ms(running))
    return found


def _import_seconds(running: Server, from_agent: str, to_agent: str) -> float:
    connection = http.client.HTTPConnection("127.0.0.1", running.port, timeout=300)
    headers = {"authorization": f"Bearer {KEY}"}
    connection.request("GET", f"/api/agents/{from_agent}/memory/export", headers=headers)
    archive = connection.getresponse().read()
    started = time.perf_counter()
    headers["content-type"] = "application/octet-stream"
    connection.request("POST", f"/api/agents/{to_agent}/memory/import", archive, headers)
    answer = json.loads(connection.getresponse().read())
    connection.close()
    assert answer.get("taken"), answer
    return time.perf_counter() - started


def main(memories: int) -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory() as folder:
        found = figures(Path(folder), memories)
    for name, one in vars(found).items():
        print(name, one, flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else MEMORIES)
