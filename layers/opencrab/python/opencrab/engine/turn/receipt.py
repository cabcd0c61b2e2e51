"""Receipts: what a turn has done so far, as goals, heartbeats and checks of calls ask for it."""

from opencrab.domain.goals.goal import ActionReceipt
from opencrab.domain.turn.action import ActionResult, FileDeleted, FileWritten
from opencrab.domain.turn.record import action_name_of_turn_call
from opencrab.engine.turn.work import TurnWork

NO_DEEDS = frozenset({"speech", "planning", "finding"})
"""The groups of actions that only talk, plan or search: their calls make no receipts."""


def receipts_of_turn(work: TurnWork) -> tuple[ActionReceipt, ...]:
    """Return the receipts of what a turn has done so far; talking and planning make none."""
    return tuple(
        receipt
        for call, result in work.transcript.ended_calls
        if result.success
        for receipt in _receipts(work, action_name_of_turn_call(call), result)
    )


def _receipts(work: TurnWork, name: str, result: ActionResult) -> tuple[ActionReceipt, ...]:
    action = work.runtime.actions.find(name)
    if action is None or action.group in NO_DEEDS:
        return ()
    paths: list[str | None] = [
        effect.path
        for effect in result.side_effects
        if isinstance(effect, FileWritten | FileDeleted)
    ]
    return tuple(
        ActionReceipt(action=name, path=path, turn_id=work.turn.id) for path in paths or [None]
    )
