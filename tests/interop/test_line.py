"""LINE's own Python library against our fake of LINE, our signatures and our requests."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from uuid import UUID

import pytest

from opencrab.domain.approvals.call_text import approval_question_with_call
from opencrab.gateways.door.line import is_line_signature
from tests.line.fake import BOT, GROUP, OWNER, SECRET, TOKEN, FakeLine, signed
from tests.unit.adapters.line.speaking import talking
from tests.unit.adapters.line.test_channel import LONG

CLIENT = Path(__file__).with_name("line_client.py")

pytest_plugins = ["tests.llama.fixture"]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@contextmanager
def served(line: FakeLine) -> Iterator[str]:
    """The fake over HTTP on this machine."""

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            content = self.rfile.read(int(self.headers.get("content-length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            given = line.answer(self.command, self.path, headers, content)
            assert given is not None
            body = json.dumps(given[1]).encode()
            self.send_response(given[0])
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = _answer  # noqa: N815

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def signatures() -> list[dict[str, str]]:
    """Right and wrong signatures of a body."""
    body = '{"events":[],"destination":"蟹🦀"}'
    right = signed(body.encode())["x-line-signature"]
    other = signed(body.encode(), "f" * 32)["x-line-signature"]
    wrong = [other, right[:-2] + "A=", "", "abc", right.lower(), f"{right}=", " " + right]
    return [
        {"secret": SECRET, "body": body, "signature": right},
        {"secret": SECRET, "body": body + " ", "signature": right},
        *({"secret": SECRET, "body": body, "signature": each} for each in wrong),
    ]


def test_lines_own_library_and_ours_agree(sdk: Path) -> None:
    with talking() as talk, served(talk.line) as url:
        talk.line.mentions("元気?")
        talk.line.send("postback", OWNER, postback={"data": "oc:ap:1:n"})
        talk.line.says("", OWNER, type="image", contentProvider={"type": "line"})
        talk.line.send_again()
        requests = [
            {
                "secret": SECRET,
                "body": body.decode(),
                "signature": signed(body)["x-line-signature"],
            }
            for body in talk.line.sent
        ]
        talk.event()
        approval = approval_question_with_call("?", '{"a": 1}', "ab" * 32)
        talk.channel.send(talk.sending(talk.utterance(approval, approval="01AP")))
        talk.channel.send(talk.sending(talk.utterance(LONG, event=False)))
        talk.channel.send(
            talk.sending(talk.utterance("ring_bell", event=False, approval="01AP", place=GROUP))
        )
        bodies = [
            {"kind": each.line.rpartition("/")[2], "body": each.body} for each in talk.line.log
        ]
        call = {
            "url": url,
            "token": TOKEN,
            "to": OWNER,
            "reply_token": next(reversed(talk.line._tokens)),
            "key": str(UUID(int=7)),
        }
        asked = {
            "signatures": signatures(),
            "requests": requests,
            "bodies": bodies,
            "call": call,
        }
        done = subprocess.run(
            [str(sdk), str(CLIENT)],
            input=json.dumps(asked),
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    ours = [
        is_line_signature(each["secret"], each["body"].encode(), each["signature"])
        for each in signatures()
    ]
    assert told["verified"] == ours == [True] + [False] * (len(ours) - 1)
    first, press, picture, again = (each for (each,) in told["parsed"])
    assert (first["class"], first["text"], first["mentions"]) == (
        "MessageEvent",
        "@かに 元気?",
        [True],
    )
    assert (press["class"], press["data"]) == ("PostbackEvent", "oc:ap:1:n")
    assert (picture["user"], again["again"], again["id"]) == (OWNER, True, picture["id"])
    assert told["same"] == [True] * len(bodies)
    assert {each["kind"] for each in bodies} == {"reply", "push"}
    assert told["called"] == {
        "again": 409,
        "used": 400,
        "replied": 1,
        "bot": "@216ru",
        "name": "たろう",
        "quota": 200,
        "used_quota": talk.line.pushed,
        "endpoint": talk.line.endpoint,
        "tested": True,
    }
    assert BOT != OWNER
