"""The world of the hostile model: two agents, their people, secrets on all sides, and a watcher."""

import random
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import reduce
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

from opencrab.adapters.local_files import Disk, LocalBlobs, LocalFiles
from opencrab.adapters.skill_files import FileSkills
from opencrab.adapters.sqlite.database import sqlite_milliseconds
from opencrab.adapters.sqlite.home import open_sqlite_home
from opencrab.adapters.system_clock import FakeClock
from opencrab.bootstrap.consequences import CONSEQUENCES
from opencrab.bootstrap.jobs import JOBS
from opencrab.domain.agents.agent import Agent, Identity, Profile
from opencrab.domain.agents.heartbeat import Heartbeat
from opencrab.domain.agents.soul import Soul
from opencrab.domain.approvals.policy import ApprovalPolicy
from opencrab.domain.conversation.session import Participant, Session
from opencrab.domain.document import new_fact
from opencrab.domain.memory.memory import Memory
from opencrab.domain.money.budget import Limits
from opencrab.domain.turn.action import Effect
from opencrab.domain.value import Language
from opencrab.engine.runtime import Rules, Runtime
from opencrab.ports.home import Home
from opencrab.ports.turn.action import Action, ActionContext
from tests.conftest import ROOT
from tests.crash.ground import START
from tests.hostile import names
from tests.hostile.dying import Fragile, Fuse
from tests.hostile.entry import Entry
from tests.hostile.law import STEPS
from tests.hostile.mind import HostileModels, Mouth
from tests.hostile.outside import Internet, Judge, OwnSecrets, SearchService, Wall, watched_registry
from tests.hostile.watch import Canary, Killed, Watcher
from tests.searching import searching

AGENTS = {"kani": Language.JA, "crab": Language.EN}
SESSIONS = {"hall": ("kani", "crab"), "crab-room": ("crab",), "kani-room": ("kani",)}
SAFE = "safe"
"""A session of kani's alone, of which nobody may read elsewhere."""

POLICIES: tuple[Any, ...] = (
    *ApprovalPolicy, ("self", "shared", "external", "read"), ("self", "read", "ring_gong"),
)  # fmt: skip
HOST = ("owner", "provider", "installation", "beside", "above", "vault")
SKILLS = FileSkills(ROOT / "skills")
_PLAINLY = 0.5


_JUDGES: list[Judge] = []
_FUSES: list[Fuse] = []


def judge_action(action: Action, arguments: Any, context: ActionContext) -> None:
    _JUDGES[0](action, arguments, context)
    if action.effect is not Effect.PURE:
        _FUSES[0].reached()


ACTIONS = watched_registry(SKILLS, judge_action)
"""Made once, since schemas are made only once for each registry; one world runs at a time."""


class SeenJournal:
    """The journal, with a watcher who sees every change that took effect."""

    def __init__(self, inner: Any, watcher: Watcher) -> None:
        self._inner, self._watcher = inner, watcher

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def admit(self, admission: Any) -> Any:
        stored = self._inner.admit(admission)
        self._watcher.admitted(admission)
        return stored

    def extend(self, turn: Any, lease_until: Any) -> Any:
        before = self._inner.header(turn.id)
        extended = self._inner.extend(turn, lease_until)
        if extended:
            self._watcher.extended(turn, before)
        return extended

    def claim(self, *arguments: Any, **named: Any) -> Any:
        claimed = self._inner.claim(*arguments, **named)
        if claimed is not None:
            self._watcher.claimed(claimed.turn)
        return claimed

    def commit(self, change: Any) -> Any:
        stored = self._inner.commit(change)
        self._watcher.committed(change, stored)
        return stored


class SeenFacts:
    """The facts, with a watcher who sees what people and the engine write beside turns."""

    def __init__(self, inner: Any, watcher: Watcher) -> None:
        self._inner, self._watcher = inner, watcher

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def commit(self, *facts: Any, **more: Any) -> None:
        self._inner.commit(*facts, **more)
        for fact in facts:
            self._watcher.kept(fact)


class SeenFiles:
    """The files, with a watcher who knows whose turn it is."""

    def __init__(self, inner: Any, watcher: Watcher) -> None:
        self._inner, self._watcher = inner, watcher

    def __getattr__(self, name: str) -> Any:
        inner = getattr(self._inner, name)

        def call(agent_id: str, *arguments: Any, **named: Any) -> Any:
            turn = self._watcher.turns.get(self._watcher.running or "")
            if turn is not None and turn.agent_id != agent_id:
                self._watcher.problem(f"{turn.agent_id} reached for the files of {agent_id}")
            return inner(agent_id, *arguments, **named)

        return call


class Bug:
    """A seeded bug; this one is none."""

    name = "none"
    entries: "tuple[Callable[[World], Entry], ...]" = ()

    def active(self) -> AbstractContextManager[None]:
        """While a run with it is played."""
        return nullcontext()

    def seed(self, runtime: Runtime, world: "World") -> Runtime:
        """The runtime as a wrong product would have it."""
        return runtime


class World:
    """One installation in a folder of its own, from one seed."""

    def __init__(
        self, folder: Path, dice: random.Random, bug: Bug | None = None,
        entries: "Sequence[Callable[[World], Entry]]" = (),
    ) -> None:  # fmt: skip
        self.folder, self.dice = folder, dice
        self.clock = FakeClock(START)
        self.canaries = _canaries(dice)
        self.limits = Limits(
            turn_micro_usd=dice.choice((150_000, 400_000, 2_000_000)),
            agent_day_micro_usd=dice.choice((300_000, 3_000_000, 50_000_000)),
            installation_day_micro_usd=dice.choice((500_000, 80_000_000)),
            public_user_day_micro_usd=dice.choice((100_000, 2_000_000)),
            block_micro_usd=dice.choice((1, 50_000)),
        )
        files = LocalFiles(folder / "agents", disk=Disk(fsync=lambda _descriptor: None))
        blobs = LocalBlobs(folder, disk=Disk(fsync=lambda _descriptor: None))
        self.raw, self.database = open_sqlite_home(
            folder, self.clock, files=files, blobs=blobs, durable=False
        )
        self.watcher = Watcher(self.raw, tuple(self.canaries.values()))
        self.mouth = Mouth(dice, (), self.watcher)
        self.fuse = Fuse()
        self.internet = Internet(dice, self.watcher.mint, self.watcher.fetched)
        self._furnish()
        self.entries = tuple(each(self) for each in entries)
        self.moves = {name: move for each in self.entries for name, move in each.moves().items()}
        self.runtime = self._installed(bug or Bug())
        self.sessions = {name: name for name in SESSIONS}
        for entry in self.entries:
            entry.opened()
        self.outside_before = self.outside()

    def close(self) -> None:
        """Give up the home."""
        for entry in self.entries:
            entry.closed()
        self.database.close()

    def _installed(self, bug: Bug) -> Runtime:
        watcher = self.watcher
        _JUDGES[:], _FUSES[:] = [watcher.judge], [self.fuse]
        watcher.entries = self.entries
        self.mouth.actions = ACTIONS._sorted
        self.mouth.elsewhere = tuple(entry.calls for entry in self.entries)
        watcher.effects = {each.name: each.effect for each in self.mouth.actions}
        seen: dict[str, Any] = {
            "journal": SeenJournal(self.raw.journal, watcher),
            "facts": SeenFacts(self.raw.facts, watcher),
            "files": SeenFiles(self.raw.files, watcher),
        }
        home = replace(self.raw, **seen)
        runtime = Runtime(
            home=home,
            clock=self.clock,
            models=HostileModels(self.mouth),
            actions=ACTIONS,
            channels={"wall": Wall(lambda text: watcher.public(text, "the wall"))},
            rules=Rules(
                limits=self.limits, max_steps=STEPS, max_output_tokens=500, history_lines=16,
                high_water_tokens=6_000, compact_every=8,
            ),
            secrets=OwnSecrets({"fake": self.canaries["provider"].token}),
            search=searching(self.raw, self.clock, self.folder / "search"),
            skills=SKILLS,
            web=self.internet.pages(),
            web_search=SearchService(watcher.mint, watcher.searched),
            consequences=CONSEQUENCES,
            jobs=JOBS,
        )  # fmt: skip
        runtime = reduce(lambda made, entry: entry.install(made), self.entries, runtime)
        runtime = bug.seed(runtime, self)
        ports: dict[str, Any] = {
            name: Fragile(getattr(runtime.home, name), self.fuse)
            for name in Home.__dataclass_fields__
        }
        return replace(runtime, home=replace(runtime.home, **ports))

    def _furnish(self) -> None:
        """Agents with files and memories, and secrets inside and outside of their workspaces."""
        for agent_id, language in AGENTS.items():
            self._agent(agent_id, language)
        for session_id, agents in {**SESSIONS, SAFE: ("kani",)}.items():
            self.session(session_id, agents)
        tokens = {name: self.canaries[name].token for name in HOST}
        for place, name in (
            ("owner.key", "owner"), ("secrets.json", "provider"), ("secret.txt", "above"),
            ("agents/secret.txt", "beside"), ("agents/kani/secret.txt", "vault"),
            ("installation.secret", "installation"),
        ):  # fmt: skip
            (self.folder / place).write_text(tokens[name], encoding="utf-8")
        for agent_id in AGENTS:
            inside = self.folder / "agents" / agent_id / "workspace"
            (inside / "link.md").symlink_to(self.folder / "secret.txt")
            (inside / "link").symlink_to(self.folder)

    def _agent(self, agent_id: str, language: Language) -> None:
        agent = Agent(
            id=agent_id,
            name=agent_id,
            language=language,
            model=f"fake:{agent_id}",
            policy=self.dice.choice(POLICIES),
            heartbeat=Heartbeat(
                interval_seconds=601, instructions=self.dice.choice(("", names.text(self.dice)))
            ),
            created_at=START,
            updated_at=START,
        )
        shown = agent_id if self.dice.random() < _PLAINLY else names.name(self.dice)
        profile = Profile(
            agent=agent,
            soul=Soul(persona_name=shown),
            identity=Identity(name=shown, job_title=names.name(self.dice)),
        )
        self.raw.agents.create(profile)
        self.watcher.policies[agent_id] = agent.policy
        own = self.canaries[f"file-{agent_id}"].token
        for path in ("notes/own.md", "vault/Own.md"):
            self.raw.files.write(agent_id, path, f"# Own\n{own} 機械学習 today\n".encode())
        memory = Memory(
            id=self.clock.new_id(),
            category="fact",
            content=f"Hello today {self.canaries[f'memory-{agent_id}'].token}",
            created_at=START,
            updated_at=START,
        )
        self.raw.facts.commit(new_fact(agent_id, "memory", memory.id, memory))

    def session(self, session_id: str, agents: tuple[str, ...]) -> None:
        """A new session of these agents; what the name of a private one says is private too."""
        now, secret = self.clock.now(), ""
        if session_id == SAFE:
            secret = self.canaries[SAFE].token
        self.raw.sessions.create(
            Session(
                id=session_id,
                participants=tuple(Participant(agent_id=agent) for agent in agents),
                name=names.name(self.dice, secret),
                theme=names.text(self.dice, secret),
                created_by="owner",
                created_at=now,
                updated_at=now,
            )
        )

    def outside(self) -> dict[str, str]:
        """Every file outside of the workspaces that nobody may change, by its content."""
        found: dict[str, str] = {}
        for place in ("", "agents", "agents/kani", "agents/crab"):
            for path in (self.folder / place).iterdir():
                if path.is_file() and not path.name.startswith("opencrab.db"):
                    name = str(path.relative_to(self.folder))
                    found[name] = sha256(path.read_bytes()).hexdigest()
        return found

    def drawn(self) -> dict[tuple[str, str], int]:
        """What every budget has given away, by scope and day."""
        with self.database.read_transaction() as items:
            rows = items.execute("SELECT pk, sk, body FROM item WHERE pk LIKE 'BUDGET#%'")
            return {(pk.partition("#")[2], sk): int(body) for pk, sk, body in rows.fetchall()}

    def queued(self) -> int:
        """How many messages wait in the queues."""
        with self.database.read_transaction() as items:
            return int(items.execute("SELECT count(*) FROM queue").fetchone()[0])

    def has_work(self) -> bool:
        """Whether a worker would receive a message now."""
        now = sqlite_milliseconds(self.clock.now())
        visible = (cast(Any, queue).next_visible_at() for queue in self._queues())
        return any(at is not None and at <= now for at in visible)

    def alive(self, act: Callable[[], object]) -> bool:
        """Do something that may be killed; False when it was."""
        try:
            act()
        except Killed:
            self.restart()
            return False
        finally:
            self.fuse.left, self.fuse.act, self.fuse.within = None, None, False
            self.watcher.running = None
        return True

    def restart(self) -> None:
        """A new process takes over: what the dead one held is given back."""
        for queue in self._queues():
            cast(Any, queue).release()
        for entry in self.entries:
            entry.restarted()

    def _queues(self) -> tuple[Any, ...]:
        events = (self.raw.interactions,) if self.entries else ()
        return (self.raw.turns, self.raw.deliveries, self.raw.compactions, *events)


def _canaries(dice: random.Random) -> dict[str, Canary]:
    def token(kind: str) -> str:
        return f"CANARY-{kind.upper()}-{dice.randrange(16**8):08x}"

    found = {name: Canary(token("host")) for name in HOST}
    for agent_id in AGENTS:
        found[f"file-{agent_id}"] = Canary(token("file"), agent=agent_id)
        found[f"memory-{agent_id}"] = Canary(token("memory"), agent=agent_id, not_outsiders=True)
    found[SAFE] = Canary(token("line"), agent="kani", session=SAFE)
    return found
