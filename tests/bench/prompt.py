"""Bytes before the user's words, as a provider gets them, of an agent made on the terminal."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.bench.stub import Stub
from tests.running import KEY, opencrab, server

NAMES = {"ja": "蟹", "en": "Crab"}
SAID = {"ja": "買い物のメモを書いてください。", "en": "Please write a shopping note."}


@dataclass(frozen=True)
class Sent:
    """Bytes of one request: its system prompt with its frame, and its actions' schemas."""

    prompt: int
    schemas: int

    @property
    def all(self) -> int:
        """What is asked before a word of the user."""
        return self.prompt + self.schemas


def sent(folder: Path) -> dict[str, Sent]:
    """A new agent's first request in each language."""
    with _provider() as (url, requests):
        return {language: _first(folder / language, url, requests, language) for language in NAMES}


def _first(folder: Path, url: str, requests: list[bytes], language: str) -> Sent:
    with server(folder, model_url=url, anew=True) as running:
        at = ("--url", f"http://127.0.0.1:{running.port}", "--key", KEY, "--no-input", "--json")
        told = ("agents", "create", "--name", NAMES[language], "--language", language, *at)
        agent_id = json.loads(opencrab(*told))["id"]
        session = running.call("POST", "/sessions", {"participants": [agent_id]})
        requests.clear()
        running.say(session["id"], SAID[language])
    return split(requests[0])


def split(body: bytes) -> Sent:
    """A request's bytes without the messages of the conversation."""
    request: dict[str, Any] = json.loads(body)
    said = [each for each in request["messages"] if each["role"] not in {"system", "developer"}]
    schemas = _bytes(request.get("tools", []))
    return Sent(len(body) - schemas - sum(_bytes(each) + 1 for each in said), schemas)


def _bytes(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())


@contextmanager
def _provider() -> Iterator[tuple[str, list[bytes]]]:
    """The stub in this process, and the bodies of requests that it got."""
    requests = list[bytes]()

    class Recording(Stub):
        def asked(self, body: bytes) -> None:
            requests.append(body)

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Recording)
    thread = threading.Thread(target=listening.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.server_address[1]}/v1", requests
    finally:
        listening.shutdown()
        thread.join()
        listening.server_close()
