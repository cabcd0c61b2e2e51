"""Evidence: what the steps of a turn tell about its goals."""

from opencrab.domain.goals.goal import goal_id_of_label
from opencrab.domain.turn.record import action_name_of_turn_call
from opencrab.engine.turn.work import TurnWork


def last_speech_of_turn(work: TurnWork) -> str:
    """Return the last text that the turn spoke with an action; "" for none."""
    spoken = [effect.text for effect in work.transcript.effects if effect.kind == "spoke"]
    return spoken[-1] if spoken else ""


def goals_started_by_turn(work: TurnWork) -> list[str]:
    """Return the ids of goals that this turn started, except its own."""
    own = None if work.turn.task is None else goal_id_of_label(work.turn.task)
    names = [
        effect.goal
        for effect in work.transcript.effects
        if effect.kind == "goal_begun" and effect.goal != own
    ]
    return list(dict.fromkeys(names))


def why_turn_plan_was_refused(work: TurnWork) -> str | None:
    """Return why the turn's last plan was refused; None if there was none or it was accepted."""
    ended = work.transcript.ended_calls
    answers = [result for call, result in ended if action_name_of_turn_call(call) == "plan_goal"]
    return None if not answers or answers[-1].success else answers[-1].error or ""
