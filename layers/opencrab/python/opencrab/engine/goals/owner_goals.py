"""Owner goals: an owner adds a goal, which the agent starts by its priority."""

from datetime import datetime
from functools import partial

from pydantic import AwareDatetime

from opencrab.domain.access.authority import Authority
from opencrab.domain.agents.agent import Profile
from opencrab.domain.autonomy.settings import Autonomy
from opencrab.domain.autonomy.vital_signs import VitalSigns
from opencrab.domain.document import new_fact
from opencrab.domain.errors import Changed, Conflict
from opencrab.domain.goals.goal import Goal, GoalSource, Line
from opencrab.domain.goals.selection import (
    goal_begins_at,
    require_goal_room,
    require_valid_goal_deadline,
)
from opencrab.domain.goals.value_estimate import Horizon, ValueEstimate
from opencrab.domain.identifier import content_hash, stable_id
from opencrab.domain.value import Identifier, MessageText, Unit, Value
from opencrab.engine.agents.vital_signs import change_agent_vital_signs, make_dormant_agent_active
from opencrab.engine.goals.instructions import InstructionGiver
from opencrab.engine.goals.pausing import ATTEMPTS, require_goal_document
from opencrab.engine.goals.queue import GoalBoard, add_goal_to_queue
from opencrab.engine.runtime import Runtime
from opencrab.ports.documents import Documents
from opencrab.ports.turn.action import one_line

INJECTED = "injected"
"""The kind of document that maps a request to its goal, so that it is created once."""

_NAME = 200


class NewGoal(Value, defer_build=False):
    """A goal from its owner; its expected value influences how soon it is started."""

    name: Line
    description: MessageText | None = None
    horizon: Horizon = Horizon.OBJECTIVE
    deadline: AwareDatetime | None = None
    expected_reward: Unit = 0.7
    capability_match: Unit | None = None
    novelty: Unit = 0.5
    social_value: Unit = 0.0

    @property
    def worth(self) -> ValueEstimate:
        """The expected value of the goal."""
        return ValueEstimate(
            expected_reward=self.expected_reward,
            capability_match=self.capability_match,
            novelty=self.novelty,
            social_value=self.social_value,
        )


class _Made(Value):
    """The goal that a request created; `asked` is a hash, so that no words need to be erased."""

    goal: Identifier
    asked: str


def inject_owner_goal(
    runtime: Runtime, agent_id: str, asked: NewGoal, asker: InstructionGiver, *, key: str
) -> Goal:
    """Add an owner's goal to the agenda; a heartbeat starts it by its priority.

    A dormant agent is woken, also by a repeated key after a crash in between. The same key again
    returns the same goal. Raises NotFound, Conflict for a retired agent and for a key that was used
    for another goal, and Invalid for a full horizon or an impossible deadline.
    """
    profile = runtime.home.agents.get(agent_id)
    if not profile.agent.answers:
        raise Conflict(f"agent {agent_id!r} has retired", cure="choose another agent")
    session_id = stable_id("injected", agent_id, asker.principal_id, key)
    for _ in range(ATTEMPTS):
        earlier = runtime.home.facts.get(agent_id, INJECTED, session_id)
        if earlier is not None:
            return _wake_for_goal(
                runtime, _made_before(runtime.home.facts, agent_id, earlier.read(_Made), asked)
            )
        now = runtime.clock.now()
        require_valid_goal_deadline(asked.deadline, now)
        board = GoalBoard.of(runtime.home.facts, profile, now)
        alike = sum(goal.horizon is asked.horizon for goal in board.open_goals())
        require_goal_room(asked.horizon, alike, asker.authority)
        goal = _goal(board, asked, asker, session_id)
        add_goal_to_queue(board, goal)
        made = _Made(goal=goal.id, asked=_digest(asked))
        mark = new_fact(agent_id, INJECTED, session_id, made)
        told = partial(
            _set_earliest_goal_time, at=_worth_it_at(runtime.rules.autonomy, board, profile, goal)
        )
        try:
            change_agent_vital_signs(runtime, agent_id, told, *board.facts, mark)
        except Changed:
            continue
        return _wake_for_goal(runtime, goal)
    raise Conflict(f"concurrent updates to agent {agent_id!r}; retries exhausted", cure="try again")


def _wake_for_goal(runtime: Runtime, goal: Goal) -> Goal:
    """Wake the agent if its owner's goal is open, and return the goal."""
    if goal.authority is Authority.OWNER and not goal.status.is_end:
        make_dormant_agent_active(runtime, runtime.home.agents.get(goal.agent_id))
    return goal


def _goal(board: GoalBoard, asked: NewGoal, asker: InstructionGiver, session_id: str) -> Goal:
    return Goal(
        id=f"G{board.agenda().last_number + 1}",
        agent_id=board.profile.agent.id,
        session_id=session_id,
        name=one_line(asked.name, _NAME),
        instruction=asked.description or asked.name,
        given=True,
        source=GoalSource.OWNER,
        horizon=asked.horizon,
        worth=asked.worth,
        deadline=asked.deadline,
        authority=asker.authority,
        door=asker.source,
        principal_id=asker.principal_id,
        principal_name=asker.name,
        created_at=board.now,
    )


def _worth_it_at(
    autonomy: Autonomy, board: GoalBoard, profile: Profile, goal: Goal
) -> datetime | None:
    """Return the time from which a heartbeat may begin a goal; None for an aspiration."""
    if goal.horizon is Horizon.ASPIRATION:
        return None
    threshold = autonomy.goal_threshold
    return goal_begins_at(goal, board.expectations().capability, profile.soul.weights, threshold)


def _set_earliest_goal_time(signs: VitalSigns, at: datetime | None) -> VitalSigns:
    moments = [moment for moment in (signs.goal_at, at) if moment is not None]
    return signs.replaced(goal_at=min(moments, default=None))


def _made_before(facts: Documents, agent_id: str, made: _Made, asked: NewGoal) -> Goal:
    if made.asked != _digest(asked):
        raise Conflict(
            "this key was already used for another goal",
            field="Idempotency-Key",
            cure="use a new key for a new goal",
        )
    return require_goal_document(facts, agent_id, made.goal).read(Goal)


def _digest(asked: NewGoal) -> str:
    return content_hash(asked.model_dump_json().encode())
