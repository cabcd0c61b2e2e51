"""An agent that carries an instruction out by a script, and what a test asks about its goals."""

from typing import Any

from opencrab.domain.agents.agent_state import MIND, Agenda, AgentState
from opencrab.domain.conversation.message import LineKind, Message, Sender, TextPart
from opencrab.domain.goals.goal import Goal
from opencrab.domain.value import Language
from opencrab.engine.autonomy.sweep import sweep_due_items
from opencrab.engine.goals import instructions
from opencrab.engine.goals.pausing import require_goal_document
from opencrab.engine.turn.admission import admit_turns_of_message
from tests.crash.errand import OWNER, scripts
from tests.crash.outside import Reply, Script
from tests.e2e.house import House


def crab(house: House, language: Language = Language.EN, **others: Script) -> None:
    """An agent that can carry out G1, and G2 in the same way; `others` change the script."""
    mine = scripts("crab")
    agent = house.agent("crab", mine["crab"], language)
    house.session(agent)
    second = {
        key.replace("G1", "G2"): _second(script) for key, script in mine.items() if "@" in key
    }
    house.scripts.update({**mine, **second})
    house.scripts.update({f"crab@{key.replace('_', '-')}": value for key, value in others.items()})


def _second(script: Script) -> Script:
    def renamed(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: renamed(item) for key, item in value.items()}
        return value.replace("G1", "G2") if isinstance(value, str) else value

    return tuple(
        Reply(text=reply.text, calls=tuple((name, renamed(args)) for name, args in reply.calls))
        for reply in script
    )


def instruct(house: House, text: str = "メモを整理して", key: str = "k") -> Goal:
    return instructions.start_instruction_as_goal(
        house.runtime, "crab", instructions.NewInstruction(instruction=text), OWNER, key=key
    )


def goal(house: House, goal_id: str = "G1") -> Goal:
    return require_goal_document(house.runtime.home.facts, "crab", goal_id).read(Goal)


def agenda(house: House) -> Agenda:
    fact = house.home.facts.get("crab", MIND, MIND)
    assert fact is not None
    return fact.read(AgentState).agenda


def carried(house: House, rounds: int = 20) -> None:
    house.work()
    for _ in range(rounds):
        house.later(1)


def until(house: House, label: str) -> None:
    """Work until the turn of a task is queued, and do none of it."""
    for _ in range(30):
        if (current := goal(house).current) is not None and current.id == label:
            sweep_due_items(house.runtime)
            return
        house.later(1)
    raise AssertionError(f"{label} never came")


def told(house: House, goal_id: str = "G1") -> list[str]:
    """What OpenCrab said in a goal's session about ends, one line each."""
    lines = house.home.journal.lines(goal(house, goal_id).session_id, limit=1_000)
    return [
        row
        for line in lines
        if line.kind is LineKind.SYSTEM
        for row in line.text.splitlines()
        if " DONE " in row or " FAIL " in row
    ]


def aside(house: House, text: str = "いま何を?") -> None:
    message = Message(
        source=OWNER.source,
        source_id=text,
        principal_id="owner",
        sender=Sender(id="owner", name="Owner"),
        authority=OWNER.authority,
        parts=(TextPart(text=text),),
    )
    admit_turns_of_message(house.runtime, goal(house).session_id, message)


def at_rest(house: House) -> None:
    assert (agenda(house).current, agenda(house).waiting) == (None, ())
