"""Instruction plan turns: each asks a model once for a plan, and is paid like every other call.

It is paid from the heartbeats' share of the agent's day. The plan is written in the transaction
that settles the call's cost; its schedules follow, and the next heartbeat reviews the goals.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from opencrab.domain.access.authority import Authority
from opencrab.domain.agents.agent import Agent, AgentStatus, Profile
from opencrab.domain.agents.heartbeat import agent_time_zone
from opencrab.domain.autonomy.instruction_answer import (
    INSTRUCTION_ANSWER_SCHEMA,
    parse_autonomy_instruction_plan,
)
from opencrab.domain.autonomy.instruction_plan import (
    INSTRUCTION_PLAN,
    InstructionPlan,
    autonomy_instruction_plan_key,
)
from opencrab.domain.conversation.session import Session
from opencrab.domain.document import Document, new_fact
from opencrab.domain.errors import Changed, NotFound, Unavailable
from opencrab.domain.identifier import stable_id
from opencrab.domain.models.routing import CallOptions
from opencrab.domain.money.budget import Limits
from opencrab.domain.turn.record import CallState, ModelAnswer, ModelResult, Record
from opencrab.domain.turn.turn import Trigger, Turn, TurnStatus
from opencrab.engine.agents.vital_signs import LONG_AGO, change_agent_vital_signs
from opencrab.engine.autonomy.instruction_plan import apply_instruction_plan_to_schedules
from opencrab.engine.autonomy.instruction_plan_prompt import (
    OUTPUT_TOKENS,
    autonomy_instruction_plan_question,
    autonomy_instruction_plan_rules,
)
from opencrab.engine.consequence import ExtraWrites
from opencrab.engine.queueing import enqueue_turn
from opencrab.engine.runtime import Runtime
from opencrab.engine.turn.background import (
    TurnJob,
    background_turn_of_agent,
    placeholder_session_of_turn,
)
from opencrab.engine.turn.prompt.request import prompt_answer_token_limit
from opencrab.engine.turn.prompt.single_question import single_question_prompt_request
from opencrab.engine.turn.receipt import NO_DEEDS
from opencrab.engine.turn.work import QuestionJob, TurnWork
from opencrab.ports.documents import Documents
from opencrab.ports.models.model import ChatRequest, ModelInfo, TrustedText
from opencrab.ports.turn.action import Actions

SHARE_PERCENT = 10
"""Most that one plan may cost, in percent of its agent's day; part of the heartbeats' share."""

_GROUP = "instructions:"
_UNWANTED = "unwanted"
_INTERRUPTED = "the call was interrupted"
_TRIES = 5

_Change = Callable[[InstructionPlan], InstructionPlan]


@dataclass(frozen=True)
class PlanTurn:
    """The `QuestionJob` for the plan of the instructions with the fingerprint `key`."""

    key: str

    def limits(self, work: TurnWork, limits: Limits) -> Limits:
        """Limit the turn to SHARE_PERCENT of the agent's day, drawing only what it needs."""
        day = limits.agent_day(work.profile.agent.day_limit_micro_usd)
        most = min(day * SHARE_PERCENT // 100, limits.turn_micro_usd)
        return limits.replaced(turn_micro_usd=most, session_micro_usd=None, block_micro_usd=1)

    def skip_reason(self, work: TurnWork) -> str:
        if any(result.state is CallState.UNKNOWN for _, result in work.transcript.asked):
            return _INTERRUPTED
        agent = work.profile.agent
        wanted = agent.answers and agent.heartbeat.acts_on_its_own
        if not wanted or autonomy_instruction_plan_key(agent) != self.key:
            return _UNWANTED
        stored = work.runtime.home.facts.get(agent.id, INSTRUCTION_PLAN, INSTRUCTION_PLAN)
        plan = None if stored is None else stored.read(InstructionPlan)
        return _UNWANTED if plan is not None and plan.key == self.key and plan.planned else ""

    def request(self, work: TurnWork, info: ModelInfo, manner: CallOptions) -> ChatRequest:
        runtime, profile = work.runtime, work.profile
        agent = profile.agent
        zone = agent_time_zone(agent.heartbeat, runtime.rules.time_zone)
        routing = runtime.models.routing
        offered = runtime.actions.schemas(agent, routing, Authority.SELF, profile.mind)
        names = [schema.name for schema in offered if _is_deed(runtime.actions, schema.name)]
        # Instructions and purpose are the owner's words.
        question = autonomy_instruction_plan_question(agent, names, runtime.clock.now(), zone)
        rules = autonomy_instruction_plan_rules(profile.soul.persona_name, agent.language, zone)
        output = min(prompt_answer_token_limit(info, runtime.rules), OUTPUT_TOKENS)
        return single_question_prompt_request(
            work,
            info,
            manner,
            system=TrustedText(rules),
            question=TrustedText(question),
            output=output,
            answer_schema=INSTRUCTION_ANSWER_SCHEMA,
        )

    def end_with_answer(self, work: TurnWork, result: ModelResult, turn: Turn) -> None:
        answer, runtime = result.answer or ModelAnswer(), work.runtime
        zone = agent_time_zone(work.profile.agent.heartbeat, runtime.rules.time_zone)
        try:
            goals, note = parse_autonomy_instruction_plan(
                "" if answer.calls else answer.text,
                now=runtime.clock.now(),
                zone=zone,
                is_action=partial(_is_deed, runtime.actions),
            )
        except ValueError as error:
            self.end_without_answer(work, TurnStatus.FAILED, (result,), turn, str(error))
            return
        done = {"planned": True, "goals": goals, "note": note, "turn_id": turn.id, "why": ""}
        ended = turn.replaced(status=TurnStatus.COMPLETED)
        self._end(work, (result,), ended, lambda plan: plan.replaced(**done))

    def end_without_answer(
        self, work: TurnWork, status: TurnStatus, result: tuple[Record, ...], turn: Turn, why: str
    ) -> None:
        now = work.runtime.clock.now()
        ended = turn.replaced(status=status, note=why[:1_000])

        def failed(plan: InstructionPlan) -> InstructionPlan:
            return plan if why == _UNWANTED else plan.after_failure(why, now)

        self._end(work, result, ended, failed)

    def _end(
        self, work: TurnWork, records: tuple[Record, ...], header: Turn, change: _Change
    ) -> None:
        """End the turn and change the plan, if it is still wanted, in one transaction."""
        now, facts = work.runtime.clock.now(), work.runtime.home.facts
        draws = header.closing_budget_draws(now.strftime("%Y-%m-%d"))
        ended = header.replaced(ended_at=now, allowance=0)
        for _ in range(_TRIES):
            told = self._changed(facts, work.turn, change)
            try:
                beside = ExtraWrites(draws=draws, facts=told)
                work.save(ended, *records, beside=beside, progress=True)
            except Changed:
                continue
            return
        raise Unavailable(
            f"concurrent updates to the instruction plan of agent {work.turn.agent_id!r}; "
            "retries exhausted",
            cure="try again",
        )

    def _changed(self, facts: Documents, turn: Turn, change: _Change) -> tuple[Document, ...]:
        stored = facts.get(turn.agent_id, INSTRUCTION_PLAN, INSTRUCTION_PLAN)
        plan = InstructionPlan(key=self.key, asked_at=turn.created_at)
        if stored is None:
            after = change(plan)
            return (new_fact(turn.agent_id, INSTRUCTION_PLAN, INSTRUCTION_PLAN, after),)
        plan = stored.read(InstructionPlan)
        if plan.key != self.key or plan.planned:
            return ()
        return (stored.with_body(change(plan)),)


class InstructionPlanJob(TurnJob):
    """Background job that plans the standing instructions of agents."""

    def open_turn(self, runtime: Runtime, message: Mapping[str, str]) -> bool:
        if "instructions" not in message:
            return False
        _open_plan_turn(runtime, message["agent"], message["instructions"])
        return True

    def handles_turn(self, turn: Turn) -> bool:
        return turn.trigger is Trigger.COMPACTION and turn.group.startswith(_GROUP)

    def prepare(
        self,
        runtime: Runtime,  # noqa: ARG002 - the port's
        turn: Turn,
        profile: Profile,  # noqa: ARG002
    ) -> tuple[Turn, Session, QuestionJob]:
        return turn, placeholder_session_of_turn(turn), PlanTurn(turn.group.removeprefix(_GROUP))

    def after_end(self, runtime: Runtime, turn: Turn) -> None:
        """Make the plan's schedules, and let the next heartbeat review the goals."""
        with suppress(NotFound):
            apply_instruction_plan_to_schedules(
                runtime, runtime.home.agents.get(turn.agent_id).agent
            )
            change_agent_vital_signs(
                runtime, turn.agent_id, lambda signs: signs.replaced(reviewed_at=LONG_AGO)
            )


def _open_plan_turn(runtime: Runtime, agent_id: str, key: str) -> None:
    """Open and queue the turn that asks for a plan: one, and one more after each failure.

    Raises Changed while the review that asked has not stored it yet.
    """
    home, now = runtime.home, runtime.clock.now()
    agent = home.agents.get(agent_id).agent
    stored = home.facts.get(agent_id, INSTRUCTION_PLAN, INSTRUCTION_PLAN)
    plan = None if stored is None else stored.read(InstructionPlan)
    if not _lives_by(agent, key) or (plan is not None and plan.key == key and plan.planned):
        return
    if plan is None or plan.key != key:
        raise Changed("the instruction plan is not stored yet")
    # The owner may have had this wording before: the turn for that plan has ended.
    begun = "" if plan.begun_at is None else plan.begun_at.isoformat()
    turn_id = stable_id("instructions", agent_id, key, str(plan.failures), plan.why, begun)
    turn = background_turn_of_agent(agent_id, turn_id, f"{_GROUP}{key}", now)
    enqueue_turn(home, home.journal.open(turn))


def _lives_by(agent: Agent, key: str) -> bool:
    """Check whether an agent has heartbeats, and these instructions to follow in them."""
    active = agent.status is AgentStatus.ACTIVE and agent.heartbeat.enabled
    return (
        active and agent.heartbeat.acts_on_its_own and autonomy_instruction_plan_key(agent) == key
    )


def _is_deed(actions: Actions, name: str) -> bool:
    """Check whether success of an action shows that something was done: no talking or planning."""
    action = actions.find(name)
    return action is not None and action.group not in NO_DEEDS
