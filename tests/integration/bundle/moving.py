"""Two installations, a program for each, and an agent with a life to be moved between them."""

import asyncio
import json
import zipfile
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.access.authority import Authority, Scope
from opencrab.domain.access.instance import CHALLENGE_HEADER, instance_access_proof
from opencrab.domain.agents.agent_state import MIND, AgentState
from opencrab.domain.bundle.contents import DOCUMENTS
from opencrab.domain.conversation.session import Hearing
from opencrab.domain.document import new_fact
from opencrab.domain.goals.goal import GOAL, Goal, GoalStatus, Task, goal_document_id
from opencrab.domain.goals.owner_order import GOAL_ORDER, OwnerOrder
from opencrab.domain.goals.plan import PLAN, AbandonedPlan, abandoned_goal_plan_id
from opencrab.domain.memory.belief import BELIEF, Belief
from opencrab.domain.memory.belief_index import belief_id_in_memory
from opencrab.domain.memory.knowledge_graph import (
    EDGE,
    NODE,
    KnowledgeEdge,
    KnowledgeNode,
    knowledge_edge_id,
)
from opencrab.domain.memory.memory import (
    EXPERIENCE,
    IMPRESSION,
    MEMORY,
    Experience,
    Impression,
    Memory,
    Provenance,
)
from opencrab.domain.memory.peer import PEER, Peer
from opencrab.domain.memory.working_memory import WORKING, WorkingMemory
from opencrab.domain.outcome import Outcome
from opencrab.domain.skills.skill import SKILL, AcquiredSkill, SourceType
from opencrab.domain.value import Value
from opencrab.ports.home import Home
from tests.integration.rest.house import House
from tests.unit.gateways.cli.server import INSTANCE, Program, Said, Server


class HouseServer(Server):
    """The application of a house, as the program's server; `breaks` may fail a request."""

    def __init__(self, house: House) -> None:
        super().__init__()
        self.house = house
        self.breaks: Callable[[httpx.Request], Exception | None] = lambda _: None

    def handle(self, request: httpx.Request) -> httpx.Response:
        if CHALLENGE_HEADER in request.headers:
            return httpx.Response(
                200,
                json={"proof": instance_access_proof(INSTANCE, request.headers[CHALLENGE_HEADER])},
            )
        self.requests.append(request)
        if (error := self.breaks(request)) is not None:
            raise error
        return asyncio.run(self._asked(request))

    async def _asked(self, request: httpx.Request) -> httpx.Response:
        async with self.house.client() as client:
            found = await client.request(
                request.method,
                str(request.url.copy_with(scheme="http", host="house", port=None)),
                content=request.read(),
                headers=[
                    pair
                    for pair in request.headers.raw
                    if pair[0].lower() not in {b"host", b"content-length"}
                ],
            )
        headers = {k: v for k, v in found.headers.items() if k != "content-encoding"}
        return httpx.Response(found.status_code, content=found.content, headers=headers)


class Place:
    """One installation and its program."""

    def __init__(
        self,
        folder: Path,
        patch: pytest.MonkeyPatch,
        *,
        home: Home | None = None,
        clock: FakeClock | None = None,
    ) -> None:
        folder.mkdir()
        self.house = House(folder / "house")
        if home is not None and clock is not None:
            self.house.furnish(home=home, clock=clock)
            self.house.owner = self.house.key(Scope.OWNER)[0]
        self.server = HouseServer(self.house)
        data = folder / "data"
        data.mkdir()
        (data / "instance").write_text(f"{INSTANCE}\n", encoding="utf-8")
        (data / "owner.key").write_text(f"{self.house.owner}\n", encoding="utf-8")
        self.program = Program(self.server, data, patch)

    @property
    def home(self) -> Home:
        """The stores."""
        return self.house.runtime.home

    def run(self, *args: object, code: int = 0) -> Said:
        """A command that ends with this code."""
        said = self.program.run(*map(str, args))
        assert said.code == code, f"{said.out}\n{said.err}"
        return said

    def stored(self, agent_id: str) -> dict[str, dict[str, Any]]:
        """All documents of an agent that a bundle may hold, by kind and id, and its files."""
        found: dict[str, dict[str, Any]] = {
            kind: {fact.id: fact.body for fact in self.home.facts.page(agent_id, kind, limit=500)}
            for kind in DOCUMENTS
        }
        mind = self.home.facts.get(agent_id, MIND, MIND)
        found[MIND] = {} if mind is None else {MIND: mind.body}
        found["file"] = {info.path: info.sha256 for info in self.home.files.list(agent_id)}
        return {kind: facts for kind, facts in found.items() if facts}

    def agents(self) -> list[str]:
        """The names of all agents."""
        return [each.agent.name for each in self.home.agents.page(after=None, limit=100)]


def members(bundle: Path) -> dict[str, bytes]:
    """All members of a bundle; of the manifest only what says nothing of time and place."""
    with zipfile.ZipFile(bundle) as archive:
        found = {name: archive.read(name) for name in archive.namelist()}
    manifest = json.loads(found["manifest.json"])
    del manifest["exported_at"], manifest["agent_id"]
    found["manifest.json"] = json.dumps(manifest, sort_keys=True).encode()
    return found


def live(place: Place, now: datetime) -> str:
    """An agent with something of every kind; its id."""
    house, facts = place.house, place.home.facts
    agent_id = house.made(
        "/agents",
        {
            "name": "Rowan",
            "language": "ja",
            "purpose": "庭の手入れを手伝う。",
            "policy": "strict",
            "soul": {"personality": {"openness": 0.9}, "custom_traits": {"癖": "よく笑う 🦀"}},
            "identity": {"job_title": "庭師"},
            "heartbeat": {"instructions": "水やりの時間を知らせる。", "interval_seconds": 3607},
        },
    )["id"]
    for number, (text, extra) in enumerate(_MEMORIES):
        memory = Memory.model_validate(
            {
                "id": f"{number:026d}",
                "category": "fact",
                "content": text,
                "created_at": now,
                "updated_at": now,
                **extra,
            }
        )
        facts.commit(new_fact(agent_id, MEMORY, memory.id, memory))
    for kind, fact_id, value in _documents(agent_id, now):
        facts.commit(new_fact(agent_id, kind, fact_id, value))
    house.made(
        f"/agents/{agent_id}/memory/curated", {"content": "蟹は横に歩く。", "category": "core"}
    )
    house.made(
        f"/agents/{agent_id}/schedules",
        {"name": "朝の水やり", "when": "0 7 * * *", "instructions": "庭を見る。"},
    )
    place.home.files.write(agent_id, "notes/庭.md", "薔薇\n".encode(), clean=True)
    place.home.files.write(agent_id, "data/上 書き.bin", bytes(range(256)) * 40)
    place.home.files.write(agent_id, "data/same.bin", bytes(range(256)) * 40, clean=True)
    house.raw("PUT", f"/agents/{agent_id}/workspace/from/outside.txt", b"stranger's words")
    return str(agent_id)


_MEMORIES: tuple[tuple[str, dict[str, object]], ...] = (
    ("薔薇は日なたが好き。", {"provenance": Provenance.OWNER, "links": ("1".zfill(26),)}),
    (
        "Roses want six hours of sun.",
        {"provenance": Provenance.WEB, "tainted": True, "hearing": Hearing.PUBLIC},
    ),
    ("太郎さんは水曜に来る。", {"provenance": Provenance.USER, "session_id": "s9", "line": 4}),
)


def _documents(agent_id: str, now: datetime) -> list[tuple[str, str, Value]]:
    return [*_memory_documents(now), *_goal_documents(agent_id, now)]


def _goal_documents(agent_id: str, now: datetime) -> list[tuple[str, str, Value]]:
    task = Task(id="G1-T1", name="Look", precondition="day", postcondition="seen", turn_id="t1")
    goal = Goal(
        id="G1",
        agent_id=agent_id,
        session_id="s9",
        name="Keep the roses alive",
        principal_id="someone",
        status=GoalStatus.ACTIVE,
        tasks=(task,),
        turn_id="t1",
        created_at=now,
    )
    return [
        (GOAL, goal_document_id("G1"), goal),
        (
            PLAN,
            abandoned_goal_plan_id("G1", 1),
            AbandonedPlan(goal_id="G1", revision=1, tasks=(task,), given_up_at=now),
        ),
        (GOAL_ORDER, GOAL_ORDER, OwnerOrder(goals=("G1",))),
        (MIND, MIND, AgentState.model_validate({"agenda": {"last_number": 1, "open": ["G1"]}})),
    ]


def _memory_documents(now: datetime) -> list[tuple[str, str, Value]]:
    claim = "A dry leaf means thirst."
    return [
        (
            EXPERIENCE,
            "3".zfill(26),
            Experience(
                id="3".zfill(26),
                experience="Watered at noon",
                outcome=Outcome.FAILURE,
                lesson="Water in the evening",
                at=now,
            ),
        ),
        (
            IMPRESSION,
            "taro",
            Impression(target_id="taro", target_name="太郎", created_at=now, updated_at=now),
        ),
        (NODE, "n1", KnowledgeNode(id="n1", label="Rose", updated_at=now)),
        (NODE, "n2", KnowledgeNode(id="n2", label="Sun", updated_at=now)),
        (
            EDGE,
            knowledge_edge_id("n1", "needs", "n2"),
            KnowledgeEdge(origin="n1", relation="needs", target="n2", updated_at=now),
        ),
        (
            BELIEF,
            belief_id_in_memory(claim),
            Belief(id=belief_id_in_memory(claim), claim=claim, confirmed=2, formed_at=now),
        ),
        (PEER, "ken", Peer(agent_id="ken", interactions=3, successes=2, last_session="s9")),
        (WORKING, WORKING, WorkingMemory(text="覚え書き", session_id="s9", at=now)),
        (
            SKILL,
            "prune-roses",
            AcquiredSkill(
                name="prune-roses",
                description="How to prune roses",
                guidance="Cut above an outward bud.",
                source_type=SourceType.EXPERIENCE,
                turn_id="t1",
                usage_count=4,
                created_at=now,
                updated_at=now,
            ),
        ),
    ]


def leave_traces(place: Place, agent_id: str, person: str, name: str) -> None:
    """What an agent writes down in a turn for a person, of each kind that has no provenance."""
    at, facts = place.house.runtime.clock.now(), place.home.facts
    whose: dict[str, Any] = {"person_id": person}
    claim, goal = f"{name}の花は青い。", f"G{len(name) + 5}"
    nodes = [
        KnowledgeNode(id=f"{person}-{n}", label=f"{name}の庭 {n}", updated_at=at, **whose)
        for n in range(2)
    ]
    edge = KnowledgeEdge(origin=nodes[0].id, target=nodes[1].id, relation="has", updated_at=at)
    lived = Experience(
        id=place.house.runtime.clock.new_id(),
        experience=f"{name}の頼み",
        outcome=Outcome.SUCCESS,
        lesson=f"{name}の好み",
        at=at,
        **whose,
    )
    asked = Goal(
        id=goal,
        agent_id=agent_id,
        session_id="s9",
        name=f"{name}の目標",
        principal_id=person,
        authority=Authority.OWNER if name == "持ち主" else Authority.USER,
        created_at=at,
    )
    belief = Belief(id=belief_id_in_memory(claim), claim=claim, formed_at=at, **whose)
    plan = AbandonedPlan(goal_id=goal, revision=1, tasks=(), given_up_at=at)
    for kind, fact_id, value in (
        *((NODE, node.id, node) for node in nodes),
        (EDGE, knowledge_edge_id(edge.origin, edge.relation, edge.target), edge),
        (EXPERIENCE, lived.id, lived),
        (GOAL, goal_document_id(goal), asked),
        (BELIEF, belief.id, belief),
        (PLAN, abandoned_goal_plan_id(goal, 1), plan),
    ):
        facts.commit(new_fact(agent_id, kind, fact_id, value))
    if name != "持ち主":
        stored = facts.get(agent_id, MIND, MIND)
        assert stored is not None
        mind = stored.read(AgentState)
        agenda = mind.agenda.replaced(current=goal, open=(*mind.agenda.open, goal))
        facts.commit(stored.with_body(mind.replaced(agenda=agenda)))
