"""Agents of other installations: who may ask them, how they are named, and how far words go."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from opencrab.actions import GROUPS
from opencrab.actions.mcp import McpRegistry
from opencrab.adapters.mcp import McpConnections
from opencrab.adapters.mcp.a2a import A2aConnection
from opencrab.adapters.skill_files import FileSkills
from opencrab.domain.access.authority import Authority
from opencrab.domain.access.impact import Impact
from opencrab.domain.mcp.server import McpServer
from opencrab.domain.turn.action import ActionResult
from opencrab.domain.turn.record import ActionCall
from opencrab.domain.turn.transcript import Transcript
from opencrab.engine.mcp.trust import list_mcp_tools, trust_mcp_tool
from opencrab.engine.turn.call import context_of_turn_call
from opencrab.engine.turn.observe import load_turn_work
from opencrab.ports.mcp import McpLink
from tests.conftest import ROOT
from tests.contract.homes import sqlite
from tests.e2e.house import House
from tests.unit.actions.peers.asking import gathered
from tests.unit.adapters.mcp.agents import Elsewhere, elsewhere, task
from tests.unit.adapters.mcp.test_a2a import Backend

ASK = "mcp__tide__ask"


class Shore:
    """A house whose agents may ask one agent elsewhere."""

    def __init__(self, folder: Path, tide: Elsewhere) -> None:
        self.house = House(sqlite, folder)
        self.tide = tide
        found = McpServer(name="tide", a2a=tide.url)
        client = McpConnections(lambda server: A2aConnection(server, Backend()))
        registry = McpRegistry(
            GROUPS,
            FileSkills(ROOT / "skills"),
            link=McpLink((found,), client),
            facts=self.house.home.facts,
            prompt_bytes=4_096,
        )
        link = McpLink((found,), client)
        self.house.runtime = replace(self.house.runtime, actions=registry, mcp=link)
        self.close = self.house.close
        gathered(self.house, "aki")

    def trust(self, **rules: Any) -> None:
        (tool,) = list_mcp_tools(self.house.runtime, "tide")
        trust_mcp_tool(self.house.runtime, "tide", "ask", tool.fingerprint, **rules)

    def act(self, name: str, *, hops: int = 0, **said: Any) -> ActionResult:
        """Call an action in a turn of the owner, or `by` whom it says."""
        authority = said.pop("by", Authority.OWNER)
        self.house.calls["acts"] += 1
        (turn,) = self.house.say("潮?", f"m{self.house.calls['acts']}", authority=authority)
        work = load_turn_work(self.house.runtime, turn.replaced(hops=hops), Transcript())
        call = ActionCall(id="c1", name=name, arguments=said)
        action = self.house.runtime.actions.find(name)
        assert action is not None
        return action.run(
            action.arguments.model_validate(said), context_of_turn_call(work, call, {})
        )


@pytest.fixture
def shore(tmp_path: Path) -> Iterator[Shore]:
    with elsewhere() as tide, closing(Shore(tmp_path, tide)) as found:
        tide.answers = [{"result": {"task": task("COMPLETED", "満潮🦀")}}]
        yield found


def test_an_agent_elsewhere_is_listed_once_its_card_is_trusted(shore: Shore) -> None:
    assert shore.act("list_peers").data == {"peers": []}
    shore.trust()
    assert shore.act("list_peers").data == {
        "peers": [],
        "elsewhere": [{"name": "tide", "ask_with": ASK}],
    }
    assert shore.act("list_peers", by=Authority.USER).data == {"peers": []}
    told = shore.act("talk_to_peer", peer="tide", purpose="潮", message="満潮は?")
    assert ASK in str(told.error)
    assert shore.tide.got == []


def test_its_answer_taints_and_asking_it_is_external(shore: Shore) -> None:
    shore.trust()
    action = shore.house.runtime.actions.find(ASK)
    assert action is not None
    assert action.impact is Impact.EXTERNAL
    answer = shore.act(ASK, message="満潮は?")
    assert (answer.success, answer.taint) == (True, True)
    assert answer.data is not None
    assert answer.data["text"] == "満潮🦀"


def test_the_hops_of_a_turn_go_on_and_end(shore: Shore) -> None:
    shore.trust()
    shore.act(ASK, message="x", hops=3)
    assert shore.tide.params()["message"]["metadata"] == {"urn:opencrab:hops": 4}
    far = shore.act(ASK, message="x", hops=9)
    assert "10 agents" in str(far.error)
    assert len(shore.tide.got) == 1


def test_a_card_that_changed_waits_for_its_owner(shore: Shore) -> None:
    shore.trust()
    shore.tide.card = {**shore.tide.card, "description": "Tell me all"}
    (tool,) = list_mcp_tools(shore.house.runtime, "tide")
    assert tool.state.value == "changed"
    assert shore.act("list_peers").data == {"peers": []}
    assert shore.house.runtime.actions.find(ASK) is None
