"""Gathering: the signals of a day's turns become sums that can be added up."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from functools import cached_property
from typing import NamedTuple

from opencrab.domain.document import Document
from opencrab.domain.learning.evidence import (
    ALL,
    BINS,
    ClosedEvidence,
    Evidence,
    GradedTurns,
    MemoryHits,
    ModelEvidence,
    TreatedAndControl,
    worth_key,
)
from opencrab.domain.learning.evidence_retention import RECALLED_A_DAY, trim_evidence
from opencrab.domain.learning.reward import JudgedTurn, TurnOpinion, judge_turn
from opencrab.domain.learning.reward_model import NO_REWARDS, RewardSums
from opencrab.domain.learning.reward_rows import KnownRewards, reward_sums_of_turns
from opencrab.domain.learning.signals import (
    PICKED,
    ServedCalls,
    TurnSignals,
    first_answering_model_calls,
    has_model_answered,
)
from opencrab.domain.statistics.confidence import MomentSums, sample_moment_sums
from opencrab.domain.statistics.off_policy import propensity_weighted_sums
from opencrab.domain.usage.ledger import Grouping

_DRAWN = "learned"
"""The `chosen_by` of a model that was drawn from a traffic split."""


@dataclass(frozen=True)
class LearningDay:
    """What one day's turns show: evidence, and the sums of the reward model."""

    evidence: Evidence
    worths: RewardSums = NO_REWARDS


@dataclass(frozen=True)
class AggregatedEvidence:
    """Evidence known when a day has `ended`: closed days, days to be closed now, open days.

    `stored` are the documents read to save it again; `later` are the days after `ended`, today
    included, which later runs save.
    """

    ended: date
    standing: ClosedEvidence
    open: dict[date, Evidence]
    closing: dict[date, Evidence] = field(default_factory=dict)
    later: dict[date, Evidence] = field(default_factory=dict)
    worths: KnownRewards = field(default_factory=KnownRewards)
    stored: tuple[Document, ...] = ()

    @cached_property
    def reward_sums(self) -> RewardSums:
        """Sums of the reward model over all days up to `ended`, discounted to that day."""
        days = {**self.closing, **self.open}
        return self.worths.total(self.standing, days, max((self.ended, *days)))

    @property
    def through_now(self) -> "AggregatedEvidence":
        """This evidence with the `later` days counted as open days."""
        return replace(self, open={**self.open, **self.later}, later={})

    @cached_property
    def evidence(self) -> Evidence:
        """Total evidence of all days up to `ended`."""
        days = (*self.closing.values(), *self.open.values())
        return sum(days, self.standing.evidence)

    @property
    def as_of(self) -> str:
        """The last day that is in it, "" before the first."""
        return max((*(day.isoformat() for day in self.open), self.standing.closed_to))


def compute_learning_days(
    found_signals: Iterable[TurnSignals],
    said: Sequence[TurnOpinion],
    grades: Mapping[str, float],
    *,
    ended: date,
    worded: Mapping[str, datetime],
) -> dict[date, LearningDay]:
    """Compute what each day up to `ended` shows from signals, feedback and self-given grades.

    Measurements of a skill from before it got its current text (`worded`) are dropped. Turns of
    later days count for what they correct and repeat.
    """
    signals = tuple(_of_these_words(each, worded) for each in found_signals)
    found: dict[date, LearningDay] = {}
    for day in sorted({each.at.date() for each in signals}):
        if day <= ended:
            same = tuple(each for each in signals if each.at.date() == day)
            later = tuple(each for each in signals if each.at.date() > day)
            judged = learning_rewards_of_turns(same, said, later)
            evidence = trim_evidence(evidence_of_turns(judged, grades), RECALLED_A_DAY)
            found[day] = LearningDay(evidence, reward_sums_of_turns(judged))
    return found


def _of_these_words(signals: TurnSignals, worded: Mapping[str, datetime]) -> TurnSignals:
    """Return signals without skills that had another text at that time."""

    def same(name: str) -> bool:
        return name not in worded or worded[name] <= signals.at

    given, held = tuple(filter(same, signals.given)), tuple(filter(same, signals.held))
    return signals.replaced(given=given, held=held)


def learning_rewards_of_turns(
    signals: Sequence[TurnSignals],
    opinions: Iterable[TurnOpinion],
    later: Sequence[TurnSignals] = (),
) -> tuple[JudgedTurn, ...]:
    """Return each turn once, with its reward; `later` turns tell what they correct and repeat."""
    about = defaultdict[str, list[TurnOpinion]](list)
    for opinion in opinions:
        about[opinion.turn_id].append(opinion)
    trusted = [each for each in (*signals, *later) if not each.outsider]
    corrected = {each.corrects for each in trusted}
    repeated = {each.repeats for each in trusted}
    thanked = {each.thanks for each in trusted}
    once = {each.turn_id: each for each in signals}
    return tuple(
        judge_turn(
            turn,
            about.get(name, ()),
            corrected=name in corrected,
            repeated=name in repeated,
            thanked=name in thanked,
        )
        for name, turn in once.items()
    )


def evidence_of_turns(judged: Sequence[JudgedTurn], grades: Mapping[str, float]) -> Evidence:
    """Sum up judged turns; `grades` are self-given ones by metrics id."""
    return Evidence(
        turns=len(judged),
        judged=sum(each.worth is not None for each in judged),
        models=_models(judged),
        answers=_answers(judged),
        worths=_worths(judged),
        skills=_skills(judged),
        memories=_memories(judged),
        recalled=_recall_counts(judged),
        grades=_grades(judged, grades),
    )


class _ModelTurn(NamedTuple):
    """All calls of a model in one turn, and the model's probability if a split drew it."""

    calls: list[ServedCalls]
    worth: float | None
    outsider: bool
    drawn: float | None = None


def _model_evidence(turns: Iterable[_ModelTurn]) -> ModelEvidence:
    """Sum up a model's turns; only trusted ones without any answer count as failed."""
    known = [(each, has_model_answered(each.calls)) for each in turns]
    answered = [each for each, is_answered in known if is_answered]
    failed = [each for each, is_answered in known if not is_answered and not each.outsider]
    latencies = (sum(max(call.latency_ms, 0) for call in each.calls) for each in answered)
    drawn = [(each.drawn, each.worth) for each in answered if each.drawn is not None]
    return ModelEvidence(
        quality=sample_moment_sums(each.worth for each in answered if each.worth is not None),
        cost=sample_moment_sums(sum(max(x.cost, 0) for x in each.calls) for each in answered),
        latency=sample_moment_sums(each for each in latencies if each),
        turns=len(answered) + len(failed),
        failed=len(failed),
        weighted=propensity_weighted_sums(
            drawn, [each.drawn for each in failed if each.drawn is not None]
        ),
    )


def _models(turns: Iterable[JudgedTurn]) -> dict[str, ModelEvidence]:
    """Aggregate by purpose, type of task and model; a turn counts once for each key.

    The reward goes to the models that answered. A model that was picked for this very turn or
    session has no quality by it, as hard work may be given to the better model.
    """
    found = defaultdict[str, list[_ModelTurn]](list)
    for turn in turns:
        by_subject = defaultdict[str, list[ServedCalls]](list)
        for served in turn.signals.served:
            by_subject[f"{served.purpose.value}/{served.task_type}/{served.model}"].append(served)
        for subject, calls in by_subject.items():
            worth = None if calls[0].chosen_by in PICKED else turn.worth
            drawn = calls[0].probability if calls[0].chosen_by == _DRAWN else None
            found[subject].append(_ModelTurn(calls, worth, turn.signals.outsider, drawn))
    return {subject: _model_evidence(each) for subject, each in found.items()}


def _answers(turns: Iterable[JudgedTurn]) -> dict[str, ModelEvidence]:
    """Aggregate by type of task and model; a turn counts once for each model, for any purpose."""
    found = defaultdict[str, list[_ModelTurn]](list)
    for turn in turns:
        by_model = defaultdict[str, list[ServedCalls]](list)
        for served in turn.signals.served:
            by_model[served.model].append(served)
        for model, calls in by_model.items():
            key = f"{first_answering_model_calls(calls).task_type}/{model}"
            found[key].append(_ModelTurn(calls, turn.worth, turn.signals.outsider))
    return {key: _model_evidence(each) for key, each in found.items()}


def _worths(turns: Iterable[JudgedTurn]) -> dict[str, MomentSums]:
    """Sum the rewards of judged turns: of all, for each purpose and for each type of task.

    A turn without an answer for a purpose counts 0 there, or not at all if it was an outsider's.
    """
    found = defaultdict[str, MomentSums](MomentSums)
    for turn in turns:
        if turn.worth is None:
            continue
        values = {ALL: turn.worth}
        for served in turn.signals.served:
            if turn.signals.outsider and not served.answered:
                continue
            value = turn.worth if served.answered else 0.0
            for key in (
                worth_key(Grouping.PURPOSE, served.purpose.value),
                worth_key(Grouping.TASK_TYPE, served.task_type),
            ):
                values[key] = max(value, values.get(key, 0.0))
        for key, value in values.items():
            found[key] = found[key].with_value(value)
    return dict(found)


def _skills(turns: Iterable[JudgedTurn]) -> dict[str, TreatedAndControl]:
    """Compare turns with and without a skill, by "skill/first answering model", as randomised.

    A skill that a model read by itself counts only where it was withheld, and as withheld: turns in
    which a model asks for a skill differ from others, while the random assignment does not.
    """
    given, held = defaultdict[str, list[float]](list), defaultdict[str, list[float]](list)
    for turn in turns:
        if turn.said is None or not turn.signals.served:
            continue
        model = first_answering_model_calls(turn.signals.served).model
        for skill in set(turn.signals.held):
            held[f"{skill}/{model}"].append(turn.said)
        for skill in set(turn.signals.given) - set(turn.signals.held):
            given[f"{skill}/{model}"].append(turn.said)
    return {
        key: TreatedAndControl(
            given=sample_moment_sums(given.get(key, ())), held=sample_moment_sums(held.get(key, ()))
        )
        for key in sorted({*given, *held})
    }


def _memories(turns: Iterable[JudgedTurn]) -> TreatedAndControl:
    """Compare turns whose searches had memories to show, with and without them."""
    could = [
        (each.said, each.signals.hidden)
        for each in turns
        if each.said is not None and each.signals.could_hide
    ]
    return TreatedAndControl(
        given=sample_moment_sums(said for said, is_hidden in could if not is_hidden),
        held=sample_moment_sums(said for said, is_hidden in could if is_hidden),
    )


def _recall_counts(turns: Iterable[JudgedTurn]) -> dict[str, MemoryHits]:
    found = dict[str, MemoryHits]()
    for turn in (each for each in turns if not each.signals.outsider):
        useful = set(turn.signals.useful)
        for memory in dict.fromkeys(turn.signals.found):
            one = MemoryHits(found=1, useful=int(memory in useful), at=turn.signals.at)
            found[memory] = found[memory] + one if memory in found else one
    return found


def _grades(
    turns: Iterable[JudgedTurn], grades: Mapping[str, float]
) -> dict[str, tuple[GradedTurns, ...]]:
    by_turn = {each.signals.turn_id: each for each in turns}
    found = dict[str, list[GradedTurns]]()
    for row_id, grade in grades.items():
        # A metrics id holds the turn's between its time and its number.
        turn = by_turn.get(row_id.partition("-")[2].rpartition("-")[0])
        model = "" if turn is None else _graded_model(turn.signals, row_id)
        if turn is None or not model or not 0 <= grade <= 1:
            continue
        bins = found.setdefault(model, [GradedTurns()] * BINS)
        worths = () if turn.worth is None else (turn.worth,)
        one = GradedTurns(grades=sample_moment_sums([grade]), worth=sample_moment_sums(worths))
        bins[self_grade_bin(grade)] += one
    return {model: tuple(bins) for model, bins in found.items()}


def self_grade_bin(grade: float) -> int:
    """Return the bin (0 to BINS - 1) of a self-given grade from 0 to 1."""
    return min(int(grade * BINS), BINS - 1)


def _graded_model(signals: TurnSignals, row_id: str) -> str:
    """Return the model that gave the graded answer; "" if several answered and none matches."""
    exact = [each.model for each in signals.served if each.last_row == row_id]
    if exact:
        return exact[0]
    models = {each.model for each in signals.served if each.answered}
    return models.pop() if len(models) == 1 else ""
