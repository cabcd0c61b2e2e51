"""AUC over pairs of agents: whether trust tells keepers of promises from breakers."""

import pytest

from opencrab.engine.simulation.trust_comparison import trust_auc_in_simulation


@pytest.mark.parametrize(
    ("trusts", "auc"),
    [
        ({"kai": 0.9, "umi": 0.8, "nami": 0.1}, 1.0),
        ({"kai": 0.9, "umi": 0.1, "nami": 0.5}, 0.5),
        ({"kai": 0.1, "umi": 0.2, "nami": 0.5}, 0.0),
        ({"kai": 0.5, "umi": 0.5, "nami": 0.5}, 0.5),
        ({"kai": 0.5}, None),
        ({"nami": 0.5}, None),
        ({}, None),
    ],
)
def test_auc_is_how_often_a_keeper_is_trusted_more_than_a_breaker(
    trusts: dict[str, float], auc: float | None
) -> None:
    pairs = [("aki", whom, trust) for whom, trust in trusts.items()]
    assert trust_auc_in_simulation(pairs, {"nami"}) == auc
