"""Trusted tools of a real MCP server as actions: what is offered, asked, tainted and made once."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from opencrab.actions import GROUPS
from opencrab.actions.mcp import McpRegistry
from opencrab.adapters.mcp import McpConnections
from opencrab.adapters.mcp.stdio import StdioConnection
from opencrab.adapters.skill_files import FileSkills
from opencrab.domain.access.authority import Authority
from opencrab.domain.access.impact import Impact
from opencrab.domain.agents.agent_state import AgentState
from opencrab.domain.errors import Conflict, Invalid, NotFound
from opencrab.domain.mcp.server import McpServer
from opencrab.domain.mcp.tool import McpToolState
from opencrab.domain.turn.action import Effect
from opencrab.domain.turn.record import CallResult, CallState
from opencrab.domain.turn.transcript import Transcript
from opencrab.domain.turn.turn import Turn, TurnStatus
from opencrab.domain.value import Language
from opencrab.engine.mcp.trust import (
    distrust_mcp_server,
    distrust_mcp_tool,
    list_mcp_tools,
    trust_mcp_tool,
)
from opencrab.ports.mcp import McpAnswer, McpLink
from tests.conftest import ROOT
from tests.contract.homes import sqlite
from tests.crash.outside import Reply
from tests.e2e.house import House
from tests.unit.adapters.mcp import servers
from tests.unit.engine.test_calls import DONE, call, wrapped

ADD = "mcp__kani__add"
PROGRAM = Path(servers.__file__)


class Killed(BaseException):
    """The worker dies."""


class Lab:
    """A house whose agents may use one server of ours."""

    def __init__(self, folder: Path, mode: str = "good", **changes: Any) -> None:
        self.book = folder / "book"
        args = (str(PROGRAM), mode, str(self.book))
        self.server = McpServer(name="kani", command=sys.executable, args=args, **changes)
        self.client = McpConnections(lambda server: StdioConnection(server, {}))
        self.house = House(sqlite, folder / "home")
        self.serve(self.server)

    def serve(self, *found: McpServer, prompt_bytes: int = 4_096) -> None:
        """Configure these servers."""
        self.actions = McpRegistry(
            GROUPS,
            FileSkills(ROOT / "skills"),
            link=McpLink(found, self.client),
            facts=self.house.home.facts,
            prompt_bytes=prompt_bytes,
        )
        link = McpLink(found, self.client)
        self.house.runtime = replace(self.house.runtime, actions=self.actions, mcp=link)

    def trust(self, *names: str, **rules: Any) -> None:
        """Trust tools as they are listed now."""
        for each in list_mcp_tools(self.house.runtime, "kani"):
            if each.name in names:
                trust_mcp_tool(self.house.runtime, "kani", each.name, each.fingerprint, **rules)

    def offered(self, authority: Authority = Authority.OWNER) -> list[str]:
        """The tools that a model is told of at once."""
        agent, routing = self.crab(), self.house.runtime.models.routing
        found = self.actions.schemas(agent, routing, authority, AgentState())
        return [each.name for each in found if each.name.startswith("mcp__")]

    def crab(self, **changes: Any) -> Any:
        """The agent, made at its first use."""
        if "crab" not in self.house.scripts:
            self.house.session(self.house.agent("crab", ()))
        agent = self.house.home.agents.get("crab").agent
        return self.house.home.agents.save(agent.replaced(**changes)) if changes else agent

    def turn(self, *replies: Reply, unasked: tuple[str, ...] = (ADD,), **said: Any) -> Turn:
        """What a turn comes to; calls of `unasked` need no approval in it."""
        self.crab(policy=unasked)
        self.house.scripts["crab"] = replies
        (turn,) = self.house.say("潮は?", **said)
        self.house.work()
        return self.house.turn(turn.id)

    def results(self, turn: Turn) -> list[CallResult]:
        """The results of its calls."""
        steps = Transcript.of(self.house.home.journal.load(turn.id).records).steps
        return [result for step in steps for result in step.results.values()]

    def calls(self) -> int:
        """How often the server was called."""
        return len(self.book.read_text().splitlines()) if self.book.exists() else 0

    def close(self) -> None:
        self.client.close()
        self.house.close()


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with closing(Lab(tmp_path)) as lab:
        yield lab


def test_no_tool_is_offered_before_its_owner_trusts_it(lab: Lab) -> None:
    found = list_mcp_tools(lab.house.runtime, "kani")
    assert {each.state for each in found} == {McpToolState.NEW}
    assert lab.offered() == []
    turn = lab.turn(call(ADD, a=1, b=2), DONE)
    assert "unknown action 'mcp__kani__add'" in str(lab.results(turn)[0].result.error)
    assert lab.calls() == 0


def test_a_trusted_tool_asks_its_owner_and_its_result_taints(lab: Lab) -> None:
    lab.trust("add")
    action = lab.actions.find(ADD)
    assert action is not None
    assert (action.impact, action.effect) == (Impact.EXTERNAL, Effect.ONCE)
    assert action.sentence({}, Language.JA) == "MCPサーバーkaniのツールaddを呼び出す"
    waiting = lab.turn(call(ADD, a=1, b=2), DONE, unasked=())
    assert (waiting.status, lab.calls()) == (TurnStatus.WAITING, 0)


def test_what_a_server_says_taints_and_asks_for_the_next(lab: Lab) -> None:
    lab.trust("add")
    turn = lab.turn(call(ADD, a=1, b=2), call(ADD, a=3, b=4), DONE)
    (first,) = lab.results(turn)
    assert first.result.data == {"server": "kani", "text": "合計 3"}
    assert turn.taint
    assert turn.status is TurnStatus.WAITING, "a tainted turn asks whatever the policy says"
    assert lab.calls() == 1


def test_the_owner_decides_what_a_call_may_do(lab: Lab) -> None:
    lab.trust("look", impact=Impact.READ, effect=Effect.PURE)
    turn = lab.turn(wrapped("mcp__kani__look"), DONE, unasked=("read",))
    (result,) = lab.results(turn)
    assert result.result.data is not None
    assert result.result.data["data"] == {"crabs": 3}
    assert turn.status is TurnStatus.COMPLETED
    with pytest.raises(Invalid, match="cannot be keyed"):
        lab.trust("look", effect=Effect.KEYED)


def test_an_error_of_a_tool_is_told_and_taints(lab: Lab) -> None:
    lab.trust("fail")
    turn = lab.turn(call("mcp__kani__fail"), DONE, unasked=("mcp__kani__fail",))
    (result,) = lab.results(turn)
    assert result.result.error == "the tool failed: tide is out"
    assert turn.taint


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"a": 1}, "b is missing"),
        ({"a": 1, "b": "2"}, 'b must match {"type": "integer"}'),
        ({"a": True, "b": 2}, 'a must match {"type": "integer"}'),
    ],
)
def test_wrong_arguments_reach_nobody(lab: Lab, given: dict[str, Any], told: str) -> None:
    lab.trust("add")
    (result,) = lab.results(lab.turn(call(ADD, **given), DONE))
    assert told in str(result.result.error)
    assert lab.calls() == 0


def test_a_changed_tool_waits_for_its_owner(lab: Lab) -> None:
    lab.trust("add", "look")
    lab.book.with_suffix(".rug").touch()
    states = {each.name: each.state for each in list_mcp_tools(lab.house.runtime, "kani")}
    assert states == {
        "add": McpToolState.CHANGED,
        "fail": McpToolState.NEW,
        "look": McpToolState.TRUSTED,
    }
    assert lab.offered() == ["mcp__kani__look"]
    turn = lab.turn(call(ADD, a=1, b=2), DONE)
    assert "unknown action" in str(lab.results(turn)[0].result.error)
    assert lab.calls() == 0
    lab.trust("add")
    assert ADD in lab.offered()


def test_a_model_never_reads_what_a_server_says_meanwhile(lab: Lab) -> None:
    lab.trust("add")
    lab.book.with_suffix(".rug").touch()
    action = lab.actions.find(ADD)
    assert action is not None
    said = action.descriptions[Language.EN]
    assert said == "Tool add of the MCP server kani: 潮を足す。"


def test_what_the_owner_did_not_see_is_not_trusted(lab: Lab) -> None:
    runtime = lab.house.runtime
    add = next(each for each in list_mcp_tools(runtime, "kani") if each.name == "add")
    lab.book.with_suffix(".rug").touch()
    with pytest.raises(Conflict, match="describes add otherwise by now"):
        trust_mcp_tool(runtime, "kani", "add", add.fingerprint)
    with pytest.raises(NotFound, match="lists no tool 'nope'"):
        trust_mcp_tool(runtime, "kani", "nope", add.fingerprint)
    assert lab.offered() == []


def test_trust_is_bound_to_the_command(lab: Lab) -> None:
    lab.trust("add")
    lab.serve(lab.server.replaced(args=(*lab.server.args, "more")))
    assert lab.offered() == []
    lab.serve(lab.server)
    assert lab.offered() == [ADD]


def test_trust_is_withdrawn(lab: Lab) -> None:
    lab.trust("add", "look")
    distrust_mcp_tool(lab.house.runtime, "kani", "add")
    assert lab.offered() == ["mcp__kani__look"]
    with pytest.raises(NotFound):
        distrust_mcp_tool(lab.house.runtime, "kani", "add")
    assert distrust_mcp_server(lab.house.runtime, "kani") == 1
    assert distrust_mcp_server(lab.house.runtime, "kani") == 0
    assert lab.offered() == []
    lab.trust("add")
    assert lab.offered() == [ADD]


def test_tools_belong_to_the_agents_that_are_named(lab: Lab) -> None:
    lab.trust("add")
    lab.serve(lab.server.replaced(agents=("someone",)))
    assert lab.offered() == []
    turn = lab.turn(call(ADD, a=1, b=2), DONE)
    assert "unknown action" in str(lab.results(turn)[0].result.error)
    lab.serve(lab.server.replaced(agents=("crab",)))
    assert lab.offered() == [ADD]


@pytest.mark.parametrize("authority", [Authority.PUBLIC, Authority.PEER, Authority.USER])
def test_turns_of_others_have_only_what_is_shared(lab: Lab, authority: Authority) -> None:
    lab.trust("look", impact=Impact.READ)
    lab.trust("add", impact=Impact.READ, shared=True)
    assert lab.offered(authority) == [ADD]
    turn = lab.turn(
        call("mcp__kani__look"),
        DONE,
        unasked=("read",),
        authority=authority,
    )
    assert "are for its owner alone" in str(lab.results(turn)[0].result.error)
    assert lab.calls() == 0


def test_a_prompt_has_what_fits_and_the_rest_is_found(lab: Lab) -> None:
    lab.trust("add", "fail", "look")
    assert lab.offered() == [ADD, "mcp__kani__fail", "mcp__kani__look"]
    lab.serve(lab.server, prompt_bytes=250)
    assert lab.offered() == [ADD]
    lab.serve(lab.server, prompt_bytes=0)
    assert lab.offered() == []
    turn = lab.turn(call("find_actions", query="潮"), DONE, unasked=("read",))
    (result,) = lab.results(turn)
    assert result.result.data is not None
    assert [each["name"] for each in result.result.data["actions"]] == [ADD]


def test_a_tool_cannot_take_the_name_of_another(tmp_path: Path) -> None:
    with closing(Lab(tmp_path, "shadow")) as lab:
        lab.trust("send_speech", "ws_read", "getTide")
        assert lab.actions.find("send_speech").group == "speech"  # type: ignore[union-attr]
        assert "mcp__kani__send_speech" in lab.offered()
        with pytest.raises(Invalid, match="mcp__kani__get_tide, which getTide is already"):
            lab.trust("get_tide")


@pytest.mark.parametrize("mode", ["hang", "crash", "big", "garbage"])
def test_a_call_whose_outcome_nobody_knows_is_not_made_again(tmp_path: Path, mode: str) -> None:
    with closing(Lab(tmp_path, mode, timeout_seconds=3 if mode == "hang" else 60)) as lab:
        lab.trust("add")
        turn = lab.turn(call(ADD, a=1, b=2), DONE)
        (result,) = lab.results(turn)
        assert result.state is CallState.UNKNOWN
        assert str(result.result.error).startswith("outcome unknown: the MCP server kani")
        assert turn.status is TurnStatus.COMPLETED
        assert lab.calls() == 1


class DyingClient:
    """The real client in a worker that dies once: before a call is sent, or after its answer."""

    def __init__(self, client: McpConnections, *, after: bool) -> None:
        self._client = client
        self._after = after
        self.dies = True

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def call(
        self,
        server: McpServer,
        tool: str,
        fingerprint: str,
        arguments: Mapping[str, Any],
        **named: Any,
    ) -> McpAnswer:
        if self.dies and not self._after:
            raise Killed
        answer = self._client.call(server, tool, fingerprint, arguments, **named)
        if self.dies:
            raise Killed
        return answer


@pytest.mark.parametrize("after", [False, True])
def test_a_call_that_was_begun_by_a_dead_worker_is_not_made_twice(lab: Lab, *, after: bool) -> None:
    lab.trust("add")
    dying: Any = DyingClient(lab.client, after=after)
    living, lab.client = lab.client, dying
    lab.serve(lab.server)
    with pytest.raises(Killed):
        lab.turn(call(ADD, a=1, b=2), DONE)
    assert lab.calls() == after
    dying.dies = False
    lab.house.later(3_600)
    lab.client = living
    ended = lab.house.turn(_turn_id(lab))
    assert ended.status is TurnStatus.COMPLETED
    (result,) = lab.results(ended)
    assert result.state is CallState.UNKNOWN
    assert "check before you do it again" in str(result.result.error)
    assert lab.calls() == after, "the second worker called nothing"


def _turn_id(lab: Lab) -> str:
    (turn,) = {line.turn_id for line in lab.house.lines() if line.turn_id}
    return turn
