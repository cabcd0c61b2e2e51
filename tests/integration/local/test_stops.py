"""Every way to stop, over REST, while a vendor streams without an end: it hangs up, and it shows.

One installation for all: each way has an agent, a session and an endless answer of its own.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.integration.local.endless import Endless, endless_vendor_at
from tests.integration.local.killing import MODEL
from tests.running import Server, server

LONG_SECONDS = 60.0
ENDS = {"completed", "idle", "stopped", "exhausted", "failed"}


class Stage:
    """A running installation, and its vendor."""

    def __init__(self, running: Server, vendor: Endless) -> None:
        self.call = running.call
        self.vendor = vendor

    def ask(self, key: str, **agent: Any) -> tuple[str, str, str]:
        """A message to a new agent, whose answer streams: the agent, the session and the turn."""
        agent_id = self.agent(key, **agent)
        session = self.call("POST", "/sessions", {"participants": [agent_id]})["id"]
        turn = self.say(session, key)
        self.vendor.wait(key, words=3)
        return agent_id, session, turn

    def agent(self, name: str, **settings: Any) -> str:
        """A new agent."""
        body = {"name": name, "model": f"openai:{MODEL}", "language": "ja", **settings}
        return str(self.call("POST", "/agents", body)["id"])

    def say(self, session: str, key: str) -> str:
        """A message; the id of its turn."""
        body = {"text": f"{key} について。Tell me."}
        return str(self.call("POST", f"/sessions/{session}/messages", body)["turn_ids"][0])

    def turn(self, turn_id: str) -> dict[str, Any]:
        """A turn once it has ended."""
        return self.until(lambda: self.call("GET", f"/turns/{turn_id}"), ENDS)

    def until(self, look: Callable[[], dict[str, Any]], statuses: set[str]) -> dict[str, Any]:
        """What is looked at once it has one of these statuses."""
        deadline = time.monotonic() + LONG_SECONDS
        while (found := look())["status"] not in statuses:
            assert time.monotonic() < deadline, found
            time.sleep(0.05)
        return found

    def stopped(self, key: str, session: str, turn_id: str) -> None:
        """The vendor was hung up on; the words stay and are marked; the cost is within bounds."""
        assert self.vendor.hung_up(key)
        turn = self.turn(turn_id)
        assert turn["status"] == "stopped"
        (step,) = turn["steps"]
        assert step["state"] == "cancelled"
        assert 0 < step["cost_micro_usd"] <= step["reserved_micro_usd"]
        assert turn["spent_micro_usd"] == step["cost_micro_usd"]
        lines = self.call("GET", f"/sessions/{session}/messages")["items"]
        (said, notice) = [line for line in lines if line["turn_id"] == turn_id]
        assert said["kind"] == "speech"
        assert self.vendor.text(key).startswith(said["text"])
        assert notice["kind"] == "system"


def _cancel(stage: Stage, key: str) -> None:
    _, session, turn = stage.ask(key)
    stage.call("POST", f"/turns/{turn}/cancel", {})
    stage.stopped(key, session, turn)


def _cancel_twice(stage: Stage, key: str) -> None:
    _, session, turn = stage.ask(key)
    stage.call("POST", f"/turns/{turn}/cancel", {"reason": "first"})
    stage.call("POST", f"/turns/{turn}/cancel", {"reason": "second"})
    stage.stopped(key, session, turn)
    assert stage.turn(turn)["stop"]["reason"] == "first"
    again = stage.call("POST", f"/turns/{turn}/cancel", {"reason": "third"})
    assert (again["status"], again["stop"]["reason"]) == ("stopped", "first")


def _freeze(stage: Stage, key: str) -> None:
    agent, session, turn = stage.ask(key)
    stage.call("PUT", "/system/state", {"state": "frozen", "agent_id": agent})
    stage.stopped(key, session, turn)


def _next_message_at_once(stage: Stage, key: str) -> None:
    _, session, turn = stage.ask(key, interrupt="at_once")
    second = stage.say(session, f"{key}1")
    stage.stopped(key, session, turn)
    stage.vendor.wait(f"{key}1", words=1)
    stage.call("POST", f"/turns/{second}/cancel", {})
    assert stage.turn(second)["status"] == "stopped"


def _deaf_vendor(stage: Stage, key: str) -> None:
    """The vendor never notices that it was hung up on; the turn ends all the same."""
    _, session, turn = stage.ask(key)
    stage.call("POST", f"/turns/{turn}/cancel", {})
    assert stage.turn(turn)["status"] == "stopped"
    lines = stage.call("GET", f"/sessions/{session}/messages")["items"]
    assert [line["kind"] for line in lines if line["turn_id"] == turn] == ["speech", "system"]


def _task(stage: Stage, key: str) -> None:
    """A task is paused in its answer, stays so, goes on with a new call, and is cancelled in it."""
    tasks = f"/agents/{stage.agent(key)}/tasks"
    task = stage.call("POST", tasks, {"instruction": f"{key} を調べて。Look into it."})["id"]

    def look() -> dict[str, Any]:
        found: dict[str, Any] = stage.call("GET", f"{tasks}/{task}")
        return found

    stage.vendor.wait(key, words=3)
    stage.call("POST", f"{tasks}/{task}/pause", {})
    assert stage.vendor.hung_up(key)
    paused = look()
    assert (paused["status"], paused["completion"], paused["report"]) == ("paused", 0, "")
    turn = paused["turn_id"]
    stage.until(lambda: stage.call("GET", f"/turns/{turn}"), {"waiting"})
    asked = stage.vendor.requests(key)
    assert look()["status"] == "paused"
    stage.call("POST", f"{tasks}/{task}/resume", {})
    stage.vendor.wait(key, words=3, after=asked)
    stage.call("POST", f"{tasks}/{task}/cancel", {})
    assert stage.vendor.hung_up(key, after=asked)
    ended = stage.turn(turn)
    assert (ended["status"], look()["status"]) == ("stopped", "abandoned")
    assert look()["completion"] == 0
    assert all(step["cost_micro_usd"] <= step["reserved_micro_usd"] for step in ended["steps"])


WAYS = (_cancel, _cancel_twice, _freeze, _next_message_at_once, _deaf_vendor, _task)


@pytest.mark.timeout(600)
def test_every_way_to_stop_hangs_up_on_the_vendor_and_ends_as_it_should(tmp_path: Path) -> None:
    vendor = Endless(frozenset({f"R{WAYS.index(_deaf_vendor)}-0"}))
    with endless_vendor_at(vendor) as url:
        more = {
            "OPENAI_API_KEY": "sk-made-up",
            "OPENCRAB_LLM__PROVIDERS__OPENAI__BASE_URL": url,
            "OPENCRAB_LLM__PRICES_URL": "https://127.0.0.1:9/there-are-none",
        }
        with server(tmp_path / "data", more=more) as running:
            for number, way in enumerate(WAYS):
                way(Stage(running, vendor), f"R{number}-0")
