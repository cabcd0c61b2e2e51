"""Gathering: the signals of a day's turns become sums that can be added up."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime

from opencrab.domain.learning.evidence import (
    ALL,
    BINS,
    Evidence,
    GradedTurns,
    MemoryHits,
    ModelEvidence,
    TreatedAndControl,
    worth_key,
)
from opencrab.domain.learning.evidence_retention import RECALLED_A_DAY, trim_evidence
from opencrab.domain.learning.reward import (
    ACTIONS,
    JudgedTurn,
    TurnOpinion,
    turn_reward,
    turn_reward_weight,
)
from opencrab.domain.learning.reward_model import NO_REWARDS, RewardSums
from opencrab.domain.learning.reward_rows import reward_sums_of_turns
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


def gather_evidence(
    signals: Sequence[TurnSignals],
    opinions: Sequence[TurnOpinion],
    grades: Mapping[str, float],
    later: Sequence[TurnSignals] = (),
) -> Evidence:
    """Aggregate the signals of a day's turns into evidence.

    `opinions` are about any turns, `grades` are self-given ones by metrics id, `later` are the
    turns of the next days, for what they correct and repeat. A turn that comes twice counts once.
    """
    return _evidence_of_turns(learning_rewards_of_turns(signals, opinions, later), grades)


def _evidence_of_turns(judged: Sequence[JudgedTurn], grades: Mapping[str, float]) -> Evidence:
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


@dataclass(frozen=True)
class LearningDay:
    """What one day's turns show: evidence, and the sums of the reward model."""

    evidence: Evidence
    worths: RewardSums = NO_REWARDS


def compute_learning_days(
    found_signals: Iterable[TurnSignals],
    said: Sequence[TurnOpinion],
    grades: Mapping[str, float],
    *,
    ended: date,
    worded: Mapping[str, datetime],
) -> dict[date, LearningDay]:
    """Compute what each day up to `ended` shows from signals, feedback and grades.

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
            found[day] = LearningDay(
                trim_evidence(_evidence_of_turns(judged, grades), RECALLED_A_DAY),
                reward_sums_of_turns(judged),
            )
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
    """Return each turn once, with its reward."""
    about = defaultdict[str, list[TurnOpinion]](list)
    for opinion in opinions:
        about[opinion.turn_id].append(opinion)
    trusted = [each for each in (*signals, *later) if not each.outsider]
    corrected = {each.corrects for each in trusted if each.corrects}
    repeated = {each.repeats for each in trusted if each.repeats}
    thanked = {each.thanks for each in trusted if each.thanks}
    once = {each.turn_id: each for each in signals}

    def judged(turn: TurnSignals) -> JudgedTurn:
        opinions = about.get(turn.turn_id, ())
        marks = {"corrected": turn.turn_id in corrected, "repeated": turn.turn_id in repeated}
        marks["thanked"] = turn.turn_id in thanked
        worth = said = turn_reward(turn, opinions, **marks)
        acted = turn.done + turn.undone > 0 and not turn.outsider
        if acted:
            said = turn_reward(turn.replaced(done=0, undone=0), opinions, **marks)
        weight = turn_reward_weight(turn, opinions, **marks)
        share = ACTIONS / weight if acted and weight else 0.0
        return JudgedTurn(signals=turn, worth=worth, said=said, weight=weight, acted=share)

    return tuple(judged(each) for each in once.values())


def _evidence_subject(served: ServedCalls) -> str:
    """Return the key of evidence about a model: "purpose/task_type/model"."""
    return f"{served.purpose.value}/{served.task_type}/{served.model}"


def _skill_evidence_key(skill: str, model: str) -> str:
    """Return the key of evidence about a skill: "skill/model"."""
    return f"{skill}/{model}"


@dataclass
class _Model:
    """The values of one model's turns while they are aggregated."""

    quality: list[float] = field(default_factory=list)
    cost: list[float] = field(default_factory=list)
    latency: list[float] = field(default_factory=list)
    drawn: list[tuple[float, float | None]] = field(default_factory=list)
    missed: list[float] = field(default_factory=list)
    turns: int = 0
    failed: int = 0

    def add(
        self,
        served: list[ServedCalls],
        value: float | None,
        *,
        outsider: bool,
        drawn: float | None = None,
    ) -> None:
        """Add one turn with all calls of the model in it; only trusted turns count as failed.

        `outsider` marks a turn that answered the public or a peer. `drawn` is the model's
        probability if it was drawn from a traffic split, else None.
        """
        answered = has_model_answered(served)
        if not answered and outsider:
            return
        self.turns += 1
        if not answered:
            self.failed += 1
            if drawn is not None:
                self.missed.append(drawn)
            return
        self.cost.append(sum(max(each.cost, 0) for each in served))
        latency = sum(max(each.latency_ms, 0) for each in served)
        if latency:
            self.latency.append(latency)
        if value is not None:
            self.quality.append(value)
        if drawn is not None:
            self.drawn.append((drawn, value))

    def evidence(self) -> ModelEvidence:
        """Return the sums of all turns added so far."""
        return ModelEvidence(
            quality=sample_moment_sums(self.quality),
            cost=sample_moment_sums(self.cost),
            latency=sample_moment_sums(self.latency),
            turns=self.turns,
            failed=self.failed,
            weighted=propensity_weighted_sums(self.drawn, self.missed),
        )


def _models(turns: Iterable[JudgedTurn]) -> dict[str, ModelEvidence]:
    """Aggregate by purpose, type of task and model; a turn counts once for each key.

    The reward goes to the models that answered. A model without any answer counts as failed and
    gets nothing for what its fallback did. A model that was picked for this very turn or session
    adds cost and latency but no quality, as hard work may be given to the better model. Draws from
    a traffic split are kept with their probability, for `off_policy`.
    """
    found = defaultdict[str, _Model](_Model)
    for turn in turns:
        by_subject = defaultdict[str, list[ServedCalls]](list)
        for served in turn.signals.served:
            by_subject[_evidence_subject(served)].append(served)
        for subject, together in by_subject.items():
            first, outsider = together[0], turn.signals.outsider
            worth = None if first.chosen_by in PICKED else turn.worth
            drawn = first.probability if first.chosen_by == _DRAWN else None
            found[subject].add(together, worth, outsider=outsider, drawn=drawn)
    return {subject: model.evidence() for subject, model in found.items()}


def _answers(turns: Iterable[JudgedTurn]) -> dict[str, ModelEvidence]:
    """Aggregate by type of task and model; a turn counts once for each model, for any purpose."""
    found = defaultdict[str, _Model](_Model)
    for turn in turns:
        by_model = defaultdict[str, list[ServedCalls]](list)
        for served in turn.signals.served:
            by_model[served.model].append(served)
        for model, together in by_model.items():
            known = found[f"{first_answering_model_calls(together).task_type}/{model}"]
            known.add(together, turn.worth, outsider=turn.signals.outsider)
    return {key: model.evidence() for key, model in found.items()}


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
            answered = served.answered
            if turn.signals.outsider and not answered:
                continue
            value = turn.worth if answered else 0.0
            for key in (
                worth_key(Grouping.PURPOSE, served.purpose.value),
                worth_key(Grouping.TASK_TYPE, served.task_type),
            ):
                values[key] = max(value, values.get(key, 0.0))
        for key, value in values.items():
            found[key] = found[key].with_value(value)
    return dict(found)


def _skills(turns: Iterable[JudgedTurn]) -> dict[str, TreatedAndControl]:
    """Compare turns with and without a skill, by skill and first answering model, as randomised.

    A skill that a model read by itself counts only where it was withheld, and as withheld: turns in
    which a model asks for a skill differ from others, while the random assignment does not.
    """
    given, held = defaultdict[str, list[float]](list), defaultdict[str, list[float]](list)
    for turn in turns:
        if turn.said is None or not turn.signals.served:
            continue
        model, withheld = (
            first_answering_model_calls(turn.signals.served).model,
            set(turn.signals.held),
        )
        for skill in withheld:
            held[_skill_evidence_key(skill, model)].append(turn.said)
        for skill in set(turn.signals.given) - withheld:
            given[_skill_evidence_key(skill, model)].append(turn.said)
    return {
        key: TreatedAndControl(
            given=sample_moment_sums(given.get(key, ())), held=sample_moment_sums(held.get(key, ()))
        )
        for key in sorted({*given, *held})
    }


def _memories(turns: Iterable[JudgedTurn]) -> TreatedAndControl:
    """Compare turns whose searches had memories to show, with and without them."""
    could = [each for each in turns if each.said is not None and each.signals.could_hide]
    return TreatedAndControl(
        given=sample_moment_sums(each.said or 0.0 for each in could if not each.signals.hidden),
        held=sample_moment_sums(each.said or 0.0 for each in could if each.signals.hidden),
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
        turn = by_turn.get(_turn_id_of(row_id))
        model = "" if turn is None else _graded_model(turn.signals, row_id)
        if turn is None or not model or not 0 <= grade <= 1:
            continue
        bins = found.setdefault(model, [GradedTurns()] * BINS)
        place = self_grade_bin(grade)
        bins[place] += GradedTurns(grades=_one(grade), worth=_one(turn.worth))
    return {model: tuple(bins) for model, bins in found.items()}


def self_grade_bin(grade: float) -> int:
    """Return the bin (0 to BINS - 1) of a self-given grade from 0 to 1."""
    return min(int(grade * BINS), BINS - 1)


def _turn_id_of(row_id: str) -> str:
    """Return the turn id that a metrics id holds between its time and its number."""
    return row_id.partition("-")[2].rpartition("-")[0]


def _graded_model(signals: TurnSignals, row_id: str) -> str:
    """Return the model that gave the graded answer; "" if several answered and none matches."""
    exact = [each.model for each in signals.served if each.last_row == row_id]
    if exact:
        return exact[0]
    models = {each.model for each in signals.served if each.answered}
    return models.pop() if len(models) == 1 else ""


def _one(value: float | None) -> MomentSums:
    return MomentSums() if value is None else MomentSums().with_value(float(value))
