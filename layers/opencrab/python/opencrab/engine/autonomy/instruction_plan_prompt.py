"""The prompt that asks a model for the plan of an owner's standing instructions."""

from collections.abc import Iterable
from datetime import datetime

from opencrab.domain.agents.agent import Agent
from opencrab.domain.agents.heartbeat import local_time_of_agent
from opencrab.domain.autonomy.instruction_plan import MOST_GOALS, PLAN_EDGES, PlannedGoal
from opencrab.domain.value import Language
from opencrab.ports.texts import Texts
from opencrab.ports.turn.action import one_line

OUTPUT_TOKENS = 2_048

_PURPOSE = 1_000
_EVENTS = "speech, goal.abandoned, goal.resumed, world.*"
_TEXTS = Texts(__file__)


def autonomy_instruction_plan_rules(name: str, language: Language, zone: str) -> str:
    """Return the system prompt of the question."""
    return _TEXTS["rules"][language].format(
        name=one_line(name), most=MOST_GOALS, zone=zone, events=_EVENTS
    )


def autonomy_instruction_plan_question(
    agent: Agent, actions: Iterable[str], now: datetime, zone: str
) -> str:
    """Return the question: the instructions between two marks, with what helps to plan them."""
    language = agent.language
    begin, end = PLAN_EDGES[language]
    lines = agent.heartbeat.instructions.strip().splitlines()
    # No line of the owner's can end the quotation.
    told = "\n".join("…" if line.strip() in {begin, end} else line for line in lines)
    return _TEXTS["question"][language].format(
        now=f"{local_time_of_agent(now, zone):%Y-%m-%d %H:%M %A}",
        zone=zone,
        purpose=one_line(agent.purpose, _PURPOSE) or _TEXTS["no_purpose"][language],
        actions=", ".join(actions),
        begin=begin,
        instructions=told,
        end=end,
    )


def autonomy_planned_goal_text(goal: PlannedGoal, language: Language) -> str:
    """Return the instructions of a planned goal, with its success conditions as the last line."""
    if not goal.done_when:
        return goal.words
    return f"{goal.words}\n{_TEXTS['done_when'][language].format(conditions=goal.done_when)}"
