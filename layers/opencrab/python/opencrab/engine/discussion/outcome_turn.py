"""Goes on with outcomes and promises when turns end; most turns have none, and load nothing."""

from opencrab.domain.access.authority import Source
from opencrab.domain.goals.goal import GOAL
from opencrab.domain.turn.turn import Turn
from opencrab.engine.consequence import FollowUp, TurnEnding
from opencrab.engine.runtime import Runtime
from opencrab.engine.turn.work import Consequence, TurnWork

_WITHDRAW = "withdraw_promise"


class OutcomeConsequence(Consequence):
    """Goes on with an outcome that was written, and with promises that were made or have ended."""

    def on_close(self, work: TurnWork, ending: TurnEnding) -> FollowUp:
        about_goals = work.turn.task is not None and any(f.kind == GOAL for f in ending.facts)
        withdraws = any(
            call.name == _WITHDRAW or (call.arguments or {}).get("name") == _WITHDRAW
            for step in work.transcript.steps
            for call in step.answer.calls
        )
        around = work.prompt.around
        board = None if around is None else around.promises
        late = board is not None and board.unsettled(work.runtime.clock.now())
        if not (about_goals or withdraws or late or work.turn.source is Source.PEER):
            return FollowUp()
        from opencrab.engine.discussion.outcome_follow_up import (  # noqa: PLC0415 - seldom needed
            follow_up_discussion_promises,
        )

        return follow_up_discussion_promises(work, ending)

    def on_abandon(self, runtime: Runtime, turn: Turn, why: str) -> FollowUp:  # noqa: ARG002
        if turn.source is not Source.PEER:
            return FollowUp()
        from opencrab.engine.discussion.outcome_follow_up import (  # noqa: PLC0415 - seldom needed
            follow_up_abandoned_discussion,
        )

        return follow_up_abandoned_discussion(runtime, turn)
