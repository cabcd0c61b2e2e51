"""A share of the runs with more ways in; `make hostile` plays them at length and hunts each bug."""

from pathlib import Path

import pytest

from tests.hostile.bugs import hunt
from tests.hostile.entries.all import ENTRIES_OF_RUNS
from tests.hostile.entries.clients import Clients
from tests.hostile.entries.email.mails import Mails
from tests.hostile.entries.faults import ENTRY_FAULTS
from tests.hostile.playing import Totals, play
from tests.hostile.world import Bug

QUICKLY = {
    "SignaturesNotCompared": 1,
    "OwnersWebhooksVouch": 0,
    "WebhooksAreOwners": 0,
    "AnswersSignedByTheSender": 0,
    "ImpactsLowered": 0,
    "ToolsOfferedToAll": 0,
    "ToolsCalledForAll": 0,
    "ChangesNotHeard": 1,
    "BundledMemoriesTrusted": 0,
    "BundledSkillsLive": 0,
    "BundledPolicyKept": 0,
    "LineNotCompared": 0,
    "SlackTimeNotSigned": 0,
    "ContextsOfAll": 0,
    "OtherDomainsVouch": 0,
    "ForgeriesDoubted": 0,
    "UnverifiedAreThemselves": 0,
    "LimitForgotten": 0,
    "QuotedWordsKept": 0,
    "ForwardedByOwners": 0,
}
"""Bugs that one run catches early, with its number."""

MOST = 60

OTHERS = tuple(each for each in ENTRIES_OF_RUNS if each not in {Clients, Mails})
"""Clients and mails have worlds of their own here, so that a short run meets all of them."""


def test_whoever_comes_by_an_entry_stays_in_its_bounds(tmp_path: Path) -> None:
    totals = Totals()
    assert play(tmp_path, "share/13", totals, entries=OTHERS, most=MOST) == []
    assert totals.counts["turns by the door"] > 0
    assert totals.counts["door webhook 401"] > 0
    assert totals.counts["door webhook 202"] > 0
    assert totals.counts["tools trusted"] > 0
    assert totals.counts["tools run"] > 0
    assert totals.counts["chat turns in groups"] > 0
    assert totals.counts["bundle turns"] > 0


def test_a_client_hears_and_does_what_its_key_allows(tmp_path: Path) -> None:
    totals = Totals()
    assert play(tmp_path, "keys/10", totals, entries=(Clients,), most=MOST) == []
    assert totals.counts["client turns"] > 0
    assert totals.counts["client cut off"] > 0
    assert totals.counts["client tools offered"] > 0
    assert totals.counts["client answers"] > totals.counts["client turns"]


def test_whoever_writes_a_mail_is_answered_as_who_it_was(tmp_path: Path) -> None:
    totals = Totals()
    assert play(tmp_path, "mail/4", totals, entries=(Mails,), most=2 * MOST) == []
    assert totals.counts["turns by mail"] > 0
    assert totals.counts["mails sent"] > 0
    assert totals.counts["mails that ask"] > 0
    assert totals.counts["mail loops"] > 0


@pytest.mark.parametrize(
    "bug", [bug for bug in ENTRY_FAULTS if bug.name in QUICKLY], ids=lambda bug: bug.name
)
def test_a_seeded_bug_of_an_entry_is_caught(tmp_path: Path, bug: Bug) -> None:
    assert hunt(bug, tmp_path, runs=1, first=QUICKLY[bug.name]) is not None


def test_each_entry_has_bugs_in_its_guards() -> None:
    hunted = {entry for bug in ENTRY_FAULTS for entry in bug.entries}
    assert hunted == set(ENTRIES_OF_RUNS)
    assert set(QUICKLY) <= {bug.name for bug in ENTRY_FAULTS}


def test_each_fault_changes_a_function_and_is_gone_after_its_run() -> None:
    for fault in ENTRY_FAULTS:
        for _ in range(2):
            with fault.active(), pytest.raises(LookupError), fault.active():
                raise AssertionError
