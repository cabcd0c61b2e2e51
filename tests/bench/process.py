"""What `opencrab up` costs as a process: its start, and a health check while clients wait."""

import statistics
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from tests.bench import usage
from tests.running import server

_IMPORTS = "import fastapi, httpx, time, uvicorn; print(time.process_time() * 1_000)"


def start_seconds(data: Path) -> float:
    """From the start of the command to the first health answer: the median of three."""
    taken = []
    for number in range(3):
        with server(data / f"start{number}", anew=True) as running:
            running.call("GET", "/health")
            taken.append(time.perf_counter() - running.started)
    return statistics.median(taken)


def first_answer_seconds(data: Path) -> float:
    """From the start of the command to an agent's first answer, agent and session included."""
    taken = []
    for number in range(3):
        with server(data / f"first{number}", anew=True) as running:
            running.say(running.session("蟹"), "こんにちは")
            taken.append(time.perf_counter() - running.started)
    return statistics.median(taken)


@dataclass(frozen=True)
class Start:
    """CPU of a server until its first answer, of the imports alone, and the pairs' ratio."""

    answer_ms: float
    imports_ms: float
    ratio: float


def first_answer_cpu(data: Path, pairs: int = 5) -> Start:
    """Both in turn, so many times: medians."""
    found = list[tuple[float, float]]()
    for number in range(pairs):
        command = [sys.executable, "-c", _IMPORTS]
        imports = float(subprocess.check_output(command, cwd=data.parent))
        with server(data / f"cpu{number}", anew=True) as running:
            running.say(running.session("蟹"), "こんにちは")
            found.append((usage.cpu_ms(running), imports))
    answers, alone = zip(*found, strict=True)
    ratio = statistics.median(one / other for one, other in found)
    return Start(statistics.median(answers), statistics.median(alone), ratio)


def health_ms_while_waiting(data: Path, slow_model_url: str, clients: int = 200) -> float:
    """The slowest of 20 health checks while so many clients wait for answers."""
    with server(data / "waiting", model_url=slow_model_url, anew=True) as running:
        session_id = running.session("蟹")
        threads = [
            threading.Thread(target=running.say, args=(session_id, f"{n}番", 3.0))
            for n in range(clients)
        ]
        for thread in threads:
            thread.start()
        time.sleep(1.5)
        taken = []
        for _ in range(20):
            started = time.perf_counter()
            running.call("GET", "/health")
            taken.append((time.perf_counter() - started) * 1_000)
        for thread in threads:
            thread.join()
        return max(taken)
