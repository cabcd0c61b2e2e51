"""Beliefs: what an agent holds to be true, how sure it is, and what it has seen for and against."""

from datetime import datetime
from typing import Annotated

from pydantic import Field, StringConstraints

from opencrab.domain.outcome import Outcome
from opencrab.domain.value import Stripped, Unit, Value

BELIEF = "belief"
"""The kind of documents that store beliefs."""

BELIEF_TESTS = "belief_tests"
"""Kind and id of the document that stores the declared tests of an agent's beliefs."""

CLAIM, EVIDENCE = 500, 20

Claim = Annotated[Stripped, StringConstraints(min_length=1, max_length=CLAIM)]
Evidence = Annotated[Stripped, StringConstraints(min_length=1, max_length=200)]

_CONFIRMS = {Outcome.SUCCESS: 1.0, Outcome.PARTIAL: 0.5, Outcome.FAILURE: 0.0}


class Belief(Value):
    """A claim; `evidence` is the newest evidence for or against it: ids, or few words.

    `confirmed` and `refuted` count its tests, a partial outcome half to each. `turn_id`,
    `session_id` and `person_id` say where it comes from; `tainted` if that is untrusted.
    """

    id: str
    claim: Claim
    confidence: Unit = 0.5
    confirmed: Annotated[float, Field(ge=0)] = 0.0
    refuted: Annotated[float, Field(ge=0)] = 0.0
    evidence: Annotated[tuple[Evidence, ...], Field(max_length=EVIDENCE)] = ()
    formed_at: datetime
    tested_at: datetime | None = None
    tainted: bool = False
    turn_id: str = ""
    session_id: str = ""
    person_id: str = ""


def revise_belief(
    belief: Belief, outcome: Outcome, evidence: tuple[str, ...], now: datetime
) -> Belief:
    """Return the belief after an outcome tested it.

    Confidence is the mean of a Beta posterior: (1 + confirmed) ÷ (2 + confirmed + refuted), where a
    partial outcome counts half to each. A confidence that was stated when the belief was formed
    replaces the uniform prior: it weighs as much as two tests. An unknown outcome changes only the
    time of the test.
    """
    if outcome is Outcome.UNKNOWN:
        return belief.replaced(tested_at=now)
    known = 2.0 + belief.confirmed + belief.refuted
    confirms = _CONFIRMS[outcome]
    kept = dict.fromkeys((*belief.evidence, *evidence))
    return belief.replaced(
        confidence=min((belief.confidence * known + confirms) / (known + 1.0), 1.0),
        confirmed=belief.confirmed + confirms,
        refuted=belief.refuted + 1.0 - confirms,
        evidence=tuple(kept)[-EVIDENCE:],
        tested_at=now,
    )
