"""Expectations: results of an agent's own goals, and what it expects of the next ones."""

from datetime import datetime
from typing import Annotated

from pydantic import Field

from opencrab.domain.goals.goal import Goal, GoalSource, GoalStatus, TaskStatus
from opencrab.domain.goals.value_estimate import Satisfaction
from opencrab.domain.outcome import Outcome
from opencrab.domain.value import Signed, Unit, Value

EXPECTATIONS = "expectations"
"""Kind and id of the document that stores an agent's expectations."""

REMEMBERED = 10
"""The number of goals of one source that count in their mean reward."""

ON_ITS_WORD = 0.5
"""The weight of a task that is reported as done but has no receipt in the journal."""

_CLAIMED = {Outcome.FAILURE: 0.0, Outcome.PARTIAL: 0.5}
_COUNTED = {Outcome.SUCCESS: 1.0, Outcome.PARTIAL: 0.5}


class Expected(Value):
    """Results of goals of one source: mean reward of the last ones, number, latest end."""

    reward: Unit
    goals: Annotated[int, Field(ge=1)]
    ended_at: datetime


class Expectations(Value):
    """An agent's expectations of its own goals.

    `succeeded` counts its own goals that succeeded, a partial success half, of those `tried`.
    `noticed` is the id of the newest event that was considered as an opportunity.
    """

    rewards: dict[GoalSource, Expected] = Field(default_factory=dict)
    tried: Annotated[int, Field(ge=0)] = 0
    succeeded: Annotated[float, Field(ge=0)] = 0.0
    noticed: str = ""

    @property
    def capability(self) -> Unit:
        """The success rate of its own goals: (1 + succeeded) ÷ (2 + tried), at most 1."""
        return min((1 + self.succeeded) / (2 + self.tried), 1.0)

    def reward(self, source: GoalSource, first: Unit) -> Unit:
        """Return the expected reward of a goal of this source; `first` if there was none yet."""
        known = self.rewards.get(source)
        return first if known is None else known.reward

    def ended_at(self, source: GoalSource) -> datetime | None:
        """Return when the last goal of a source ended; None if there was none."""
        known = self.rewards.get(source)
        return None if known is None else known.ended_at

    def after(self, source: GoalSource, came: Satisfaction) -> "Expectations":
        """Return the expectations after one more goal has ended.

        The mean moves by the difference, divided by the number of goals, by REMEMBERED at most.
        """
        known = self.rewards.get(source)
        goals = 1 if known is None else known.goals + 1
        before = came.reward_actual if known is None else known.reward
        reward = before + (came.reward_actual - before) / min(goals, REMEMBERED)
        expected = Expected(reward=min(max(reward, 0.0), 1.0), goals=goals, ended_at=came.at)
        return self.replaced(
            rewards={**self.rewards, source: expected},
            tried=self.tried + 1,
            succeeded=self.succeeded + _COUNTED.get(came.outcome, 0.0),
        )


def goal_satisfaction(goal: Goal, at: datetime, reputation: Unit | None = None) -> Satisfaction:
    """Compute the outcome of an ended goal (Kingdom 3.9).

    The actual reward is the share of its tasks that are done; a done task without a receipt in the
    journal counts ON_ITS_WORD, and nothing in an abandoned goal. It is halved if the goal's report
    says partial, and 0 if it says failure. A goal without tasks counts as one task. The outcome is
    a success if all tasks are done and the report says nothing less, and a failure if the reward is
    0. It is unknown if the journal has no receipt at all, and no task or report was stated with an
    action. `reputation` is the agent's reputation in its world at the end; the difference is
    computed if the one at the begin is known too.
    """
    done = [] if _is_unknown(goal) else _completion_weights(goal)
    share = sum(done) / max(len(goal.tasks), 1)
    actual = share * (1.0 if goal.claim is None else _CLAIMED.get(goal.claim, 1.0))
    return Satisfaction(
        outcome=Outcome.UNKNOWN if _is_unknown(goal) else _outcome(goal, actual),
        reward_expected=goal.worth.expected_reward,
        reward_actual=actual,
        reputation_delta=_reputation_gain(goal.reputation, reputation),
        novelty=goal.worth.novelty,
        effort=goal.runs,
        spent_micro_usd=goal.spent_micro_usd,
        at=at,
    )


def _is_unknown(goal: Goal) -> bool:
    """Check whether the outcome of a completed goal rests on words alone.

    A goal without a plan needs a receipt, whatever its report says; one with a plan a receipt, or a
    done task together with a report.
    """
    if goal.status is not GoalStatus.COMPLETED or goal.claim is Outcome.FAILURE:
        return False
    if goal.receipts or any(task.confirmed for task in goal.tasks):
        return False
    if goal.tasks and not any(task.status is TaskStatus.DONE for task in goal.tasks):
        return False
    return goal.claim is None or not goal.tasks


def _reputation_gain(before: Unit | None, after: Unit | None) -> Signed:
    return 0.0 if before is None or after is None else after - before


def _completion_weights(goal: Goal) -> list[float]:
    """Return the weight of each task that is done."""
    by_word = ON_ITS_WORD if goal.status is GoalStatus.COMPLETED else 0.0
    if goal.tasks:
        finished = [task for task in goal.tasks if task.status is TaskStatus.DONE]
        return [1.0 if task.confirmed else by_word for task in finished]
    if goal.status is not GoalStatus.COMPLETED:
        return []
    return [1.0 if goal.receipts else by_word]


def _outcome(goal: Goal, actual: float) -> Outcome:
    if actual <= 0:
        return Outcome.FAILURE
    whole = all(task.status is TaskStatus.DONE for task in goal.tasks)
    says_less = goal.claim is not None and goal.claim is not Outcome.SUCCESS
    return Outcome.SUCCESS if whole and not says_less else Outcome.PARTIAL
