"""Vital signs of an agent: queue, errors, budget and autonomy, in a few numbers and few reads."""

from collections.abc import Callable
from datetime import datetime
from itertools import takewhile

from opencrab.domain.agents.agent import Agent
from opencrab.domain.autonomy.vital_signs import VitalSigns
from opencrab.domain.errors import NotFound
from opencrab.domain.goals.goal import OPEN_GOALS
from opencrab.domain.money.budget import INSTALLATION, agent_budget_scope
from opencrab.domain.turn.turn import Trigger, Turn, TurnStatus
from opencrab.domain.value import MicroUsd, Value
from opencrab.engine.agents.vital_signs import agent_vital_signs_document
from opencrab.engine.approvals import approvals
from opencrab.engine.insight import turn_index
from opencrab.engine.runtime import Runtime
from opencrab.ports.documents import Documents
from opencrab.ports.turn.journal import Journal

LOOKED_AT = 20
"""Number of newest turns that the vital signs cover."""

_APPROVALS = 200
_BAD = {TurnStatus.FAILED, TurnStatus.EXHAUSTED}


class Machine(Value):
    """The computer that this runs on, if it is the owner's own; null is unknown.

    CPU is the load of the whole machine, in percent, since the last request; network is the number
    of bytes received and sent since the machine was started.
    """

    cpu_percent: float | None = None
    memory_used_bytes: int | None = None
    memory_total_bytes: int | None = None
    process_memory_bytes: int | None = None
    received_bytes: int | None = None
    sent_bytes: int | None = None


ReadMachine = Callable[[], Machine | None]


def no_machine_vitals_for_insight() -> Machine | None:
    """Return None: on AWS there is no machine whose load would be of interest."""
    return None


class Vitals(Value):
    """An agent's vital signs.

    The queue's age is that of the agent's oldest turn that has not started. The idle streak is the
    number of its newest turns that ended without speech, the error rate is the share of turns that
    failed or reached a limit; both cover the last 20 that ended. The rest of today's budget is the
    smaller of the agent's and the installation's. `in_vain` is the number of unproductive
    autonomous turns in a row; there is a warning when there are many.
    """

    queue_age_seconds: float | None
    last_beat: datetime | None
    idle_streak: int
    budget_left_micro_usd: MicroUsd
    error_rate: float | None
    open_approvals: int
    open_goals: int
    goal_slots: int
    next_beat_at: datetime | None = None
    beats: int = 0
    in_vain: int = 0
    warning: bool = False
    machine: Machine | None = None


def agent_vitals_for_insight(
    runtime: Runtime,
    agent_id: str,
    machine: ReadMachine = no_machine_vitals_for_insight,
    turns: tuple[Turn, ...] | None = None,
) -> Vitals:
    """Return an agent's vital signs; `turns` are its recent turns if known. Raises NotFound."""
    profile = runtime.home.agents.get(agent_id)
    turns = recent_turns_for_insight(runtime, agent_id) if turns is None else turns
    ended = [turn for turn in turns if turn.status.is_end]
    idle = takewhile(lambda turn: turn.status is TurnStatus.IDLE, ended)
    beats = (turn.created_at for turn in turns if turn.trigger is Trigger.HEARTBEAT)
    bad = sum(turn.status in _BAD for turn in ended)
    stored = agent_vital_signs_document(runtime.home.facts, agent_id)
    signs = None if stored is None else stored.read(VitalSigns)
    in_vain = 0 if signs is None else signs.in_vain
    return Vitals(
        queue_age_seconds=_queue_age(runtime, agent_id),
        last_beat=next(beats, None),
        idle_streak=sum(1 for _ in idle),
        budget_left_micro_usd=_left(runtime, profile.agent),
        error_rate=bad / len(ended) if ended else None,
        open_approvals=_open_approvals(runtime.home.facts, agent_id),
        open_goals=len(profile.mind.agenda.open),
        goal_slots=OPEN_GOALS,
        next_beat_at=None if signs is None else signs.coming_beat_at,
        beats=0 if signs is None else signs.beats,
        in_vain=in_vain,
        warning=in_vain >= runtime.rules.autonomy.warn_after,
        machine=machine(),
    )


def recent_turns_for_insight(runtime: Runtime, agent_id: str) -> tuple[Turn, ...]:
    """Return the agent's newest stored turns, at most LOOKED_AT, newest first."""
    newest = turn_index.newest_turn_ids_for_insight(runtime, agent_id, LOOKED_AT)
    found = (_header(runtime.home.journal, turn_id) for turn_id in newest)
    return tuple(turn for turn in found if turn is not None)


def _header(journal: Journal, turn_id: str) -> Turn | None:
    try:
        return journal.header(turn_id)
    except NotFound:
        return None


def _queue_age(runtime: Runtime, agent_id: str) -> float | None:
    """Return the seconds that the agent's oldest queued turn has waited, None if there is none.

    Only the installation's 100 oldest turns are considered. A turn that the sweep queued again is
    missing until it is overdue again.
    """
    now, alive = runtime.clock.now(), turn_index.unfinished_turns_for_insight(runtime, agent_id)
    waiting = [turn.created_at for turn in alive if turn.status is TurnStatus.QUEUED]
    return max(0.0, (now - min(waiting)).total_seconds()) if waiting else None


def _left(runtime: Runtime, agent: Agent) -> MicroUsd:
    home, day = runtime.home, runtime.clock.now().strftime("%Y-%m-%d")
    limits = runtime.rules.limits.changed(home.budgets.limits())
    own_day = agent.day_limit_micro_usd
    left = (
        (limits.of_budget(scope, own_day) or 0) - home.budgets.drawn_micro_usd(scope, day)
        for scope in (agent_budget_scope(agent.id), INSTALLATION)
    )
    return max(0, min(left))


def _open_approvals(facts: Documents, agent_id: str) -> int:
    """Count the agent's open approvals among the installation's 200 oldest."""
    waiting = approvals.open_or_decided_approvals(facts, decided=False, limit=_APPROVALS)
    return sum(approval.agent_id == agent_id for approval in waiting)
