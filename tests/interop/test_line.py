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
from tests.line.fake import GROUP, OWNER, SECRET, TOKEN, FakeLine, signed
from tests.unit.adapters.line.speaking import Talk, talking
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


def requests_of_people(line: FakeLine) -> list[dict[str, str]]:
    """What people do, as LINE signs it."""
    line.mentions("元気?")
    line.send("postback", OWNER, postback={"data": "oc:ap:1:n"})
    line.says("", OWNER, type="image", contentProvider={"type": "line"})
    line.send_again()
    return [
        {"secret": SECRET, "body": each.decode(), "signature": signed(each)["x-line-signature"]}
        for each in line.sent
    ]


def bodies_of_ours(talk: Talk) -> list[dict[str, Any]]:
    """What our channel sends: an approval, a long text, and a question that cannot be approved."""
    talk.event()
    approval = approval_question_with_call("?", '{"a": 1}', "ab" * 32)
    for said in (
        talk.utterance(approval, approval="01AP"),
        talk.utterance(LONG, event=False),
        talk.utterance("ring_bell", event=False, approval="01AP", place=GROUP),
    ):
        talk.channel.send(talk.sending(said))
    return [{"kind": each.line.rpartition("/")[2], "body": each.body} for each in talk.line.log]


def told(sdk: Path, asked: dict[str, Any]) -> dict[str, Any]:
    """What the library makes of it."""
    done = subprocess.run(
        [str(sdk), str(CLIENT)],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_lines_own_library_and_ours_agree(sdk: Path) -> None:
    with talking() as talk, served(talk.line) as url:
        asked: dict[str, Any] = {"signatures": signatures()}
        asked["requests"] = requests_of_people(talk.line)
        asked["bodies"] = bodies_of_ours(talk)
        reply_token = next(reversed(talk.line._tokens))
        call = {"url": url, "token": TOKEN, "to": OWNER, "reply_token": reply_token}
        answers = told(sdk, asked | {"call": call | {"key": str(UUID(int=7))}})
    ours = [
        is_line_signature(each["secret"], each["body"].encode(), each["signature"])
        for each in signatures()
    ]
    assert answers["verified"] == ours == [True] + [False] * (len(ours) - 1)
    first, press, picture, again = (each for (each,) in answers["parsed"])
    assert (first["class"], first["text"]) == ("MessageEvent", "@かに 元気?")
    assert first["mentions"] == [True]
    assert (press["class"], press["data"]) == ("PostbackEvent", "oc:ap:1:n")
    assert (picture["user"], again["again"], again["id"]) == (OWNER, True, picture["id"])
    assert answers["same"] == [True] * len(asked["bodies"])
    assert {each["kind"] for each in asked["bodies"]} == {"reply", "push"}
    assert answers["called"] == {
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
