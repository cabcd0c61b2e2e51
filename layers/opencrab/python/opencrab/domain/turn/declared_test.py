"""Declared tests: conditions by which code tests a belief, and what they showed last.

`file:PATH` is a file of the workspace, `action:NAME` an action that succeeded, `balance>=20` and
`reputation<0.5` compare what the agent's world last said. All conditions of a test must hold.
"""

import operator
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Annotated

from pydantic import Field, StringConstraints

from opencrab.domain.errors import Invalid
from opencrab.domain.turn.success_condition import parse_turn_success_conditions
from opencrab.domain.value import Value

TESTS = 20
"""The most declared tests of one agent."""

CHECKED = 3
"""The most tests that one turn checks when it begins."""

TEST_CHARACTERS = 200

_NUMBER = re.compile(
    r"(?<![^\s,、。(（])(balance|reputation)\s*(>=|<=|>|<)\s*(-?[0-9]{1,12}(?:\.[0-9]{1,6})?)"
)
_WORKSPACE = re.compile(r"(?<![^\s,、。(（])(?:file|action):[^\s,、。)）]+")
_REST = re.compile(r"[\s,、。.;()（）]*")
_COMPARE: Mapping[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}
_CURE = "give conditions alone, like file:notes/a.md, action:ws_write or balance>=20"


class DeclaredTest(Value):
    """The test of one belief; `holds` is what it showed last, None if it showed nothing yet.

    `turn_id`, `session_id` and `person_id` say where it comes from; `tainted` if that is untrusted.
    """

    belief_id: str
    test: Annotated[str, StringConstraints(max_length=TEST_CHARACTERS)]
    holds: bool | None = None
    declared_at: datetime
    checked_at: datetime | None = None
    tainted: bool = False
    turn_id: str = ""
    session_id: str = ""
    person_id: str = ""


class DeclaredTests(Value):
    """The declared tests of an agent, the newest last."""

    tests: Annotated[tuple[DeclaredTest, ...], Field(max_length=TESTS)] = ()

    def of_belief(self, belief_id: str) -> DeclaredTest | None:
        """Return the test of a belief, or None."""
        return next((each for each in self.tests if each.belief_id == belief_id), None)

    def with_test(self, test: DeclaredTest) -> "DeclaredTests":
        """Return the tests with this one in the place of the belief's earlier one."""
        return self.replaced(tests=(*self.without(test.belief_id).tests, test))

    def without(self, *belief_ids: str) -> "DeclaredTests":
        """Return the tests without those of some beliefs."""
        return self.replaced(tests=tuple(t for t in self.tests if t.belief_id not in belief_ids))

    def changed(self, belief_id: str, **changes: object) -> "DeclaredTests":
        """Return the tests with changes of one of them."""
        return self.replaced(
            tests=tuple(
                each.replaced(**changes) if each.belief_id == belief_id else each
                for each in self.tests
            )
        )


@dataclass(frozen=True)
class CheckedCondition:
    """One condition; a number is compared with `limit` by `compares`."""

    kind: str
    name: str = ""
    compares: str = ""
    limit: float = 0.0


@dataclass(frozen=True)
class KnownFacts:
    """What code knows when it checks a test; what is missing or None is unknown.

    `actions` are those that a turn called, and whether the last call of each succeeded.
    """

    has_file: Callable[[str], bool | None]
    actions: Mapping[str, bool] = field(default_factory=dict)
    balance: float | None = None
    reputation: float | None = None


def parse_test_declared_in_turn(text: str) -> tuple[CheckedCondition, ...]:
    """Return the conditions of a test; raises Invalid for words that are no condition."""
    numbers = [CheckedCondition(m[1], "", m[2], float(m[3])) for m in _NUMBER.finditer(text)]
    named = [CheckedCondition(kind, name) for kind, name in parse_turn_success_conditions(text)]
    rest = _REST.sub("", _WORKSPACE.sub("", _NUMBER.sub("", text)))
    patterns = any("*" in condition.name for condition in named)
    if rest or patterns or not (numbers or named):
        shown = rest[:40] or text[:40]
        raise Invalid(f"{shown!r} is no condition that code can check", field="test", cure=_CURE)
    return (*named, *numbers)


def is_test_declared_in_turn_met(
    conditions: Iterable[CheckedCondition], known: KnownFacts
) -> bool | None:
    """Check whether all conditions hold; None if that is not known."""
    found = [_holds(condition, known) for condition in conditions]
    if any(each is False for each in found):
        return False
    return None if any(each is None for each in found) else True


def order_of_tests_declared_in_turns(tests: Iterable[DeclaredTest]) -> list[DeclaredTest]:
    """Return tests in the order in which they are checked: least recently checked first."""
    never = datetime.fromtimestamp(0, UTC)
    return sorted(tests, key=lambda each: (each.checked_at or never, each.declared_at))


def _holds(condition: CheckedCondition, known: KnownFacts) -> bool | None:
    if condition.kind == "file":
        return known.has_file(condition.name)
    if condition.kind == "action":
        return known.actions.get(condition.name)
    value = known.balance if condition.kind == "balance" else known.reputation
    return None if value is None else _COMPARE[condition.compares](value, condition.limit)
