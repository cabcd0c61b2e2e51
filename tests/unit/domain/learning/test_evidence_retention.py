"""Evidence keeps to a size that every home can store, and forgets what is out of use."""

from datetime import UTC, date, datetime

import pytest

from opencrab.domain.document import new_fact
from opencrab.domain.learning.evidence import (
    BINS,
    STANDING,
    ClosedEvidence,
    Evidence,
    GradedTurns,
    MemoryHits,
    ModelEvidence,
    TreatedAndControl,
)
from opencrab.domain.learning.evidence_retention import (
    RECALLED,
    models_last_seen_in_evidence,
    trim_evidence,
    without_retired_evidence,
)
from opencrab.domain.statistics.confidence import MomentSums
from opencrab.domain.statistics.off_policy import WeightedTurns

ITEM = 400_000
AT = datetime(2026, 11, 20, 10, 11, 12, 123_456, tzinfo=UTC)


def numbers(n: int) -> MomentSums:
    return MomentSums(n=n, total=n / 3, squares=n * 12_345 / 7)


def told(n: int) -> ModelEvidence:
    weighted = WeightedTurns(
        weights=numbers(n), worths=numbers(n), product=n / 7, answered=n / 3, failed=numbers(n)
    )
    return ModelEvidence(
        quality=numbers(n), cost=numbers(n), latency=numbers(n), turns=n, weighted=weighted
    )


@pytest.mark.parametrize("longer", ["", "/arn-of-an-inference-profile" * 3])
def test_the_most_that_is_kept_fits_into_one_item(longer: str) -> None:
    models = [f"openrouter:vendor-{n}/some-large-model-{n}{longer}" for n in range(100)]
    skills = [f"a-skill-that-was-learned-{number:03d}" for number in range(150)]
    paired = TreatedAndControl(given=numbers(4_000), held=numbers(3_000))
    evidence = Evidence(
        models={
            f"tool_calling/conversation-{task}/{model}": told(1_000 + place)
            for task in range(10)
            for place, model in enumerate(models)
        },
        answers={f"conversation-{task}/{m}": told(999) for task in range(10) for m in models},
        skills={f"{name}/{model}": paired for name in skills for model in models},
        grades={m: (GradedTurns(grades=numbers(9), worth=numbers(9)),) * BINS for m in models},
        recalled={f"{n:026d}": MemoryHits(found=n, useful=1, at=AT) for n in range(9_000)},
    )
    seen = dict.fromkeys(models, "2026-11-20")
    kept = trim_evidence(evidence, RECALLED)
    standing = ClosedEvidence(closed_to="2026-11-20", seen=seen, evidence=kept)
    assert len(new_fact("a" * 26, "evidence", STANDING, standing).model_dump_json()) < ITEM
    assert min(int(name) for name in kept.recalled) == 9_000 - RECALLED // (1 + bool(longer))
    assert min(each.turns for each in kept.models.values()) > 1_000 + 70
    assert trim_evidence(kept, RECALLED) == kept


def test_numbers_have_six_places_and_a_little_evidence_stays_as_it_is() -> None:
    little = Evidence(
        turns=3, models={"a/b/c": told(7)}, memories=TreatedAndControl(given=numbers(1))
    )
    kept = trim_evidence(little, RECALLED)
    assert kept.models["a/b/c"].quality.total == 2.333333
    assert kept.memories.given.total == pytest.approx(1 / 3, abs=1e-6)
    assert (kept.turns, kept.models["a/b/c"].turns) == (3, 7)


def test_what_is_out_of_use_is_left_out() -> None:
    evidence = Evidence(
        models={"thinking/code/p:a/1": told(1), "thinking/code/p:b": told(1)},
        answers={"code/p:a/1": told(1), "code/p:b": told(1)},
        skills={
            f"{skill}/{m}": TreatedAndControl() for skill in ("x", "y") for m in ("p:a/1", "p:b")
        },
        grades={"p:b": (GradedTurns(),) * BINS},
    )
    days = {date(2026, 11, 2): Evidence(answers={"code/p:b": told(1)})}
    seen = models_last_seen_in_evidence(days, {"p:a/1": "2026-11-01", "p:b": "2026-11-01"})
    assert seen == {"p:a/1": "2026-11-01", "p:b": "2026-11-02"}
    kept = without_retired_evidence(evidence, {"x"}, {"p:a/1"})
    assert list(kept.models) == ["thinking/code/p:a/1"]
    assert list(kept.answers) == ["code/p:a/1"]
    assert list(kept.skills) == ["x/p:a/1"]
    assert kept.grades == {}
    assert without_retired_evidence(evidence, {"x", "y"}, {"p:a/1", "p:b"}) == evidence
