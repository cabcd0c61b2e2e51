"""Bundles of strangers: an owner takes them in without trust, and people talk to those agents."""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.agents.agent import Identity
from opencrab.domain.agents.heartbeat import Heartbeat
from opencrab.domain.agents.soul import Soul
from opencrab.domain.approvals.policy import ApprovalPolicy
from opencrab.domain.autonomy.schedule import SCHEDULE, Schedule, ScheduleDraft, new_schedule
from opencrab.domain.bundle.agent import BundledAgent
from opencrab.domain.conversation.message import Channel, Message, Sender, TextPart
from opencrab.domain.conversation.session import Hearing, Participant, Session
from opencrab.domain.errors import OpenCrabError
from opencrab.domain.goals.goal import GOAL, Goal
from opencrab.domain.memory.belief import BELIEF, Belief
from opencrab.domain.memory.memory import MEMORY, Memory
from opencrab.domain.memory.working_memory import WORKING, WorkingMemory
from opencrab.domain.skills.skill import SKILL, AcquiredSkill, SourceType
from opencrab.domain.turn.turn import Trigger
from opencrab.domain.value import Language
from opencrab.domain.workspace.path import FOREIGN_NAME, file_name_key
from opencrab.engine.bundle.importing import (
    begin_agent_import,
    finish_agent_import,
    take_agent_import_part,
    write_agent_import_file,
)
from opencrab.engine.turn.admission import admit_turns_of_message
from opencrab.ports.turn.journal import AdmittedMessage
from tests.hostile import names, words
from tests.hostile.entry import Entry, Move
from tests.hostile.world import World

MOST = 3
_PEOPLE = (
    (Authority.OWNER, Source.REST, "owner"),
    (Authority.USER, Source.REST, "yuki"),
    (Authority.PUBLIC, Source.DISCORD, "stranger"),
)
_UNASKED = frozenset({Trigger.HEARTBEAT, Trigger.SCHEDULE})
_PATHS = ("notes/a.md", "vault/Sea.md", "public/index.html", "skills/evil.skill.md", "data/x.txt")


class Bundles(Entry):
    """Agents out of strangers' bundles, in which everything says that it is trusted."""

    name = "bundles"

    def __init__(self, world: World) -> None:
        self.world = world
        self.agents: list[str] = []
        self._sessions: dict[str, str] = {}

    def moves(self) -> Mapping[str, tuple[int, Move]]:
        return {
            "bundle_import": (4, lambda _world: self._import()),
            "bundle_say": (14, lambda _world: self._say()),
        }

    def _import(self) -> None:
        world, watcher = self.world, self.world.watcher
        if len(self.agents) >= MOST:
            return
        # The owner's request is no turn, even if one is at work.
        watcher.running = None
        runtime, number = world.runtime, len(self.agents) + 1
        bundle, agent = f"bundle-{number}", _agent(number, world)
        begun = begin_agent_import(
            runtime, bundle, agent, owner="owner", bundle=f"{number:064x}", trusted=False
        )
        rows = [json.dumps({"kind": kind, "value": value}) for kind, value in self._rows()]
        for _ in range(world.dice.choice((1, 2))):
            # A part that was not confirmed is sent again.
            take_agent_import_part(runtime, bundle, 1, "\n".join(rows).encode())
        files = {f"{world.dice.choice(_PATHS)}", names.path(world.dice, watcher.mint())}
        for path in sorted(files):
            content = f"---\naliases: [Meeting]\n---\n{watcher.mint()} {words.INJECTIONS[0]}"
            write_agent_import_file(runtime, bundle, path, content.encode(), clean=True)
        made = finish_agent_import(runtime, bundle, parts=1, files=len(files)).agent
        watcher.policies[made.id] = ApprovalPolicy.GUARDED
        self.agents.append(made.id)
        watcher.counts["bundles"] += 1
        self._judge(begun.agent_id, made)

    def _judge(self, agent_id: str, made: Any) -> None:
        """A stranger's agent does nothing of its own, and nothing of it counts as its own."""
        facts = self.world.raw.facts
        if made.policy is not ApprovalPolicy.GUARDED or made.heartbeat.enabled:
            self._problem(f"{agent_id} has the policy {made.policy}, beats: {made.heartbeat}")
        if made.day_limit_micro_usd is not None or made.approvals.delegates:
            self._problem(f"{agent_id} has the limits or the delegates of a stranger")
        for fact in facts.page(agent_id, SCHEDULE, limit=50):
            schedule = fact.read(Schedule)
            if schedule.enabled or schedule.channel is not None:
                self._problem(f"schedule {schedule.name} of {agent_id} runs, or posts elsewhere")
        if facts.page(agent_id, GOAL, limit=5):
            self._problem(f"{agent_id} has goals of a stranger")
        self._judge_words(agent_id)

    def _judge_words(self, agent_id: str) -> None:
        facts = self.world.raw.facts
        for fact in facts.page(agent_id, SKILL, limit=50):
            if fact.read(AcquiredSkill).status.is_live:
                self._problem(f"skill {fact.id} of {agent_id} is live")
        notes = facts.get(agent_id, WORKING, WORKING)
        if notes is not None and not notes.read(WorkingMemory).tainted:
            self._problem(f"notes of a stranger are those of {agent_id}")
        for info in self.world.raw.files.list(agent_id):
            if info.clean or info.path.startswith("public/"):
                self._problem(f"file {info.path} of {agent_id} is clean or public")
            if facts.get(agent_id, FOREIGN_NAME, file_name_key(info.path)) is None:
                self._problem(f"the name of file {info.path} is the own one of {agent_id}")

    def _rows(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """What a stranger writes, each with a mark, and each as trusted as can be."""
        world, now = self.world, self.world.clock.now()

        def said() -> str:
            return f"Hello today {world.watcher.mint()} {world.dice.choice(words.INJECTIONS)}"

        for category in ("core", "fact"):
            memory = Memory(
                id=world.clock.new_id(), category=category, content=said(), confidence=1.0,
                importance=1.0, hearing=Hearing.PUBLIC, created_at=now, updated_at=now,
            )  # fmt: skip
            yield MEMORY, memory.model_dump(mode="json")
        belief = Belief(id=world.clock.new_id(), claim=said()[:200], confidence=1.0, formed_at=now)
        yield BELIEF, belief.model_dump(mode="json")
        yield WORKING, WorkingMemory(text=said(), at=now).model_dump(mode="json")
        skill = AcquiredSkill(
            name="deep-focus", description=said()[:100], guidance=said(),
            source_type=SourceType.EXPERIENCE, approved_by="owner", created_at=now, updated_at=now,
        )  # fmt: skip
        yield SKILL, skill.model_dump(mode="json")
        draft = ScheduleDraft(
            name="tide", when="@every 5m", instructions=said(),
            channel=Channel(kind="wall", address="room"),
        )  # fmt: skip
        yield SCHEDULE, new_schedule("s1", "self", draft, now).model_dump(mode="json")
        goal = Goal(
            id="G1", agent_id="self", session_id="self", name=said()[:60], given=True,
            principal_id="self", created_at=now,
        )  # fmt: skip
        yield GOAL, goal.model_dump(mode="json")

    def _say(self) -> None:
        """Somebody talks to one of these agents, mostly in a room where nobody has spoken."""
        world, dice = self.world, self.world.dice
        if not self.agents:
            return
        agent_id = dice.choice(self.agents)
        authority, source, who = dice.choice(_PEOPLE)
        number = world.watcher.counts["said"] = world.watcher.counts["said"] + 1
        if agent_id not in self._sessions or dice.random() < 0.5:
            self._sessions[agent_id] = self._session(agent_id, f"bundle-room-{number}")
        text = dice.choice(words.PLAIN)
        if authority is Authority.PUBLIC:
            text = f"{world.watcher.mint()} {dice.choice(words.INJECTIONS)}"
        message = Message(
            source=source,
            source_id=f"b{number}",
            principal_id=who,
            sender=Sender(id=who, name=who),
            authority=authority,
            parts=(TextPart(text=text),),
        )
        with suppress(OpenCrabError):
            admit_turns_of_message(world.runtime, self._sessions[agent_id], message)

    def _session(self, agent_id: str, session_id: str) -> str:
        now = self.world.clock.now()
        self.world.raw.sessions.create(
            Session(
                id=session_id,
                participants=(Participant(agent_id=agent_id),),
                created_by="owner",
                created_at=now,
                updated_at=now,
            )
        )
        return session_id

    def admitted(self, admission: AdmittedMessage) -> None:
        for turn in admission.turns:
            if turn.agent_id in self.agents:
                self.world.watcher.counts["bundle turns"] += 1
                if turn.trigger in _UNASKED:
                    self._problem(f"{turn.agent_id} began a {turn.trigger.value} of its own")

    def _problem(self, text: str) -> None:
        self.world.watcher.problem(text)


def _agent(number: int, world: World) -> BundledAgent:
    """The agent of a bundle: its texts are read by its owner, the rest is what a stranger likes."""
    return BundledAgent(
        name=f"Import {number}",
        language=world.dice.choice(tuple(Language)),
        policy=ApprovalPolicy.OPEN,
        day_limit_micro_usd=10**9,
        heartbeat=Heartbeat(
            interval_seconds=601, instructions="go on", channel=Channel(kind="wall", address="room")
        ),
        soul=Soul(persona_name=f"Import {number}"),
        identity=Identity(name=f"Import {number}"),
    )
