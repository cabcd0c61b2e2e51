"""The official library of Standard Webhooks signs what the door takes, and the other way round."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from opencrab.adapters.system_clock import FakeClock, SystemClock
from tests.conftest import ROOT
from tests.contract.homes import sqlite
from tests.unit.adapters.web.net import Net, reply
from tests.unit.adapters.web.test_webhook_answers import add, received, utterance
from tests.unit.gateways.door.visiting import OLD, SECRET, Visit, signed, standard

CLIENT = Path(__file__).with_name("webhooks_client.py")
BODY = '{"text": "蟹が来ました 🦀", "n": 1.0}'


class Library:
    """The library, in a process of its own environment."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def ask(self, **asked: Any) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())


@pytest.fixture(scope="module")
def library() -> Iterator[Library]:
    environment = ROOT / ".venv-webhooks"
    if not (environment / ".ready").is_file():
        pytest.skip("the library of Standard Webhooks is not installed: run `make setup`")
    command = [str(environment / "bin" / "python"), str(CLIENT)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        yield Library(process)
        assert process.stdin is not None
        process.stdin.close()


def test_what_the_library_signs_is_taken(library: Library) -> None:
    now = SystemClock().now().timestamp()
    for event_id, secret in (("msg_1", SECRET), ("msg_2", OLD)):
        visit = Visit({"ci": standard(previous=[OLD], previous_until=now + 60)})
        asked = {"secret": secret, "id": event_id, "at": int(now), "body": BODY}
        headers = library.ask(**asked)
        assert visit.ask("ci", headers, BODY.encode(), now=now).status == 202
        assert visit.events[0].event.text == BODY
        changed = BODY.replace("1.0", "2.0").encode()
        assert visit.ask("ci", headers, changed, now=now).status == 401
        assert visit.ask("ci", {**headers, "webhook-id": "x"}, BODY.encode(), now=now).status == 401


def test_what_is_signed_as_the_door_expects_is_valid_for_the_library(library: Library) -> None:
    now = SystemClock().now().timestamp()
    headers = signed(BODY.encode(), at=now, secrets=(OLD, SECRET))
    for secret in (SECRET, OLD):
        assert library.ask(secret=secret, body=BODY, headers=headers) == {"valid": True}
    other = "whsec_" + "A" * 32
    assert not library.ask(secret=other, body=BODY, headers=headers)["valid"]
    stale = signed(BODY.encode(), at=now - 600)
    assert not library.ask(secret=SECRET, body=BODY, headers=stale)["valid"]


def test_an_answer_that_we_post_is_valid_for_the_library(library: Library, tmp_path: Path) -> None:
    clock = FakeClock(SystemClock().now())
    with sqlite(tmp_path, clock) as home:
        add(home)
        net = Net(lambda url: reply())
        net.answers(home.facts, clock).send(utterance("満潮 🦀"))
    _, headers, body = received(net)
    asked = {"body": body.decode(), "headers": headers}
    assert library.ask(secret=SECRET, **asked) == {"valid": True}
    assert not library.ask(secret=OLD, **asked)["valid"]


def test_an_event_during_a_rotation_is_valid_with_either_secret(library: Library) -> None:
    clock, net = FakeClock(SystemClock().now()), Net(lambda url: reply())
    event = '{"type": "turn.completed", "timestamp": "…", "data": {"name": "蟹 🦀"}}'
    net.posts(clock).post("https://hooks.example.org/", (SECRET, OLD), "msg_1", event.encode())
    _, headers, body = received(net)
    asked = {"body": body.decode(), "headers": headers}
    for secret in (SECRET, OLD):
        assert library.ask(secret=secret, **asked) == {"valid": True}
    assert not library.ask(secret="whsec_" + "A" * 32, **asked)["valid"]


def test_both_refuse_the_same_ages(library: Library) -> None:
    for age in (-400, -290, 0, 290, 400):
        now = SystemClock().now().timestamp()
        headers = signed(BODY.encode(), at=now - age)
        ours = Visit({"ci": standard()}).ask("ci", headers, BODY.encode(), now=now).status == 202
        assert library.ask(secret=SECRET, body=BODY, headers=headers)["valid"] is ours
