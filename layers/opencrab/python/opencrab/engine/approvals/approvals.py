"""Approvals: whether a call needs one, who may decide it, and how the decision is recorded.

An approval is decided once, for the exact arguments of its call, in the transaction that lets its
turn continue.
"""

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from opencrab.domain.access.impact import Impact
from opencrab.domain.agents.agent import Agent
from opencrab.domain.approvals.approval import DECIDED, GRANT, OPEN, Approval, ApprovalState, Grant
from opencrab.domain.approvals.call_text import require_shown_approval
from opencrab.domain.approvals.policy import ApprovalPolicy, Policy, needs_approval
from opencrab.domain.document import INSTALLATION_FACTS, Document, new_fact
from opencrab.domain.errors import Changed, Conflict, Invalid, NotFound, OpenCrabError, Refused
from opencrab.domain.identifier import content_hash, new_ulid
from opencrab.domain.turn.record import ActionCall, ApprovalDecision, ApprovalRequest, ModelResult
from opencrab.domain.turn.turn import Turn
from opencrab.domain.value import Language
from opencrab.engine.queueing import enqueue_turn, free_session_of_waiting_turn
from opencrab.engine.runtime import Runtime
from opencrab.ports.agents import Agents
from opencrab.ports.documents import Documents
from opencrab.ports.home import Home
from opencrab.ports.paging import all_pages
from opencrab.ports.turn.action import Actions
from opencrab.ports.turn.journal import Journal, resolve_record_pointers

log = logging.getLogger(__name__)

KEPT = timedelta(days=35)
"""Retention of a decided approval: as long as that of the turn that asked."""

NOBODY = "nobody"
"""The decider recorded for an approval that expired or was withdrawn."""

GRANTS_READ = 200
"""The most grants of an agent that are read; expired ones may stay stored for days."""

_TRIES = 3
_EXPIRED = {
    Language.JA: "期限切れ: 期限までに誰も決定しませんでした",
    Language.EN: "expired: nobody decided in time",
}
WITHDRAWN = {
    Language.JA: "取り下げ: ターンはもう待っていません",
    Language.EN: "withdrawn: the turn no longer waits for it",
}
"""The reason recorded for a withdrawn approval, by language."""


@dataclass(frozen=True)
class ApprovalRuling:
    """The result of the policy check; `spend` is the grant for the call, already reduced by it."""

    must_ask: bool
    spend: Document | None = None


@dataclass(frozen=True)
class Decider:
    """The one who decides: `id` is the principal that is authorized, `name` is what is recorded."""

    id: str
    is_owner: bool
    name: str = ""

    @property
    def recorded_name(self) -> str:
        """The decider's name in the record, else the id of the principal."""
        return self.name or self.id


def rule_on_approval(
    facts: Documents,
    agent: Agent,
    action_name: str,
    impact: Impact,
    targets: tuple[str, ...],
    *,
    tainted: bool,
    now: datetime,
) -> ApprovalRuling:
    """Check whether a call may run by policy or by a grant, or needs an approval.

    Write `spend` in the same transaction as the call or an earlier one; then a grant cannot be
    overdrawn. Grants do not apply to a tainted turn.
    """
    if not needs_approval(action_name, impact, agent.policy, tainted=tainted):
        return ApprovalRuling(must_ask=False)
    if tainted:
        return ApprovalRuling(must_ask=True)
    for fact in facts.page(agent.id, GRANT, limit=GRANTS_READ):
        grant = fact.read(Grant)
        if grant.covers(action_name, impact, targets, now):
            return ApprovalRuling(
                must_ask=False, spend=fact.with_body(grant.replaced(used=grant.used + 1))
            )
    return ApprovalRuling(must_ask=True)


def approval_id(turn: Turn, n: int) -> str:
    """Return the approval id of a turn's nth record: deterministic, ordered by the turn's time."""
    milliseconds = int(turn.created_at.timestamp() * 1_000)
    digest = content_hash(f"approval {turn.id} {n}".encode())
    return new_ulid(milliseconds, bytes.fromhex(digest))


def open_approval(
    turn: Turn, agent: Agent, request: ApprovalRequest, impact: Impact, now: datetime
) -> Document:
    """Return the open approval of a request, to be written in the request's transaction."""
    rules = agent.approvals
    return new_fact(
        INSTALLATION_FACTS,
        OPEN,
        approval_id(turn, request.n),
        Approval(
            id=approval_id(turn, request.n),
            agent_id=agent.id,
            session_id=turn.session_id,
            turn_id=turn.id,
            n=request.n,
            call_id=request.call_id,
            action=request.name,
            impact=impact,
            argument_hash=request.argument_hash,
            what=request.what,
            touches=request.touches,
            tainted=turn.taint,
            goal=turn.task,
            created_at=now,
            escalates_at=_after(now, rules.escalate_minutes),
            expires_at=_after(now, rules.expire_minutes),
        ),
    )


def close_approval(
    fact: Document, state: ApprovalState, by: str, reason: str, now: datetime
) -> tuple[Document, Document]:
    """Return the writes that turn an open approval into a decided one."""
    approval = fact.read(Approval).replaced(state=state, by=by, reason=reason, decided_at=now)
    decided = new_fact(INSTALLATION_FACTS, DECIDED, approval.id, approval, expires_at=now + KEPT)
    return fact.removed(), decided


def find_approval(facts: Documents, wanted: str) -> Approval:
    """Return an open or decided approval; raise NotFound."""
    for kind in (OPEN, DECIDED):
        fact = facts.get(INSTALLATION_FACTS, kind, wanted)
        if fact is not None:
            return fact.read(Approval)
    raise approval_not_found_error(wanted)


def approval_not_found_error(wanted: str) -> NotFound:
    """Return the error for an approval that does not exist, or that the caller does not see."""
    return NotFound(
        f"there is no approval {wanted!r}", cure="list them with `opencrab approvals list`"
    )


def open_or_decided_approvals(
    facts: Documents, *, decided: bool, after: str = "", limit: int = 100
) -> tuple[Approval, ...]:
    """Return a page of open approvals, oldest first, or of decided ones, newest first."""
    kind = DECIDED if decided else OPEN
    found = facts.page(INSTALLATION_FACTS, kind, after=after, limit=limit, newest_first=decided)
    return tuple(fact.read(Approval) for fact in found)


@dataclass(frozen=True)
class ApprovalCall:
    """A call that an approval is about, and the files that it named when the approval opened."""

    call: ActionCall
    targets: tuple[str, ...] | None


def call_awaiting_approval(home: Home, approval: Approval) -> ApprovalCall | None:
    """Load from the journal the call that an approval is about, None if it is gone."""
    try:
        recorded = home.journal.load(approval.turn_id)
    except NotFound:
        return None
    records = tuple(resolve_record_pointers(recorded.records, home.blobs))
    asked = (each for each in records if isinstance(each, ApprovalRequest))
    targets = next((each.targets for each in asked if each.n == approval.n), ())
    for record in records:
        if isinstance(record, ModelResult) and record.answer is not None:
            for call in record.answer.calls:
                if (call.id, call.argument_hash) == (approval.call_id, approval.argument_hash):
                    return ApprovalCall(call, targets or None)
    return None


def require_approval_delegate(approval: Approval, agent: Agent, who: Decider) -> None:
    """Raise Refused unless `who` is an owner or a delegate, even one who may not decide yet."""
    if not who.is_owner and who.id not in agent.approvals.delegates:
        raise Refused(
            f"only an owner or a delegate of agent {agent.id!r} may decide {approval.id!r}",
            cure="ask the owner, who can name you in the agent's approvals.delegates",
        )


def require_approval_decider(approval: Approval, agent: Agent, who: Decider, now: datetime) -> None:
    """Raise Refused unless `who` may decide now: an owner, or a delegate after escalation."""
    require_approval_delegate(approval, agent, who)
    if not who.is_owner and approval.escalates_at is not None and now < approval.escalates_at:
        raise Refused(
            f"only the owner may decide {approval.id!r} until {approval.escalates_at.isoformat()}",
            cure="try again then, or ask the owner",
        )


def decide_approval(
    runtime: Runtime,
    wanted: str,
    *,
    approved: bool,
    who: Decider,
    reason: str = "",
    shown_hash: str | None = None,
) -> Approval:
    """Decide an open approval once, and let its turn continue with exactly that call.

    `shown_hash` is the hash of the call that the decider saw, whole or short. Repeating the same
    decision as the same decider returns the same approval. Raises NotFound, Refused, and Conflict
    if another call was shown, or it was decided otherwise, has expired or is no longer awaited.
    """
    for _ in range(_TRIES):
        fact = runtime.home.facts.get(INSTALLATION_FACTS, OPEN, wanted)
        if fact is None:
            return _as_decided(
                find_approval(runtime.home.facts, wanted), approved=approved, who=who
            )
        approval, now = fact.read(Approval), runtime.clock.now()
        agent = runtime.home.agents.get(approval.agent_id).agent
        require_approval_decider(approval, agent, who, now)
        require_shown_approval(approval.id, approval.argument_hash, shown_hash)
        state = ApprovalState.APPROVED if approved else ApprovalState.REJECTED
        try:
            if _is_over(approval, now):
                made = _expire(runtime, fact)
            else:
                made = _record_decision(runtime, fact, state, who.recorded_name, reason)
        except Changed:
            continue
        return _as_decided(made, approved=approved, who=who)
    raise _busy(wanted)


def sweep_approvals(runtime: Runtime) -> int:
    """Reject expired approvals, withdraw those no turn waits for, and mark escalated ones.

    Returns the number of changed approvals; one that fails is retried in the next pass.
    """
    changed = 0
    for fact in _all_open(runtime.home.facts):
        try:
            changed += _sweep_approval(runtime, fact, runtime.clock.now())
        except OpenCrabError as error:
            log.warning(
                "approval sweep failed, retrying: approval=%s, error=%s", fact.id, error.message
            )
    return changed


def _sweep_approval(runtime: Runtime, fact: Document, now: datetime) -> bool:
    approval = fact.read(Approval)
    if _is_over(approval, now):
        _expire(runtime, fact)
        return True
    turn = _waiting_turn(runtime.home.journal, approval)
    if turn is None:
        _withdraw(runtime.home, fact, now)
        return True
    free_session_of_waiting_turn(runtime.home, turn, now)
    if approval.escalated or approval.escalates_at is None or now < approval.escalates_at:
        return False
    runtime.home.facts.commit(fact.with_body(approval.replaced(escalated=True)))
    return True


def _record_decision(
    runtime: Runtime, fact: Document, state: ApprovalState, by: str, reason: str
) -> Approval:
    """Write a decision into the journal and close the approval; return the closed approval.

    If the turn no longer takes a decision, its approval is withdrawn. Raises Changed when the
    approval was marked or decided since it was read.
    """
    approval, now = fact.read(Approval), runtime.clock.now()
    removed, decided = close_approval(fact, state, by, reason, now)
    decision = ApprovalDecision(
        n=approval.n,
        call_id=approval.call_id,
        argument_hash=approval.argument_hash,
        approved=state is ApprovalState.APPROVED,
        by=by,
        reason=reason,
    )
    try:
        turn = runtime.home.journal.decide(approval.turn_id, decision, removed, decided)
    except Changed:
        raise
    except (Conflict, NotFound):
        return _too_late(runtime.home, fact, now)
    enqueue_turn(runtime.home, turn, again=f"-decision{approval.n}")
    return decided.read(Approval)


def _too_late(home: Home, fact: Document, now: datetime) -> Approval:
    """Withdraw an approval whose turn took no decision; raise Conflict if the turn still waits."""
    stored = home.facts.get(INSTALLATION_FACTS, OPEN, fact.id)
    if stored is None:
        return find_approval(home.facts, fact.id)
    if _waiting_turn(home.journal, stored.read(Approval)) is not None:
        raise _busy(fact.id)
    return _withdraw(home, stored, now)


def _expire(runtime: Runtime, fact: Document) -> Approval:
    """Reject an approval that nobody decided in time; its turn continues and ends as rejected."""
    language = approval_language(runtime.home.agents, fact.read(Approval).agent_id)
    return _record_decision(runtime, fact, ApprovalState.EXPIRED, NOBODY, _EXPIRED[language])


def _withdraw(home: Home, fact: Document, now: datetime) -> Approval:
    language = approval_language(home.agents, fact.read(Approval).agent_id)
    facts = close_approval(fact, ApprovalState.WITHDRAWN, NOBODY, WITHDRAWN[language], now)
    try:
        home.facts.commit(*facts)
    except Changed:
        return find_approval(home.facts, fact.id)
    return facts[1].read(Approval)


def _as_decided(approval: Approval, *, approved: bool, who: Decider) -> Approval:
    """Return a decided approval if the caller made the same decision; raise Conflict otherwise."""
    wanted = ApprovalState.APPROVED if approved else ApprovalState.REJECTED
    if approval.state is wanted and approval.by == who.recorded_name:
        return approval
    if approval.state is ApprovalState.PENDING:
        raise _busy(approval.id)
    raise Conflict(
        f"approval {approval.id!r} is {approval.state.value} already",
        cure="read it to see who decided and why",
    )


def _waiting_turn(journal: Journal, approval: Approval) -> Turn | None:
    """Return the turn if it waits at its approval, even if a worker has just claimed it."""
    try:
        turn = journal.header(approval.turn_id)
    except NotFound:
        return None
    is_over = turn.status.is_end or (turn.stop is not None and not turn.stop.pause)
    return None if is_over or turn.sequence != approval.n + 1 else turn


def _busy(wanted: str) -> Conflict:
    return Conflict(f"approval {wanted!r} is being changed concurrently", cure="try again")


def _all_open(facts: Documents) -> Iterator[Document]:
    return all_pages(facts, INSTALLATION_FACTS, OPEN)


def approval_language(agents: Agents, agent_id: str) -> Language:
    """Return an agent's language, English for an unknown agent."""
    try:
        return agents.get(agent_id).agent.language
    except NotFound:
        return Language.EN


def _is_over(approval: Approval, now: datetime) -> bool:
    return approval.expires_at is not None and now >= approval.expires_at


def _after(now: datetime, minutes: int | None) -> datetime | None:
    return None if minutes is None else now + timedelta(minutes=minutes)


def require_valid_approval_policy(actions: Actions, policy: Policy | None) -> None:
    """Raise Invalid if a policy's list names anything but impacts and registered actions."""
    if policy is None or isinstance(policy, ApprovalPolicy):
        return
    for name in policy:
        if name not in set(Impact) and actions.find(name) is None:
            raise Invalid(
                f"{name!r} is neither an impact nor an action",
                field="policy",
                cure=f"use actions, or impacts: {', '.join(Impact)}",
            )
