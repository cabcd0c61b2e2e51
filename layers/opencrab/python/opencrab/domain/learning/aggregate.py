"""Gathering: the signals of a day's turns become sums that can be added up."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

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
from opencrab.domain.learning.reward import TurnOpinion, turn_reward
from opencrab.domain.learning.signals import ServedCalls, TurnSignals
from opencrab.domain.statistics.confidence import MomentSums, moment_sums
from opencrab.domain.statistics.off_policy import weigh_turns_by_propensity
from opencrab.domain.usage.ledger import Grouping
from opencrab.domain.value import Value

_DRAWN = "learned"
"""Who chose a model that the turn drew from a mix."""

_PICKED = frozenset({"turn", "session"})
"""Who chose a model for the work at hand: hard work may go to the better one."""


class JudgedTurn(Value):
    """A turn with what it was worth; None where nothing tells.

    `said` is the same without what its actions tell: a skill may make a model act more often, and
    so make turns be judged, and well, that without it nobody would have judged.
    """

    signals: TurnSignals
    worth: float | None
    said: float | None = None


def gather_evidence(
    signals: Sequence[TurnSignals],
    opinions: Sequence[TurnOpinion],
    grades: Mapping[str, float],
    later: Sequence[TurnSignals] = (),
) -> Evidence:
    """What the turns of a day tell together.

    `opinions` are about any turns, `grades` are self-given ones by metrics id, `later` are the
    turns of the next days, for what they correct and repeat. A turn that comes twice counts once.
    """
    judged = judged_turns(signals, opinions, later)
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


def judged_turns(
    signals: Sequence[TurnSignals],
    opinions: Iterable[TurnOpinion],
    later: Sequence[TurnSignals] = (),
) -> tuple[JudgedTurn, ...]:
    """Each turn once, with what it was worth."""
    about = defaultdict[str, list[TurnOpinion]](list)
    for opinion in opinions:
        about[opinion.turn_id].append(opinion)
    trusted = [each for each in (*signals, *later) if not each.outsider]
    corrected = {each.corrects for each in trusted if each.corrects}
    repeated = {each.repeats for each in trusted if each.repeats}
    once = {each.turn_id: each for each in signals}

    def of(turn: TurnSignals, *, acted: bool) -> float | None:
        told = turn if acted else turn.replaced(done=0, undone=0)
        return turn_reward(
            told,
            about.get(turn.turn_id, ()),
            corrected=turn.turn_id in corrected,
            repeated=turn.turn_id in repeated,
        )

    return tuple(
        JudgedTurn(signals=each, worth=of(each, acted=True), said=of(each, acted=False))
        for each in once.values()
    )


def evidence_subject(served: ServedCalls) -> str:
    """What evidence about a model is filed under."""
    return f"{served.purpose.value}/{served.task_type}/{served.model}"


def skill_evidence_key(skill: str, model: str) -> str:
    """What evidence about a skill is filed under."""
    return f"{skill}/{model}"


@dataclass
class _Model:
    """What the turns of one model came to, as long as it is still gathered."""

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
        """One turn with all that the model did in it; an outsider cannot make it fail.

        `drawn` is how likely the model was where it was drawn from a mix.
        """
        answered = sum(max(each.calls, 0) for each in served) > sum(
            max(each.failed, 0) for each in served
        )
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
        """All of it together."""
        return ModelEvidence(
            quality=moment_sums(self.quality),
            cost=moment_sums(self.cost),
            latency=moment_sums(self.latency),
            turns=self.turns,
            failed=self.failed,
            weighted=weigh_turns_by_propensity(self.drawn, self.missed),
        )


def _models(turns: Iterable[JudgedTurn]) -> dict[str, ModelEvidence]:
    """By purpose, type of task and model; a turn counts once for each, whatever it was called.

    The worth goes to the models that answered. One that had no answer at all counts as failed and
    has no part in what the model that stood in for it did. What was picked for this very turn or
    session tells what it cost and took, and not how good the model is: it was picked for a reason.
    What was drawn from a mix is kept with its probability, for `off_policy`.
    """
    found = defaultdict[str, _Model](_Model)
    for turn in turns:
        by_subject = defaultdict[str, list[ServedCalls]](list)
        for served in turn.signals.served:
            by_subject[evidence_subject(served)].append(served)
        for subject, together in by_subject.items():
            first, outsider = together[0], turn.signals.outsider
            worth = None if first.chosen_by in _PICKED else turn.worth
            drawn = first.probability if first.chosen_by == _DRAWN else None
            found[subject].add(together, worth, outsider=outsider, drawn=drawn)
    return {subject: model.evidence() for subject, model in found.items()}


def _answers(turns: Iterable[JudgedTurn]) -> dict[str, ModelEvidence]:
    """By type of task and model; a turn counts once for each model, whatever it served for."""
    found = defaultdict[str, _Model](_Model)
    for turn in turns:
        by_model = defaultdict[str, list[ServedCalls]](list)
        for served in turn.signals.served:
            by_model[served.model].append(served)
        for model, together in by_model.items():
            known = found[f"{_first(together).task_type}/{model}"]
            known.add(together, turn.worth, outsider=turn.signals.outsider)
    return {key: model.evidence() for key, model in found.items()}


def _worths(turns: Iterable[JudgedTurn]) -> dict[str, MomentSums]:
    """Each judged turn once in all, for each purpose and for each type of task.

    One in which nobody answered for a purpose is worth nothing there, unless it was an outsider's.
    """
    found = defaultdict[str, MomentSums](MomentSums)
    for turn in turns:
        if turn.worth is None:
            continue
        values = {ALL: turn.worth}
        for served in turn.signals.served:
            answered = _has_answered(served)
            if turn.signals.outsider and not answered:
                continue
            value = turn.worth if answered else 0.0
            for key in (
                worth_key(Grouping.PURPOSE, served.purpose.value),
                worth_key(Grouping.TASK_TYPE, served.task_type),
            ):
                values[key] = max(value, values.get(key, 0.0))
        for key, value in values.items():
            found[key] = found[key].adding(value)
    return dict(found)


def _first(served: Sequence[ServedCalls]) -> ServedCalls:
    """Who answered first; the first that was asked where nobody did."""
    return next(filter(_has_answered, served), served[0])


def _has_answered(served: ServedCalls) -> bool:
    return served.calls > served.failed


def _skills(turns: Iterable[JudgedTurn]) -> dict[str, TreatedAndControl]:
    """By skill and the first model that answered, as the coin would have it.

    A skill that a model read by itself counts as nothing where no coin was thrown, and as withheld
    where it was withheld: whoever asks differs from whoever does not, and the coin does not.
    """
    given, held = defaultdict[str, list[float]](list), defaultdict[str, list[float]](list)
    for turn in turns:
        if turn.said is None or not turn.signals.served:
            continue
        model, withheld = _first(turn.signals.served).model, set(turn.signals.held)
        for skill in withheld:
            held[skill_evidence_key(skill, model)].append(turn.said)
        for skill in set(turn.signals.given) - withheld:
            given[skill_evidence_key(skill, model)].append(turn.said)
    return {
        key: TreatedAndControl(
            given=moment_sums(given.get(key, ())), held=moment_sums(held.get(key, ()))
        )
        for key in sorted({*given, *held})
    }


def _memories(turns: Iterable[JudgedTurn]) -> TreatedAndControl:
    """Turns whose searches had memories to show, with and without them."""
    could = [each for each in turns if each.said is not None and each.signals.could_hide]
    return TreatedAndControl(
        given=moment_sums(each.said or 0.0 for each in could if not each.signals.hidden),
        held=moment_sums(each.said or 0.0 for each in could if each.signals.hidden),
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
    """The step of self-given grades that one belongs to."""
    return min(int(grade * BINS), BINS - 1)


def _turn_id_of(row_id: str) -> str:
    """The turn that a metrics id names between its time and its number."""
    return row_id.partition("-")[2].rpartition("-")[0]


def _graded_model(signals: TurnSignals, row_id: str) -> str:
    """The model whose answer it is; "" where several answered and nothing tells which."""
    exact = [each.model for each in signals.served if each.last_row == row_id]
    if exact:
        return exact[0]
    models = {each.model for each in signals.served if _has_answered(each)}
    return models.pop() if len(models) == 1 else ""


def _one(value: float | None) -> MomentSums:
    return MomentSums() if value is None else MomentSums().adding(float(value))
