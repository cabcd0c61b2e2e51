"""A peer that does not install or run is left out of the table with the reason."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.bench.floor import Beside
from tests.bench.peers import run
from tests.conftest import ROOT

OURS = Beside(turn_ms=10, floor_ms=1, ratio=10, p95_ms=11)
MISSING = run.Peer("crab-less", "no-such-agent", "nothing")


def test_every_peer_has_a_driver_and_a_lock() -> None:
    for peer in run.ALL:
        assert (ROOT / f"{peer.driver.replace('.', '/')}.py").is_file()
        assert (ROOT / "requirements" / f"peer-{peer.environment}.txt").is_file()


def test_a_peer_that_does_not_install_is_left_out_with_the_reason() -> None:
    found = run.table(OURS, 3, (MISSING,))
    assert "| OpenCrab, in process | every step, durably |" in found
    assert "Left out: crab-less, since it did not run here (make" in found


def test_a_target_is_missed_where_a_peer_costs_too_little() -> None:
    theirs = replace(OURS, turn_ms=120, ratio=120)
    assert run.row("hermes", "nothing", theirs, OURS, 12).endswith("| 12 | 12 | yes |")
    assert run.row("hermes", "nothing", theirs, OURS, 12.5).endswith("| 12 | 12.5 | **no** |")
    assert run.row("hermes", "nothing", theirs, OURS).endswith("| 12 | | |")


def test_a_driver_that_fails_says_why(tmp_path: Path) -> None:
    with pytest.raises(run.SkippedError, match="no agent here"):
        run.run_command(["sh", "-c", "echo begins >&2; echo no agent here >&2; exit 1"], 10)
