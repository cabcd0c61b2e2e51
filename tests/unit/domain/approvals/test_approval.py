"""Grants: a call runs unasked only if all that its grant names is so."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from opencrab.domain.access.impact import Impact
from opencrab.domain.approvals.approval import Grant

NOW = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
BY_ACTION: dict[str, Any] = {"actions": ("ws_write",)}
BY_IMPACT: dict[str, Any] = {"impacts": (Impact.SELF,)}


def grant(**changes: Any) -> Grant:
    """Two calls within the hour, on the notes."""
    fields: dict[str, Any] = {
        "id": "g1",
        "agent_id": "ken",
        "touches": "notes/",
        "calls": 2,
        "until": NOW + timedelta(hours=1),
        "by": "owner",
        "created_at": NOW,
    }
    return Grant(**fields | changes)


@pytest.mark.parametrize("named", [BY_ACTION, BY_IMPACT])
@pytest.mark.parametrize(
    ("used", "touches", "minutes", "covered"),
    [
        (0, "notes/海.md", 59, True),
        (1, "notes/海.md", 0, True),
        (0, "diary.md", 0, False),
        (2, "notes/海.md", 0, False),
        (0, "notes/海.md", 60, False),
    ],
)
def test_a_grant_is_good_for_what_it_touches_so_often_and_so_long(
    named: dict[str, Any], used: int, touches: str, minutes: int, *, covered: bool
) -> None:
    at = NOW + timedelta(minutes=minutes)
    assert grant(used=used, **named).covers("ws_write", Impact.SELF, (touches,), at) is covered


@pytest.mark.parametrize(
    ("named", "action", "impact", "covered"),
    [
        (BY_ACTION, "ws_write", Impact.SHARED, True),
        (BY_IMPACT, "ws_delete", Impact.SELF, True),
        (BY_ACTION, "ws_delete", Impact.SELF, False),
        (BY_IMPACT, "ws_write", Impact.SHARED, False),
        (BY_ACTION | BY_IMPACT, "web_fetch", Impact.EXTERNAL, False),
    ],
)
def test_a_grant_covers_nothing_but_the_actions_and_impacts_that_it_names(
    named: dict[str, Any], action: str, impact: Impact, *, covered: bool
) -> None:
    assert grant(**named).covers(action, impact, ("notes/海.md",), NOW) is covered


@pytest.mark.parametrize(
    ("touches", "targets", "covered"),
    [
        ("notes/", ("notes/a.md", "notes/b.md"), True),
        ("notes/", ("notes/a.md", "finance/b.md"), False),
        ("notes/", ("finance/a.md", "notes/b.md"), False),
        ("notes/", ("'notes/a.md'",), False),
        ("notes/", (), False),
        ("", ("finance/a.md",), True),
        ("", (), True),
    ],
)
def test_a_grant_with_a_prefix_covers_a_call_only_if_it_covers_each_target(
    touches: str, targets: tuple[str, ...], *, covered: bool
) -> None:
    given = grant(**BY_ACTION).replaced(touches=touches)
    assert given.covers("ws_write", Impact.SELF, targets, NOW) is covered
