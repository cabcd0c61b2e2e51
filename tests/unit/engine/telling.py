"""Agents whose turns can be told: with plans, approvals and failures, in both languages."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.approvals.policy import ApprovalPolicy
from opencrab.domain.value import Language
from opencrab.engine.approvals import approvals
from opencrab.engine.approvals.approvals import Decider
from opencrab.engine.goals.instructions import (
    InstructionGiver,
    NewInstruction,
    start_instruction_as_goal,
)
from opencrab.engine.insight.event_log import page_of_insight_events
from opencrab.engine.insight.turn_events import Event
from tests.contract.homes import HOMES
from tests.crash.outside import Reply, Script
from tests.e2e.house import House

INSTRUCTION = {Language.JA: "ノートを整理して", Language.EN: "Organise the notes"}
OWNER = InstructionGiver("owner", "Owner", Source.REST, Authority.OWNER)


@contextmanager
def house(folder: Path) -> Iterator[House]:
    """An empty house on a file."""
    opened = House(HOMES[0], folder)
    try:
        yield opened
    finally:
        opened.close()


def plan(language: Language) -> Reply:
    """A plan of five tasks, thought of aloud."""
    word = {Language.JA: "書く", Language.EN: "write"}[language]
    tasks = [
        {"name": f"{word} {n}", "precondition": "a", "postcondition": "b"} for n in range(1, 6)
    ]
    return Reply(text=f"{word}…", calls=(("plan_goal", {"goal_id": "G1", "tasks": tasks}),))


def planner(language: Language = Language.EN) -> tuple[Script, ...]:
    """A script for each turn: the plan, four tasks that are done, one that fails; the report."""
    done = (
        (
            Reply(calls=(("ws_write", {"path": f"notes/{n}.md", "content": "x"}),)),
            Reply(calls=(("finish_task", {"task_id": f"G1-T{n}", "result": "ok"}),)),
        )
        for n in range(1, 5)
    )
    last = (
        Reply(calls=(("fail_task", {"task_id": "G1-T5", "cause": "?"}),)),
        Reply(calls=(("report", {"summary": "All done", "results": []}),)),
    )
    return ((plan(language), Reply()), *done, last)


def tell_all(house: House, agent: str, limit: int = 100) -> list[Event]:
    """An agent's whole history, page after page."""
    found: list[Event] = []
    place = ""
    while True:
        page = page_of_insight_events(house.runtime, agent, after=place, limit=limit)
        found += page.events
        if page.place == place:
            return found
        place = page.place


def shown(events: list[Event]) -> list[dict[str, Any]]:
    """Events as they are written, without their times."""
    return [event.model_dump(mode="json", exclude={"time"}) for event in events]


def asking(house: House, name: str, language: Language = Language.EN) -> None:
    """An agent in session `s` whose every action asks first."""
    house.session(house.agent(name, (), language))
    agent = house.home.agents.get(name).agent
    house.home.agents.save(agent.replaced(policy=ApprovalPolicy.STRICT, purpose="片づける"))


def decided(house: House, *, approved: bool) -> None:
    """The owner decides the one approval that is open, and the turn goes on."""
    (asked,) = approvals.open_or_decided_approvals(house.runtime.home.facts, decided=False)
    owner = Decider("owner", is_owner=True)
    approvals.decide_approval(house.runtime, asked.id, approved=approved, who=owner)


def instruct(
    house: House, agent: str, turns: tuple[Script, ...], language: Language = Language.EN
) -> None:
    """Give an agent something to do; each of its turns follows a script of its own."""
    asked = NewInstruction(instruction=INSTRUCTION[language])
    start_instruction_as_goal(house.runtime, agent, asked, OWNER, key="k1")
    for script in turns:
        house.scripts[agent] = script
        house.later(1)
