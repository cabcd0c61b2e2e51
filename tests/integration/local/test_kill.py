"""`kill -9` of `opencrab up` under load: every acknowledged message is answered once."""

import http.client
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.bench.world import model_server
from tests.running import Server, server

KILLS = 5
CLIENTS = 6
IMPATIENT_KILLS = 4
READY_SECONDS = 0.25
SLOW_SECONDS = 1.0
PATIENCE_SECONDS = 200
_GONE = (OSError, http.client.HTTPException, ValueError)


class Load:
    """Clients that speak all the time and remember what was acknowledged."""

    def __init__(self, running: Server, sessions: list[str], prefix: str) -> None:
        self._running = running
        self._prefix = prefix
        self.acknowledged: dict[str, str] = {}
        self._threads = [
            threading.Thread(target=self._speak, args=(number, session_id))
            for number, session_id in enumerate(sessions)
        ]

    def start(self) -> None:
        """Begin to speak."""
        for thread in self._threads:
            thread.start()

    def has_spoken(self, messages: int) -> None:
        """Wait until so many messages were acknowledged, however long that takes."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while len(self.acknowledged) <= messages and time.monotonic() < deadline:
            time.sleep(0.01)

    def join(self) -> None:
        """Wait until every client has noticed that the server is gone."""
        for thread in self._threads:
            thread.join(PATIENCE_SECONDS)

    def _speak(self, number: int, session_id: str) -> None:
        for count in range(1_000):
            key = f"{self._prefix}-{number}-{count}"
            body = {"text": f"{key} を買い物メモに書いて"}
            try:
                path = f"/sessions/{session_id}/messages"
                answer = self._running.call("POST", path, body, key=key)
            except _GONE:
                return
            self.acknowledged[answer["turn_ids"][0]] = session_id
            time.sleep(0.01)


def _settle(running: Server, sessions: list[str]) -> None:
    """Wait until the newest turn of each session has ended: turns run in order."""
    for session_id in sessions:
        (turn_id,) = running.say(session_id, "最後の確認です。", wait=1)["turn_ids"]
        assert _ends(running, [turn_id]) == {"completed": 1}


def _speeches(running: Server, session_id: str) -> Counter[str]:
    """How often each turn spoke, its failures included."""
    spoken: Counter[str] = Counter()
    cursor = ""
    while True:
        page = running.call("GET", f"/sessions/{session_id}/messages?limit=200{cursor}")
        spoken.update(line["turn_id"] for line in page["items"] if line.get("turn_id"))
        if page["next_cursor"] is None:
            return spoken
        cursor = f"&cursor={page['next_cursor']}"


@pytest.mark.timeout(600)
def test_every_acknowledged_message_is_answered_once_after_five_kills(tmp_path: Path) -> None:
    acknowledged: dict[str, str] = {}
    sessions: list[str] = []
    with model_server(0.02) as model_url:
        for kill in range(KILLS):
            with server(tmp_path / "data", model_url=model_url) as running:
                if not sessions:
                    sessions = [running.session(f"蟹{number}") for number in range(CLIENTS)]
                load = Load(running, sessions, f"{kill}")
                load.start()
                load.has_spoken(CLIENTS * (4 + kill))
                running.process.kill()
                load.join()
                acknowledged |= load.acknowledged
        with server(tmp_path / "data", model_url=model_url) as running:
            _settle(running, sessions)
            spoken = Counter[str]()
            for session_id in sessions:
                spoken += _speeches(running, session_id)
            ends = {turn: running.call("GET", f"/turns/{turn}")["status"] for turn in acknowledged}
    assert len(acknowledged) > KILLS * CLIENTS
    unanswered = {turn: ends[turn] for turn in acknowledged if spoken[turn] != 1}
    assert unanswered == {}
    assert set(ends.values()) == {"completed"}


@pytest.mark.timeout(600)
def test_kills_as_soon_as_it_is_ready_fail_no_message_however_slow_the_model(
    tmp_path: Path,
) -> None:
    """No model call has the time to return: on a slow machine that is every restart."""
    with model_server(SLOW_SECONDS) as model_url:
        turns = _acknowledged(tmp_path / "data", model_url)
        for _ in range(IMPATIENT_KILLS):
            with server(tmp_path / "data", model_url=model_url) as running:
                time.sleep(READY_SECONDS)
                running.process.kill()
        with server(tmp_path / "data", model_url=model_url) as running:
            ends = _ends(running, turns)
    assert ends == {"completed": CLIENTS}


def _acknowledged(data: Path, model_url: str) -> list[str]:
    """A message to each of several agents, taken and killed before any of them is answered."""
    with server(data, model_url=model_url) as running:
        sessions = [running.session(f"蟹{number}") for number in range(CLIENTS)]
        body = {"text": "買い物メモに書いて"}
        turns = [
            running.call("POST", f"/sessions/{session_id}/messages", body)["turn_ids"][0]
            for session_id in sessions
        ]
        time.sleep(READY_SECONDS)
        running.process.kill()
    return turns


def _ends(running: Server, turns: list[str]) -> Counter[str]:
    """How turns end, for which there is more than enough time."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        ends = Counter(running.call("GET", f"/turns/{turn}")["status"] for turn in turns)
        if not {"queued", "running"} & ends.keys() or time.monotonic() > deadline:
            return ends
        time.sleep(0.2)
