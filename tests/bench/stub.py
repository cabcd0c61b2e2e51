"""A stand-in for a model server, for measuring: OpenAI-shaped, in a process of its own.

It answers a request whose last messages hold no call's result with one `ws_write` call, and any
other with text, after an optional delay; it prints its port when it listens.
"""

import json
import sys
import time
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def answer(request: dict[str, object]) -> dict[str, object]:
    """What the stub says to one request."""
    messages = request["messages"]
    assert isinstance(messages, list)
    current = messages[-3:]
    called = any(message.get("role") == "tool" for message in current)
    message: dict[str, object] = {"role": "assistant", "content": "メモを書きました。"}
    if not called:
        message = {"role": "assistant", "content": None, "tool_calls": [_call(messages)]}
    return {
        "id": "chatcmpl-stub",
        "object": "chat.completion",
        "model": "stub",
        "choices": [
            {"index": 0, "message": message, "finish_reason": "stop" if called else "tool_calls"}
        ],
        "usage": {"prompt_tokens": 900, "completion_tokens": 20, "total_tokens": 920},
    }


def _call(messages: list[object]) -> dict[str, object]:
    """One `ws_write`, of another content for every request: a repeat would write nothing."""
    digest = zlib.crc32(json.dumps(messages).encode())
    content = f"買い物: 牛乳、卵 ({digest:08x})"
    arguments = json.dumps({"path": "notes/memo.txt", "content": content}, ensure_ascii=False)
    function = {"name": "ws_write", "arguments": arguments}
    return {"id": "call_1", "type": "function", "function": function}


class Stub(BaseHTTPRequestHandler):
    """Answers chat completions and nothing else, each in one write, as real servers do."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True
    delay_seconds = 0.0

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        time.sleep(self.delay_seconds)
        reply = json.dumps(answer(json.loads(body))).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is given
        """Say nothing."""


def main() -> None:
    """Serve on a free loopback port: `stub.py [DELAY_SECONDS]`."""
    Stub.delay_seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 0.0
    server = ThreadingHTTPServer(("127.0.0.1", 0), Stub)
    sys.stdout.write(f"{server.server_address[1]}\n")
    sys.stdout.flush()
    server.serve_forever()


if __name__ == "__main__":
    main()
