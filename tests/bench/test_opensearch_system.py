"""Both search backends find as much in real conversations, where those are at hand.

Each shard of a collection scores by its own counts, which moves close rows past each other: among
all questions of a set that does not show, but one of a hundred is as much as both may be apart.
"""

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.bench.memory_system import make
from tests.bench.opensearch_system import make_opensearch, make_sharded
from tests.soak import SOAK

SHARE = {"asdc_cond_ja": 100}
SETS = (*SHARE, "locomo_en", "asdc_scud_ja", "jsquad_ja", "jaquad_ja", "reactdocs_mixed")
APART = 0.01
MEASURES = ("recall@10", "ndcg@10")


# The evaluator leaves it to Python to close its files.
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.timeout(3_600 if SOAK else 120)
@pytest.mark.parametrize("name", SETS if SOAK else SHARE)
def test_both_backends_find_as_much(evaluator: ModuleType, retrieval_sets: Path, name: str) -> None:
    def measured(system: Any) -> dict[str, float]:
        limit = 0 if SOAK else SHARE[name]
        found, _ = evaluator.run_set(system, str(retrieval_sets / "data"), "public", name, limit)
        return {each: found[each] for each in MEASURES}

    sqlite = measured(make)
    for system in (make_opensearch, make_sharded):
        found = measured(system)
        apart = {each: found[each] - sqlite[each] for each in MEASURES}
        assert min(apart.values()) >= -APART, apart
        assert not SOAK or max(apart.values()) <= APART, apart
