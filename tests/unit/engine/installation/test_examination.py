"""Checks side by side: one that hangs or fails is a finding and delays no other."""

import threading
from collections.abc import Iterable

import pytest

from opencrab.domain.errors import Unavailable
from opencrab.domain.value import Language
from opencrab.engine.discord.diagnosis import Check, DiagnosisResult
from opencrab.engine.installation.examination import run_installation_checks_concurrently
from opencrab.engine.installation.findings import Findings

ENGLISH = Findings(Language.EN)


def test_a_check_that_hangs_is_told_and_the_others_are_there() -> None:
    forever = threading.Event()

    def hang(findings: Findings) -> Iterable[Check]:
        forever.wait()
        return (findings.well("slow", "running"),)

    looks = {"slow": hang, "switches": lambda findings: [findings.well("switches", "running")]}
    found = run_installation_checks_concurrently(looks, ENGLISH, 0.2)
    forever.set()
    assert [(check.name, check.state) for check in found] == [
        ("slow", DiagnosisResult.WARNING),
        ("switches", DiagnosisResult.OK),
    ]


@pytest.mark.parametrize("error", [Unavailable("the disk is away", cure="wait"), ValueError("odd")])
def test_a_check_that_fails_is_a_problem(error: Exception) -> None:
    def fail(findings: Findings) -> Iterable[Check]:
        raise error

    (found,) = run_installation_checks_concurrently({"database": fail}, ENGLISH, 30)
    assert (found.name, found.state) == ("database", DiagnosisResult.PROBLEM)
    assert found.cure
