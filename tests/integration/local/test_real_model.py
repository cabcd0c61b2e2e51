"""A real llama.cpp server behind `opencrab up`: a turn with an action call, through REST."""

import time
from pathlib import Path
from typing import Any

import pytest

from tests.llama.server import LlamaServer
from tests.running import Server, server

pytest_plugins = ["tests.llama.fixture"]
TRIES = 60


def _narrow(running: Server, *kept: str) -> str:
    """An agent that is told of few skills: this model has 8,192 tokens, and a byte is a token."""
    agent: dict[str, Any] = running.call("POST", "/agents", {"name": "蟹", "language": "en"})
    path = f"/agents/{agent['id']}/skills"
    for skill in running.call("GET", path)["items"]:
        if skill["name"] not in kept:
            running.call("POST", f"{path}/{skill['name']}/toggle", {"on": False})
    return str(agent["id"])


def _calls(story: dict[str, Any]) -> list[dict[str, Any]]:
    return [call for step in story["steps"] for call in step.get("calls", [])]


def _acting_turn(running: Server, agent_id: str) -> dict[str, Any]:
    """The story of the first turn in which the model called an action that exists.

    The model is tiny and random, so it calls when it likes: about one answer in four. Each try has
    a session of its own: where a byte is a token, a past of gibberish is soon too long. So is that
    of one turn now and then, as we or the server find: its end says nothing of what is meant here.
    """
    for number in range(TRIES):
        session = running.call("POST", "/sessions", {"participants": [agent_id]})
        text = f"{number}: 一覧を見せてください。Please list your files."
        answer = running.say(session["id"], text, wait=60)
        story: dict[str, Any] = running.call("GET", f"/turns/{answer['turn_ids'][0]}")
        if _calls(story) and "a model with a larger" not in story["note"]:
            return story
    pytest.fail(f"the model called nothing in {TRIES} turns")


@pytest.mark.timeout(600)
def test_a_turn_with_an_action_call_runs_against_a_real_model_server(
    tmp_path: Path, llama: LlamaServer
) -> None:
    with server(tmp_path / "data", model_url=llama.url) as running:
        agent_id = _narrow(running, "workspace-management")
        story = _acting_turn(running, agent_id)
    assert story["status"] in {"completed", "idle", "exhausted"}, story["note"]
    assert _calls(story)[0]["state"] in {"completed", "failed"}
    assert story["steps"]


@pytest.mark.timeout(600)
def test_an_instruction_comes_to_its_end_against_a_real_model_server(
    tmp_path: Path, llama: LlamaServer
) -> None:
    """The model is random: whatever it does, the task ends or waits, and says how it came to it."""
    with server(tmp_path / "data", model_url=llama.url) as running:
        agent_id = _narrow(running, "task-execution")
        path = f"/agents/{agent_id}/tasks"
        task = running.call("POST", path, {"instruction": "機械学習のノートを整理して"})
        until = time.monotonic() + 540
        while (
            task["status"] not in {"completed", "answered", "paused"} and time.monotonic() < until
        ):
            time.sleep(0.5)
            task = running.call("GET", f"{path}/{task['id']}")
        assert task["status"] in {"completed", "answered", "paused"}, task
        told = running.call("GET", f"/sessions/{task['session_id']}/messages")["items"]
    assert told[0]["text"] == "機械学習のノートを整理して"
    assert len(told) > 1 or task["pause_reason"]
    done = any(action["mark"] == "done" for action in task["actions"])
    assert done or task["unconfirmed"] or task["pause_reason"]
