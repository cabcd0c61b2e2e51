"""The decision of one heartbeat: idle, or a turn for the most pressing reason."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from opencrab.domain.access.authority import Authority, Source, does_authority_taint_reader
from opencrab.domain.agents.agent import Profile
from opencrab.domain.agents.event import HAPPENING, MOST, AgentEvent
from opencrab.domain.autonomy.heartbeat_cause import (
    next_heartbeat_cause,
    skip_heartbeats_without_cause,
)
from opencrab.domain.autonomy.heartbeat_gate import (
    BEAT,
    LOGGED,
    BeatReason,
    LoggedHeartbeat,
    first_heartbeat_reason,
    heartbeat_gate,
    is_heartbeat_speech_in_cooldown,
)
from opencrab.domain.autonomy.settings import Autonomy
from opencrab.domain.autonomy.vital_signs import (
    VitalSigns,
    heartbeat_signs_document,
    heartbeat_slot,
)
from opencrab.domain.conversation.message import Channel, Message, TextPart
from opencrab.domain.conversation.session import SessionStatus
from opencrab.domain.document import Document, new_fact
from opencrab.domain.errors import Invalid, NotFound
from opencrab.domain.models.routing import RoutingBasis
from opencrab.domain.money.budget import INSTALLATION
from opencrab.domain.turn.due_item import DueItem
from opencrab.domain.turn.task_type import turn_think_context
from opencrab.domain.turn.turn import Trigger
from opencrab.engine.agents.agent_session import agents_own_session
from opencrab.engine.agents.vital_signs import (
    LONG_AGO,
    create_agent_vital_signs,
    make_agent_dormant,
)
from opencrab.engine.autonomy.due_items import admit_or_drop_due_item
from opencrab.engine.autonomy.heartbeat_text import heartbeat_prompt
from opencrab.engine.goals.generation import generate_exploration_goal, generate_goals
from opencrab.engine.goals.queue import OPENCRAB, GoalBoard
from opencrab.engine.goals.selection import (
    are_paused_goals_overdue,
    begin_best_goal,
    goal_preferences,
)
from opencrab.engine.models import router
from opencrab.engine.money.budgets import budget_limits
from opencrab.engine.runtime import Runtime
from opencrab.engine.turn.prompt.surroundings import EVENTS_READ
from opencrab.ports.home import Home

log = logging.getLogger(__name__)

_MILLION = 1_000_000

Occupied = Callable[[], frozenset[str]]
"""Returns the ids of the agents that have an open turn; called only when needed."""


@dataclass
class _Deciding:
    """One heartbeat while it is decided; `items` are the due items that it creates."""

    runtime: Runtime
    stored: Document
    signs: VitalSigns
    profile: Profile
    now: datetime
    items: list[DueItem] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.slot = heartbeat_slot(self.signs.next_beat_at)
        self.board = GoalBoard.of(self.runtime.home.facts, self.profile, self.now)

    def note(self, **changes: object) -> None:
        """Change fields of the vital signs in memory."""
        self.signs = self.signs.replaced(**changes)

    def commit(self, signs: VitalSigns, *beside: Document) -> None:
        """Write everything in one transaction, then admit the items that are due; raise Changed."""
        due = (*self.items, *self.board.due)
        facts = (heartbeat_signs_document(signs, self.stored), *self.board.facts, *beside)
        if not due and len(facts) == 1:
            self.runtime.home.facts.commit_soon(*facts)
            return
        self.runtime.home.facts.commit(*facts, due=due)
        for item in due:
            if item.at <= self.now:
                admit_or_drop_due_item(self.runtime, item)


@dataclass(frozen=True)
class _Begun:
    """The turn that a heartbeat starts, and its session."""

    turn_id: str
    session_id: str


def decide_heartbeat(
    runtime: Runtime, stored: Document, signs: VitalSigns, occupied: Occupied
) -> bool:
    """Decide the heartbeat that is due; return True if it started a turn, False if it was idle.

    An idle heartbeat writes only the vital signs, which need not be durable at once. Raises Changed
    when the vital signs were changed concurrently.
    """
    now, autonomy = runtime.clock.now(), runtime.rules.autonomy
    verdict = heartbeat_gate(signs, now, autonomy)
    anew = timedelta(seconds=autonomy.review_seconds)
    stale = not signs.reviewed_at <= now < signs.reviewed_at + anew
    if verdict.idle == "busy" or not (verdict.reasons or stale):
        after = _idle(signs, now, autonomy)
        runtime.home.facts.commit_soon(heartbeat_signs_document(after, stored))
        return False
    profile = _living(runtime.home, stored)
    if profile is None:
        return False
    deciding = _Deciding(runtime, stored, _as_told(signs, profile), profile, now)
    if not deciding.signs.has_next_heartbeat:
        create_agent_vital_signs(runtime, profile)
        return False
    if stale:
        _review(deciding)
    if _falls_asleep(deciding, reviewed=stale):
        make_agent_dormant(runtime, signs.agent_id)
        return False
    reasons = heartbeat_gate(deciding.signs, now, autonomy).reasons
    begun = (
        _turn_for_first_reason(deciding, reasons)
        if reasons and _may_begin(deciding, occupied)
        else None
    )
    if begun is None:
        agenda = profile.mind.agenda
        rests = stale and not agenda.open and agenda.current is None
        deciding.commit(_idle(deciding.signs, now, autonomy, rests=rests))
        return False
    _commit_turn(deciding, reasons, begun)
    return True


def _living(home: Home, stored: Document) -> Profile | None:
    """Return the agent's profile; for a missing agent delete its vital signs and return None."""
    try:
        return home.agents.get(stored.owner)
    except NotFound:
        log.info("vital signs of a missing agent removed: agent=%s", stored.owner)
        home.facts.commit(stored.removed())
        return None


def _as_told(signs: VitalSigns, profile: Profile) -> VitalSigns:
    """Return vital signs that match the agent's settings, in case an update was lost."""
    agent = profile.agent
    risk = profile.soul.weights.risk_tolerance
    return signs.replaced(
        heartbeat=agent.heartbeat.without_instructions, status=agent.status, risk_tolerance=risk
    )


def _idle(
    signs: VitalSigns, now: datetime, autonomy: Autonomy, *, rests: bool = False
) -> VitalSigns:
    """Return the signs after a heartbeat without a turn; those without a cause are skipped."""
    after = signs.after_beat(now).replaced(idle=signs.idle + 1)
    cause = next_heartbeat_cause(after, now, autonomy, rests=rests)
    return skip_heartbeats_without_cause(after, cause)


def _review(deciding: _Deciding) -> None:
    """Generate goals and rank them anew; goals generated now are ranked at the next heartbeat."""
    now, runtime, signs = deciding.now, deciding.runtime, deciding.signs
    asked = _review_instructions(deciding)
    generate_goals(runtime, deciding.board, now, signs)
    found = goal_preferences(runtime, deciding.profile, now)
    settled = not (deciding.board.facts or asked)
    deciding.note(
        goal_at=None if found.taken else found.goal_at,
        exploring=found.exploring,
        reviewed_at=now if settled else LONG_AGO,
    )


def _review_instructions(deciding: _Deciding) -> bool:
    """Review the plan of the owner's instructions; True if it changed, and must be read again."""
    agent = deciding.profile.agent
    if not agent.heartbeat.acts_on_its_own:
        return False
    # Only for agents with instructions, and not for every worker.
    from opencrab.engine.autonomy.instruction_plan import review_autonomy_instruction_plan  # noqa: PLC0415

    plan = deciding.board.instruction_plan()
    changed = review_autonomy_instruction_plan(deciding.runtime, agent, plan, deciding.now)
    if changed:
        deciding.board = GoalBoard.of(deciding.runtime.home.facts, deciding.profile, deciding.now)
    return changed


def _falls_asleep(deciding: _Deciding, *, reviewed: bool) -> bool:
    """Check whether recent turns were useless, or the owner's reply to waiting goals is overdue."""
    signs = deciding.signs
    vain = signs.in_vain >= deciding.runtime.rules.autonomy.dormant_after
    if vain and not signs.has_pending_input:
        return True
    return reviewed and are_paused_goals_overdue(deciding.board, signs, deciding.now)


def _may_begin(deciding: _Deciding, occupied: Occupied) -> bool:
    """Check that neither a freeze, another turn of the agent, nor a budget prevents a turn."""
    runtime, agent = deciding.runtime, deciding.profile.agent
    switches = runtime.home.switches
    if switches.is_frozen(INSTALLATION) or switches.is_frozen(agent.id):
        return False
    return agent.id not in occupied() and not _is_budget_exhausted(deciding)


def _is_budget_exhausted(deciding: _Deciding) -> bool:
    """Check whether a daily budget of the heartbeats, the agent or the installation is used up.

    A budget of 0 counts as used up. With a model that is free, no budget is needed.
    """
    drawn = budget_limits(deciding.runtime, deciding.profile.agent).drawn
    spent = any(each.limit_micro_usd <= each.drawn_micro_usd for each in drawn)
    return spent and not _is_free(deciding)


def _is_free(deciding: _Deciding) -> bool:
    """Check whether the model for a heartbeat's turn costs nothing."""
    models, agent = deciding.runtime.models, deciding.profile.agent
    basis = RoutingBasis(model=agent.model, models=agent.llm.models)
    try:
        model, _ = router.first_routed_model(
            models, turn_think_context("", Trigger.HEARTBEAT).use, basis, ()
        )
    except Invalid:
        return False
    price = model.info.price
    most = {"request_tokens": _MILLION, "max_output_tokens": _MILLION}
    return price is not None and price.reservation(**most) == 0


def _turn_for_first_reason(deciding: _Deciding, reasons: tuple[BeatReason, ...]) -> _Begun | None:
    """Start the turn for the most pressing reason that still holds; None if none does."""
    chosen = first_heartbeat_reason(reasons, deciding.signs)
    ways = {
        BeatReason.MENTION: _answer,
        BeatReason.UNREAD: _look,
        BeatReason.GOAL: _take_up,
        BeatReason.CURIOSITY: _explore,
    }
    for reason in (chosen, *(other for other in reasons if other is not chosen)):
        begun = ways[reason](deciding, reasons)
        if begun is not None:
            return begun
    return None


def _answer(deciding: _Deciding, _reasons: tuple[BeatReason, ...]) -> _Begun | None:
    """Start a turn in the session where the agent was mentioned, and clear the mention.

    The turn has the authority of the speaker, and is told of nothing else that the heartbeat found.
    None if there is no mention or its session has ended.
    """
    mention = deciding.signs.mention
    deciding.note(mention=None)
    if mention is None:
        return None
    try:
        session = deciding.runtime.home.sessions.get(mention.session_id)
    except NotFound:
        return None
    if session.status is SessionStatus.ENDED:
        return None
    # Words of others are never the agent's own wish.
    own = mention.authority is Authority.SELF
    authority = Authority.PEER if own else mention.authority
    foreign = does_authority_taint_reader(authority)
    channel = mention.channel and mention.channel.replaced(awaited=False)
    item = _item(deciding, (BeatReason.MENTION,), session.id, channel)
    message = item.message.replaced(authority=authority, principal_id=mention.principal_id)
    hops = session.hops + 1 if foreign else 0
    item = item.replaced(message=message, taint=foreign, hops=hops, payer=mention.payer)
    return _due(deciding, item)


def _look(deciding: _Deciding, reasons: tuple[BeatReason, ...]) -> _Begun | None:
    """Start a turn in the agent's own session that reads the unread events.

    None if there are none. If an event is tainted, the turn's replies stay in that session, because
    it also contains private words.
    """
    signs, now = deciding.signs, deciding.now
    fresh = _fresh(deciding)
    deciding.note(unread=len(fresh))
    if not fresh:
        return None
    session = agents_own_session(signs.agent_id, now)
    channel = signs.heartbeat.channel
    tainted = any(event.tainted for event in fresh[:EVENTS_READ])
    if channel is not None and (
        tainted or is_heartbeat_speech_in_cooldown(signs, channel.target, now)
    ):
        channel = None
    item = _item(deciding, reasons, session.id, channel)
    return _due(deciding, item.replaced(session=session))


def _fresh(deciding: _Deciding) -> list[AgentEvent]:
    """Return the unread events of the agent, in stored order."""
    signs, now = deciding.signs, deciding.now
    facts = deciding.runtime.home.facts
    page = facts.page(signs.agent_id, HAPPENING, after=signs.read_to, limit=MOST)
    kept = (fact for fact in page if fact.expires_at is None or fact.expires_at > now)
    return [fact.read(AgentEvent) for fact in kept]


def _take_up(deciding: _Deciding, _reasons: tuple[BeatReason, ...]) -> _Begun | None:
    """Start the next turn of the open goal with the highest priority; None if none may begin."""
    goal = begin_best_goal(deciding.runtime, deciding.board, deciding.now)
    deciding.note(goal_at=None)
    return None if goal is None else _Begun(goal.turn_id or "", goal.session_id)


def _explore(deciding: _Deciding, _reasons: tuple[BeatReason, ...]) -> _Begun | None:
    """Start an exploration goal's first turn; if there is no room, not before the next review."""
    goal = generate_exploration_goal(deciding.runtime, deciding.board, deciding.now)
    deciding.note(exploring=True)
    return None if goal is None else _Begun(goal.turn_id or "", goal.session_id)


def _item(
    deciding: _Deciding, reasons: tuple[BeatReason, ...], session_id: str, channel: Channel | None
) -> DueItem:
    signs, slot = deciding.signs, deciding.slot
    # A slot that a clock brought back once more is another beat.
    again = f"#{signs.beats}" if slot <= signs.slot else ""
    source_id = f"beat#{signs.agent_id}#{slot}{again}"
    text = heartbeat_prompt(reasons, deciding.profile.agent.language, unread=signs.unread)
    return DueItem(
        id=f"beat-{signs.agent_id}-{slot}{again.replace('#', '-')}",
        at=deciding.now,
        session_id=session_id,
        message=Message(
            source=Source.HEARTBEAT,
            source_id=source_id,
            principal_id=signs.agent_id,
            sender=OPENCRAB,
            authority=Authority.SELF,
            parts=(TextPart(text=text),),
            channel=channel,
        ),
        trigger=Trigger.HEARTBEAT,
        only=(signs.agent_id,),
    )


def _due(deciding: _Deciding, item: DueItem) -> _Begun:
    deciding.items.append(item)
    turn = item.message.turn_in(item.session_id, deciding.signs.agent_id)
    return _Begun(turn, item.session_id)


def _commit_turn(deciding: _Deciding, reasons: tuple[BeatReason, ...], begun: _Begun) -> None:
    """Write the heartbeat with its turn and mark the agent as busy until the turn ends."""
    now, signs = deciding.now, deciding.signs
    lease = timedelta(seconds=deciding.runtime.rules.visibility_seconds)
    told = LoggedHeartbeat(
        agent_id=signs.agent_id,
        slot=deciding.slot,
        at=now,
        reasons=reasons,
        turn_id=begun.turn_id,
        session_id=begun.session_id,
    )
    line = new_fact(
        signs.agent_id, BEAT, f"{deciding.slot:012d}", told, expires_at=now + LOGGED
    ).replaced(version=0)
    changed = signs.after_beat(now).replaced(
        turns=signs.turns + 1, turn_id=begun.turn_id, busy_until=now + lease
    )
    deciding.commit(changed, line)
