"""A claim as a belief: its words, its confidence, and where it comes from."""

from opencrab.domain.errors import Invalid, TooLarge
from opencrab.domain.learning.skill_trials import may_vouch_for_learned_skill
from opencrab.domain.memory.belief import CLAIM, EVIDENCE, Belief
from opencrab.domain.memory.belief_index import belief_id_in_memory
from opencrab.domain.memory.write_policy import TAINTED_CONFIDENCE
from opencrab.domain.text.plain import text_on_one_line
from opencrab.ports.turn.action import ActionContext


def belief_of_claim(
    said: str, confidence: float | None, evidence: tuple[str, ...], context: ActionContext
) -> Belief:
    """Build a new belief from a claim; a tainted one has at most TAINTED_CONFIDENCE."""
    claim = visible_belief_label("claim", said)
    if len(claim) > CLAIM:
        raise TooLarge(
            f"claim has {len(claim)} characters, at most {CLAIM} are allowed",
            field="claim",
            cure="say one thing in one sentence",
        )
    now, turn = context.clock.now(), context.turn
    tainted = not may_vouch_for_learned_skill(turn)
    confidence = 0.5 if confidence is None else confidence
    return Belief(
        id=belief_id_in_memory(claim),
        claim=claim,
        confidence=min(confidence, TAINTED_CONFIDENCE) if tainted else confidence,
        evidence=belief_evidence_of_turn(evidence, context),
        formed_at=now,
        tainted=tainted,
        turn_id=turn.id,
        session_id=context.session.id,
        person_id=turn.principal_id,
    )


def belief_evidence_of_turn(given: tuple[str, ...], context: ActionContext) -> tuple[str, ...]:
    """Return the given evidence, at most EVIDENCE - 1 pieces, followed by the turn's id."""
    shown = (text_on_one_line(each) for each in given)
    said = dict.fromkeys(each for each in shown if each)
    return (*tuple(said)[: EVIDENCE - 1], context.turn.id)


def visible_belief_label(field: str, given: str) -> str:
    """Return a text on one line; raises Invalid if nothing of it can be seen."""
    label = text_on_one_line(given)
    if not label:
        raise Invalid(f"{field} is blank", field=field, cure="use visible characters")
    return label
