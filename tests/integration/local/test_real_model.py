"""A real llama.cpp server behind `opencrab up`: a turn with an action call, through REST."""

from pathlib import Path
from typing import Any

import pytest

from tests.llama.server import LlamaServer
from tests.running import Server, server

pytest_plugins = ["tests.llama.fixture"]
TRIES = 60


def _calls(story: dict[str, Any]) -> list[dict[str, Any]]:
    return [call for step in story["steps"] for call in step.get("calls", [])]


def _acting_turn(running: Server, session_id: str) -> dict[str, Any]:
    """The story of the first turn in which the model called an action that exists.

    The model is tiny and random, so it calls when it likes: about one answer in four.
    """
    for number in range(TRIES):
        text = f"{number}: 一覧を見せてください。Please list your files."
        answer = running.say(session_id, text, wait=60)
        story: dict[str, Any] = running.call("GET", f"/turns/{answer['turn_ids'][0]}")
        if _calls(story):
            return story
    pytest.fail(f"the model called nothing in {TRIES} turns")


@pytest.mark.timeout(170)
def test_a_turn_with_an_action_call_runs_against_a_real_model_server(
    tmp_path: Path, llama: LlamaServer
) -> None:
    with server(tmp_path / "data", model_url=llama.url) as running:
        session_id = running.session("蟹")
        story = _acting_turn(running, session_id)
    assert story["status"] in {"completed", "idle", "exhausted"}
    assert _calls(story)[0]["state"] in {"completed", "failed"}
    assert story["steps"]
