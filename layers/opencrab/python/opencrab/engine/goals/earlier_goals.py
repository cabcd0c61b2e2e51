"""Earlier steps: what an agent did before towards the same aspiration, for its next step."""

from collections.abc import Iterable, Sequence

from opencrab.domain.agents.heartbeat import local_time_of_agent
from opencrab.domain.goals.goal import GOAL, Goal, GoalStatus
from opencrab.domain.value import Language
from opencrab.engine.goals.generation_text import earlier_goal_text
from opencrab.engine.goals.queue import GoalBoard
from opencrab.engine.goals.self_goals import is_self_set_goal
from opencrab.ports.turn.action import one_line

GOALS_TOLD = 3
"""The most earlier steps that a next one is told of, the newest first."""

_LOOKED_AT = 50
_REPORT = 400
_FILES = 5


def ended_own_goals(board: GoalBoard) -> list[Goal]:
    """Return the newest goals that the agent set itself and that have ended, the newest first."""
    agent_id = board.profile.agent.id
    stored = board.facts_port.page(agent_id, GOAL, limit=_LOOKED_AT, newest_first=True)
    goals = (fact.read(Goal) for fact in stored)
    return [goal for goal in goals if is_self_set_goal(goal) and goal.ended_at is not None]


def earlier_goals_text(
    ended: Sequence[Goal], name: str, language: Language, zone: str = "UTC"
) -> str:
    """Return the reports and files of the last steps with this name; "" if there were none.

    Of a step that read untrusted words only its day is told, so that the next one stays clean.
    """
    steps = [_one_goal(goal, language, zone) for goal in ended if goal.name == name][:GOALS_TOLD]
    return earlier_goal_text("head", language, steps="\n".join(steps)) if steps else ""


def _one_goal(goal: Goal, language: Language, zone: str) -> str:
    ended_at = local_time_of_agent(goal.ended_at or goal.created_at, zone)
    day, report = f"{ended_at:%Y-%m-%d}", one_line(goal.report, _REPORT)
    if goal.taint:
        return earlier_goal_text("untrusted", language, day=day)
    if goal.status is not GoalStatus.COMPLETED:
        return earlier_goal_text("said" if report else "nothing", language, day=day, report=report)
    paths = _files(goal)
    files = earlier_goal_text("files", language, paths=", ".join(paths)) if paths else ""
    return earlier_goal_text("done", language, day=day, report=report, files=files)


def _files(goal: Goal) -> list[str]:
    """Return the files that a goal's turns wrote, the last ones."""
    receipts = (*(each for task in goal.tasks for each in task.receipts), *goal.receipts)
    return _last(receipt.path for receipt in receipts if receipt.path is not None)


def _last(paths: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(paths))[-_FILES:]
