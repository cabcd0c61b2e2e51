"""Nothing grows unnoticed: what programs load and what a standard turn does, against ceilings."""

from collections.abc import Iterator
from functools import cache

import pytest

from tests.budgets.counting import calls
from tests.budgets.loading import PROGRAMS, loaded
from tests.budgets.table import Budget, Number, beside, ceilings, lowered, uncounted
from tests.budgets.turns import counted

LIMITS = ceilings()


@cache
def turns() -> dict[str, dict[str, Number]]:
    return counted()


def kept(part: str, found: dict[str, Number]) -> None:
    complaints = [each.complaint for each in beside({part: found}, LIMITS) if each.complaint]
    assert not complaints, "\n".join(complaints)
    assert not uncounted({part: found}, {part: LIMITS[part]})


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_loads_no_more_than_its_ceiling(name: str) -> None:
    kept(f"imports_{name}", dict(loaded(PROGRAMS[name]).counts()))


@pytest.mark.parametrize("name", ["version", "help", "completion"])
def test_a_command_that_asks_no_server_loads_neither_pydantic_nor_a_simulation(name: str) -> None:
    found = loaded(PROGRAMS[name])
    paths = {str(path) for path in (*found.ours, *found.libraries)}
    heavy = ("/pydantic/", "/httpx/", "/rich/", "/cli/simulation/", "/engine/")
    assert len(paths) > 40
    assert {path for path in paths if any(part in path for part in heavy)} == set()


@pytest.mark.parametrize("part", ["turn", "rest_turn", "dynamodb", "discord_command"])
def test_a_standard_turn_does_no_more_than_its_ceiling(part: str) -> None:
    kept(part, turns()[part])


def test_every_ceiling_belongs_to_something_that_is_counted() -> None:
    assert set(LIMITS) == {f"imports_{name}" for name in PROGRAMS} | set(turns())


@pytest.mark.parametrize(
    ("count", "ceiling", "says"),
    [
        (100, 100, None),
        (96, 100, None),
        (101, 100, "is over its ceiling of 100"),
        (95, 100, "lower it"),
        (1, 2, "lower it"),
        (1, None, "has no ceiling"),
        (0, 0, None),
    ],
)
def test_a_ceiling_fails_when_it_is_broken_and_when_it_is_idle(
    count: int, ceiling: int | None, says: str | None
) -> None:
    complaint = Budget("turn", "fsyncs", count, ceiling).complaint
    assert complaint is None if says is None else says in (complaint or "")


def test_ceilings_are_lowered_to_their_counts_and_never_raised() -> None:
    text = "# Why.\n[a]\nx = 10\ny = 10\n\n[b]\n# Why too.\nx = 10\n"
    counts = {"a": {"x": 7, "y": 12}, "b": {"x": 6}}
    limits = {"a": {"x": 10, "y": 10}, "b": {"x": 10}}
    expected = "# Why.\n[a]\nx = 7\ny = 10\n\n[b]\n# Why too.\nx = 6\n"
    assert lowered(text, beside(counts, limits)) == expected


def three() -> list[int]:
    return [once(number) for number in range(3)]


def once(number: int) -> int:
    return number


def several() -> Iterator[int]:
    yield from three()


def test_a_generator_counts_once_and_a_comprehension_not_at_all() -> None:
    with calls(__file__) as found:
        list(several())
    entered = {code.co_name: times for code, times in found.entered.items()}
    assert entered == {"several": 1, "three": 1, "once": 3}
