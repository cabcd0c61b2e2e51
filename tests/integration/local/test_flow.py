"""A running installation whose vendor speaks word by word: seen as it speaks, and hung up on."""

import http.client
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.running import KEY, Server, server
from tests.unit.adapters.providers.dripping import heard, listening

LONG = 60.0
HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n"
    b"connection: close\r\n\r\n"
)
WORDS = ("ひとつ ", "two ", "みっつ🦀 ")


@dataclass
class Speaker:
    """A vendor that says its words, and the rest only once it is told to go on."""

    goes_on: threading.Event = field(default_factory=threading.Event)
    hung_up: threading.Event = field(default_factory=threading.Event)

    def __call__(self, connection: socket.socket, number: int) -> None:
        request = heard(connection)
        if not request.startswith(b"POST"):
            body = b'{"data":[{"id":"slow"}]}'
            connection.sendall(
                b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: application/json\r\n"
                b"content-length: %d\r\n\r\n%s" % (len(body), body)
            )
            return
        connection.sendall(HEAD)
        for word in WORDS:
            connection.sendall(_chunk({"index": 0, "delta": {"content": word}}))
        connection.settimeout(LONG)
        threading.Thread(target=self._listen, args=(connection,), daemon=True).start()
        while not self.goes_on.wait(0.05):
            if self.hung_up.is_set():
                return
        end = _chunk({"index": 0, "delta": {"content": "end"}, "finish_reason": "stop"})
        connection.sendall(end + b"0\r\n\r\n")

    def _listen(self, connection: socket.socket) -> None:
        """Notice that the other side has closed; it sends nothing after its request."""
        try:
            while connection.recv(65_536):
                pass
        except TimeoutError:
            return  # it is silent, and still there
        except OSError:
            pass  # a reset connection is closed as well
        self.hung_up.set()


def _chunk(choice: dict[str, Any]) -> bytes:
    data = f"data: {json.dumps({'choices': [choice]})}\n\n".encode()
    return b"%x\r\n%s\r\n" % (len(data), data)


@dataclass
class Watched:
    """A session that is followed, with one answer in it."""

    running: Server
    session: str
    stream: http.client.HTTPResponse

    def until(self, kind: str) -> dict[str, Any]:
        """The next event of a kind."""
        name = ""
        for row in iter(self.stream.readline, b""):
            text = row.decode().rstrip()
            if text.startswith("event: "):
                name = text.removeprefix("event: ")
            elif text.startswith("data: ") and name == kind:
                found: dict[str, Any] = json.loads(text.removeprefix("data: "))
                return found
        raise AssertionError(f"the stream ended without {kind}")

    def said(self, text: str) -> str:
        """Follow the answer until these words have arrived."""
        so_far = ""
        while text not in so_far:
            so_far += self.until("answer")["text"]
        return so_far

    def lines(self) -> list[tuple[str, str]]:
        """Kinds and texts of what stands in the session after the message."""
        found = self.running.call("GET", f"/sessions/{self.session}/messages")["items"]
        return [(line["kind"], line["text"]) for line in found[1:]]


@contextmanager
def asked(folder: Path, speaker: Speaker) -> Iterator[tuple[Watched, str]]:
    """An installation with this vendor, whose agent was just asked something; the turn's id."""
    with listening(speaker) as vendor:
        more = {"OPENCRAB_LLM__PROVIDERS__VLLM__BASE_URL": f"{vendor.url}/v1"}
        with server(folder / "data", more=more) as running:
            agent = running.call("POST", "/agents", {"name": "蟹", "model": "vllm:slow"})
            session = running.call("POST", "/sessions", {"participants": [agent["id"]]})["id"]
            connection = http.client.HTTPConnection("127.0.0.1", running.port, timeout=LONG)
            connection.request(
                "GET",
                f"/api/sessions/{session}/events",
                headers={"authorization": f"Bearer {KEY}"},
            )
            watched = Watched(running, session, connection.getresponse())
            message = {"text": "こんにちは"}
            (turn,) = running.call("POST", f"/sessions/{session}/messages", message)["turn_ids"]
            try:
                yield watched, turn
            finally:
                speaker.hung_up.set()
                connection.close()


@pytest.mark.timeout(300)
def test_the_words_are_seen_before_the_vendor_has_said_the_last_one(tmp_path: Path) -> None:
    speaker = Speaker()
    with asked(tmp_path, speaker) as (watched, _turn):
        assert watched.said("みっつ🦀").startswith("ひとつ two")
        assert watched.lines() == []
        speaker.goes_on.set()
        assert watched.until("turn")["status"] == "completed"
        assert watched.lines() == [("speech", "ひとつ two みっつ🦀 end")]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("how", ["cancel", "freeze"])
def test_a_stop_hangs_up_on_the_vendor_and_keeps_the_words(tmp_path: Path, how: str) -> None:
    speaker = Speaker()
    with asked(tmp_path, speaker) as (watched, turn):
        watched.said("みっつ🦀")
        if how == "cancel":
            watched.running.call("POST", f"/turns/{turn}/cancel", {})
        else:
            watched.running.call("PUT", "/system/state", {"state": "frozen"})
        assert speaker.hung_up.wait(LONG)
        assert watched.until("turn")["status"] == "stopped"
        (said, notice) = watched.lines()
        assert said == ("speech", "ひとつ two みっつ🦀")
        assert notice[0] == "system"
