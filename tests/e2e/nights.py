"""Days that agents have lived through, and the nights after them."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from opencrab.adapters.sqlite.database import WriteBatch
from opencrab.adapters.sqlite.turn.rows import (
    add_sqlite_usage_counts,
    sqlite_call_counts,
    sqlite_usage_row,
)
from opencrab.domain.agents.agent import Agent
from opencrab.domain.agents.agent_state import MIND, AgentState
from opencrab.domain.document import Document, new_fact
from opencrab.domain.errors import OpenCrabError
from opencrab.domain.identifier import new_ulid
from opencrab.domain.learning.signals import SIGNALS, ServedCalls, TurnSignals
from opencrab.domain.learning.skill_trials import index_learned_skill
from opencrab.domain.memory.memory import EXPERIENCE, Experience
from opencrab.domain.models.optimization import Aim, LearningMode, OptimizationGoal
from opencrab.domain.models.routing import LlmConfig, Routing, Use
from opencrab.domain.outcome import Outcome as Lived
from opencrab.domain.skills.skill import SKILL, AcquiredSkill, SkillStatus, SourceType
from opencrab.domain.turn.turn import Trigger, TurnStatus
from opencrab.domain.usage.ledger import UsageRow
from opencrab.domain.value import Language
from opencrab.engine.learning import changes as learned
from opencrab.engine.learning.nightly.run import run_nightly_review
from opencrab.engine.learning.nightly.schedule import send_nightly_learning_reviews
from opencrab.engine.runtime import Runtime
from opencrab.engine.turn.run import Pace
from opencrab.ports.turn.queue import MessageOutcome
from tests.contract.example import usage_row
from tests.crash.outside import Reply
from tests.e2e.house import House

ROUTING = Routing(
    default="fake:dear",
    aliases={"dear": "fake:dear", "cheap": "fake:cheap"},
    selectable=("cheap", "dear"),
)
CHAT = "conversation/chat"
QUIET = (Reply("ok"),)
APPLY: dict[str, Any] = {"leave": LearningMode.APPLY}
_AT_ONCE = 20


def learner(house: House, name: str = "crab", **aim: Any) -> Agent:
    """An agent that may choose between two models, and what its owner lets it learn."""
    house.provider.routing = ROUTING
    agent = house.agent(name, QUIET, aim.pop("language", Language.EN))
    wanted = {"goal": OptimizationGoal.MAXIMIZE_QUALITY, "chosen": True, **aim}
    llm = LlmConfig(aim=Aim.model_validate(wanted))
    return house.home.agents.save(agent.replaced(model=None, llm=llm))


def learnt(house: House, name: str, agent_id: str = "crab", **changes: Any) -> AcquiredSkill:
    """A skill that an agent tries."""
    skill = AcquiredSkill(
        name=name,
        description=f"how to {name}",
        guidance="Do it well.",
        source_type=SourceType.EXPERIENCE,
        status=SkillStatus.CANDIDATE,
        created_at=house.clock.now(),
        updated_at=house.clock.now(),
    ).replaced(**changes)
    facts = house.home.facts
    stored = facts.get(agent_id, MIND, MIND)
    mind = index_learned_skill(stored.read(AgentState) if stored else AgentState(), skill)
    known = stored.with_body(mind) if stored else new_fact(agent_id, MIND, MIND, mind)
    facts.commit(known, new_fact(agent_id, SKILL, name, skill))
    return skill


def skill(house: House, name: str, agent_id: str = "crab") -> AcquiredSkill:
    """A skill as it is stored."""
    stored = house.home.facts.get(agent_id, SKILL, name)
    assert stored is not None
    return stored.read(AcquiredSkill)


def mind(house: House, agent_id: str = "crab") -> AgentState:
    """An agent's mind."""
    return learned.learned_mind(house.home.facts, agent_id)


def served(model: str, **changes: Any) -> ServedCalls:
    """Calls to a model for conversation."""
    known = ServedCalls(
        model=f"fake:{model}",
        purpose=Use.CONVERSATION,
        task_type="chat",
        chosen_by="default",
        cost={"dear": 9_000, "cheap": 1_000}.get(model, 5_000),
        latency_ms=800,
    )
    return known.replaced(**changes)


def lived(
    house: House,
    turns: int,
    *,
    good: bool | None,
    model: str = "dear",
    agent_id: str = "crab",
    at: datetime | None = None,
    **changes: Any,
) -> None:
    """Turns of now that went well or not, as their ends told."""
    first = at or house.clock.now()
    told = changes.pop("name", f"{model}-{good}-{'-'.join(sorted(changes))}")
    facts = list[Document]()
    for number in range(turns):
        moment = first + timedelta(milliseconds=number)
        signals = TurnSignals(
            turn_id=f"{told}-{moment:%d%H%M%S}-{number}",
            session_id="s",
            at=moment,
            trigger=Trigger.MESSAGE,
            status=TurnStatus.COMPLETED,
            served=(served(model),),
            task_success=good,
            spoke=True,
        ).replaced(**changes)
        facts.append(new_fact(agent_id, SIGNALS, signals.id, signals))
    for place in range(0, len(facts), _AT_ONCE):
        house.home.facts.commit(*facts[place : place + _AT_ONCE])


def sleep(house: House, hours: float = 24, *, twice: bool = False) -> int:
    """Let the time of the next night come, and all agents go through it."""
    house.clock.advance(hours * 3_600)
    sent = send_nightly_learning_reviews(house.runtime)
    drain(house, twice=twice)
    return sent


def drain(house: House, *, twice: bool = False) -> int:
    """Handle all nights that are visible, as often as a queue may deliver each of them."""
    queue, handled = house.runtime.home.nights, 0
    while (delivery := queue.receive(visibility_seconds=600, wait_seconds=0)) is not None:
        outcomes = [run_nightly_review(house.runtime, delivery, Pace()) for _ in range(1 + twice)]
        if outcomes[0] is MessageOutcome.FINISHED:
            queue.acknowledge(delivery.receipt)
        handled += 1
    return handled


def told(house: House, name: str, agent_id: str = "crab") -> str:
    """A learning report."""
    return house.home.files.read(agent_id, f"reports/learning/{name}.md")[1].decode()


def breaking(
    house: House, port: str, method: str, error: OpenCrabError, *, after: int = 0
) -> Runtime:
    """The house for somebody who fails at once, or as soon as he has done so many things."""
    calls = 0

    class Breaking:
        def __getattr__(self, name: str) -> Any:
            inner = getattr(getattr(house.runtime.home, port), name)
            return partial(counted, inner) if name == method else inner

    def counted(inner: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        nonlocal calls
        calls += 1
        found = inner(*arguments, **named) if calls <= after else None
        if calls < after:
            return found
        raise error

    ports: dict[str, Any] = {port: Breaking()}
    return replace(house.runtime, home=replace(house.runtime.home, **ports))


def active(house: House, agent_id: str, day: int, **changes: Any) -> None:
    """An agent that called a model on a day of January."""
    at = house.clock.now().replace(day=day)
    count(house, usage_row(agent_id=agent_id, at=at, **changes))


def count(house: House, *rows: UsageRow, kept: bool = False) -> None:
    """Count calls as the journal does; the rows themselves are there only if `kept`."""
    tallies: Any = house.home.tallies
    counts = sqlite_call_counts(rows)
    batch = WriteBatch(new=[sqlite_usage_row(row) for row in rows if kept])
    with tallies._database.write_transaction() as items:
        add_sqlite_usage_counts(batch, counts, items.get_many([one.place for one in counts]))
        items.write(batch)


def bodies(house: House) -> Iterator[str]:
    """All messages about nights that wait."""
    queue = house.home.nights
    while (delivery := queue.receive(visibility_seconds=600, wait_seconds=0)) is not None:
        yield delivery.body


def remark(house: House, turn_id: str, outcome: Lived, number: int, ended_at: datetime) -> None:
    """What a person said of a turn, as feedback keeps it."""
    said = Experience(
        id=new_ulid(int(ended_at.timestamp() * 1_000), bytes([number] * 10)),
        experience="They said so.",
        outcome=outcome,
        lesson="Do it like this.",
        about_turn=turn_id,
        from_person="owner",
        at=house.clock.now() + timedelta(seconds=number),
    )
    house.home.facts.commit(new_fact("crab", EXPERIENCE, said.id, said))
