"""The tables of docs/explanation/approvals.md say what the code does."""

import re

import pytest

from opencrab.domain.access.authority import Authority, Scope, Source, authority, authority_permits
from opencrab.domain.access.impact import Impact
from opencrab.domain.approvals.policy import ApprovalPolicy, needs_approval
from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "explanation" / "approvals.md").read_text(encoding="utf-8")
SETTINGS = "(*)"
"""What the gateway's settings decide and not the door."""


def rows(first_head: str) -> list[list[str]]:
    """The cells of the table whose first head this is."""
    table = PAGE.partition(f"\n| {first_head} |")[2].partition("\n\n")[0]
    lines = [line.strip("|").split("|") for line in table.splitlines()[2:]]
    return [[cell.strip().strip("`") for cell in cells] for cells in lines]


@pytest.mark.parametrize("row", rows("who"), ids=lambda row: row[0])
def test_a_door_and_a_key_make_the_authority_that_the_page_names(row: list[str]) -> None:
    who, source, scope, named = row
    if SETTINGS not in who:
        key = Scope(scope) if scope else None
        assert authority(Source(source), key) is Authority(named)


def test_the_page_names_every_door_and_every_authority() -> None:
    found = rows("who")
    assert {row[1] for row in found} == set(Source)
    assert {row[3] for row in found} == set(Authority)
    starred = {row[1] for row in found if SETTINGS in row[0]}
    assert starred == {"discord"}


@pytest.mark.parametrize("row", rows("authority"), ids=lambda row: row[0])
def test_the_page_says_what_turns_of_an_authority_may_do(row: list[str]) -> None:
    named, *told = row
    found = {
        impact: "yes" if authority_permits(Authority(named), impact) else "no" for impact in Impact
    }
    if named == Authority.PEER:
        assert authority_permits(Authority.PEER, Impact.SELF, for_peers=True)
        found[Impact.SELF] = "some"
    assert dict(zip(Impact, told, strict=True)) == found


def test_the_page_says_what_each_policy_lets_run() -> None:
    told = {re.split("[`,]", row[0])[0]: row[1] for row in rows("policy")}
    assert set(told) == {*ApprovalPolicy, "a list"}
    for policy in ApprovalPolicy:
        unasked = {
            impact for impact in Impact if not needs_approval("a", impact, policy, tainted=False)
        }
        assert set(told[policy].split(", ")) == unasked
