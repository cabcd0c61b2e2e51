"""Heartbeats: how an agent lives on its own, what its beats were for, and whether it is awake."""

from datetime import datetime
from enum import StrEnum

from fastapi import Response

from opencrab.domain.agents.agent import AgentStatus, Profile
from opencrab.domain.agents.heartbeat import (
    Heartbeat,
    agent_heartbeat_with_hours_in_zone,
    agent_time_zone,
)
from opencrab.domain.autonomy.heartbeat_gate import BeatReason, LoggedHeartbeat
from opencrab.domain.autonomy.heartbeat_outcome import HeartbeatChoice, HeartbeatOutcome
from opencrab.domain.autonomy.instruction_plan import InstructionPlan, PlanFlaw
from opencrab.domain.autonomy.vital_signs import VitalSigns
from opencrab.domain.turn.turn import TurnStatus
from opencrab.domain.value import Value
from opencrab.engine.agents.vital_signs import agent_vital_signs_document
from opencrab.engine.autonomy.heartbeat import heartbeat_log, heartbeat_outcomes
from opencrab.engine.autonomy.instruction_plan import (
    read_autonomy_instruction_plan,
    withdraw_autonomy_instruction_plan,
)
from opencrab.engine.runtime import Runtime
from opencrab.gateways.rest.agents.agents import save_agent_changes
from opencrab.gateways.rest.http.access import AgentReader, Owner, ProfileReader
from opencrab.gateways.rest.http.body import Strict, http_routes_below
from opencrab.gateways.rest.http.dependencies import Api, Id
from opencrab.gateways.rest.http.etag import Edit, set_http_etag
from opencrab.gateways.rest.http.page import Page, Paged, http_page_of, id_in_http_cursor
from opencrab.gateways.rest.http.view import View
from opencrab.ports.documents import Documents

LISTING = "heartbeats"

router = http_routes_below("/api/agents/{agent_id}", "agents")


class HeartbeatPut(Heartbeat, defer_build=False):
    """An agent's heartbeat settings as a whole; fields that are left out get their defaults."""


class BeatView(View):
    """A heartbeat that had a reason, the turn that it started, and what the agent did then.

    `slot` is its time in seconds since 1970. `decision`, the turn's `status` and the `actions` that
    succeeded are empty until the turn ends, and for turns of earlier versions.
    """

    slot: int
    at: datetime
    reasons: tuple[BeatReason, ...]
    turn_id: str
    session_id: str
    decision: HeartbeatChoice | None
    status: TurnStatus | None
    actions: tuple[str, ...]


class TotalsView(Value):
    """The number of all heartbeats ever; most are idle and only counted."""

    beats: int = 0
    idle: int = 0
    turns: int = 0
    next_beat_at: datetime | None = None

    @classmethod
    def of(cls, signs: VitalSigns | None) -> "TotalsView":
        """Convert an agent's vital signs to the view of their counters."""
        if signs is None:
            return cls()
        coming = signs.coming_beat_at
        return cls(beats=signs.beats, idle=signs.idle, turns=signs.turns, next_beat_at=coming)


class BeatsView(Page[BeatView]):
    """The newest heartbeats that had a reason, and the number of heartbeats of all kinds."""

    totals: TotalsView


class PlannedGoalView(View):
    """One thing that standing instructions ask for.

    `times` is a rule like a schedule's, in `schedule_id`; `event` the type of the events that it
    waits for; without either it is due again and again, or `once`. `flaw` says why it has no time.
    """

    name: str
    words: str
    done_when: str
    once: bool
    times: str
    event: str
    flaw: PlanFlaw | None
    schedule_id: str | None
    done: bool


class PlanState(StrEnum):
    """How far the plan of standing instructions has come."""

    NONE = "none"
    WAITING = "waiting"
    PLANNED = "planned"
    FAILED = "failed"


class InstructionPlanView(Value):
    """What an agent makes of its standing instructions.

    `note` is the model's message to the owner.
    """

    state: PlanState = PlanState.NONE
    goals: tuple[PlannedGoalView, ...] = ()
    note: str = ""
    why: str = ""
    asked_at: datetime | None = None

    @classmethod
    def of(cls, plan: InstructionPlan | None) -> "InstructionPlanView":
        """Convert a stored plan to its view."""
        if plan is None:
            return cls()
        waits = PlanState.FAILED if plan.failures else PlanState.WAITING
        return cls(
            state=PlanState.PLANNED if plan.planned else waits,
            goals=tuple(PlannedGoalView.of(goal) for goal in plan.goals),
            note=plan.note,
            why=plan.why,
            asked_at=plan.asked_at,
        )


class StatusPut(Value, defer_build=False):
    """An agent's new status: active, dormant, or retired permanently."""

    status: AgentStatus


class StatusView(Value):
    """The status of an agent; `nop_count` is its number of unproductive turns in a row."""

    status: AgentStatus
    nop_count: int
    warning: bool
    next_beat_at: datetime | None


@router.get("/heartbeat")
def get_heartbeat(api: Api, _caller: AgentReader, agent_id: Id, response: Response) -> Heartbeat:
    """Get an agent's heartbeat settings.

    They say how often the agent wakes and what it may do then. ETag holds the agent's version.
    """
    return _heartbeat(response, api.runtime.home.agents.get(agent_id))


@router.put("/heartbeat")
def put_heartbeat(
    api: Api, _caller: Owner, agent_id: Id, body: Strict[HeartbeatPut], edit: Edit
) -> Heartbeat:
    """Replace an agent's heartbeat settings.

    If the interval changes, the next heartbeat is one new interval from now. Active hours without a
    zone are in the agent's time zone.
    """
    runtime, heartbeat = api.runtime, Heartbeat(**dict(body))
    agent = runtime.home.agents.get(agent_id).agent
    zone = agent_time_zone(agent.heartbeat, runtime.rules.time_zone)
    changes = {"heartbeat": agent_heartbeat_with_hours_in_zone(heartbeat, zone)}
    after = save_agent_changes(runtime, agent_id, edit.version, changes)
    if agent.heartbeat.acts_on_its_own and not after.agent.heartbeat.acts_on_its_own:
        withdraw_autonomy_instruction_plan(runtime, agent_id)
    return _heartbeat(edit.response, after)


@router.get("/instruction-plan", operation_id="get_instruction_plan")
def get_autonomy_instruction_plan(
    api: Api, _caller: AgentReader, agent_id: Id
) -> InstructionPlanView:
    """Get what an agent makes of its standing instructions: goals, times and conditions.

    `state` says whether a model was asked and has answered; if that failed, `why` has the reason.
    """
    agent = api.runtime.home.agents.get(agent_id).agent
    return InstructionPlanView.of(read_autonomy_instruction_plan(api.runtime.home.facts, agent))


@router.get("/heartbeats")
def list_heartbeats(api: Api, _caller: Owner, agent_id: Id, query: Paged) -> BeatsView:
    """List heartbeats of the last 35 days that had a reason, newest first, with their results.

    `totals` counts all heartbeats: one without a reason is idle and has no entry.
    """
    api.runtime.home.agents.get(agent_id)
    after = id_in_http_cursor(LISTING, query.cursor)
    found = heartbeat_log(api.runtime.home.facts, agent_id, after=after, limit=query.limit + 1)
    items, cursor = http_page_of(LISTING, found, query.limit, lambda fact: fact.id)
    beats = [fact.read(LoggedHeartbeat) for fact in items]
    ended = heartbeat_outcomes(api.runtime.home.facts, agent_id, [each.turn_id for each in beats])
    return BeatsView(
        items=tuple(_beat_view(each, ended.get(each.turn_id)) for each in beats),
        next_cursor=cursor,
        totals=TotalsView.of(_signs(api.runtime.home.facts, agent_id)),
    )


@router.get("/status", operation_id="get_status")
def get_autonomy_status(
    api: Api, _caller: ProfileReader, agent_id: Id, response: Response
) -> StatusView:
    """Get whether an agent is active, dormant or retired.

    ETag holds the agent's version.
    """
    return _status(api.runtime, response, api.runtime.home.agents.get(agent_id))


@router.put("/status", operation_id="put_status")
def put_autonomy_status(
    api: Api, _caller: Owner, agent_id: Id, body: Strict[StatusPut], edit: Edit
) -> StatusView:
    """Wake an agent, make it dormant or retire it permanently."""
    profile = save_agent_changes(api.runtime, agent_id, edit.version, {"status": body.status})
    return _status(api.runtime, edit.response, profile)


def _beat_view(beat: LoggedHeartbeat, ended: HeartbeatOutcome | None) -> BeatView:
    return BeatView.of(
        beat,
        decision=None if ended is None else ended.decision,
        status=None if ended is None else ended.status,
        actions=() if ended is None else ended.actions,
    )


def _heartbeat(response: Response, profile: Profile) -> Heartbeat:
    set_http_etag(response, profile.agent.version)
    return profile.agent.heartbeat


def _status(runtime: Runtime, response: Response, profile: Profile) -> StatusView:
    set_http_etag(response, profile.agent.version)
    signs = _signs(runtime.home.facts, profile.agent.id)
    in_vain = 0 if signs is None else signs.in_vain
    return StatusView(
        status=profile.agent.status,
        nop_count=in_vain,
        warning=in_vain >= runtime.rules.autonomy.warn_after,
        next_beat_at=TotalsView.of(signs).next_beat_at,
    )


def _signs(facts: Documents, agent_id: str) -> VitalSigns | None:
    stored = agent_vital_signs_document(facts, agent_id)
    return None if stored is None else stored.read(VitalSigns)
