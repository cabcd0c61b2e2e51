"""Evidence adds up, and what is missing is neither good nor bad."""

import pytest

from opencrab.domain.learning.evidence import ModelEvidence
from opencrab.domain.statistics.confidence import MomentSums


def test_failures_count_by_as_much_as_answers_are_judged() -> None:
    seldom = ModelEvidence(quality=MomentSums(n=10, total=8.0, squares=8.0), turns=110, failed=10)
    assert seldom.value_sums.mean == pytest.approx(8 / 11)
    assert ModelEvidence(turns=3, failed=3).value_sums.mean == 0
    assert ModelEvidence(turns=5, failed=1).value_sums.n == 0
