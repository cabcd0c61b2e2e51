"""A vendor that says its words one by one, and people who stop it and write again, amid kills.

Each life of `opencrab up` has some answers that stream at once; every one of them is aborted at a
random word, or left alone, and the process is killed at a random word of all.
"""

import json
import socket
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random
from typing import Any

from opencrab.adapters.sqlite.home import FILE
from tests.integration.local.killing import GONE, MODEL
from tests.integration.local.vendor import KEY
from tests.running import Server, server

SESSIONS = 4
WORDS = 30
WORD_SECONDS = 0.01
FIRST_TOKENS = 300
ACTIONS = ("cancel", "cancel", "cancel twice", "next message", "next message", "nothing")
_LONGEST_LIFE_SECONDS = 4 * WORDS * WORD_SECONDS
"""Aborted answers have fewer words, so that a kill may not wait for a number of them."""

_PATIENCE_SECONDS = 60.0
_UNANSWERED = "SELECT count(*) FROM item WHERE sk='UNANSWERED'"
_QUEUED = "SELECT count(*) FROM queue WHERE queue IN ('turns','deliveries','compactions')"


@dataclass
class Spoken:
    """A request, and how many words of its answer were sent before somebody hung up."""

    number: int
    key: str
    input_tokens: int
    words: int = 0

    @property
    def text(self) -> str:
        """All that the vendor says to this request, or would say."""
        return "".join(word(self.key, self.number, place) for place in range(WORDS))


def word(key: str, number: int, place: int) -> str:
    """One word of an answer."""
    return f"{key} 言葉{number}-{place} "


class SlowVendor:
    """The vendor's own book: each request that it has received."""

    def __init__(self) -> None:
        self.asked: list[Spoken] = []
        self._changed = threading.Condition()

    def begin(self, body: dict[str, Any]) -> Spoken:
        """Take note of a request."""
        told = [str(each["content"]) for each in body["messages"] if each["role"] == "user"]
        with self._changed:
            key = KEY.findall("\n".join(told))[-1]
            spoken = Spoken(len(self.asked), key, FIRST_TOKENS + len(self.asked))
            self.asked.append(spoken)
            self._changed.notify_all()
        return spoken

    def note(self, spoken: Spoken) -> None:
        """Take note of a word that was sent."""
        with self._changed:
            spoken.words += 1
            self._changed.notify_all()

    def wait(self, key: str, words: int, gone: threading.Event) -> None:
        """Wait until an answer to this message has so many words, or the process is gone."""

        def said() -> bool:
            return gone.is_set() or any(
                each.key == key and each.words >= words for each in self.asked
            )

        with self._changed:
            self._changed.wait_for(said, _PATIENCE_SECONDS)

    def wait_for_words(self, words: int) -> None:
        """Wait until so many more words have been said in all."""
        with self._changed:
            wanted = self._total() + words
            self._changed.wait_for(lambda: self._total() >= wanted, _LONGEST_LIFE_SECONDS)

    def wake(self) -> None:
        """Let everybody look again."""
        with self._changed:
            self._changed.notify_all()

    def _total(self) -> int:
        return sum(each.words for each in self.asked)


def _events(vendor: SlowVendor, spoken: Spoken) -> Iterator[str]:
    """The events of an answer; the vendor takes note of a word when the next one is wanted."""

    def event(delta: dict[str, Any], *, reason: str | None = None, **more: Any) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        part = {"id": f"chatcmpl-{spoken.number}", "model": MODEL, "choices": [choice], **more}
        return json.dumps(part)

    for place in range(WORDS):
        yield event({"content": word(spoken.key, spoken.number, place)})
        vendor.note(spoken)
        time.sleep(WORD_SECONDS)
    used = {
        "prompt_tokens": spoken.input_tokens,
        "completion_tokens": WORDS,
        "total_tokens": spoken.input_tokens + WORDS,
    }
    yield event({}, reason="stop", usage=used)
    yield "[DONE]"


@contextmanager
def slow_vendor_at(vendor: SlowVendor) -> Iterator[str]:
    """The vendor's address while the block lasts."""

    class Door(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = 0
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            self.send_error(404)

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            spoken = vendor.begin(body)
            with suppress(OSError):  # whoever asked hung up, or is dead
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.send_header("connection", "close")
                self.end_headers()
                for event in _events(vendor, spoken):
                    self.wfile.write(f"data: {event}\n\n".encode())
            self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name is given
            """Say nothing."""

    class Quiet(ThreadingHTTPServer):
        daemon_threads = True
        address_family = socket.AF_INET

        def handle_error(self, request: object, client_address: object) -> None:
            """Say nothing: clients die on purpose."""

    door = Quiet(("127.0.0.1", 0), Door)
    thread = threading.Thread(target=door.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{door.server_address[1]}/v1"
    finally:
        door.shutdown()
        door.server_close()
        thread.join()


@dataclass
class Aborting:
    """One data folder whose answers are aborted: what was acknowledged, and how it was aborted."""

    data: Path
    seed: int
    vendor: SlowVendor = field(default_factory=SlowVendor)
    turns: dict[str, str] = field(default_factory=dict)
    sessions: list[str] = field(default_factory=list)
    agents: list[str] = field(default_factory=list)
    done: Counter[str] = field(default_factory=Counter)
    url: str = ""

    def __post_init__(self) -> None:
        self._chance = Random(self.seed)  # noqa: S311 - the same moments each time

    def live(self, number: int) -> None:
        """One life: what the one before left is done, then answers stream until the kill."""
        with self.running() as running:
            self._meet(running)
            self.await_rest(running)
            gone = threading.Event()
            threads = [
                threading.Thread(target=self._talk, args=(running, gone, plan))
                for plan in self._plans(number)
            ]
            for thread in threads:
                thread.start()
            self.vendor.wait_for_words(self._chance.randrange(SESSIONS * WORDS))
            running.process.kill()
            running.process.wait()
            gone.set()
            self.vendor.wake()
            for thread in threads:
                thread.join(_PATIENCE_SECONDS)
        self.done["kill"] += 1

    @contextmanager
    def running(self) -> Iterator[Server]:
        """One process, ready."""
        more = {
            "OPENAI_API_KEY": "sk-made-up",
            "OPENCRAB_LLM__PROVIDERS__OPENAI__BASE_URL": self.url,
            "OPENCRAB_LLM__PRICES_URL": "https://127.0.0.1:9/there-are-none",
        }
        with server(self.data, more=more) as running:
            yield running

    def await_rest(self, running: Server) -> None:
        """Wait until no work is queued and no message is unanswered.

        A message that was stored just before a kill is not queued until the sweep finds it.
        """
        deadline = time.monotonic() + 3 * _PATIENCE_SECONDS
        file = f"file:{self.data / FILE}?mode=ro"
        with closing(sqlite3.connect(file, uri=True, timeout=10)) as database:
            while any(database.execute(left).fetchone()[0] for left in (_QUEUED, _UNANSWERED)):
                assert running.process.poll() is None
                assert time.monotonic() < deadline, "there is still work to do"
                time.sleep(0.02)

    def _meet(self, running: Server) -> None:
        while len(self.sessions) < SESSIONS:
            body = {"name": f"蟹{len(self.sessions)}", "model": f"openai:{MODEL}"}
            agent = running.call("POST", "/agents", {**body, "interrupt": "at_once"})
            session = running.call("POST", "/sessions", {"participants": [agent["id"]]})
            self.agents.append(agent["id"])
            self.sessions.append(session["id"])

    def _plans(self, life: int) -> Iterator[tuple[str, str, str, int]]:
        for number, session in enumerate(self.sessions):
            words = self._chance.randrange(WORDS + 1)
            key = f"R{life}{number}-{life * SESSIONS + number}"
            yield session, key, self._chance.choice(ACTIONS), words

    def _talk(
        self, running: Server, gone: threading.Event, plan: tuple[str, str, str, int]
    ) -> None:
        session, key, action, words = plan
        with suppress(*GONE):
            self._say(running, session, key)
            self.vendor.wait(key, words, gone)
            if action.startswith("cancel"):
                for _ in range(2 if action == "cancel twice" else 1):
                    running.call("POST", f"/turns/{self.turns[key]}/cancel", {})
            elif action == "next message":
                self._say(running, session, f"{key}1")
            self.done[action] += 1

    def _say(self, running: Server, session: str, key: str) -> None:
        body = {"text": f"{key} について話して。Tell me about it."}
        said = running.call("POST", f"/sessions/{session}/messages", body, key=key)
        (self.turns[key],) = said["turn_ids"]
