"""The seeded mutants still fit the code; whether the tests catch them is `make mutants`."""

import ast
from collections import Counter
from dataclasses import replace
from itertools import groupby

import pytest

from tests.mutants.mutant import StaleError
from tests.mutants.mutants import MUTANTS
from tests.mutants.reach import Reach, default_files
from tests.mutants.sampling import draw_mutants, mutants_of_source


def test_there_are_enough_mutants_each_with_a_name_of_its_own() -> None:
    assert len(MUTANTS) >= 64
    assert [name for name, count in Counter(each.id for each in MUTANTS).items() if count > 1] == []


def test_every_mutant_is_found_once_and_still_parses() -> None:
    ordered = sorted(MUTANTS, key=lambda each: each.module)
    for _, mutants in groupby(ordered, lambda each: each.module):
        same_module = list(mutants)
        source = same_module[0].source()
        tree = ast.parse(source)
        dumped = ast.dump(tree)
        for mutant in same_module:
            mutant.statement(tree, source)
            assert ast.dump(ast.parse(mutant.mutated(source))) != dumped, mutant.id


def test_a_fragment_is_found_however_its_lines_are_broken() -> None:
    mutant = replace(MUTANTS[0], old="wait(first, second)", new="pass")
    assert mutant.mutated("if x:\n    wait(\n        first, second)\n") == "if x:\n    pass\n"


@pytest.mark.parametrize("source", ["", "wait() or wait()", "await_(wait_())", "wait(1)"])
def test_a_fragment_that_is_not_there_exactly_once_is_an_error(source: str) -> None:
    with pytest.raises(StaleError):
        replace(MUTANTS[0], old="wait()").mutated(source)


def test_a_mutant_of_a_module_that_is_gone_is_an_error() -> None:
    with pytest.raises(StaleError):
        replace(MUTANTS[0], module="opencrab.engine.gone").source()


def test_a_mutant_meets_what_reaches_it_and_what_the_map_does_not_know() -> None:
    new, reaching, other = default_files()[:3]
    mutant, known = MUTANTS[0], dict.fromkeys(default_files(), 1.0)
    reached = {file: set[str]() for file in known if file != new} | {reaching: {mutant.id}}
    assert set(Reach(known, reached).files_for(mutant)) == {new, reaching}
    assert other in Reach(known, reached).files_for(MUTANTS[1])


def test_a_mutant_meets_first_what_caught_it_last() -> None:
    last, mutant = default_files()[-1], MUTANTS[0]
    assert Reach(killers={mutant.id: last}).files_for(mutant)[0] == last


def test_drawn_mutants_are_the_same_for_a_seed_and_change_one_place_each() -> None:
    drawn = draw_mutants(12, "a", ("engine/turn/act.py", "domain/approvals"))
    assert drawn == draw_mutants(12, "a", ("engine/turn/act.py", "domain/approvals"))
    assert drawn != draw_mutants(12, "b", ("engine/turn/act.py", "domain/approvals"))
    assert len({each.id for each in drawn}) == 12
    for mutant in drawn:
        source = mutant.source()
        assert source[mutant.start : mutant.end] == mutant.old, mutant.id
        assert ast.dump(ast.parse(mutant.mutated(source))) != ast.dump(ast.parse(source))


@pytest.mark.parametrize(
    ("line", "becomes"),
    [
        ("潮 = a <= b", "潮 = (a < b)"),
        ("潮 = a and b", "潮 = (a or b)"),
        ("潮 = not a", "潮 = (a)"),
        ("潮 = a + 1", "潮 = a + 2"),
        ("save(a, stop=True)", "pass"),
        ("潮 = save(a, stop=b)", "潮 = save(a)"),
    ],
)
def test_a_small_mistake_is_made_of_a_line(line: str, becomes: str) -> None:
    source = f"def f(a, b):\n    {line}\n"
    made = mutants_of_source("opencrab.engine.turn.run", source)
    assert f"def f(a, b):\n    {becomes}\n" in {each.mutated(source) for each in made}
