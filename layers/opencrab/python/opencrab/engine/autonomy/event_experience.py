"""What a turn that acted on events leaves as an experience: what happened, and what was done."""

from collections.abc import Sequence
from datetime import datetime

from opencrab.domain.agents.event import AgentEvent
from opencrab.domain.document import Document, new_fact
from opencrab.domain.identifier import content_hash, new_ulid
from opencrab.domain.learning.skill_trials import may_vouch_for_learned_skill
from opencrab.domain.memory.memory import EXPERIENCE, Experience
from opencrab.domain.outcome import Outcome
from opencrab.domain.turn.action import Effect
from opencrab.engine.goals.turn_evidence import has_goal_turn_stored_lesson
from opencrab.engine.turn.receipt import receipts_of_turn
from opencrab.engine.turn.work import TurnWork
from opencrab.ports.turn.action import one_line

_SENTENCE, _DEEDS = 500, 5


def experience_of_heartbeat_events(
    work: TurnWork, events: Sequence[AgentEvent], now: datetime
) -> Document | None:
    """Return the experience of a turn that its agent began for these events.

    None if the journal has no effect of it, if it stored a lesson itself, or if it served a goal,
    whose end is the experience. An action that failed makes the outcome partial.
    """
    deeds = _deeds(work)
    if work.turn.task is not None or not deeds or has_goal_turn_stored_lesson(work):
        return None
    turn, first = work.turn, events[0]
    failed = any(not result.success for _, result in work.transcript.ended_calls)
    more = f" (+{len(events) - 1})" if len(events) > 1 else ""
    happened = f"[{first.type}] {first.text}".strip()
    lived = Experience(
        id=new_ulid(int(now.timestamp() * 1_000), bytes.fromhex(content_hash(turn.id.encode()))),
        experience=f"{one_line(happened, _SENTENCE)}{more}",
        outcome=Outcome.PARTIAL if failed else Outcome.SUCCESS,
        lesson=one_line("; ".join(deeds[:_DEEDS]), _SENTENCE),
        about_turn=turn.id,
        tainted=not may_vouch_for_learned_skill(turn),
        turn_id=turn.id,
        session_id=turn.session_id,
        person_id=turn.principal_id,
        at=now,
    )
    return new_fact(turn.agent_id, EXPERIENCE, lived.id, lived)


def _deeds(work: TurnWork) -> list[str]:
    """Return what the turn did that is more than reading, each with the path that it wrote."""
    found = []
    for receipt in receipts_of_turn(work):
        action = work.runtime.actions.find(receipt.action)
        if action is None or action.effect is not Effect.PURE:
            found.append(f"{receipt.action} {receipt.path or ''}".strip())
    return list(dict.fromkeys(found))
