"""How goals of a simulation ended, checked anew from what is stored: no agent is believed."""

from collections import Counter
from collections.abc import Iterable
from enum import StrEnum

from opencrab.domain.errors import Invalid
from opencrab.domain.goals.condition import first_unmet_goal_condition, parse_goal_conditions
from opencrab.domain.goals.goal import Goal, GoalSource, GoalStatus, TaskStatus
from opencrab.domain.goals.promise import PROMISE, Promise, PromiseStatus, is_goal_promised
from opencrab.domain.goals.value_estimate import Horizon
from opencrab.domain.peers.talk import PEER_TALK, PeerTalk
from opencrab.domain.turn.success_condition import (
    first_condition_unmet_by_turns,
    turn_success_conditions_of_goal,
)
from opencrab.ports.home import Home
from opencrab.ports.paging import all_pages

_TALKING = "talk_to_peer"


class GoalEnd(StrEnum):
    """How a goal ended: by a condition that code checked, by a deed in the journal, by words alone.

    An abandoned one was given up, cancelled, not reached, or its promise was broken.
    """

    CHECKED = "checked"
    DEED = "deed"
    WORDS = "words"
    ABANDONED = "abandoned"


def goal_ends_in_simulation(home: Home, agent_id: str, goals: Iterable[Goal]) -> Counter[GoalEnd]:
    """Count the ends of an agent's objectives; open ones and aspirations are left out."""
    promises = {each.id: each for each in promises_in_simulation(home, agent_id)}
    answered = {
        fact.read(PeerTalk).goal
        for fact in all_pages(home.facts, agent_id, PEER_TALK)
        if fact.read(PeerTalk).answer_turn
    }
    ended = (each for each in goals if each.status.is_end and each.horizon is Horizon.OBJECTIVE)
    return Counter(_end(home, goal, promises, answered) for goal in ended)


def promises_in_simulation(home: Home, agent_id: str) -> list[Promise]:
    """Return the promises that an agent made."""
    return [fact.read(Promise) for fact in all_pages(home.facts, agent_id, PROMISE)]


def _end(home: Home, goal: Goal, promises: dict[str, Promise], answered: set[str]) -> GoalEnd:
    if is_goal_promised(goal):
        promise = promises.get(goal.session_id)
        if promise is None or promise.status is not PromiseStatus.KEPT:
            return GoalEnd.ABANDONED
        return GoalEnd.CHECKED if _holds(home, goal, promise.done_when) else GoalEnd.DEED
    if goal.status is GoalStatus.ABANDONED:
        return GoalEnd.ABANDONED
    if _is_checked(home, goal, answered):
        return GoalEnd.CHECKED
    return GoalEnd.DEED if goal.has_deeds else GoalEnd.WORDS


def _is_checked(home: Home, goal: Goal, answered: set[str]) -> bool:
    """Check whether a completed goal has a condition, and it holds."""
    if turn_success_conditions_of_goal(goal.instruction):
        receipts = (*goal.receipts, *(each for task in goal.tasks for each in task.receipts))
        effects = ((each.action, each.path) for each in receipts)
        return first_condition_unmet_by_turns(goal.instruction, effects) is None
    if goal.tasks:
        return all(
            task.status is TaskStatus.DONE and _holds(home, goal, task.postcondition)
            for task in goal.tasks
        )
    asked = any(each.action == _TALKING for each in goal.receipts)
    return goal.source is GoalSource.SOCIAL and asked and goal.id in answered


def _holds(home: Home, goal: Goal, condition: str) -> bool:
    """Check whether a text has conditions, and all of them hold now."""

    def is_done(task_id: str) -> bool:
        task = goal.task(task_id)
        return task is not None and task.status is TaskStatus.DONE

    def has_file(path: str) -> bool:
        return home.files.info(goal.agent_id, path) is not None

    try:
        found = parse_goal_conditions(condition)
    except Invalid:
        return False
    return bool(found) and first_unmet_goal_condition(condition, has_file, is_done) is None
