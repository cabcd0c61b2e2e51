"""A vendor of models in this process, which keeps its own bill, and moments at which to kill.

It answers as OpenAI does. No two answers count the same tokens, so that each row of a ledger names
the answer that it is of.
"""

import json
import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

OUTPUT_TOKENS = 20
KEY = re.compile(r"[RD]\d+-\d+")
"""What names a message, and the answer to it."""

_FIRST_TOKENS = 1_000
_HOLD_SECONDS = 5.0
_SUMMARY, _WORDS = "記録係", "自分の学習記録"


@dataclass
class Ambush:
    """Where somebody waits for work of one kind: what comes there is held until it is let go."""

    kind: str = ""
    skip: int = 0
    seen: threading.Event = field(default_factory=threading.Event)
    over: threading.Event = field(default_factory=threading.Event)

    def lay(self, kind: str, *, skip: int = 0) -> None:
        """Wait for this kind from now on, but let so many of it pass."""
        self.seen.clear()
        self.over.clear()
        self.kind, self.skip = kind, skip

    def lift(self) -> None:
        """Let go of what is held."""
        self.kind = ""
        self.over.set()

    def passed(self, kind: str) -> None:
        """Work of a kind has come this far."""
        if kind != self.kind:
            return
        self.skip -= 1
        if self.skip < 0:
            self.seen.set()
            self.over.wait(_HOLD_SECONDS)


@dataclass(frozen=True)
class Asked:
    """A request, with the tokens that its answer counts."""

    kind: str
    input_tokens: int
    body: dict[str, Any]


class Vendor:
    """The vendor: what it was asked, in order."""

    def __init__(self, ambush: Ambush, delay_seconds: float) -> None:
        self.asked: list[Asked] = []
        self._ambush, self._delay = ambush, delay_seconds
        self._lock = threading.Lock()

    def answer(self, body: dict[str, Any]) -> dict[str, Any]:
        """What it says to one request, after a while."""
        kind = kind_of(body)
        with self._lock:
            asked = Asked(kind, _FIRST_TOKENS + len(self.asked), body)
            self.asked.append(asked)
        self._ambush.passed(kind)
        time.sleep(self._delay)
        used = {
            "prompt_tokens": asked.input_tokens,
            "completion_tokens": OUTPUT_TOKENS,
            "total_tokens": asked.input_tokens + OUTPUT_TOKENS,
        }
        said = _message(kind, body["messages"], asked.input_tokens)
        reason = "tool_calls" if said.get("tool_calls") else "stop"
        return {
            "id": f"chatcmpl-{asked.input_tokens}",
            "object": "chat.completion",
            "model": body["model"],
            "choices": [{"index": 0, "message": said, "finish_reason": reason}],
            "usage": used,
        }


def kind_of(body: dict[str, Any]) -> str:
    """Which kind of work asks: a turn, a summary, or the words of a nightly report."""
    system = str(body["messages"][0]["content"])
    if _SUMMARY in system:
        return "summary"
    return "words" if _WORDS in system else "turn"


def _message(kind: str, messages: list[dict[str, Any]], number: int) -> dict[str, Any]:
    match kind:
        case "summary":
            return {"role": "assistant", "content": "買い物の話\n牛乳と卵を買うことにした。"}
        case "words":
            return {"role": "assistant", "content": "この日もいつも通りでした。"}
    if any(each["role"] == "tool" for each in messages[-3:]):
        told = [each["content"] for each in messages if each["role"] == "user"]
        keys = KEY.findall("\n".join(filter(lambda text: isinstance(text, str), told)))
        return {
            "role": "assistant",
            "content": f"{keys[-1]} をメモしました。牛乳と卵です。Milk and eggs.",
        }
    content = f"買い物: 牛乳、卵 ({number})"
    arguments = json.dumps({"path": "notes/memo.txt", "content": content}, ensure_ascii=False)
    call = {"id": f"call_{number}", "type": "function"}
    function = {"name": "ws_write", "arguments": arguments}
    return {"role": "assistant", "content": None, "tool_calls": [{**call, "function": function}]}


@contextmanager
def vendor_at(vendor: Vendor) -> Iterator[str]:
    """The vendor's address while the block lasts."""

    class Door(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            self._reply(404, {"error": {"message": "not found"}})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            answer = vendor.answer(body)
            with suppress(OSError):  # whoever asked may be dead
                self._reply(200, answer)

        def _reply(self, status: int, answer: dict[str, Any]) -> None:
            content = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)
            self.wfile.flush()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name is given
            """Say nothing."""

    class Quiet(ThreadingHTTPServer):
        daemon_threads = True
        address_family = socket.AF_INET

        def handle_error(self, request: object, client_address: object) -> None:
            """Say nothing: clients die on purpose."""

    server = Quiet(("127.0.0.1", 0), Door)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
