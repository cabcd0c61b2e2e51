"""The explorer of crashes: it passes right actions of each class, and finds the wrong ones."""

import threading
from typing import Any

import pytest

from opencrab.actions.custom import ActionFailed, CallContext, action
from opencrab.testing import CrashReport, explore_action_crashes

by_key = dict[str, str]()
log = list[str]()


def reset() -> None:
    by_key.clear()
    log.clear()


def explore(function: Any) -> CrashReport:
    return explore_action_crashes(
        function, {"text": "蟹"}, effects=lambda: [*by_key, *log], reset=reset
    )


@action(impact="external", effect="keyed")
def keyed(text: str, context: CallContext) -> int:
    """Do it by its key."""
    if context.key not in by_key:
        by_key[context.key] = text
    return len(by_key)


@action(impact="external", effect="once")
def once(text: str) -> str:
    """Do it once."""
    log.append(text)
    return text


@action(impact="read", effect="pure")
def pure(text: str) -> str:
    """Read it."""
    return text.upper()


def test_right_actions_of_each_class_pass_at_every_point() -> None:
    found = explore(keyed)
    assert found.states == {"completed": len(found.points)}
    assert {"before journal.commit", "after journal.commit"} <= set(found.points)
    lines = [each for each in found.points if "test_crashes.py" in each]
    assert [each.partition(" ")[0] for each in lines] == ["before"] * 3 + ["after"]
    ended = explore(once).states
    assert ended["completed"] > ended["unknown"] >= 3
    assert set(explore(pure).states) == {"completed"}
    assert threading.gettrace() is None


@action(impact="external", effect="keyed")
def forgets_its_key(text: str, context: CallContext) -> None:
    """Do it by no key."""
    log.append(context.key)


@action(impact="external", effect="keyed")
def has_one_key(text: str, context: CallContext) -> None:
    """Take every call for one."""
    by_key["always"] = text


@action(impact="external", effect="keyed")
def writes_too_early(text: str, context: CallContext) -> None:
    """Note the key before the work, so that a crash between them loses it."""
    if context.key not in by_key:
        by_key[context.key] = text
        log.append(text)


@action(impact="read", effect="pure")
def writes(text: str) -> None:
    """Claim to read."""
    log.append(text)


@action(impact="external", effect="once")
def does_nothing(text: str) -> None:
    """Do nothing."""


@action(impact="external", effect="once")
def fails(text: str) -> None:
    """Fail."""
    raise ActionFailed("no")


@action(impact="external", effect="once")
def returns_no_json(text: str) -> object:
    """Return what a model cannot read."""
    log.append(text)
    return object()


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (forgets_its_key, "done again with the same context.key"),
        (has_one_key, "took two calls for one"),
        (writes_too_early, "is keyed, and had 1 effects, not 2, killed before test_crashes.py:"),
        (writes, "is pure, and had 1 effects"),
        (does_nothing, "effects\\(\\) shows nothing"),
        (fails, "failed without any crash: no"),
        (returns_no_json, "returned is no JSON"),
    ],
)
def test_wrong_actions_are_found(function: Any, said: str) -> None:
    with pytest.raises(AssertionError, match=said):
        explore(function)
