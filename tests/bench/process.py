"""What `opencrab up` costs as a process: start, memory, CPU per turn over REST, waiting clients."""

import statistics
import threading
import time
from pathlib import Path

from tests.running import server


def start_seconds(data: Path) -> float:
    """From the start of the command to the first health answer: the median of three."""
    taken = []
    for number in range(3):
        with server(data / f"start{number}") as running:
            running.call("GET", "/health")
            taken.append(time.perf_counter() - running.started)
    return statistics.median(taken)


def first_answer_seconds(data: Path) -> float:
    """From the start of the command to an agent's first answer, agent and session included."""
    taken = []
    for number in range(3):
        with server(data / f"first{number}") as running:
            running.say(running.session("蟹"), "こんにちは")
            taken.append(time.perf_counter() - running.started)
    return statistics.median(taken)


def rest_turn_ms(data: Path, model_url: str, turns: int = 100) -> tuple[float, float]:
    """CPU of the server per turn over REST, and its resident memory after 200 turns."""
    with server(data / "rest", model_url=model_url) as running:
        session_id = running.session("蟹")
        for _ in range(200 - turns):
            running.say(session_id, "買い物のメモを書いてください。")
        before = running.cpu_ms()
        for _ in range(turns):
            running.say(session_id, "買い物のメモを書いてください。")
        return (running.cpu_ms() - before) / turns, running.resident_mb()


def health_ms_while_waiting(data: Path, slow_model_url: str, clients: int = 200) -> float:
    """The slowest of 20 health checks while so many clients wait for answers."""
    with server(data / "waiting", model_url=slow_model_url) as running:
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


def at_once(data: Path, slow_model_url: str, agents: int = 32) -> tuple[float, float]:
    """Seconds for one agent's turn, and for so many agents' turns in different sessions."""
    with server(data / "many", model_url=slow_model_url) as running:
        sessions = [running.session(f"蟹{n}") for n in range(agents)]
        started = time.perf_counter()
        running.say(sessions[0], "メモ")
        one = time.perf_counter() - started
        threads = [threading.Thread(target=running.say, args=(s, "メモ")) for s in sessions]
        started = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return one, time.perf_counter() - started
