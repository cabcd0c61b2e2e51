"""At the end of a turn, withdraws the approval that it asked for and nobody decided."""

from typing import Protocol

from opencrab.domain.approvals.approval import OPEN, ApprovalState
from opencrab.domain.document import INSTALLATION_FACTS, Document
from opencrab.domain.turn.transcript import Transcript
from opencrab.domain.turn.turn import Turn
from opencrab.engine.approvals.approvals import (
    NOBODY,
    WITHDRAWN,
    approval_id,
    approval_language,
    close_approval,
)
from opencrab.engine.consequence import FollowUp, TurnConsequence, TurnEnding
from opencrab.engine.runtime import Runtime
from opencrab.ports.clock import Clock
from opencrab.ports.home import Home


class Asking(Protocol):
    """The parts of a turn's work that this consequence reads."""

    runtime: Runtime
    transcript: Transcript


class ApprovalConsequence(TurnConsequence[Runtime, Asking]):
    """Withdraws a turn's undecided approval when the turn ends."""

    def on_close(self, work: Asking, ending: TurnEnding) -> FollowUp:
        return FollowUp(
            facts=_withdraw_approval(
                work.runtime.home, work.runtime.clock, ending.turn, work.transcript
            )
        )


def _withdraw_approval(
    home: Home, clock: Clock, turn: Turn, transcript: Transcript
) -> tuple[Document, ...]:
    """Return the writes that withdraw an ending turn's undecided approval; empty if it has none."""
    asked = transcript.approval
    if asked is None or transcript.decision is not None:
        return ()
    fact = home.facts.get(INSTALLATION_FACTS, OPEN, approval_id(turn, asked.n))
    if fact is None:
        return ()
    why = WITHDRAWN[approval_language(home.agents, turn.agent_id)]
    return close_approval(fact, ApprovalState.WITHDRAWN, NOBODY, why, clock.now())
