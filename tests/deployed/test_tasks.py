"""Tasks and approvals of a deployed installation: given, decided and given up over its HTTP API."""

import re
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.deployed.emulator import rest
from tests.deployed.stack import Stack

pytest_plugins = ["tests.deployed.fixture"]
pytestmark = [pytest.mark.deployed, pytest.mark.timeout(600)]

FORM = "application/x-www-form-urlencoded"
WRITING = [
    ("ja", "memo.txtに『潮だまり』と書いて", "潮だまり"),
    ("en", "write memo.txt: a tide pool", "a tide pool"),
]
LANGUAGES = pytest.mark.parametrize(("language", "instruction", "content"), WRITING)


def awaited(look: Callable[[], Any], seconds: float = 400) -> Any:
    """What is found as soon as something is."""
    deadline = time.monotonic() + seconds
    while not (found := look()):
        assert time.monotonic() < deadline, "it took too long"
        rest(0.2)
    return found


def given(stack: Stack, instruction: str, **settings: Any) -> tuple[str, str]:
    """A new agent, and where its first task is."""
    agent = stack.agent("Rin", **settings)
    answer = stack.ask("POST", f"/agents/{agent}/tasks", {"instruction": instruction})
    assert answer.status == 202, answer
    assert stack.item(f"DUE#goal-{agent}-G1-1", "D") is None, "it begins at once"
    return agent, f"/agents/{agent}/tasks/{answer.json['id']}"


def standing(stack: Stack, task: str, status: str) -> Any:
    """A task once it stands so."""

    def look() -> Any:
        found = stack.told("GET", task)
        return found if found["status"] == status else None

    return awaited(look)


def kept(stack: Stack, approval: str) -> tuple[bool, bool]:
    """Whether the table has an approval as an open one, and as a decided one."""
    is_open, is_decided = (
        stack.item("FACT#installation", f"{kind}#{approval}") is not None
        for kind in ("approval", "decided_approval")
    )
    return is_open, is_decided


@pytest.mark.parametrize(
    ("language", "instruction", "report"),
    [
        ("ja", "「潮が満ちました」と言って", "潮が満ちました"),
        ("en", "say the tide is in", "the tide is in"),
    ],
)
def test_an_instruction_to_speak_is_answered_and_reported(
    stack: Stack, language: str, instruction: str, report: str
) -> None:
    _, task = given(stack, instruction, language=language)
    done = standing(stack, task, "answered")
    assert (done["report"], done["over"]) == (report, True)


@LANGUAGES
def test_a_signed_link_decides_without_a_key(
    stack: Stack, language: str, instruction: str, content: str
) -> None:
    agent, task = given(stack, instruction, language=language, policy="strict")
    approval = standing(stack, task, "waiting")["approval"]["approval_id"]
    assert kept(stack, approval) == (True, False)
    link = stack.told("POST", f"/approvals/{approval}/link", {"hours": 1})["path"]
    page = stack.ask("GET", link, below="", key=None)
    assert (page.status, page.headers["cache-control"]) == (200, "no-store")
    assert "memo.txt" in page.body.decode()
    forged = stack.ask("GET", f"{link}x", below="", key=None)
    assert forged.status == 403
    shown = re.search(r'name="argument_hash" value="([0-9a-f]{64})"', page.body.decode())
    assert shown is not None
    button = urlencode({"decision": "approve", "argument_hash": shown[1]}).encode()
    decided = stack.ask("POST", link, button, below="", key=None, content_type=FORM)
    assert decided.status == 200, decided
    assert kept(stack, approval) == (False, True)
    standing(stack, task, "completed")
    assert stack.ask("GET", f"/agents/{agent}/workspace/memo.txt").body.decode() == content


@LANGUAGES
def test_a_task_that_waits_is_paused_resumed_and_given_up(
    stack: Stack, language: str, instruction: str, content: str
) -> None:
    agent, task = given(stack, instruction, language=language, policy="strict")
    approval = standing(stack, task, "waiting")["approval"]["approval_id"]
    for order, status in (("pause", "paused"), ("resume", "waiting"), ("cancel", "abandoned")):
        assert stack.told("POST", f"{task}/{order}")["status"] == status
    awaited(lambda: stack.told("GET", task)["over"])
    late = stack.ask("POST", f"/approvals/{approval}/decide", {"approved": True})
    assert late.status == 409, late
    assert kept(stack, approval) == (False, True)
    assert stack.told("GET", f"/approvals/{approval}")["state"] == "withdrawn"
    assert stack.ask("GET", f"/agents/{agent}/workspace/memo.txt").status == 404
