"""Earlier steps: what an agent did before towards the same aspiration, for its next step."""

from collections.abc import Iterable

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


def earlier_goals_text(board: GoalBoard, name: str) -> str:
    """Return the reports and files of the last steps with this name; "" if there were none.

    Of a step that read untrusted words only its day is told, so that the next one stays clean.
    """
    agent = board.profile.agent
    stored = board.facts_port.page(agent.id, GOAL, limit=_LOOKED_AT, newest_first=True)
    goals = (fact.read(Goal) for fact in stored)
    ended = [goal for goal in goals if goal.name == name and _is_ended_own_goal(goal)]
    told = [_one_goal(goal, agent.language) for goal in ended[:GOALS_TOLD]]
    return earlier_goal_text("head", agent.language, steps="\n".join(told)) if told else ""


def _is_ended_own_goal(goal: Goal) -> bool:
    return is_self_set_goal(goal) and goal.ended_at is not None


def _one_goal(goal: Goal, language: Language) -> str:
    day = f"{goal.ended_at:%Y-%m-%d}"
    if goal.taint:
        return earlier_goal_text("untrusted", language, day=day)
    if goal.status is not GoalStatus.COMPLETED:
        return earlier_goal_text("nothing", language, day=day)
    paths = _files(goal)
    files = earlier_goal_text("files", language, paths=", ".join(paths)) if paths else ""
    report = one_line(goal.report, _REPORT)
    return earlier_goal_text("done", language, day=day, report=report, files=files)


def _files(goal: Goal) -> list[str]:
    """Return the files that a goal's turns wrote, the last ones."""
    receipts = (*(each for task in goal.tasks for each in task.receipts), *goal.receipts)
    return _last(receipt.path for receipt in receipts if receipt.path is not None)


def _last(paths: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(paths))[-_FILES:]
