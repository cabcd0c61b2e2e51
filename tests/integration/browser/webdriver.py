"""A browser that a test looks through: Chromium, driven over WebDriver."""

import base64
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any

import httpx

from tests.running import free_port

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
MISSING = "" if CHROMIUM and DRIVER else "no chromium and chromedriver (Debian: chromium-driver)"
PATIENCE = 60.0

_PAUSE = threading.Event()
_ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
_MOVED = {"stale element reference", "element click intercepted"}
"""What a click answers when its element was drawn anew or moved while it was made."""

_STANDS_STILL = """
const place = () => JSON.stringify(document.querySelector(arguments[0])?.getBoundingClientRect());
const before = place();
return new Promise((tell) => setTimeout(() => tell(place() === before), 20));
"""


@dataclass
class Browser:
    """One window."""

    client: httpx.Client

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """One command of WebDriver, and its value."""
        sent = {} if body is None and method == "POST" else body
        answer = self.client.request(method, path, json=sent)
        value = answer.json()["value"]
        assert answer.status_code == 200, value
        return value

    def open(self, url: str) -> None:
        """Go to an address."""
        self.call("POST", "/url", {"url": url})

    def run(self, script: str, *arguments: Any) -> Any:
        """Run a script of the test in the page, and return what it returns."""
        return self.call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def text(self, selector: str) -> str:
        """The text of the first element, hidden or not; "" without one."""
        script = "return document.querySelector(arguments[0])?.textContent ?? ''"
        return str(self.run(script, selector))

    def count(self, selector: str) -> int:
        """How many elements there are."""
        return int(self.run("return document.querySelectorAll(arguments[0]).length", selector))

    def until(self, holds: Callable[[], Any], what: str) -> Any:
        """Wait until something holds, and return it."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            found = holds()
            if found:
                return found
            _PAUSE.wait(0.05)
        raise AssertionError(f"{what}; the page says: {self.text('body')}")

    def shown(self, selector: str) -> str:
        """Wait for an element that can be seen, and return its id."""
        script = (
            "const found = document.querySelector(arguments[0]);"
            "return found && found.checkVisibility() ? found : null"
        )
        found = self.until(lambda: self.run(script, selector), f"no {selector}")
        return str(found[_ELEMENT])

    def click(self, selector: str) -> None:
        """Click an element, once it can be seen and stands still; again if it was drawn or moved.

        What loads above an element moves it between looking for its place and the click, so that
        another one, or none, is at that place. What always lies under another is never clicked.
        """
        for tries_left in (2, 1, 0):
            found = self.shown(selector)
            self.until(lambda: self.run(_STANDS_STILL, selector), f"{selector} moves")
            answer = self.client.request("POST", f"/element/{found}/click", json={})
            value = answer.json()["value"]
            if answer.status_code == HTTPStatus.OK:
                return
            assert value["error"] in _MOVED, value
            assert tries_left, value

    def type(self, selector: str, text: str) -> None:
        """Type into an element, once it can be seen."""
        self.call("POST", f"/element/{self.shown(selector)}/value", {"text": text})

    def says(self, text: str, selector: str = "body") -> None:
        """Wait until an element contains a text."""
        self.until(lambda: text in self.text(selector), f"no {text!r} in {selector}")

    def logged(self) -> list[str]:
        """What the console says: errors of scripts, and what the policy forbade."""
        return [each["message"] for each in self.call("POST", "/se/log", {"type": "browser"})]

    def devtools(self, command: str, **parameters: Any) -> Any:
        """One command of the DevTools protocol."""
        return self.call("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def resize(self, width: int, height: int) -> None:
        """Give the page this size, also one that no window may have: Chromium's are 500 wide."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.devtools("Emulation.setDeviceMetricsOverride", **size)

    def screenshot(self, path: Path) -> None:
        """Save what is seen."""
        path.write_bytes(base64.b64decode(self.call("GET", "/screenshot")))


@contextmanager
def browser(language: str = "en", *, size: tuple[int, int] = (1200, 850)) -> Iterator[Browser]:
    """A window of a new profile that prefers this language."""
    port = free_port()
    driver = subprocess.Popen(
        [str(DRIVER), f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=120) as client:
            _wait_for(client)
            options = {
                "binary": CHROMIUM,
                "args": [
                    "--headless=new",
                    "--disable-gpu",
                    "--disable-breakpad",
                    "--disable-crash-reporter",
                    "--disable-dev-shm-usage",
                    f"--window-size={size[0]},{size[1]}",
                    *(["--no-sandbox"] if os.geteuid() == 0 else []),
                ],
                "prefs": {"intl.accept_languages": language},
            }
            wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
            answer = client.post("/session", json={"capabilities": {"alwaysMatch": wanted}})
            session = answer.json()["value"]["sessionId"]
            client.base_url = httpx.URL(f"http://127.0.0.1:{port}/session/{session}")
            try:
                window = Browser(client)
                window.resize(*size)
                yield window
            finally:
                client.delete(f"http://127.0.0.1:{port}/session/{session}")
    finally:
        driver.terminate()
        driver.wait(60)


@contextmanager
def tab(window: Browser, *, size: tuple[int, int] = (1200, 850)) -> Iterator[Browser]:
    """A tab of its own in a browser that others used: nothing of theirs is in it."""
    before = window.call("GET", "/window")
    opened = window.call("POST", "/window/new", {"type": "tab"})["handle"]
    window.call("POST", "/window", {"handle": opened})
    window.devtools("Network.clearBrowserCookies")
    window.logged()
    window.resize(*size)
    try:
        yield window
    finally:
        window.call("DELETE", "/window")
        window.call("POST", "/window", {"handle": before})


def _wait_for(client: httpx.Client) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        try:
            if client.get("/status").json()["value"]["ready"]:
                return
        except httpx.TransportError:
            pass
        _PAUSE.wait(0.05)
    raise AssertionError("chromedriver did not start")
