"""A running installation whose vendor says what a test tells it to, and a browser before it."""

import json
import queue
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.integration.browser.webdriver import MISSING, Browser, browser, tab
from tests.running import KEY, Server, server
from tests.unit.adapters.providers.dripping import heard, listening

HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n"
    b"connection: close\r\n\r\n"
)


@dataclass
class Vendor:
    """A model server that says the next words only when the test gives them; None ends."""

    words: "queue.Queue[str | None]" = field(default_factory=queue.Queue)
    hung_up: threading.Event = field(default_factory=threading.Event)
    over: threading.Event = field(default_factory=threading.Event)

    def __call__(self, connection: socket.socket, _number: int) -> None:
        """Answer one request."""
        connection.settimeout(None)
        if not heard(connection).startswith(b"POST"):
            body = b'{"data":[{"id":"slow"}]}'
            head = b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: application/json\r\n"
            connection.sendall(head + b"content-length: %d\r\n\r\n%s" % (len(body), body))
            return
        self.hung_up.clear()
        connection.sendall(HEAD)
        # Its own: the next request clears the shared one, perhaps before this one has looked.
        gone = threading.Event()
        threading.Thread(target=self._listen, args=(connection, gone), daemon=True).start()
        while not (gone.is_set() or self.over.is_set()):
            with suppress(queue.Empty):
                words = self.words.get(timeout=0.05)
                if gone.is_set():
                    # They are for the request that comes now.
                    self.words.put(words)
                    return
                if words is None:
                    end = _chunk({"index": 0, "delta": {}, "finish_reason": "stop"})
                    connection.sendall(end + b"0\r\n\r\n")
                    return
                connection.sendall(_chunk({"index": 0, "delta": {"content": words}}))

    def _listen(self, connection: socket.socket, gone: threading.Event) -> None:
        """Notice that the other side has closed; it sends nothing after its request."""
        with suppress(OSError):
            while connection.recv(65_536):
                pass
        gone.set()
        self.hung_up.set()


def _chunk(choice: dict[str, Any]) -> bytes:
    data = f"data: {json.dumps({'choices': [choice]})}\n\n".encode()
    return b"%x\r\n%s\r\n" % (len(data), data)


@dataclass
class Installation:
    """A running `opencrab up` and its vendor."""

    server: Server
    vendor: Vendor
    data: Path = field(default_factory=Path)

    @property
    def url(self) -> str:
        """The address of the page."""
        return f"http://127.0.0.1:{self.server.port}/"

    def agent(self, name: str, model: str = "scripted:rules", **more: Any) -> str:
        """A new agent's id."""
        made = self.server.call("POST", "/agents", {"name": name, "model": model, **more})
        return str(made["id"])

    def sign_in(self, window: Browser, key: str = KEY, *, at: str = "/") -> None:
        """Open a page of the application in a tab that knows this key and nothing else.

        Typing the key is for the tests of that: the page would be loaded three times.
        """
        known = f"sessionStorage.clear(); sessionStorage.setItem('opencrab.key', {json.dumps(key)})"
        before = window.devtools("Page.addScriptToEvaluateOnNewDocument", source=known)
        self.go(window, at)
        window.devtools("Page.removeScriptToEvaluateOnNewDocument", **before)
        window.until(lambda: window.count("#menu"), "nobody is signed in")

    def go(self, window: Browser, path: str) -> None:
        """Open a page of the application and wait for it."""
        window.open(f"{self.url.removesuffix('/')}{path}")
        window.shown("main h1, main .lines")

    def talk(self, window: Browser, agent_id: str) -> None:
        """Sign in, and choose an agent with whom nobody has spoken."""
        self.sign_in(window, at="/chat")
        self.choose(window, "#agent", agent_id)
        window.shown(".lines > .empty")

    @staticmethod
    def choose(window: Browser, selector: str, value: str) -> None:
        """Choose an option once it is there."""
        option = f'{selector} option[value="{value}"]'
        window.until(lambda: window.count(option), f"no {option}")
        window.run(
            "const list = document.querySelector(arguments[0]); list.value = arguments[1];"
            "list.dispatchEvent(new Event('change'))",
            selector,
            value,
        )


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    if MISSING:
        pytest.skip(MISSING)
    vendor = Vendor()
    with listening(vendor) as found:
        more = {"OPENCRAB_LLM__PROVIDERS__VLLM__BASE_URL": f"{found.url}/v1"}
        data = tmp_path_factory.mktemp("page")
        with server(data, more=more) as running:
            yield Installation(running, vendor, data)
            vendor.over.set()


def _started(language: str) -> Iterator[Browser]:
    if MISSING:
        pytest.skip(MISSING)
    with browser(language) as window:
        yield window


@pytest.fixture(scope="session")
def english_browser() -> Iterator[Browser]:
    """Started once, as that takes as long as many tests."""
    yield from _started("en")


@pytest.fixture(scope="session")
def japanese_browser() -> Iterator[Browser]:
    """The same for those who read Japanese."""
    yield from _started("ja")


@pytest.fixture(scope="module")
def english(installation: Installation, english_browser: Browser) -> Iterator[Browser]:
    assert installation.url
    with tab(english_browser) as window:
        yield window


@pytest.fixture(scope="module")
def japanese(installation: Installation, japanese_browser: Browser) -> Iterator[Browser]:
    assert installation.url
    with tab(japanese_browser, size=(390, 844)) as window:
        yield window


@pytest.fixture(params=["english", "japanese"])
def window(request: pytest.FixtureRequest) -> Browser:
    found: Browser = request.getfixturevalue(request.param)
    return found
