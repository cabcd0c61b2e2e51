"""Actions on beliefs, working memory, the knowledge graph and peer ratings.

What is stored by a turn that read untrusted text or serves a peer is tainted. Tainted text never
confirms or refutes a belief that is not tainted. A turn that others hear, and to which none of
this is shown, adds to it but replaces nothing, and its results do not tell what was there.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Annotated, Literal

from pydantic import Field

from opencrab.actions.memory.belief_claim import (
    belief_evidence_of_turn,
    belief_of_claim,
    visible_belief_label,
)
from opencrab.actions.registry import Group
from opencrab.domain.access.impact import Impact
from opencrab.domain.document import Document, new_fact
from opencrab.domain.errors import Invalid, NotFound, Refused, TooLarge
from opencrab.domain.learning.skill_trials import may_vouch_for_learned_skill
from opencrab.domain.memory.belief import BELIEF, EVIDENCE, Belief, Evidence, revise_belief
from opencrab.domain.memory.belief_index import (
    BELIEFS,
    PEERS,
    belief_with_same_claim,
    salient_beliefs_change,
)
from opencrab.domain.memory.knowledge_graph import (
    NODE,
    KnowledgeEdge,
    KnowledgeNode,
    KnowledgeSource,
    Relation,
    knowledge_node_id,
)
from opencrab.domain.memory.knowledge_link import KnowledgeLink
from opencrab.domain.memory.peer import INTERESTS, PEER, Peer, memory_of_peer_after_collaboration
from opencrab.domain.memory.salient_beliefs import (
    OUTLOOK,
    SalientBeliefs,
    remember_belief,
    remember_peer_in_memory,
)
from opencrab.domain.memory.working_memory import (
    WORKING,
    WORKING_BYTES,
    WorkingMemory,
    write_working_memory,
)
from opencrab.domain.outcome import Outcome
from opencrab.domain.text.plain import clean_text
from opencrab.domain.turn.action import ActionResult, Effect
from opencrab.domain.value import Identifier, Name, ShortText, Text, Unit, Value
from opencrab.ports.paging import all_pages
from opencrab.ports.turn.action import ActionContext

ARGUMENT_BYTES = 6 * WORKING_BYTES
"""Size of a full working memory in which JSON escapes every character."""

Change = Callable[[SalientBeliefs], SalientBeliefs]

_CONTENT = 2_000

group = Group("inner")

Evidences = Annotated[tuple[Evidence, ...], Field(max_length=EVIDENCE)]


class FormBelief(Value):
    claim: ShortText = Field(description="One sentence that can turn out wrong")
    confidence: Unit | None = None
    evidence: Evidences = ()
    test: ShortText = Field("", description="What code checks: file:a.md, action:NAME, balance>=20")


class TestBelief(Value):
    belief_id: Identifier
    outcome: Literal["success", "failure", "partial"]
    evidence: Evidences = ()


class NoteWorkingMemory(Value):
    content: Text
    append: bool = False


class LinkKnowledge(Value):
    origin: Name
    relation: Relation = Field(description="Like is_part_of")
    target: Name
    content: ShortText = Field("", description="What you know of origin")


class RatePeer(Value):
    peer_id: Identifier
    outcome: Literal["success", "failure", "partial"]
    competence: Unit | None = None
    reliability: Unit | None = None
    interests: Annotated[tuple[Name, ...], Field(max_length=INTERESTS)] = ()


@group.action(
    impact=Impact.SELF,
    effect=Effect.TRANSACTIONAL,
    sentences=("Believe: {claim}", "「{claim}」と考える"),
    ja="正しいと思う主張を1つ残します。同じ主張なら確信が強まります。",
)
def form_belief(arguments: FormBelief, context: ActionContext) -> ActionResult:
    """Keep one claim that you hold to be true; the same claim again confirms it."""
    if not arguments.test:
        return _form_belief(arguments, context)
    # Few beliefs have a test, so not every worker loads it.
    from opencrab.actions.memory.belief_test import (  # noqa: PLC0415
        belief_test_change,
        checked_belief_test,
    )

    test = checked_belief_test(arguments.test, context)
    formed = _form_belief(arguments, context)
    if formed.data is None:
        return formed
    return formed.keeping(belief_test_change(test, formed.data["belief_id"], context))


@group.action(
    impact=Impact.SELF,
    effect=Effect.TRANSACTIONAL,
    sentences=("Test belief {belief_id}: {outcome}", "信念 {belief_id} を確かめる: {outcome}"),
    ja="見たことで信念を確かめます。success は正しかった、failure は違った。",
)
def test_belief(arguments: TestBelief, context: ActionContext) -> ActionResult:
    """Make a belief surer or less sure by what you saw."""
    stored = context.reach.facts.get(context.agent.id, BELIEF, arguments.belief_id)
    if stored is None or not context.clearance.whole:
        raise NotFound(
            f"there is no belief {arguments.belief_id!r}",
            field="belief_id",
            cure="use the id of a belief that you were shown, or use form_belief",
        )
    known = stored.read(Belief)
    _require_vouching(known, context)
    evidence = belief_evidence_of_turn(arguments.evidence, context)
    after = revise_belief(known, Outcome(arguments.outcome), evidence, context.clock.now())
    confirmed = after.confidence >= known.confidence
    return _keeping_belief(stored.with_body(after), after, context, confirmed=confirmed)


@group.action(
    impact=Impact.SELF,
    effect=Effect.TRANSACTIONAL,
    sentences=("Note for itself: {content}", "自分用に書き留める: {content}"),
    ja="作業中のメモを書きます。目標の途中なら目標が終わるまで、ほかでは次に目覚めて書かなければ消えます。",
    argument_bytes=ARGUMENT_BYTES,
)
def note_working_memory(arguments: NoteWorkingMemory, context: ActionContext) -> ActionResult:
    """Note what you need at hand: kept until a goal ends, else until a waking that writes none."""
    if not context.clearance.whole:
        raise Refused(
            "notes to yourself are not kept where others hear your answer",
            cure="use save_memory or write a file; both can be read here again",
        )
    stored = context.reach.facts.get(context.agent.id, WORKING, WORKING)
    turn = context.turn
    new = WorkingMemory.model_construct(
        text=clean_text(arguments.content),
        turn_id=turn.id,
        session_id=context.session.id,
        person_id=turn.principal_id,
        tainted=not may_vouch_for_learned_skill(turn),
        at=context.clock.now(),
    )
    after = write_working_memory(
        stored.read(WorkingMemory) if stored else None, new, append=arguments.append
    )
    fact = (
        stored.with_body(after) if stored else new_fact(context.agent.id, WORKING, WORKING, after)
    )
    size = len(after.text.encode())
    return ActionResult.ok(bytes=size, left=WORKING_BYTES - size).keeping(fact)


@group.action(
    impact=Impact.SELF,
    effect=Effect.TRANSACTIONAL,
    sentences=("Link {origin} {relation} {target}", "{origin}と{target}を結ぶ({relation})"),
    ja="知っている2つのことの関係を残します。繰り返すと強まります。",
)
def link_knowledge(arguments: LinkKnowledge, context: ActionContext) -> ActionResult:
    """Keep how one thing relates to another; saying it again makes the relation stronger."""
    content = clean_text(arguments.content)
    if len(content) > _CONTENT:
        raise TooLarge(
            f"content has {len(content)} characters, at most {_CONTENT} are allowed",
            field="content",
            cure="shorten it",
        )
    now, turn = context.clock.now(), context.turn
    node = partial(
        KnowledgeNode,
        id="",
        source=KnowledgeSource.INFERENCE,
        tainted=not may_vouch_for_learned_skill(turn),
        turn_id=turn.id,
        session_id=context.session.id,
        person_id=turn.principal_id,
        updated_at=now,
    )
    edge = KnowledgeEdge(
        origin="",
        target="",
        relation=arguments.relation,
        tainted=not may_vouch_for_learned_skill(turn),
        turn_id=turn.id,
        updated_at=now,
    )
    origin = node(label=visible_belief_label("origin", arguments.origin), content=content)
    target = node(label=visible_belief_label("target", arguments.target))
    facts, agent_id = context.reach.facts, context.agent.id
    if content and not _may_reword(
        facts.get(agent_id, NODE, knowledge_node_id(origin.label)), context
    ):
        origin = origin.replaced(content="")
    linking = KnowledgeLink(origin, edge, target)
    stored = facts.get_many(agent_id, *linking.names)
    kept, changes = linking.changes(agent_id, stored, partial(_count, context))
    weight = {"weight": round(kept.weight, 4)} if context.clearance.whole else {}
    return ActionResult.ok(origin=kept.origin, target=kept.target, **weight).keeping(*changes)


@group.action(
    impact=Impact.SELF,
    effect=Effect.TRANSACTIONAL,
    sentences=("Rate {peer_id}: {outcome}", "{peer_id}との協力を評価する: {outcome}"),
    ja="他のエージェントとの協力がどうだったかを残します。",
    for_peers=True,
)
def rate_peer(arguments: RatePeer, context: ActionContext) -> ActionResult:
    """Keep how working with another agent went. Trust decides whom you heed, nothing else."""
    agent_id, peer_id = context.agent.id, arguments.peer_id
    if peer_id == agent_id:
        raise Invalid(
            "you cannot rate yourself",
            field="peer_id",
            cure="give another agent's id, or use form_belief",
        )
    stored = context.reach.facts.get(agent_id, PEER, peer_id)
    if stored is None and _count(context, PEER) >= PEERS:
        raise Refused(
            f"limit reached: {PEERS} peers",
            cure="ask your owner to remove some",
        )
    earlier = stored.read(Peer) if stored else Peer(agent_id=peer_id)
    # Where others hear the answer, only the outcome counts: it adds, the others replace.
    own = context.clearance.whole or stored is None
    judged = {"competence", "reliability"} if own else set[str]()
    given = arguments.model_dump(include=judged, exclude_none=True)
    if own and arguments.interests:
        given["interests"] = tuple(dict.fromkeys(arguments.interests))
    # An agent's own session never changes, so each collaboration in it counts.
    here = "" if context.session.created_by == agent_id else context.session.id
    outcome = Outcome(arguments.outcome)
    after = memory_of_peer_after_collaboration(
        earlier, outcome, here, context.clock.now()
    ).replaced(**given, tainted=earlier.tainted or not may_vouch_for_learned_skill(context.turn))
    fact = stored.with_body(after) if stored else new_fact(agent_id, PEER, peer_id, after)
    told = ActionResult.ok(peer_id=peer_id)
    if context.clearance.whole:
        told = ActionResult.ok(
            peer_id=peer_id,
            counted=after.interactions > earlier.interactions,
            interactions=after.interactions,
            successes=after.successes,
        )
    return told.keeping(
        fact, *_outlook(context, lambda outlook: remember_peer_in_memory(outlook, after))
    )


def _form_belief(arguments: FormBelief, context: ActionContext) -> ActionResult:
    new = belief_of_claim(arguments.claim, arguments.confidence, arguments.evidence, context)
    held = dict(_beliefs(new.id, context))
    name = _same_claim(new, held, context)
    if name is None:
        if len(held) >= BELIEFS:
            raise Refused(
                f"limit reached: {BELIEFS} beliefs",
                cure="confirm one that says nearly the same, or ask your owner to remove some",
            )
        fact = new_fact(context.agent.id, BELIEF, new.id, new)
        return _keeping_belief(fact, new, context, confirmed=False)
    stored = held[name]
    known = stored.read(Belief)
    if known.tainted and not new.tainted:
        new = new.replaced(id=name)
        return _keeping_belief(stored.with_body(new), new, context, confirmed=False)
    if not context.clearance.whole and _needs_vouching(known, context):
        return _belief_result(new, confirmed=False)
    _require_vouching(known, context)
    if context.turn.id in known.evidence:
        return _shown_belief(new, known, context, confirmed=False)
    after = revise_belief(known, Outcome.SUCCESS, new.evidence, context.clock.now())
    kept = _keeping_belief(stored.with_body(after), after, context, confirmed=True)
    return _shown_belief(new, after, context, confirmed=True).keeping(*kept.facts)


def _same_claim(new: Belief, held: dict[str, Document], context: ActionContext) -> str | None:
    """Return the id of the belief that a claim confirms; of unread ones only with equal words."""
    if context.clearance.whole:
        return belief_with_same_claim(new, (fact.read(Belief) for fact in held.values()))
    return new.id if new.id in held else None


def _may_reword(stored: Document | None, context: ActionContext) -> bool:
    """Check whether the turn may replace what is known of a node: not words from elsewhere."""
    if stored is None or context.clearance.whole:
        return True
    known = stored.read(KnowledgeNode)
    return not known.content or known.session_id == context.session.id


def _needs_vouching(known: Belief, context: ActionContext) -> bool:
    return not known.tainted and not may_vouch_for_learned_skill(context.turn)


def _require_vouching(known: Belief, context: ActionContext) -> None:
    if _needs_vouching(known, context):
        raise Refused(
            f"untrusted text cannot confirm or refute belief {known.id!r}",
            cure="test it in a turn that has read no untrusted text",
        )


def _keeping_belief(
    fact: Document, belief: Belief, context: ActionContext, *, confirmed: bool
) -> ActionResult:
    outlook = _outlook(context, lambda outlook: remember_belief(outlook, belief))
    return _belief_result(belief, confirmed=confirmed).keeping(fact, *outlook)


def _shown_belief(
    new: Belief, known: Belief, context: ActionContext, *, confirmed: bool
) -> ActionResult:
    """Return what the turn is told of a belief: one that it may not read looks like a new one."""
    if context.clearance.whole:
        return _belief_result(known, confirmed=confirmed)
    return _belief_result(new, confirmed=False)


def _belief_result(belief: Belief, *, confirmed: bool) -> ActionResult:
    told = {"belief_id": belief.id, "confidence": round(belief.confidence, 4)}
    return ActionResult.ok(**told, confirmed=confirmed, tainted=belief.tainted)


def _outlook(context: ActionContext, change: Change) -> tuple[Document, ...]:
    """Return the agent's changed document of salient beliefs, or nothing if it is the same."""
    agent_id = context.agent.id
    stored = context.reach.facts.get(agent_id, OUTLOOK, OUTLOOK)
    before = stored.read(SalientBeliefs) if stored else SalientBeliefs()
    return salient_beliefs_change(agent_id, stored, change(before))


def _beliefs(name: str, context: ActionContext) -> Iterator[tuple[str, Document]]:
    """Yield the belief with this id, or all stored beliefs if there is none with this id."""
    stored = context.reach.facts.get(context.agent.id, BELIEF, name)
    if stored is not None:
        yield name, stored
        return
    for fact in _all(context, BELIEF):
        yield fact.id, fact


def _count(context: ActionContext, kind: str) -> int:
    return sum(1 for _ in _all(context, kind))


def _all(context: ActionContext, kind: str) -> Iterator[Document]:
    return all_pages(context.reach.facts, context.agent.id, kind)
