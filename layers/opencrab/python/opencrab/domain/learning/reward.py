"""Judging: what an ended turn was worth by what happened, not by what its model thinks of it."""

from collections.abc import Iterable, Sequence
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


_Signal = tuple[float, float]
"""The weight and the value of a signal."""


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


def judge_turn(
    turn: TurnSignals,
    opinions: Iterable[TurnOpinion] = (),
    *,
    corrected: bool = False,
    repeated: bool = False,
    thanked: bool = False,
) -> JudgedTurn:
    """Judge a turn by the weighted mean of its objective signals, 0..1; None if it has none.

    All opinions together are one signal, so that many people weigh no more than one; if an owner
    has an opinion, no other counts. A missing signal is neither good nor bad. Of a turn that
    answered an outsider only the owner's opinion counts: others could cause all other signals.
    """
    marks = ((corrected, CORRECTED, 0.0), (repeated, REPEATED, 0.0), (thanked, THANKED, 1.0))
    after = [(weight, value) for is_so, weight, value in marks if is_so]
    told = _opinion_signal(turn, opinions)
    weight, worth = _weighted_mean([*told, *_other_signals(turn, after)])
    acted, said = turn.done + turn.undone > 0 and not turn.outsider, worth
    if acted:
        idle = turn.replaced(done=0, undone=0)
        said = _weighted_mean([*told, *_other_signals(idle, after)])[1]
    share = ACTIONS / weight if acted and weight else 0.0
    return JudgedTurn(signals=turn, worth=worth, said=said, weight=weight, acted=share)


def _weighted_mean(found: Sequence[_Signal]) -> tuple[float, float | None]:
    weight = sum(each for each, _ in found)
    return weight, sum(each * value for each, value in found) / weight if weight else None


def _opinion_signal(turn: TurnSignals, opinions: Iterable[TurnOpinion]) -> list[_Signal]:
    told = [(each.by_owner, each.up) for each in opinions if each.up is not None]
    said = [up for by_owner, up in told if by_owner]
    if not said and not turn.outsider:
        said = [up for _, up in told]
    return [(OPINIONS, sum(said) / len(said))] if said else []


def _other_signals(turn: TurnSignals, after: Sequence[_Signal]) -> list[_Signal]:
    """Return a turn's own signals, and those of the messages `after` it."""
    if turn.outsider:
        return []
    found = [] if turn.task_success is None else [(OUTCOMES, float(turn.task_success))]
    found += after
    if tried := turn.done + turn.undone:
        found.append((ACTIONS, turn.done / tried))
    # No answer: it failed, or its answers were repaired and it did nothing.
    nothing = not (turn.spoke or turn.done or turn.task_success)
    if turn.status is TurnStatus.FAILED or (turn.repairs > 0 and nothing):
        found.append((OUTCOMES, 0.0))
    return found
