"""A library for bots of Telegram against our fake of Telegram, its updates and our messages."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qsl

import pytest

from opencrab.adapters.system_clock import FakeClock
from opencrab.adapters.telegram.rendering import telegram_messages_of_utterance
from opencrab.domain.approvals.call_text import approval_question_with_call
from tests.conftest import ROOT
from tests.contract.example import NOW
from tests.discord.faults import Limited
from tests.telegram.fake import GROUP, GUEST, OWNER, TOKEN, USERNAME, FakeTelegram
from tests.unit.adapters.line.speaking import Talk

CLIENT = Path(__file__).with_name("telegram_client.py")
_WORDS = frozenset({"text", "callback_query_id", "url", "secret_token"})

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@contextmanager
def served(telegram: FakeTelegram) -> Iterator[str]:
    """The fake over HTTP on this machine, for a client that sends forms."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            content = self.rfile.read(int(self.headers.get("content-length") or 0))
            fields = parse_qsl(content.decode(), keep_blank_values=True)
            body = {
                name: text if name in _WORDS else json.loads(text.replace("True", "true"))
                for name, text in fields
            }
            given = telegram.answer(self.path, json.dumps(body).encode())
            assert given is not None
            answer = json.dumps(given[1]).encode()
            self.send_response(given[0])
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")
def library() -> Path:
    environment = ROOT / ".venv-telegram"
    if not (environment / ".ready").is_file():
        pytest.skip("python-telegram-bot is not installed: run `make setup`")
    return environment / "bin" / "python"


def told_by(library: Path, telegram: FakeTelegram, messages: Any) -> Any:
    """What the library read of the fake's updates, and of its answers to every method."""
    updates = [json.loads(each) for each in telegram.sent]
    telegram.waiting = updates
    with served(telegram) as url:
        asked = {
            "url": url,
            "token": TOKEN,
            "group": int(GROUP),
            "user": int(GUEST),
            "updates": updates,
            "messages": messages,
            "query": updates[-1]["callback_query"]["id"],
        }
        done = subprocess.run(
            [str(library), str(CLIENT)],
            input=json.dumps(asked),
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_library_for_bots_and_our_fake_agree(library: Path) -> None:
    telegram = FakeTelegram(FakeClock(NOW))
    telegram.says("やあ 🦀", OWNER)
    telegram.says("/ask どう?", GUEST, group=GROUP)
    telegram.press_data("oc:ap:1:n", GUEST, GROUP)
    telegram.faults.plan("getWebhookInfo", Limited(7))
    question = approval_question_with_call("?", '{"a": 1}', "ab" * 32)
    messages = telegram_messages_of_utterance(Talk().utterance(question, approval="01AP"))
    told = told_by(library, telegram, messages)
    private, group, press = told["updates"]
    assert (private["kind"], private["text"], private["user"]) == ("private", "やあ 🦀", int(OWNER))
    assert (group["kind"], group["chat"], group["text"]) == ("supergroup", int(GROUP), "/ask どう?")
    assert (press["data"], press["user"]) == ("oc:ap:1:n", int(GUEST))
    # The fake sends nothing that the reference does not know.
    assert [each["unknown"] for each in told["updates"]] == [[], [], []]
    assert (told["me"], told["name"]) == (USERNAME, "Guest 🦀")
    shown = telegram.shown[GROUP][: len(messages)]
    assert [each.text for each in shown] == [each["text"] for each in messages]
    assert {(each.reply, each.thread) for each in shown} == {(7, 3)}
    assert shown[-1].buttons[-1]["callback_data"] == "oc:ap:01AP:n"
    assert told["answered"] is True
    assert told["errors"] == ["bad", "bad", "conflict", "retry 7", "token"]
    assert told["polled"] == [json.loads(each)["update_id"] for each in telegram.sent]
    assert (told["webhook"], telegram.secret) == (telegram.webhook, "a-b_1")
