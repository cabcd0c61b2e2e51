"""Trimming: evidence is kept to a size that every home can store as one item."""

import json
from collections.abc import Callable, Collection, Mapping
from datetime import date, timedelta
from typing import Any, TypeVar

from opencrab.domain.learning.evidence import Evidence
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
    share = 1.0
    found = _encode_evidence_share(evidence, recalled, share)
    while len(found.encode()) > BYTES and share > _LEAST_SHARE:
        share /= 2
        found = _encode_evidence_share(evidence, recalled, share)
    return Evidence.from_stored(found)


def _encode_evidence_share(evidence: Evidence, recalled: int, share: float) -> str:
    """Encode the largest share of all entries as stored JSON."""

    def most(named: Mapping[str, _Entry], limit: int, size: Callable[[_Entry], int]) -> Any:
        limit = int(share * limit)
        if len(named) <= limit:
            return dict(named)
        largest = sorted(named, key=lambda name: (-size(named[name]), name))[:limit]
        return {name: named[name] for name in sorted(largest)}

    less = evidence.replaced(
        models=most(evidence.models, MODELS, lambda each: each.turns),
        answers=most(evidence.answers, ANSWERS, lambda each: each.turns),
        skills=most(evidence.skills, SKILLS, lambda each: each.given.n + each.held.n),
        grades=most(evidence.grades, GRADED, lambda bins: sum(x.grades.n for x in bins)),
        recalled=most(evidence.recalled, recalled, lambda each: each.found),
    )
    told = json.loads(less.to_stored(), parse_float=lambda text: round(float(text), _PLACES))
    return json.dumps(told, separators=(",", ":"), ensure_ascii=False)


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

    def model_stays(key: str) -> bool:
        return key.partition("/")[2] in models

    return evidence.replaced(
        models={k: x for k, x in evidence.models.items() if parse_usage_task_key(k)[2] in models},
        answers={k: x for k, x in evidence.answers.items() if model_stays(k)},
        skills={
            k: x
            for k, x in evidence.skills.items()
            if model_stays(k) and k.partition("/")[0] in skills
        },
        grades={k: x for k, x in evidence.grades.items() if k in models},
    )


def _models(evidence: Evidence) -> set[str]:
    return {
        *(parse_usage_task_key(key)[2] for key in evidence.models),
        *(key.partition("/")[2] for key in (*evidence.answers, *evidence.skills)),
        *evidence.grades,
    }
