"""Evidence adds up, and what is missing is neither good nor bad."""

import pytest

from opencrab.domain.evidence import ModelEvidence
from opencrab.domain.interval import Sums


def test_failures_count_by_as_much_as_answers_are_judged() -> None:
    seldom = ModelEvidence(quality=Sums(n=10, total=8.0, squares=8.0), turns=110, failed=10)
    assert seldom.worth.mean == pytest.approx(8 / 11)
    assert ModelEvidence(turns=3, failed=3).worth.mean == 0
    assert ModelEvidence(turns=5, failed=1).worth.n == 0
