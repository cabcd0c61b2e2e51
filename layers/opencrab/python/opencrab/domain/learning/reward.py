"""Judging: what an ended turn was worth by what happened, not by what its model thinks of it."""

from collections.abc import Iterable
from datetime import datetime

from opencrab.domain.learning.signals import TurnSignals
from opencrab.domain.memory.memory import Experience
from opencrab.domain.outcome import Outcome
from opencrab.domain.turn.turn import TurnStatus
from opencrab.domain.value import Value

OPINIONS = 3.0
"""People say it after they have seen the answer: the nearest to the truth that there is."""

OUTCOMES = 2.0
"""A task's outcome was confirmed by its conditions, and a turn without an answer is of no use."""

CORRECTED = 2.0
"""Who corrects an answer had to say it again: nearly as telling as an opinion, found by words."""

REPEATED = 1.0
"""A question that comes again was hardly answered, or was it only asked by habit."""

ACTIONS = 1.0
"""That actions went through says that they were well formed, little about whether they helped."""


class TurnOpinion(Value):
    """What one person thinks of a turn, the latest word of each; `up` None takes it back."""

    turn_id: str
    up: bool | None
    at: datetime
    by_owner: bool = False


def turn_feedback_opinions(experiences: Iterable[Experience]) -> tuple[TurnOpinion, ...]:
    """What people thought of turns, the latest word of each; a remark alone is no opinion.

    What an agent noted in a turn of its own, be it of a peer, is its own word and nobody's opinion.
    """
    latest: dict[tuple[str, str], TurnOpinion] = {}
    for lived in experiences:
        if not lived.is_opinion or lived.outcome is Outcome.PARTIAL:
            continue
        key = (lived.about_turn, lived.from_person)
        if key not in latest or latest[key].at <= lived.at:
            latest[key] = TurnOpinion(
                turn_id=lived.about_turn,
                up=lived.outcome is Outcome.SUCCESS,
                at=lived.at,
                by_owner=lived.by_owner,
            )
    return tuple(latest.values())


def turn_reward(
    signals: TurnSignals, opinions: Iterable[TurnOpinion], *, corrected: bool, repeated: bool
) -> float | None:
    """The weighted mean of the objective signals of a turn, 0..1; None where there are none.

    All opinions together are one signal, their mean, so that a crowd weighs no more than one
    voice; where an owner has one, no other counts. A missing signal is left out: it is neither good
    nor bad. Nothing that a model says of its own answer enters here. Of a turn that answered an
    outsider only the owner's opinion counts: all else of it others could bring about.
    """
    told = [(each.by_owner, each.up) for each in opinions if each.up is not None]
    said = [up for by_owner, up in told if by_owner]
    if not said and not signals.outsider:
        said = [up for _, up in told]
    found = [(OPINIONS, sum(said) / len(said))] if said else []
    if signals.outsider:
        return found[0][1] if found else None
    if signals.task_success is not None:
        found.append((OUTCOMES, float(signals.task_success)))
    if corrected:
        found.append((CORRECTED, 0.0))
    if repeated:
        found.append((REPEATED, 0.0))
    tried = signals.done + signals.undone
    if tried > 0:
        found.append((ACTIONS, signals.done / tried))
    if is_turn_unanswered(signals):
        found.append((OUTCOMES, 0.0))
    weight = sum(each for each, _ in found)
    return sum(each * value for each, value in found) / weight if weight else None


def is_turn_unanswered(signals: TurnSignals) -> bool:
    """Whether the turn failed, or its answers had to be repaired and nothing came of it."""
    nothing = not (signals.spoke or signals.done or signals.task_success)
    return signals.status is TurnStatus.FAILED or (signals.repairs > 0 and nothing)
