"""Rows of the reward model: the terms of judged turns, and what was measured before it."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime

from opencrab.domain.learning.evidence import ClosedEvidence, Evidence
from opencrab.domain.learning.reward import JudgedTurn
from opencrab.domain.learning.reward_model import (
    ACTED,
    CELL,
    DISCOUNT,
    FIT,
    MODEL,
    SKILL,
    TASK,
    TOPIC,
    RewardRow,
    RewardSums,
    combine_reward_sums,
    reward_sums_of_rows,
    reward_sums_without,
    trim_reward_sums,
)
from opencrab.domain.learning.signals import (
    PICKED,
    ServedCalls,
    TurnSignals,
    first_answering_model_calls,
    has_model_answered,
)
from opencrab.domain.usage.ledger import parse_usage_task_key
from opencrab.domain.value import Value

CLOSED_REWARDS = "reward_sums"
"""Kind and id of the document with the reward model's sums of all closed days.

In a document of its own, so that the release before, which does not know it, reads all others.
"""

_STRENGTHS = ((3.0, 1.0), (2.0, 0.8), (0.0, 0.5))
"""How much a turn counts, by the least sum of its signals' weights: an opinion is the strongest."""

_EARLIER = 0.8
"""How much a turn of evidence from before the reward model counts."""


def reward_sums_of_turns(turns: Sequence[JudgedTurn]) -> RewardSums:
    """Sum up the judged turns of a day, and the failures of models in the others."""
    trusted = [each for each in turns if not each.signals.outsider]
    answered = [each.worth for each in trusted if has_model_answered(each.signals.served)]
    # As in `ModelEvidence.value_sums`: answers are seldom judged, a missing one is always noticed.
    share = sum(worth is not None for worth in answered) / len(answered) if answered else 1.0
    return reward_sums_of_rows(row for turn in turns for row in _reward_rows(turn, share))


def _reward_rows(turn: JudgedTurn, share: float) -> Iterator[RewardRow]:
    """Yield a row for each purpose, type of task and model of a turn; together they count once.

    A model without any answer gets 0, and nothing for what its fallback did; in a turn that nobody
    judged only by the `share` of answers that are judged. One that was picked for this very turn or
    session is left out, as hard work may be given to the better model.
    """
    groups = defaultdict[tuple[str, str], list[ServedCalls]](list)
    for served in turn.signals.served:
        groups[f"{served.purpose.value}/{served.task_type}", served.model].append(served)
    if not groups:
        return
    strength = next(each for least, each in _STRENGTHS if turn.weight >= least) / len(groups)
    skills = _skill_terms(turn.signals)
    for (subject, model), calls in groups.items():
        terms = {
            f"{MODEL}/{model}": 1.0,
            f"{TASK}/{subject}": 1.0,
            f"{CELL}/{subject}/{model}": 1.0,
        }
        if calls[0].chosen_by in PICKED:
            continue
        if not has_model_answered(calls):
            counted = share if turn.worth is None else 1.0
            if counted and not turn.signals.outsider:
                yield RewardRow(terms, 0.0, strength * counted)
        elif turn.worth is not None:
            acted = {ACTED: turn.acted} if turn.acted else {}
            yield RewardRow(terms | skills | acted, turn.worth, strength)


def _skill_terms(signals: TurnSignals) -> dict[str, float]:
    """Return the terms of the measured skills of a turn, as randomised.

    One that a model read by itself counts only where it was withheld, and as withheld: turns in
    which a model asks for a skill differ from others, while the random assignment does not.
    """
    if not signals.given and not signals.held:
        return {}
    task_type = first_answering_model_calls(signals.served).task_type
    held, terms = set(signals.held), dict[str, float]()
    for name in {*signals.given, *held}:
        terms[f"{TOPIC}/{name}"] = 1.0
        if name not in held:
            terms[f"{SKILL}/{name}"] = terms[f"{FIT}/{name}/{task_type}"] = 1.0
    return terms


def reward_sums_of_evidence(evidence: Evidence) -> RewardSums:
    """Return what evidence of days without sums tells of models, and of skills by comparison.

    For days that were closed before there was a reward model, or by a release without it.
    """
    rows = list[RewardRow]()
    for key, known in evidence.models.items():
        purpose, task_type, model = parse_usage_task_key(key)
        subject, sums = f"{purpose}/{task_type}", known.value_sums
        if sums.mean is not None:
            terms = (f"{MODEL}/{model}", f"{TASK}/{subject}", f"{CELL}/{subject}/{model}")
            rows.append(RewardRow(dict.fromkeys(terms, 1.0), sums.mean, _EARLIER * sums.n))
    for key, pair in evidence.skills.items():
        given, held = pair.given, pair.held
        if given.mean is not None and held.mean is not None:
            # The precision of a difference of two means.
            weight = _EARLIER * given.n * held.n / (given.n + held.n)
            name = f"{SKILL}/{key.partition('/')[0]}"
            rows.append(RewardRow({name: 1.0}, given.mean - held.mean, weight))
    return reward_sums_of_rows(rows)


class ClosedRewards(Value):
    """The reward model's sums of all closed days up to `closed_to`, discounted to that day."""

    closed_to: str
    sums: RewardSums

    def with_texts(self, worded: Mapping[str, datetime]) -> "ClosedRewards":
        """Return the sums without skills whose text changed since (`worded`)."""
        old = {name for name, at in worded.items() if at.date().isoformat() > self.closed_to}
        return self.replaced(sums=reward_sums_without(self.sums, skill_terms(self.sums, old)))


@dataclass(frozen=True)
class KnownRewards:
    """The reward model's sums by day; a day without them counts by its evidence.

    `closed` is None if no day was closed, or only by a release without a reward model.
    """

    closed: ClosedRewards | None = None
    days: Mapping[date, RewardSums] = field(default_factory=dict)

    def total(
        self, standing: ClosedEvidence, days: Mapping[date, Evidence], ended: date
    ) -> RewardSums:
        """Return the sums of closed days and of these days, discounted to the day `ended`."""
        parts = [
            (
                DISCOUNT ** max((ended - day).days, 0),
                self.days[day] if day in self.days else reward_sums_of_evidence(evidence),
            )
            for day, evidence in days.items()
        ]
        if standing.closed_to:
            sums = self.closed.sums if self.closed else reward_sums_of_evidence(standing.evidence)
            age = (ended - date.fromisoformat(standing.closed_to)).days
            parts.append((DISCOUNT ** max(age, 0), sums))
        return combine_reward_sums(parts)

    def close(
        self, standing: ClosedEvidence, closing: Mapping[date, Evidence], skills: Collection[str]
    ) -> ClosedRewards:
        """Return the sums of all closed days once these are closed, at a bounded size.

        Skills that are not in `skills` are dropped.
        """
        newest = max(closing)
        sums = self.total(standing, closing, newest)
        gone = {name.split("/")[1] for name in skill_terms(sums)} - set(skills)
        sums = trim_reward_sums(reward_sums_without(sums, skill_terms(sums, gone)))
        return ClosedRewards(closed_to=newest.isoformat(), sums=sums)


def skill_terms(sums: RewardSums, skills: Collection[str] | None = None) -> frozenset[str]:
    """Return the names of all terms of these skills, of all skills by default."""
    found = (name for name in sums.names if name.partition("/")[0] in {SKILL, TOPIC, FIT})
    return frozenset(name for name in found if skills is None or name.split("/")[1] in skills)
