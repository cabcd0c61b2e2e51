"""The warm turn of both homes is measured as `make bench` does, once and briefly."""

from pathlib import Path

from tests.bench.handler import WARM_UP, figures
from tests.bench.world import model_server


def test_a_recorded_turn_on_aws_is_asked_for_again_in_the_same_words(tmp_path: Path) -> None:
    with model_server() as url:
        found = figures(tmp_path, url, rounds=1, turns=WARM_UP + 1)

    assert found.ratio > 0
    assert found.calls > 10
