"""Trimming: evidence is kept to a size that every home can store as one item."""

import json
from collections.abc import Callable, Collection, Mapping
from datetime import date, timedelta
from typing import TypeVar

from opencrab.domain.learning.evidence import (
    Evidence,
    GradedTurns,
    MemoryHits,
    ModelEvidence,
    TreatedAndControl,
)
from opencrab.domain.usage.ledger import parse_usage_task_key

RECALLED_A_DAY, RECALLED = 300, 500
"""The limits of memories in the evidence of a day, and of all closed days: those found most often.
"""

UNSEEN = timedelta(days=90)
"""The time without a turn after which a model's evidence is deleted."""

MODELS, ANSWERS, SKILLS, GRADED = 250, 80, 600, 40
"""The limits of entries, those with the most turns: models by task, models by type of task, skills
by model, and models that grade."""

BYTES = 375_000
"""The largest size of one item in every home, with its names and keys (DynamoDB takes 400 KB)."""

_PLACES, _LEAST_SHARE = 6, 0.05
_Entry = TypeVar("_Entry")


def trim_evidence(evidence: Evidence, recalled: int) -> Evidence:
    """Limit evidence to its maximum numbers of entries, with numbers rounded to six places.

    If it is still larger than BYTES because of long names, the limits are halved repeatedly.
    """
    found, share = _encode_evidence_share(evidence, recalled, 1.0)
    while len(found.encode()) > BYTES and share > _LEAST_SHARE:
        found, share = _encode_evidence_share(evidence, recalled, share / 2)
    return Evidence.from_stored(found)


def _encode_evidence_share(evidence: Evidence, recalled: int, share: float) -> tuple[str, float]:
    """Encode the largest share of all entries as stored JSON; returns it with the share."""
    less = evidence.replaced(
        models=_most(evidence.models, int(share * MODELS), _turns),
        answers=_most(evidence.answers, int(share * ANSWERS), _turns),
        skills=_most(evidence.skills, int(share * SKILLS), _paired_turn_count),
        grades=_most(evidence.grades, int(share * GRADED), _grade_count),
        recalled=_most(evidence.recalled, int(share * recalled), _recall_count),
    )
    told = json.loads(less.to_stored(), parse_float=lambda text: round(float(text), _PLACES))
    return json.dumps(told, separators=(",", ":"), ensure_ascii=False), share


def models_last_seen_in_evidence(
    days: Mapping[date, Evidence], before: Mapping[str, str]
) -> dict[str, str]:
    """Return the last day with a turn of each model, from `before` and from further days."""
    seen = dict(before)
    for day in sorted(days):
        seen |= dict.fromkeys(_models(days[day]), day.isoformat())
    return seen


def without_retired_evidence(
    evidence: Evidence, skills: Collection[str], models: Collection[str]
) -> Evidence:
    """Return the evidence of these skills and these models only."""

    def stays(key: str) -> bool:
        return key.partition("/")[0] in skills and key.partition("/")[2] in models

    return evidence.replaced(
        models={
            key: each
            for key, each in evidence.models.items()
            if parse_usage_task_key(key)[2] in models
        },
        answers={
            key: each for key, each in evidence.answers.items() if key.partition("/")[2] in models
        },
        skills={key: each for key, each in evidence.skills.items() if stays(key)},
        grades={key: each for key, each in evidence.grades.items() if key in models},
    )


def _models(evidence: Evidence) -> set[str]:
    """Return the full names of all models in the evidence."""
    return {
        *(parse_usage_task_key(key)[2] for key in evidence.models),
        *(key.partition("/")[2] for key in (*evidence.answers, *evidence.skills)),
        *evidence.grades,
    }


def _most(
    named: Mapping[str, _Entry], limit: int, size: Callable[[_Entry], int]
) -> dict[str, _Entry]:
    """Return the `limit` largest entries by name; all if there are no more."""
    if len(named) <= limit:
        return dict(named)
    largest = sorted(named, key=lambda name: (-size(named[name]), name))[:limit]
    return {name: named[name] for name in sorted(largest)}


def _turns(known: ModelEvidence) -> int:
    return known.turns


def _paired_turn_count(known: TreatedAndControl) -> int:
    return known.given.n + known.held.n


def _grade_count(bins: tuple[GradedTurns, ...]) -> int:
    return sum(each.grades.n for each in bins)


def _recall_count(known: MemoryHits) -> int:
    return known.found
