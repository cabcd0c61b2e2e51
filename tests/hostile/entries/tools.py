"""Tools of hostile servers: what their owner trusted runs as it was trusted, and nothing else."""

import atexit
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from opencrab.actions import GROUPS
from opencrab.actions.mcp import McpRegistry
from opencrab.adapters.mcp.a2a import A2aConnection
from opencrab.adapters.mcp.connections import McpConnection, McpConnections
from opencrab.adapters.mcp.http import HttpConnection
from opencrab.adapters.mcp.openapi import OpenApiConnection
from opencrab.domain.a2a.protocol import A2A_HOPS
from opencrab.domain.access.impact import Impact
from opencrab.domain.errors import Conflict, Invalid, Refused, Unavailable
from opencrab.domain.mcp.server import McpServer
from opencrab.domain.mcp.tool import ACTION_PREFIX, TrustedTool, mcp_action_name
from opencrab.domain.turn.action import Effect
from opencrab.domain.turn.turn import Turn
from opencrab.engine.mcp.trust import (
    distrust_mcp_server,
    distrust_mcp_tool,
    list_mcp_tools,
    trust_mcp_tool,
)
from opencrab.engine.runtime import Runtime
from opencrab.ports.mcp import McpLink
from opencrab.ports.models.model import ChatRequest
from opencrab.ports.turn.action import Action, ActionContext
from tests.hostile.entries.sign_ins import CODE, REFRESH, HostileSignIn
from tests.hostile.entries.tool_servers import HIDDEN, SERVERS, TOKENS, VERSION, ToolServers
from tests.hostile.entry import Entry, Move
from tests.hostile.law import INSIDERS
from tests.hostile.outside import outside_group, watched_action, watched_group
from tests.hostile.world import SKILLS, World, judge_action
from tests.unit.adapters.web.net import Net, no_tls

PROMPT_BYTES = 4_096
_BY_NAME = {server.name: server for server in SERVERS}


class _Now:
    """What belongs to the world that runs now: the registry is made once, worlds come and go."""

    def __init__(self) -> None:
        self.there: Any = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.there, name)


_FACTS, _CLIENT = _Now(), _Now()


class _WatchedTools(McpRegistry):
    """The product's registry; each tool is looked at before it runs."""

    def _action(self, server: McpServer, tool: TrustedTool) -> Action:
        return watched_action(super()._action(server, tool), judge_action)


_REGISTRY = _WatchedTools(
    [watched_group(group, judge_action) for group in (*GROUPS, outside_group())],
    SKILLS,
    link=McpLink(SERVERS, cast(Any, _CLIENT)),
    facts=cast(Any, _FACTS),
    prompt_bytes=PROMPT_BYTES,
)


@dataclass(frozen=True)
class Trust:
    """A tool as its owner trusted it: all that its server said of it, and the owner's rules."""

    server: str
    tool: str
    listing: str
    impact: Impact
    effect: Effect
    shared: bool


class Tools(Entry):
    """Three servers of tools, of which the owner trusts some, and which change behind that."""

    name = "tools"
    secrets = (*TOKENS.values(), REFRESH, CODE)

    def __init__(self, world: World) -> None:
        self.world, watcher = world, world.watcher
        self.servers = ToolServers(
            world.dice, watcher.mint, self._called, watcher.problem, self._refused
        )
        self.trusted: dict[str, Trust] = {}
        self.versions: set[str] = set()
        self._running: dict[str | None, str | None] = {}
        self._undone: str | None = None
        self._at_claim: dict[str, tuple[dict[tuple[str, str], str], dict[str, Trust]]] = {}
        self.net = Net(lambda url: self.servers.answer(url, self.net.requests[-1]), now=0.0)
        self.servers.login = HostileSignIn(
            self.net, watcher.problem, repr(world.dice.getstate()[1][:9])
        )
        self._client: McpConnections | None = None

    def install(self, runtime: Runtime) -> Runtime:
        _FACTS.there = runtime.home.facts
        self.restarted()
        self.servers.login.tend(_BY_NAME["tracker"])
        link = McpLink(SERVERS, cast(Any, _CLIENT), lambda: self.servers.login.sign_ins)
        return replace(runtime, actions=_REGISTRY, mcp=link)

    def restarted(self) -> None:
        self.closed()
        self.servers.login.open(_FACTS.there)
        self._client = _CLIENT.there = McpConnections(self._connect)
        atexit.unregister(self._client.close)
        self.servers.told.clear()

    def closed(self) -> None:
        if self._client is not None:
            self._client.close()

    def _connect(self, server: McpServer) -> McpConnection:
        if server.a2a:
            return A2aConnection(server, self.net, no_tls, wait=lambda _seconds: None)
        if server.openapi:
            return OpenApiConnection(server, self.net, no_tls)
        sign_ins = self.servers.login.sign_ins
        return HttpConnection(server, self.net, no_tls, tokens=lambda: sign_ins)

    def moves(self) -> Mapping[str, tuple[int, Move]]:
        return {
            "tools_trust": (9, lambda _world: self._trust()),
            "tools_change": (5, lambda _world: self.servers.change()),
            "tools_distrust": (1, lambda _world: self._distrust()),
            "tools_restart": (1, lambda _world: self.restarted()),
        }

    # What the owner does.

    def _trust(self) -> None:
        """The owner looks at a server's tools and trusts one, which may change in between."""
        dice, runtime, server = self.world.dice, self.world.runtime, dice_server(self.world)
        if server == "tracker":
            self.servers.login.tend(_BY_NAME[server])
            self.world.watcher.counts["sign-ins"] = self.servers.login.agreed
        try:
            shown = list_mcp_tools(runtime, server)
        except (Unavailable, Refused):
            return
        usable = [each for each in shown if each.fingerprint and not each.problem]
        if not usable:
            return
        chosen = dice.choice(usable)
        seen = self.servers.told.get((server, chosen.name), "")
        if dice.random() < 0.3:
            self.servers.change()
        impact, effect = dice.choice(tuple(Impact)), dice.choice((Effect.ONCE, Effect.PURE))
        shared = dice.random() < 0.4
        try:
            trust_mcp_tool(
                runtime, server, chosen.name, chosen.fingerprint,
                impact=impact, effect=effect, shared=shared,
            )  # fmt: skip
        except (Conflict, Invalid, Unavailable, Refused, LookupError):
            return
        self._note(Trust(server, chosen.name, seen, impact, effect, shared))

    def _note(self, trust: Trust) -> None:
        action = mcp_action_name(trust.server, trust.tool)
        before = self.trusted.get(action)
        if before is not None and before.tool != trust.tool:
            self._problem(f"{trust.tool} shadows {before.tool} of {trust.server}")
        if not action.startswith(ACTION_PREFIX) or self.world.runtime.actions.find(action) is None:
            self._problem(f"{trust.tool} of {trust.server} is no action after it was trusted")
        self.trusted[action] = trust
        self.versions.update(VERSION.findall(trust.listing))
        self.world.watcher.counts["tools trusted"] += 1

    def _distrust(self) -> None:
        if not self.trusted:
            return
        action = self.world.dice.choice(sorted(self.trusted))
        trust = self.trusted.pop(action)
        if self.world.dice.random() < 0.3:
            distrust_mcp_server(self.world.runtime, trust.server)
            others = [name for name, each in self.trusted.items() if each.server == trust.server]
            for name in others:
                self.trusted.pop(name)
        else:
            distrust_mcp_tool(self.world.runtime, trust.server, trust.tool)

    # What the model may try.

    def calls(self) -> tuple[tuple[str, Mapping[str, Any]], ...]:
        listed = [
            (mcp_action_name("tracker", name), each["inputSchema"])
            for name, each in self.servers.tools["tracker"].items()
        ]
        city = {"type": "string", "enum": ["金沢", "..", "../x", ".", "%2e%2e", "a\\..\\b", "?x#y"]}
        named = {"type": "object", "properties": {"city": city}}
        there = [
            (mcp_action_name("weather", "getForecast"), {**named, "required": ["city"]}),
            (
                mcp_action_name("weather", "postReport"),
                {"properties": {"body": {"type": "object"}}},
            ),
            (mcp_action_name("weather", "deleteNote"), {"properties": {"id": city}}),
            (mcp_action_name("tide", "ask"), {"properties": {"message": {"type": "string"}}}),
        ]
        return (*listed, *there)

    # What must hold.

    @property
    def running(self) -> str | None:
        """The action that runs, of the turn at work: another worker may be in its midst."""
        return self._running.get(self.world.watcher.running)

    @running.setter
    def running(self, name: str | None) -> None:
        self._running[self.world.watcher.running] = name

    def impact_of(self, name: str) -> str | None:
        if not name.startswith(ACTION_PREFIX):
            return None
        trust = self.trusted.get(name)
        return trust.impact.value if trust is not None else Impact.EXTERNAL.value

    def acts(self, action: Action, context: ActionContext) -> None:
        self.running = None
        if not action.name.startswith(ACTION_PREFIX):
            return
        self.world.watcher.counts["tools run"] += 1
        trust = self.trusted.get(action.name)
        if trust is None:
            self._problem(f"{action.name} ran, and nobody trusts it")
        elif (action.impact, action.effect) != (trust.impact, trust.effect):
            self._problem(f"{action.name} is {action.impact}, and was trusted as {trust.impact}")
        self.running = action.name

    def sees(self, turn: Turn, request: ChatRequest, text: str) -> None:
        told = " ".join(each.as_json for each in request.actions if each.name in self.trusted)
        strange = [
            each.name
            for each in request.actions
            if each.name.startswith(ACTION_PREFIX) and each.name not in self.trusted
        ]
        if strange:
            self._problem(f"{strange} are offered, and nobody trusts them")
        unknown = set(VERSION.findall(f"{told} {text}")) - self.versions
        if unknown:
            self._problem(f"a model was told {unknown}, which nobody trusted")
        for each in request.actions:
            trust = self.trusted.get(each.name)
            if trust is None:
                continue
            if not trust.shared and not self._is_own(turn):
                self._problem(f"{each.name} was offered to {turn.authority.value}")
            if any(character in each.description for character in HIDDEN):
                self._problem(f"the description of {each.name} has hidden characters")
            self._see_offer(turn, each.name, trust)

    def claimed(self, turn: Turn) -> None:
        self._at_claim[turn.id] = dict(self.servers.told), dict(self.trusted)

    def _see_offer(self, turn: Turn, name: str, trust: Trust) -> None:
        """A worker lists tools once it claims a turn: one that was changed by then is not offered.

        What changes under way is offered to that turn as it was trusted, and not called.
        """
        key = trust.server, trust.tool
        told, trusted = self._at_claim.get(turn.id, ({}, {}))
        changed = told.get(key, trust.listing) != trust.listing
        if changed and trusted.get(name) is trust and self.servers.told.get(key) == told[key]:
            self._problem(f"{name} is offered, and its server tells something else of it by now")

    def _is_own(self, turn: Turn) -> bool:
        return self.world.watcher.authorities.get(turn.id, turn.authority) in INSIDERS

    def _called(self, server: str, tool: str, given: Any) -> None:
        """A server is called; nobody but an action that runs may do that, and once."""
        watcher = self.world.watcher
        watcher.counts[f"tool server {server} called"] += 1
        action, name = self.running, tool
        if action is None or self.trusted.get(action) is None:
            if tool != "ask GetTask":
                self._problem(f"{server} was called for {tool} by no action, or once more")
            return
        trust = self.trusted[action]
        turn = watcher.turns.get(watcher.running or "")
        if server == "weather":
            name = self._operation(trust, tool)
        elif server == "tide":
            name = self._asked(tool, given, turn)
        else:
            self._undone, self.running = self.running, None
        if (server, name) != (trust.server, trust.tool):
            self._problem(f"{server} was called for {tool} by {action}")
        if self.servers.told.get((server, trust.tool)) != trust.listing:
            self._problem(f"{action} was called, and its server tells something else of it by now")
        self._hear_for(turn, action, trust)

    def _refused(self) -> None:
        """A server says that it has not made a call for want of a token, which is then renewed."""
        self.running = self._undone

    def _hear_for(self, turn: Turn | None, action: str, trust: Trust) -> None:
        """What a server returns is its owner's, unless it is shared."""
        if trust.shared:
            return
        if turn is None or not self._is_own(turn):
            self._problem(f"{action} was called for somebody else than its owner")
        elif any(turn.session_id in entry.groups for entry in self.world.entries):
            self._problem(f"{action} was called where others read")

    def _operation(self, trust: Trust, called: str) -> str:
        """Return the operation that a request of the API is: by method and path, as trusted."""
        self.running = None
        told = self.servers.tools["weather"].get(trust.tool)
        if told is None or self.servers.listing("weather", trust.tool) != trust.listing:
            return trust.tool
        method, _, path = called.partition(" ")
        pattern = re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(told["path"]))
        step = path.partition("?")[0]
        if method != told["method"] or not re.fullmatch(pattern, step) or "/../" in f"{step}/":
            return f"{called} instead of {told['method']} {told['path']}"
        return trust.tool

    def _asked(self, called: str, given: Any, turn: Turn | None) -> str:
        if called == "ask SendMessage":
            self.running = None
            hops = given["message"]["metadata"][A2A_HOPS]
            if turn is not None and hops != turn.hops + 1:
                self._problem(f"a message says {hops} hops after {turn.hops}")
        return called.partition(" ")[0]

    def _problem(self, text: str) -> None:
        self.world.watcher.problem(text)


def dice_server(world: World) -> str:
    """Return the name of a server by chance."""
    return world.dice.choice(sorted(_BY_NAME))
