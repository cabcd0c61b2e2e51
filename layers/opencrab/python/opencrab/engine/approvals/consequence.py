"""What a turn's end means for approvals: what it asked and nobody has answered is withdrawn."""

from typing import Protocol

from opencrab.domain.turn.transcript import Transcript
from opencrab.engine.approvals.approvals import withdrawn
from opencrab.engine.consequence import Ending, Following, TurnConsequence
from opencrab.engine.runtime import Runtime


class Asking(Protocol):
    """What this needs of a turn at work."""

    runtime: Runtime
    transcript: Transcript


class ApprovalConsequence(TurnConsequence[Runtime, Asking]):
    """Questions of a turn end with it."""

    def on_close(self, work: Asking, ending: Ending) -> Following:
        return Following(facts=withdrawn(work.runtime, ending.turn, work.transcript))
