"""An agent elsewhere that speaks A2A as tests want, and remembers what it was sent."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

CARD = "/.well-known/agent-card.json"


class Elsewhere:
    """Its card, its answers in order (the last one again and again), and all requests."""

    def __init__(self) -> None:
        self.url = ""
        self.card: Any = {}
        self.answers: list[Any] = []
        self.got: list[tuple[dict[str, str], dict[str, Any]]] = []

    def params(self, n: int = -1) -> dict[str, Any]:
        """The parameters of a request."""
        found: dict[str, Any] = self.got[n][1]["params"]
        return found

    def methods(self) -> list[str]:
        return [body["method"] for _, body in self.got]

    def next(self) -> Any:
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def card(url: str, **changes: Any) -> dict[str, Any]:
    """A card as such an agent has it."""
    interface = {"url": f"{url}/rpc", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
    skills = [{"id": "tides", "name": "潮", "description": "満潮の時刻", "tags": []}]
    named = {"name": "Tide", "description": "Knows tides", "skills": skills}
    return {**named, "supportedInterfaces": [interface], **changes}


def task(state: str, text: str = "", **more: Any) -> dict[str, Any]:
    """A result with a task in a state."""
    artifacts = [{"artifactId": "a", "parts": [{"text": text}]}] if text else []
    status = {"state": f"TASK_STATE_{state}", **more}
    return {"id": "t1", "contextId": "c1", "status": status, "artifacts": artifacts}


@contextmanager
def elsewhere() -> Iterator[Elsewhere]:
    """Such an agent at an address of this computer."""
    found = Elsewhere()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = found.card if isinstance(found.card, bytes) else json.dumps(found.card).encode()
            self._say(200 if self.path == CARD else 404, body)

        def do_POST(self) -> None:
            said = json.loads(self.rfile.read(int(self.headers["content-length"])))
            found.got.append((dict(self.headers), said))
            answer = found.next()
            if isinstance(answer, int):
                self._say(answer, b"")
            elif isinstance(answer, bytes):
                self._say(200, answer)
            else:
                told = {"jsonrpc": "2.0", "id": said["id"], **answer}
                self._say(200, json.dumps(told).encode())

        def _say(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("location", "http://127.0.0.1:9/")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name
            """Nothing is logged."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        found.url = f"http://127.0.0.1:{server.server_port}"
        found.card = card(found.url)
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield found
        server.shutdown()
        thread.join()
