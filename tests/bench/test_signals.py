"""Signals on generated conversations: the product's own extraction tells good from bad answers."""

import pytest

from tests.bench.signals import SIGNALS, auc, conversation


def test_the_area_is_that_of_the_ranks() -> None:
    assert auc([(True, 1.0), (False, 0.0)]) == 1.0
    assert auc([(True, 0.0), (False, 0.0)]) == 0.5
    assert auc([(True, 0.0), (False, 1.0), (True, 2.0)]) == 0.5


@pytest.mark.parametrize("language", ["en", "ja"])
@pytest.mark.parametrize("name", ["correction", "asked again", "thanks"])
def test_each_signal_that_counts_tells_more_than_chance(name: str, language: str) -> None:
    found = [
        auc((each.good, SIGNALS[name](each)) for each in conversation(seed, language))
        for seed in range(8)
    ]
    assert sum(found) / len(found) > 0.53
