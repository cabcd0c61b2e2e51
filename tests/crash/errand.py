"""One instruction carried out from plan to report, while something goes wrong at a given point.

A point lies before every call of a port, the model and the bell, whoever makes it: worker, sweep
or client. What was done between two of them outlives nobody.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.agents.agent_state import MIND, Agenda, AgentState
from opencrab.domain.errors import OpenCrabError, Unavailable
from opencrab.domain.goals.goal import Goal
from opencrab.domain.money.budget import Limits, agent_budget_scope
from opencrab.domain.turn.turn import Turn
from opencrab.domain.value import Language
from opencrab.engine.approvals import approvals
from opencrab.engine.autonomy.sweep import run_autonomy_sweep
from opencrab.engine.goals import instructions
from opencrab.engine.goals.pausing import require_goal_document
from opencrab.engine.runtime import Rules
from opencrab.engine.turn.run import Pace, run_turn
from opencrab.ports.home import Home
from opencrab.ports.models.model import ChatModel
from opencrab.ports.turn.queue import MessageOutcome
from tests.contract.homes import OpenHome
from tests.crash.outside import Bell, Reply, registry
from tests.crash.scheduling import Killed
from tests.e2e.house import House

OWNER = instructions.InstructionGiver("owner", "Owner", Source.REST, Authority.OWNER)
RICH = Rules(
    limits=Limits(
        turn_micro_usd=10**9, agent_day_micro_usd=10**10, installation_day_micro_usd=10**12
    )
)
GUARDED = ("plan_goal", "finish_task", "fail_task", "report", "ring_bell")
"""A policy under which only writing a file asks."""

FAILS, SPEAKS = 3, 4
"""Places of the task that fails, and of the one that ends in plain words."""

_WITHIN = frozenset({"info", "encode"})
"""What of a model stays in the process."""

_PATIENCE = (1, 70, 400, 2_000)


def plan(count: int = 5) -> tuple[str, dict[str, Any]]:
    """A plan of so many tasks, in both languages."""
    names = [f"{n}番目のメモを書く" if n % 2 else f"Write note {n}" for n in range(1, count + 1)]
    rows = [{"name": name, "precondition": "…", "postcondition": "a note"} for name in names]
    return "plan_goal", {"goal_id": "G1", "tasks": rows}


def scripts(name: str) -> dict[str, tuple[Reply, ...]]:
    """How an agent of this name carries G1 out: each task writes, rings and ends in its way."""
    made: dict[str, tuple[Reply, ...]] = {
        name: (Reply(text="はい、聞いています"),),
        f"{name}@G1": (Reply(calls=(plan(),)),),
        f"{name}@G1/report": (
            Reply(calls=(("report", {"summary": "整理しました", "results": ["1.md", "9.md"]}),)),
        ),
    }
    for n in range(1, 6):
        end = Reply(calls=(("finish_task", {"task_id": f"G1-T{n}", "result": "書いた"}),))
        if n == FAILS:
            end = Reply(calls=(("fail_task", {"task_id": f"G1-T{n}", "cause": "見つからない"}),))
        elif n == SPEAKS:
            end = Reply(text="書きました")
        write = ("ws_write", {"path": f"{n}.md", "content": f"# {n}"})
        both = (write, ("ring_bell", {"tone": f"{n}"}))
        made[f"{name}@G1-T{n}"] = (Reply(calls=both), end)
    return made


@dataclass
class Trouble:
    """What happens at which point; `seen` are the points that there were."""

    at: dict[int, Callable[[str], None]] = field(default_factory=dict)
    seen: list[str] = field(default_factory=list)
    after: bool = False
    """Whether it happens after the call at the point instead of before it."""


class Door:
    """A port whose calls are points."""

    def __init__(self, target: Any, port: str, errand: "Errand") -> None:
        self._target, self._port, self._errand = target, port, errand

    def __getattr__(self, method: str) -> Any:
        inner = getattr(self._target, method)
        if method in _WITHIN or not callable(inner):
            return inner

        def call(*arguments: Any, **named: Any) -> Any:
            return self._errand.passed(self._port, method, lambda: inner(*arguments, **named))

        return call


class Errand:
    """A house in which agents get one instruction each, one after another."""

    def __init__(self, opens: OpenHome, folder: Path) -> None:
        self.house = House(opens, folder, RICH)
        self.name, self.points = opens.__name__, 0
        self.trouble = Trouble()
        self.turns: dict[str, Turn] = {}
        self.plays = 0
        self.problems: list[str] = []
        ports = {
            name: Door(getattr(self.house.home, name), name, self)
            for name in Home.__dataclass_fields__
        }
        house = self.house
        house.provider.wrap = lambda model: cast(ChatModel, Door(model, "model", self))
        self.runtime = replace(
            house.runtime,
            home=replace(house.home, **cast(Any, ports)),
            actions=registry(cast(Bell, Door(house.bell, "bell", self))),
        )
        self.agent_id = ""

    def begin(self, trouble: Trouble, *, guarded: bool = False, begun: bool = True) -> None:
        """A new agent with a new instruction; nothing of earlier ones is left to do."""
        self.plays += 1
        self.agent_id = f"crab-{self.plays}"
        self.turns, self.problems = {}, []
        self.house.provider.reset()
        self.house.bell.rings = []
        mine = scripts(self.agent_id)
        language = Language.JA if self.plays % 2 else Language.EN
        agent = self.house.agent(self.agent_id, mine[self.agent_id], language)
        self.house.scripts.update(mine)
        if guarded:
            self.house.home.agents.save(agent.replaced(policy=GUARDED))
        self.trouble = trouble
        if begun:
            self.client(self.undertake)

    def undertake(self) -> None:
        """The owner gives the instruction, always with the same key."""
        asked = instructions.NewInstruction(instruction="メモを整理して / Organise the notes")
        instructions.start_instruction_as_goal(self.runtime, self.agent_id, asked, OWNER, key="k")

    def client(self, act: Callable[[], object]) -> None:
        """Somebody outside, who tries again when killed or told to."""
        for _ in range(3):
            try:
                act()
            except (Killed, Unavailable):
                continue
            return

    def passed(self, port: str, method: str, call: Callable[[], Any]) -> Any:
        """One point: whatever is to happen there happens, and the call."""
        trouble = self.trouble
        trouble.seen.append(f"{port}.{method}")
        happens = trouble.at.pop(len(trouble.seen), None)
        if happens is not None and not trouble.after:
            happens(f"{port}.{method}")
        answer = call()
        if (port, method) == ("journal", "admit"):
            self.turns.update({turn.id: turn for turn in answer})
        if happens is not None and trouble.after:
            happens(f"{port}.{method}")
        return answer

    def rest(self, decide: Callable[[], bool] = lambda: False) -> None:
        """Let everything happen until nothing is left to do but what somebody must resume."""
        for _ in range(60):
            for seconds in _PATIENCE:
                before = self._moved()
                self.house.clock.advance(seconds)
                with suppress(Killed, Unavailable):
                    run_autonomy_sweep(self.runtime)
                self.work()
                if decide() or self._moved() != before:
                    break
            else:
                return
        self.problems.append("no rest")

    def work(self) -> None:
        """Handle the messages that are visible; a worker that dies is followed by another."""
        while self._one():
            pass

    def _one(self) -> bool:
        queue = self.runtime.home.turns
        try:
            delivery = queue.receive(visibility_seconds=1_800, wait_seconds=0)
            if delivery is None:
                return False
            try:
                if run_turn(self.runtime, delivery, Pace()) is MessageOutcome.FINISHED:
                    queue.acknowledge(delivery.receipt)
            except Unavailable:
                queue.continue_later(delivery.receipt, 2)
        except (Killed, Unavailable):
            pass
        except OpenCrabError as error:
            self.problems.append(f"a worker raised {error!r}")
            return False
        return True

    def _moved(self) -> int:
        """Grows with everything that moves a turn."""
        moves = {"journal.commit", "journal.claim", "journal.admit", "journal.resume"}
        return sum(point in moves for point in self.trouble.seen)

    @property
    def goal(self) -> Goal:
        """The goal as it is stored."""
        return require_goal_document(self.house.runtime.home.facts, self.agent_id, "G1").read(Goal)

    @property
    def agenda(self) -> Agenda:
        """The agent's agenda as it is stored."""
        fact = self.house.home.facts.get(self.agent_id, MIND, MIND)
        return AgentState().agenda if fact is None else fact.read(AgentState).agenda

    def decides(self, *, approved: bool) -> bool:
        """The owner decides what waits; whether anything did."""
        who, waited = approvals.Decider(id="owner", is_owner=True), False
        for found in approvals.open_or_decided_approvals(
            self.house.runtime.home.facts, decided=False
        ):
            if found.agent_id == self.agent_id:
                waited = True
                self.client(
                    lambda wanted=found.id: approvals.decide_approval(  # type: ignore[misc]
                        self.runtime, wanted, approved=approved, who=who
                    )
                )
        return waited

    def drawn(self) -> int:
        """What this agent drew from all days that it lived in."""
        days = {block.day for key in self.turns for block in self.house.turn(key).blocks}
        scope = agent_budget_scope(self.agent_id)
        return sum(self.house.home.budgets.drawn_micro_usd(scope, day) for day in days)
