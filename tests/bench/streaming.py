"""How soon words are on the screen, and how soon a stop hangs up: beside the bare vendor's stream.

Each word of the vendor is the moment at which it was sent (`tests/bench/stream_stub.py`).
`python -m tests.bench.streaming` prints the table of docs/benchmarks.md.
"""

import fcntl
import http.client
import json
import os
import pty
import re
import select
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from websockets.sync.client import connect

from tests.bench.stream_stub import BEHAVIOURS, now_us
from tests.bench.world import ROOT
from tests.running import KEY, OPENCRAB, Server, server

RUNS = 10
_COLUMNS = 600
SECONDS = 30.0
_WORD = re.compile(r"at(\d+)us")
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")
_HEADERS = {"authorization": f"Bearer {KEY}", "content-type": "application/json"}


@dataclass
class Times:
    """Milliseconds from a word's sending until it was seen, and from the last one to the end."""

    first: list[float] = field(default_factory=list)
    every: list[float] = field(default_factory=list)
    end: list[float] = field(default_factory=list)

    def see(self, chunks: Iterator[str], is_end: Callable[[str], bool]) -> None:
        """Read what somebody sees until the end of one answer."""
        text, seen = "", list[int]()
        for chunk in chunks:
            at, text = now_us(), _CONTROL.sub("", text + chunk)
            # A terminal draws its last lines again and again.
            for one in dict.fromkeys(int(each) for each in _WORD.findall(text)):
                if one not in seen:
                    seen.append(one)
                    (self.every if len(seen) > 1 else self.first).append((at - one) / 1_000)
            if seen and is_end(text):
                self.end.append((at - seen[-1]) / 1_000)
                return


@dataclass
class Vendor:
    """The running stub: its address, and when connections to it were closed."""

    url: str
    process: "subprocess.Popen[str]"

    def hung_up(self) -> int:
        """The next moment at which somebody hung up on it."""
        assert self.process.stdout is not None
        return int(self.process.stdout.readline())


@contextmanager
def vendor() -> Iterator[Vendor]:
    """A vendor in a process of its own."""
    command = [sys.executable, "-m", "tests.bench.stream_stub"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        try:
            yield Vendor(f"http://127.0.0.1:{port}/v1", process)
        finally:
            process.terminate()


@dataclass
class Home:
    """An installation whose agents speak with this vendor, one for each of its behaviours."""

    running: Server
    vendor: Vendor
    sessions: dict[str, str] = field(default_factory=dict)

    def session(self, behaviour: str) -> str:
        """The session of the agent that behaves so."""
        if behaviour not in self.sessions:
            fields = {"name": behaviour, "model": f"vllm:{behaviour}"}
            agent = self.running.call("POST", "/agents", fields)
            made = self.running.call("POST", "/sessions", {"participants": [agent["id"]]})
            self.sessions[behaviour] = made["id"]
        return self.sessions[behaviour]

    def say(self, behaviour: str) -> str:
        """A message; the id of its turn."""
        path = f"/sessions/{self.session(behaviour)}/messages"
        (turn_id,) = self.running.call("POST", path, {"text": "go on"})["turn_ids"]
        return str(turn_id)


@contextmanager
def home(folder: Path) -> Iterator[Home]:
    """A running installation and its vendor."""
    with vendor() as found:
        more = {"OPENCRAB_LLM__PROVIDERS__VLLM__BASE_URL": found.url}
        with server(folder / "streaming", more=more, anew=True) as running:
            yield Home(running, found)


def bare(home: Home) -> Times:
    """The vendor's own stream, read by http.client."""
    times = Times()
    for _ in range(RUNS):
        connection = http.client.HTTPConnection(urlsplit(home.vendor.url).netloc, timeout=SECONDS)
        body = json.dumps({"model": "steady", "stream": True, "messages": []})
        connection.request("POST", "/v1/chat/completions", body, _HEADERS)
        response = connection.getresponse()
        rows = (row.decode() for row in iter(response.readline, b""))
        times.see(rows, lambda text: "[DONE]" in text)
        connection.close()
    return times


def rest(home: Home) -> Times:
    """Server-sent events in AG-UI's format."""
    times, path = Times(), f"/api/sessions/{home.session('steady')}/events?format=agui"
    connection = http.client.HTTPConnection("127.0.0.1", home.running.port, timeout=SECONDS)
    connection.request("GET", path, headers=_HEADERS)
    response = connection.getresponse()
    for _ in range(RUNS):
        home.say("steady")
        rows = (row.decode() for row in iter(response.readline, b""))
        times.see(rows, lambda text: "RUN_FINISHED" in text)
    connection.close()
    return times


def websocket(home: Home) -> Times:
    """Frames of the WebSocket."""
    times, url = Times(), f"ws://127.0.0.1:{home.running.port}/ws"
    session = home.session("steady")
    with connect(url, additional_headers=_HEADERS, proxy=None) as client:
        client.send(json.dumps({"type": "subscribe", "id": "1", "session_id": session}))
        client.recv(SECONDS)
        for _ in range(RUNS):
            home.say("steady")
            frames = (str(client.recv(SECONDS)) for _ in iter(int, 1))
            times.see(frames, lambda text: "RUN_FINISHED" in text)
    return times


def terminal(home: Home) -> Times:
    """`opencrab chat` on a terminal; the end is the prompt that comes back."""
    times, session = Times(), home.session("steady")
    screen, side = pty.openpty()
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 50, _COLUMNS, 0, 0))
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": str(_COLUMNS)}
    command = [str(OPENCRAB), "chat", "--session", session, "--language", "en"]
    command += ["--url", f"http://127.0.0.1:{home.running.port}", "--key", KEY]
    process = subprocess.Popen(
        command, stdin=side, stdout=side, stderr=side, env=environment, start_new_session=True
    )
    os.close(side)
    prompt = _prompt(screen)
    for _ in range(RUNS):
        os.write(screen, b"go on\n")
        # The prompt stands before what is typed, and again when the answer is complete.
        times.see(_shown(screen), lambda text: text.rstrip(" ").endswith(prompt))
    os.write(screen, b"/quit\n")
    with suppress(subprocess.TimeoutExpired):
        process.wait(5)
    process.kill()
    process.wait()
    os.close(screen)
    return times


def _shown(screen: int) -> Iterator[str]:
    """What comes to a screen."""
    while select.select([screen], [], [], SECONDS)[0]:
        try:
            yield os.read(screen, 65_536).decode("utf-8", "replace")
        except OSError:
            return


def _prompt(screen: int) -> str:
    """Wait until the program asks; returns what it asks with."""
    text = ""
    while select.select([screen], [], [], 3.0 if text.strip() else SECONDS)[0]:
        text = _CONTROL.sub("", text + os.read(screen, 65_536).decode("utf-8", "replace"))
    return text.rstrip(" ").rpartition("\n")[2]


def stops(home: Home, behaviour: str) -> list[float]:
    """Milliseconds from the request that stops a turn to the closed connection at the vendor."""
    taken = []
    for _ in range(RUNS):
        turn_id = home.say(behaviour)
        _wait(0.7, turn_id, home)
        asked = now_us()
        threading.Thread(
            target=home.running.call, args=("POST", f"/turns/{turn_id}/cancel", {})
        ).start()
        taken.append((home.vendor.hung_up() - asked) / 1_000)
        _until_ended(turn_id, home)
    return taken


def _wait(seconds: float, turn_id: str, home: Home) -> None:
    threading.Event().wait(seconds)
    assert home.running.call("GET", f"/turns/{turn_id}")["status"] == "running"


def _until_ended(turn_id: str, home: Home) -> None:
    while home.running.call("GET", f"/turns/{turn_id}")["status"] == "running":
        threading.Event().wait(0.02)


@dataclass(frozen=True)
class Figures:
    """What was measured: times of each way to watch, and of stops by the vendor's behaviour."""

    ways: dict[str, Times]
    stops: dict[str, list[float]]


def figures(folder: Path) -> Figures:
    """Measure everything."""
    with home(folder) as found:
        ways = {
            "the bare vendor's stream": bare(found),
            "REST, server-sent events": rest(found),
            "WebSocket": websocket(found),
            "`opencrab chat` on a terminal": terminal(found),
        }
        return Figures(ways, {name: stops(found, name) for name in BEHAVIOURS})


_STOPS = {
    "steady": "a word each 50 ms",
    "mute": "silent, not even a header",
    "headers": "silent after its headers",
    "pausing": "silent after three words",
    "comments": "a comment each 10 ms, no word",
}


def table(folder: Path) -> str:
    """The section of docs/benchmarks.md."""
    found = figures(folder)
    rows = [
        "| seen over | first word | at most | met | later ones, 95 of 100 | last word to the end |",
        "|---|---|---|---|---|---|",
    ]
    for name, times in found.ways.items():
        first, end = statistics.median(times.first), statistics.median(times.end)
        late = sorted(times.every)[round(0.95 * len(times.every)) - 1]
        met = "50 | yes" if first <= 50 else "50 | **no**"
        rows.append(f"| {name} | {first:.3g} ms | {met} | {late:.3g} ms | {end:.3g} ms |")
    rows += ["", "| the vendor is stopped while | median | slowest | at most | met |"]
    rows.append("|---|---|---|---|---|")
    for name, what in _STOPS.items():
        taken = found.stops[name]
        met = "yes" if max(taken) <= 200 else "**no**"
        median = statistics.median(taken)
        rows.append(f"| {what} | {median:.3g} ms | {max(taken):.3g} ms | 200 | {met} |")
    return "\n".join(rows)


def main() -> None:
    """Print the section."""
    with tempfile.TemporaryDirectory() as folder:
        sys.stdout.write(f"{table(Path(folder))}\n")


if __name__ == "__main__":
    main()
