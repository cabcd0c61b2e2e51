"""All seeded mutants: what the tests are measured by."""

from tests.mutants import goal_mutants, journal_mutants, mind_mutants, money_mutants, turn_mutants

MUTANTS = (
    *turn_mutants.MUTANTS,
    *money_mutants.MUTANTS,
    *goal_mutants.MUTANTS,
    *mind_mutants.MUTANTS,
    *journal_mutants.MUTANTS,
)
