"""Judging: what an ended turn was worth by what happened, not by what its model thinks of it."""

from collections.abc import Iterable
from datetime import datetime

from opencrab.domain.learning.signals import TurnSignals
from opencrab.domain.memory.memory import Experience
from opencrab.domain.outcome import Outcome
from opencrab.domain.turn.turn import TurnStatus
from opencrab.domain.value import Value

OPINIONS = 3.0
"""The weight of people's opinions: given after reading the answer, they are closest to the truth.
"""

OUTCOMES = 2.0
"""The weight of a task's outcome, confirmed by its conditions, and of a turn without an answer."""

CORRECTED = 2.0
"""The weight of a correction: nearly as reliable as an opinion, but detected by words."""

THANKED = 1.5
"""The weight of thanks in the next message: people also thank for an effort."""

REPEATED = 1.0
"""The weight of a repeated question: it was hardly answered, or was asked by habit."""

ACTIONS = 1.0
"""The weight of actions that succeeded: they were well formed, which says little about their use.
"""


class TurnOpinion(Value):
    """A person's latest opinion of a turn; `up` None takes it back."""

    turn_id: str
    up: bool | None
    at: datetime
    by_owner: bool = False


class JudgedTurn(Value):
    """A turn with its reward; None if no signal indicates one.

    `said` is the reward without the outcome of its actions: a skill may make a model act more
    often, so that turns are judged, and judged well, that would not be judged at all without the
    skill. `weight` is the sum of its signals' weights, and `acted` the share of its actions in it.
    """

    signals: TurnSignals
    worth: float | None
    said: float | None = None
    weight: float = 0.0
    acted: float = 0.0


def turn_feedback_opinions(experiences: Iterable[Experience]) -> tuple[TurnOpinion, ...]:
    """Return people's latest opinions of turns; a remark without a rating is none.

    What an agent noted in a turn of its own, also about a peer, is no opinion.
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
    signals: TurnSignals,
    opinions: Iterable[TurnOpinion],
    *,
    corrected: bool,
    repeated: bool,
    thanked: bool = False,
) -> float | None:
    """Compute the weighted mean of a turn's objective signals, 0..1; None if it has none.

    All opinions together are one signal, their mean, so that many people weigh no more than one; if
    an owner has an opinion, no other counts. A missing signal is left out: it is neither good nor
    bad. A model's grade of its own answer is not used. Of a turn that answered an outsider only the
    owner's opinion counts: others could cause all other signals.
    """
    found = _reward_signals(
        signals, opinions, corrected=corrected, repeated=repeated, thanked=thanked
    )
    weight = sum(each for each, _ in found)
    return sum(each * value for each, value in found) / weight if weight else None


def turn_reward_weight(
    signals: TurnSignals,
    opinions: Iterable[TurnOpinion],
    *,
    corrected: bool,
    repeated: bool,
    thanked: bool = False,
) -> float:
    """Return the sum of the weights of a turn's signals; 0 without any."""
    found = _reward_signals(
        signals, opinions, corrected=corrected, repeated=repeated, thanked=thanked
    )
    return sum(each for each, _ in found)


def _reward_signals(
    signals: TurnSignals,
    opinions: Iterable[TurnOpinion],
    *,
    corrected: bool,
    repeated: bool,
    thanked: bool = False,
) -> list[tuple[float, float]]:
    """Return the weight and the value of each signal of a turn."""
    told = [(each.by_owner, each.up) for each in opinions if each.up is not None]
    said = [up for by_owner, up in told if by_owner]
    if not said and not signals.outsider:
        said = [up for _, up in told]
    found = [(OPINIONS, sum(said) / len(said))] if said else []
    if signals.outsider:
        return found
    if signals.task_success is not None:
        found.append((OUTCOMES, float(signals.task_success)))
    marks = ((corrected, CORRECTED, 0.0), (repeated, REPEATED, 0.0), (thanked, THANKED, 1.0))
    found.extend((weight, value) for is_so, weight, value in marks if is_so)
    tried = signals.done + signals.undone
    if tried > 0:
        found.append((ACTIONS, signals.done / tried))
    if _reward_signals_show_no_answer(signals):
        found.append((OUTCOMES, 0.0))
    return found


def _reward_signals_show_no_answer(signals: TurnSignals) -> bool:
    """Check whether the turn failed, or its answers were repaired and it did nothing."""
    nothing = not (signals.spoke or signals.done or signals.task_success)
    return signals.status is TurnStatus.FAILED or (signals.repairs > 0 and nothing)
