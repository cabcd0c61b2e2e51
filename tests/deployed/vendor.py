"""A vendor of models for deployed functions: it says words when a test lets it, and sees hang-ups.

Whoever asks for embeddings gets them, as often as they ask.

Deployed functions refuse a model at their own machine's address. So the vendor has a name of a
private network, and is the proxy in the functions' environment.
"""

import json
import select
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Empty, SimpleQueue
from typing import Any

from tests.deployed.stack import ANSWER_SECONDS, SECRETS
from tests.meaning import vector

MODEL = "deepseek:deepseek-v4-flash"
WORD_SECONDS = 0.04
PATIENCE_SECONDS = float(ANSWER_SECONDS)
KEY_NAME = "STUB_API_KEY"
_HOST = "vendor.internal"
_NEVER = float("inf")


@dataclass
class Answer:
    """What the vendor says to one request; without an end if there are words for ever.

    `began` and `hung_up_at` are moments of this process's monotonic clock.
    """

    words: Sequence[str]
    is_endless: bool = False
    said: list[str] = field(default_factory=list)
    began: float = 0
    hung_up_at: float | None = None
    over: threading.Event = field(default_factory=threading.Event)
    _allowed: float = _NEVER

    def hold_after(self, words: float) -> None:
        """Say so many words, and hold the rest until more are let go."""
        self._allowed = words

    def let_go(self) -> None:
        """Say all the rest."""
        self._allowed = _NEVER

    @property
    def text(self) -> str:
        """What was said so far."""
        return "".join(self.said)

    def wait_for_hang_up(self) -> float:
        """Wait until the other side hangs up; answers the moment at which it did."""
        assert self.over.wait(PATIENCE_SECONDS)
        assert self.hung_up_at is not None, "it said all that it had to say"
        return self.hung_up_at

    def is_held(self) -> bool:
        """Check whether the next word must wait."""
        return len(self.said) >= self._allowed

    def next_word(self) -> str | None:
        """The next word; None after the last one."""
        if self.is_endless:
            return f"{self.words[len(self.said) % len(self.words)]}{len(self.said)} "
        return None if len(self.said) >= len(self.words) else self.words[len(self.said)]


class Vendor:
    """The answers that it will give, in order, and requests that were wrong."""

    def __init__(self, port: int) -> None:
        self.environment = {
            "HTTP_PROXY": f"http://127.0.0.1:{port}",
            "OPENCRAB_LLM__PROVIDERS__DEEPSEEK__BASE_URL": f"http://{_HOST}/v1",
            # Its key is where the workers read all keys.
            "OPENCRAB_LLM__PROVIDERS__DEEPSEEK__API_KEY": "",
            "OPENCRAB_LLM__PROVIDERS__DEEPSEEK__KEY_NAME": KEY_NAME,
        }
        self.embedding_environment = {
            "HTTP_PROXY": f"http://127.0.0.1:{port}",
            "OPENCRAB_LLM__PROVIDERS__OPENAI__BASE_URL": f"http://{_HOST}/v1",
            "OPENCRAB_LLM__PROVIDERS__OPENAI__API_KEY": "",
            "OPENCRAB_LLM__PROVIDERS__OPENAI__KEY_NAME": KEY_NAME,
            "OPENCRAB_LLM__MODELS__EMBEDDING__PROVIDER": "openai",
            "OPENCRAB_LLM__MODELS__EMBEDDING__MODEL": "text-embedding-3-large",
        }
        self.embedded: list[str] = []
        self.complaints: list[str] = []
        self._planned = SimpleQueue[Answer]()

    def forget(self) -> None:
        """Plan nothing, as at the beginning."""
        self.complaints.clear()
        self._planned = SimpleQueue[Answer]()

    def will_say(self, *words: str, endless: bool = False) -> Answer:
        """Plan the answer to the next request that has none yet."""
        answer = Answer(words, endless)
        self._planned.put(answer)
        return answer

    def taken(self, body: dict[str, Any], headers: Any) -> Answer | None:
        """Take the next answer for a request; None, and a complaint, for one that nobody awaits."""
        self._check(headers)
        try:
            return self._planned.get_nowait()
        except Empty:
            self.complaints.append(f"nobody awaits {body['messages'][-1]!r}")
            return None

    def embed(self, body: dict[str, Any], headers: Any) -> dict[str, Any]:
        """Return the embeddings of texts, as OpenAI's API answers."""
        self._check(headers)
        texts: list[str] = body["input"]
        self.embedded += texts
        data = [
            {"object": "embedding", "index": index, "embedding": vector(text)}
            for index, text in enumerate(texts)
        ]
        tokens = sum(map(len, texts))
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        return {"object": "list", "model": body["model"], "data": data, "usage": usage}

    def _check(self, headers: Any) -> None:
        key = headers.get("authorization")
        if key != f"Bearer {SECRETS[KEY_NAME]}" or headers.get("host") != _HOST:
            self.complaints.append(f"key {key!r} for host {headers.get('host')!r}")


@contextmanager
def vendor_at_work() -> Iterator[Vendor]:
    """A vendor that answers while the block lasts."""
    door = _Server(("127.0.0.1", 0), _Door)
    door.vendor = vendor = Vendor(door.server_address[1])
    thread = threading.Thread(target=door.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield vendor
    finally:
        door.shutdown()
        door.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    address_family = socket.AF_INET
    vendor: Vendor


class _Door(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    wbufsize = 0
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self.send_error(404)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.path.endswith("/embeddings"):
            self._answer(self.server.vendor.embed(body, self.headers))
            return
        answer = self.server.vendor.taken(body, self.headers)
        if answer is None:
            self.send_error(400)
            return
        answer.began = time.monotonic()
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        with suppress(OSError):
            self._stream(answer, body["model"])
        answer.over.set()
        self.close_connection = True

    def _answer(self, told: dict[str, Any]) -> None:
        content = json.dumps(told).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.send_header("connection", "close")
        self.end_headers()
        self.wfile.write(content)

    def _stream(self, answer: Answer, model: str) -> None:
        while (word := answer.next_word()) is not None:
            if self._is_hung_up(WORD_SECONDS):
                answer.hung_up_at = time.monotonic()
                return
            if answer.is_held():
                if time.monotonic() - answer.began > PATIENCE_SECONDS:
                    return
                continue
            self._send({"model": model, "choices": [_choice({"content": word})]})
            answer.said.append(word)
        used = {"prompt_tokens": 900, "completion_tokens": len(answer.said), "total_tokens": 0}
        used["total_tokens"] = used["prompt_tokens"] + used["completion_tokens"]
        self._send({"model": model, "choices": [_choice({}, "stop")], "usage": used})
        self.wfile.write(b"data: [DONE]\n\n")

    def _send(self, part: dict[str, Any]) -> None:
        self.wfile.write(f"data: {json.dumps({'id': 'chatcmpl-1', **part})}\n\n".encode())

    def _is_hung_up(self, seconds: float) -> bool:
        """Wait, unless the other side closes; it sends nothing after its request."""
        readable, _, _ = select.select([self.connection], [], [], seconds)
        if not readable:
            return False
        try:
            return not self.connection.recv(1, socket.MSG_PEEK)
        except OSError:
            return True

    def log_message(self, *_arguments: object) -> None:
        """Say nothing."""


def _choice(delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "finish_reason": reason}
