"""Broken installations: the doctor names what is wrong, and its cure mends it."""

import pytest

from opencrab.gateways.cli.language.sentences import EN, JA, sentences_of_language
from tests.integration.cli.breaking import RUNNING, Case, wrong
from tests.integration.cli.installation import Installation


@pytest.mark.parametrize("language", [EN, JA])
@pytest.mark.parametrize("case", RUNNING, ids=lambda case: case.name)
def test_what_is_broken_is_named_and_its_cure_mends_it(
    broken: Installation, case: Case, language: str
) -> None:
    assert not wrong(broken.doctor(language=language), case.check, case.verdict)
    case.breaks(broken)
    found = wrong(broken.doctor(language=language), case.check, case.verdict)
    assert found
    case.mends(broken, found[0])
    after = broken.doctor(language=language)
    assert not wrong(after, case.check, case.verdict)
    assert not wrong(after, case.check)


def test_an_installation_on_which_all_is_well_has_nothing_wrong(broken: Installation) -> None:
    findings = broken.doctor("--ask-models")
    assert {each.verdict for each in findings} == {"well"}
    assert {"server", "key", "data", "disk", "database", "model", "clock", "queue"} <= {
        each.name for each in findings
    }
    assert broken.vendor.asked == 1


def test_asking_a_model_is_reserved_paid_and_in_the_ledger(broken: Installation) -> None:
    assert broken.doctor()
    assert broken.vendor.asked == 0
    assert broken.doctor("--ask-models")
    (profile,) = broken.runtime.home.agents.page(after=None, limit=10)
    (row,) = broken.runtime.home.usage.rows(profile.agent.id)
    assert (row.cost, row.reserved > row.cost) == (24, True)
    day = broken.clock.now().strftime("%Y-%m-%d")
    assert broken.runtime.home.budgets.drawn_micro_usd("installation", day) == row.cost
    broken.run("budgets", "--set", "installation_day=0.000025")
    found = wrong(broken.doctor("--ask-models"), "model")
    assert found
    assert broken.vendor.asked == 1


def test_a_key_that_was_revoked_is_told(broken: Installation) -> None:
    good, broken.key = broken.key, "oc_revoked"
    (found,) = wrong(broken.doctor(), "key")
    assert "OPENCRAB_KEY" in found.cure
    broken.key = good
    assert not wrong(broken.doctor(), "key")


def test_every_name_of_a_check_is_translated() -> None:
    names = {case.check for case in RUNNING} | {
        "config",
        "process",
        "server",
        "key",
        "database",
        "owner_key",
    }
    assert names - {"discord"} <= sentences_of_language(JA)["terms"].keys()
