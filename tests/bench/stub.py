"""A stand-in for a model server, for measuring: OpenAI-shaped, in a process of its own.

It answers with one `ws_write` call where the request offers actions and its last messages hold no
call's result, else with text, after an optional delay; it prints its port when it listens. A peer's
own name of the action is used where the request offers it. Told a number of pieces, it answers a
request for a stream with a stream; otherwise whole, as some servers do.
"""

import json
import sys
import time
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

WRITING = ("ws_write", "write_file")


def answer(request: dict[str, object]) -> dict[str, object]:
    """What the stub says to one request."""
    messages = request["messages"]
    assert isinstance(messages, list)
    current = messages[-3:]
    called = any(message.get("role") == "tool" for message in current) or not request.get("tools")
    message: dict[str, object] = {"role": "assistant", "content": "メモを書きました。"}
    if not called:
        call = _call(messages, _writing(request.get("tools") or []))
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
    return {
        "id": "chatcmpl-stub",
        "object": "chat.completion",
        "model": "stub",
        "choices": [
            {"index": 0, "message": message, "finish_reason": "stop" if called else "tool_calls"}
        ],
        "usage": {"prompt_tokens": 900, "completion_tokens": 20, "total_tokens": 920},
    }


def _writing(tools: Any) -> str:
    """What the action that writes a file is called among those offered."""
    offered = {each["function"]["name"] for each in tools}
    return next((name for name in WRITING if name in offered), WRITING[0])


def _call(messages: list[object], name: str) -> dict[str, object]:
    """One `ws_write`, of another content for every request: a repeat would write nothing."""
    digest = zlib.crc32(json.dumps(messages).encode())
    content = f"買い物: 牛乳、卵 ({digest:08x})"
    arguments = json.dumps({"path": "notes/memo.txt", "content": content}, ensure_ascii=False)
    function = {"name": name, "arguments": arguments}
    return {"id": "call_1", "type": "function", "function": function}


def streamed(whole: dict[str, Any], pieces: int) -> bytes:
    """The same answer as server-sent events: its text in so many pieces, then its end."""
    (choice,) = whole["choices"]
    head = {key: whole[key] for key in ("id", "model")} | {"object": "chat.completion.chunk"}
    message = choice["message"]
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    if "tool_calls" in message:
        deltas += [{"tool_calls": [{"index": 0, **each} for each in message["tool_calls"]]}]
    else:
        size = -(-len(message["content"]) // pieces)
        parts = range(0, len(message["content"]), size)
        deltas += [{"content": message["content"][start : start + size]} for start in parts]
    chunks = [
        head | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        for delta in deltas
    ]
    end = [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]
    chunks.append(head | {"choices": end, "usage": whole["usage"]})
    events = [*(json.dumps(each) for each in chunks), "[DONE]"]
    return "".join(f"data: {each}\n\n" for each in events).encode()


class Stub(BaseHTTPRequestHandler):
    """Answers chat completions and nothing else, each in one write, as real servers do."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True
    delay_seconds = 0.0
    pieces = 0

    def do_POST(self) -> None:
        if not self.path.endswith("/chat/completions"):
            self.send_error(404)
            return
        body = self.rfile.read(int(self.headers["content-length"]))
        self.asked(body)
        time.sleep(self.delay_seconds)
        request = json.loads(body)
        whole, kind = answer(request), "application/json"
        reply = json.dumps(whole).encode()
        if self.pieces and request.get("stream"):
            reply, kind = streamed(whole, self.pieces), "text/event-stream"
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def asked(self, body: bytes) -> None:
        """Told of each request."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is given
        """Say nothing."""


def main() -> None:
    """Serve on a free loopback port: `stub.py [DELAY_SECONDS [PIECES]]`."""
    Stub.delay_seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 0.0
    Stub.pieces = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    server = ThreadingHTTPServer(("127.0.0.1", 0), Stub)
    sys.stdout.write(f"{server.server_address[1]}\n")
    sys.stdout.flush()
    server.serve_forever()


if __name__ == "__main__":
    main()
