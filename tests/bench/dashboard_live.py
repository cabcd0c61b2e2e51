"""A live session in Chromium: how long its frames take, and what memory it holds after an hour.

`python -m tests.bench.dashboard_live MINUTES` prints the memory every five minutes, beside a real
`opencrab up` whose model streams its answers.
"""

import http.client
import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.bench.world import model_server
from tests.integration.browser.webdriver import Browser, browser
from tests.running import KEY, Server, server

_HEADERS = {"authorization": f"Bearer {KEY}", "content-type": "application/json"}
_FRAMES = """
window.frames = [];
let last = performance.now();
const next = (now) => { frames.push(now - last); last = now; requestAnimationFrame(next); };
requestAnimationFrame((now) => { last = now; requestAnimationFrame(next); });
"""
_RAN = "const found = window.frames; window.frames = []; return found"
_ANSWER_EVERY = 10
"""Seconds between the messages that the agent answers, word by word."""


@dataclass(frozen=True)
class Memory:
    """What the page holds after its garbage was collected."""

    minute: float
    heap_mb: float
    nodes: int
    rows: int
    """Lines in the document."""


def sign_in(window: Browser, running: Server) -> str:
    """Sign in as the owner; the address of the dashboard."""
    url = f"http://127.0.0.1:{running.port}"
    window.open(f"{url}/")
    window.type("#key", KEY)
    window.click("form button")
    window.until(lambda: window.count("#menu"), "nobody is signed in")
    return url


@contextmanager
def feed(running: Server, session_id: str, every: float) -> Iterator[threading.Event]:
    """Write a line of the mentor into a session each `every` seconds; set when it stops early."""
    over, failed = threading.Event(), threading.Event()

    def write() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", running.port, timeout=60)
        due, number = time.monotonic(), 0
        while not over.wait(max(0.0, due - time.monotonic())):
            text = f"行 {number}: the tide at the harbour, 港の潮位は {number} cm."
            path = f"/api/sessions/{session_id}/mentor"
            connection.request("POST", path, json.dumps({"text": text}), _HEADERS)
            answer = connection.getresponse()
            answer.read()
            if answer.status >= 300:
                failed.set()
                return
            due, number = due + every, number + 1
        connection.close()

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    try:
        yield failed
    finally:
        over.set()
        writer.join(60)


def frame_times(window: Browser, seconds: float) -> list[float]:
    """Milliseconds of each frame that the page shows in this time."""
    window.run(_FRAMES)
    threading.Event().wait(seconds)
    return [float(each) for each in window.run(_RAN)]


def memory(window: Browser, minute: float) -> Memory:
    """Collect the page's garbage, and count what is left."""
    window.devtools("HeapProfiler.enable")
    for _ in range(2):
        window.devtools("HeapProfiler.collectGarbage")
    heap = window.devtools("Runtime.getHeapUsage")["usedSize"]
    counts = window.devtools("Memory.getDOMCounters")
    rows = window.count(".rows > *")
    return Memory(minute, heap / 1e6, int(counts["nodes"]), rows)


def watch(window: Browser, running: Server, session_id: str, minutes: int) -> Iterator[Memory]:
    """The memory each five minutes of a session with a line a second and streamed answers."""
    started = time.monotonic()
    answered = started
    path = f"/sessions/{session_id}/messages"
    with feed(running, session_id, 1.0) as failed:
        for minute in range(0, minutes + 1, 5):
            while time.monotonic() < started + minute * 60:
                assert not failed.is_set(), "the server refused a line"
                if time.monotonic() >= answered:
                    answered += _ANSWER_EVERY
                    running.call("POST", path, {"text": "潮の様子は? How is the tide?"})
                failed.wait(0.5)
            yield memory(window, minute)


def main() -> None:
    """Print what an hour of a live session holds, as JSON lines."""
    minutes = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    with (
        tempfile.TemporaryDirectory() as folder,
        model_server(0.3, 40) as model,
        server(Path(folder), model_url=model, anew=True) as running,
        browser() as window,
    ):
        session_id = running.session("Live")
        url = sign_in(window, running)
        window.open(f"{url}/sessions/{session_id}")
        window.shown(".rows")
        for found in watch(window, running, session_id, minutes):
            load = os.getloadavg()[0]
            sys.stdout.write(json.dumps({**vars(found), "load": load, "at": time.ctime()}) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
