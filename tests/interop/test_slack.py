"""Slack's own Python library against our fake of Slack, our signatures and our messages."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from opencrab.adapters.slack.rendering import slack_messages_of_utterance
from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.approvals.call_text import approval_question_with_call
from opencrab.gateways.door.slack import is_slack_signature
from tests.contract.example import NOW
from tests.slack.fake import CHANNEL, OWNER, SECRET, TOKEN, FakeSlack, signed
from tests.unit.adapters.line.speaking import Talk

CLIENT = Path(__file__).with_name("slack_client.py")
AT = NOW.timestamp()

pytest_plugins = ["tests.llama.fixture"]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@contextmanager
def served(slack: FakeSlack) -> Iterator[str]:
    """The fake over HTTP on this machine, for a client that sends forms and JSON."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            content = self.rfile.read(int(self.headers.get("content-length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            given = slack.answer(self.path, headers, content)
            assert given is not None
            body = json.dumps(given[1]).encode()
            self.send_response(given[0])
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/api/"
        server.shutdown()


def signatures() -> list[dict[str, Any]]:
    """Right and wrong signatures of a body."""
    body = '{"type":"event_callback","x":"蟹🦀"}'
    right = signed(body.encode(), AT)
    good = {
        "secret": SECRET,
        "body": body,
        "timestamp": right["x-slack-request-timestamp"],
        "signature": right["x-slack-signature"],
        "at": AT,
    }
    wrong = [
        {"body": body + " "},
        {"secret": "other"},
        {"timestamp": f"{AT - 1:.0f}"},
        {"signature": str(good["signature"]).upper()},
        {"signature": "v0="},
    ]
    return [good, *(good | each for each in wrong)]


def test_slacks_own_library_and_ours_agree(sdk: Path) -> None:
    slack = FakeSlack(FakeClock(NOW))
    talk = Talk()
    question = approval_question_with_call("?", '{"a": 1}', "ab" * 32)
    messages = slack_messages_of_utterance(talk.utterance(question, approval="01AP"))
    with served(slack) as url:
        call = {"url": url, "token": TOKEN, "channel": CHANNEL, "user": OWNER}
        asked = {
            "signatures": signatures(),
            "messages": messages,
            "call": call | {"blocks": messages[-1]["blocks"]},
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
        is_slack_signature(
            each["secret"], each["timestamp"], each["body"].encode(), each["signature"]
        )
        for each in signatures()
    ]
    assert told["verified"] == ours == [True] + [False] * (len(ours) - 1)
    assert told["called"] == {"user": "kani", "name": "たろう", "error": "channel_not_found"}
    assert [each.text for each in slack.shown[CHANNEL]] == ["こんにちは🦀", "あなただけに"]
    assert [each.to for each in slack.shown[CHANNEL]] == [None, OWNER]
    assert len(slack.shown[CHANNEL][0].buttons) == 2
    assert len(slack.complaints) == 1  # of the channel that there is not
