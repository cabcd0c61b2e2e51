"""The thread of scheduled backups: it goes on, whatever fails."""

import logging

import pytest

from opencrab.domain.errors import Unavailable
from opencrab.gateways.local.backup_schedule import BackupSchedule
from tests.contract.example import NOW
from tests.contract.waiting import eventually


def test_it_looks_again_and_again_and_survives_what_fails(
    caplog: pytest.LogCaptureFixture,
) -> None:
    looked: list[int] = []

    def run() -> None:
        looked.append(1)
        if len(looked) == 1:
            raise Unavailable("the disk is full", cure="free some space")
        if len(looked) == 2:
            raise ZeroDivisionError

    schedule = BackupSchedule(
        run, now=lambda: NOW, first_seconds=0, look_seconds=0.01, retry_seconds=0.01
    )
    with caplog.at_level(logging.WARNING), schedule:
        eventually(lambda: len(looked[:5]), 5)
    assert "backup failed, retrying: error=the disk is full (free some space)" in caplog.messages
    assert "backup failed, retrying" in caplog.messages


def test_one_that_still_waits_ends_at_once() -> None:
    looked: list[int] = []
    with BackupSchedule(lambda: looked.append(1), now=lambda: NOW, first_seconds=0.2):
        pass
    assert len(looked) == 0


@pytest.mark.parametrize(
    ("error", "problem", "cure"),
    [
        (
            Unavailable("ディスクが一杯です", cure="free some space"),
            "ディスクが一杯です",
            "free some space",
        ),
        (Unavailable("the disk is full"), "the disk is full", "read the server's log"),
        (ZeroDivisionError(), "ZeroDivisionError", "read the server's log"),
    ],
)
def test_a_failure_is_reported_until_a_backup_goes_well(
    error: Exception, problem: str, cure: str
) -> None:
    failing = [True]

    def run() -> None:
        if failing:
            raise error

    schedule = BackupSchedule(
        run, now=lambda: NOW, first_seconds=0, look_seconds=0.01, retry_seconds=0.01
    )
    assert schedule.report() == {"ok": True}
    told = {"ok": False, "failed_at": NOW.isoformat(), "problem": problem, "cure": cure}
    with schedule:
        eventually(schedule.report, told)
        failing.clear()
        eventually(schedule.report, {"ok": True})
