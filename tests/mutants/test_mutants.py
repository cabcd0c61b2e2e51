"""The seeded mutants still fit the code; whether the tests catch them is `make mutants`."""

import ast
from collections import Counter

from tests.mutants.mutants import MUTANTS


def test_there_are_enough_mutants_each_with_a_name_of_its_own() -> None:
    assert len(MUTANTS) >= 64
    assert [name for name, count in Counter(each.id for each in MUTANTS).items() if count > 1] == []


def test_every_mutant_is_found_once_and_still_parses() -> None:
    for mutant in MUTANTS:
        source = mutant.source()
        tree = ast.parse(source)
        mutant.statement(tree, source)
        assert ast.dump(ast.parse(mutant.mutated(source))) != ast.dump(tree), mutant.id
