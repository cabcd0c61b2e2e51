"""Turns a second through REST, and how long one takes, with several sessions at the same time."""

import os
import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.bench import usage
from tests.bench.floor import SAID
from tests.bench.world import model_server
from tests.running import Server, server

SECONDS = 6.0
WARM_UP_SECONDS = 1.5
SLOW_MODEL_SECONDS = 0.2
WAIT_SECONDS = 25


@dataclass(frozen=True)
class Throughput:
    """Turns that ended in a second, and how long they took."""

    a_second: float
    p50_ms: float
    p99_ms: float


@dataclass(frozen=True)
class Figures:
    """By the number of sessions with a model that answers at once; then 32 of them otherwise."""

    at_once: dict[int, Throughput]
    on_one_core: Throughput
    slow_model: Throughput


def figures(folder: Path, sizes: tuple[int, ...] = (1, 8, 32)) -> Figures:
    """Each with a server of its own."""
    most = max(sizes)
    with model_server() as url:
        found = {size: _measured(folder / f"{size}", url, size) for size in sizes}
        one = _measured(folder / "pinned", url, most, pinned=True)
    with model_server(SLOW_MODEL_SECONDS) as url:
        return Figures(found, one, _measured(folder / "slow", url, most))


def _measured(folder: Path, url: str, size: int, *, pinned: bool = False) -> Throughput:
    """So many agents, each in a session of its own, whose user speaks again after each answer."""
    with server(folder, model_url=url, anew=True) as running:
        sessions = [running.session(f"蟹{number}") for number in range(size)]
        for session_id in sessions[:1]:
            running.say(session_id, SAID)
        if pinned:
            _pin(running)
        taken, ended = list[tuple[float, float]](), threading.Event()
        with _speaking(running, sessions, taken, ended):
            time.sleep(WARM_UP_SECONDS)
            started = time.perf_counter()
            time.sleep(SECONDS)
            until = time.perf_counter()
            ended.set()
    counted = sorted(spent for at, spent in taken if started <= at < until)
    assert counted, "no turn ended"
    return Throughput(
        len(counted) / (until - started),
        statistics.median(counted) * 1_000,
        counted[min(len(counted) - 1, len(counted) * 99 // 100)] * 1_000,
    )


@contextmanager
def _speaking(
    running: Server, sessions: list[str], taken: list[tuple[float, float]], ended: threading.Event
) -> Iterator[None]:
    def speak(session_id: str) -> None:
        while not ended.is_set():
            started = time.perf_counter()
            answer = running.say(session_id, SAID, WAIT_SECONDS)
            now = time.perf_counter()
            if answer["replies"]:
                taken.append((now, now - started))

    threads = [threading.Thread(target=speak, args=(each,)) for each in sessions]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        for thread in threads:
            thread.join()


def _pin(running: Server) -> None:
    """Let the server and its processes use one core only."""
    core = min(os.sched_getaffinity(0))
    for pid in usage.processes(running):
        for task in Path(f"/proc/{pid}/task").iterdir():
            os.sched_setaffinity(int(task.name), {core})
