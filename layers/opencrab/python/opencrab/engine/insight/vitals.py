"""Vitals: how an agent fares, in a few numbers that cost a few reads."""

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
from opencrab.engine.agents.vital_signs import stored_vital_signs
from opencrab.engine.approvals import approvals
from opencrab.engine.insight import turn_index
from opencrab.engine.runtime import Runtime
from opencrab.ports.documents import Documents
from opencrab.ports.turn.journal import Journal

LOOKED_AT = 20
"""The newest turns that anything is said about."""

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


def no_machine_vitals() -> Machine | None:
    """Where nothing runs that would be worth looking at, as in a function of AWS."""
    return None


class Vitals(Value):
    """An agent's current state.

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


def agent_vitals(
    runtime: Runtime,
    agent_id: str,
    machine: ReadMachine = no_machine_vitals,
    turns: tuple[Turn, ...] | None = None,
) -> Vitals:
    """How an agent fares now, its recent turns perhaps at hand; raises NotFound."""
    profile = runtime.home.agents.get(agent_id)
    turns = recent_turns_for_vitals(runtime, agent_id) if turns is None else turns
    ended = [turn for turn in turns if turn.status.is_end]
    idle = takewhile(lambda turn: turn.status is TurnStatus.IDLE, ended)
    beats = (turn.created_at for turn in turns if turn.trigger is Trigger.HEARTBEAT)
    bad = sum(turn.status in _BAD for turn in ended)
    stored = stored_vital_signs(runtime.home.facts, agent_id)
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
        next_beat_at=signs.next_beat_at if signs is not None and signs.beats_at_all else None,
        beats=0 if signs is None else signs.beats,
        in_vain=in_vain,
        warning=in_vain >= runtime.rules.autonomy.warn_after,
        machine=machine(),
    )


def recent_turns_for_vitals(runtime: Runtime, agent_id: str) -> tuple[Turn, ...]:
    """The agent's newest turns, the newest first, as far as they are still kept."""
    newest = turn_index.newest_turn_ids(runtime, agent_id, LOOKED_AT)
    found = (_header(runtime.home.journal, turn_id) for turn_id in newest)
    return tuple(turn for turn in found if turn is not None)


def _header(journal: Journal, turn_id: str) -> Turn | None:
    try:
        return journal.header(turn_id)
    except NotFound:
        return None


def _queue_age(runtime: Runtime, agent_id: str) -> float | None:
    """How long the agent's oldest queued turn has waited, among the installation's oldest ones.

    A turn that the sweep has queued once more has some time until it counts as overdue again.
    """
    now, alive = runtime.clock.now(), turn_index.unfinished_turns(runtime, agent_id)
    waiting = [turn.created_at for turn in alive if turn.status is TurnStatus.QUEUED]
    return max(0.0, (now - min(waiting)).total_seconds()) if waiting else None


def _left(runtime: Runtime, agent: Agent) -> MicroUsd:
    home, day = runtime.home, runtime.clock.now().strftime("%Y-%m-%d")
    limits = runtime.rules.limits.changed(home.budgets.limits())
    most = {
        agent_budget_scope(agent.id): limits.agent_day(agent.day_limit_micro_usd),
        INSTALLATION: limits.installation_day_micro_usd,
    }
    left = (limit - home.budgets.drawn(scope, day) for scope, limit in most.items())
    return max(0, min(left))


def _open_approvals(facts: Documents, agent_id: str) -> int:
    """Approvals that wait for a human, among the installation's oldest ones."""
    waiting = approvals.page_of_approvals(facts, decided=False, limit=_APPROVALS)
    return sum(approval.agent_id == agent_id for approval in waiting)
