"""The declared test of a belief: conditions by which code will test it."""

from opencrab.domain.document import Document, new_fact
from opencrab.domain.errors import Invalid, Refused, TooLarge
from opencrab.domain.learning.skill_trials import may_vouch_for_learned_skill
from opencrab.domain.memory.belief import BELIEF_TESTS
from opencrab.domain.text.plain import text_on_one_line
from opencrab.domain.turn.declared_test import (
    TEST_CHARACTERS,
    TESTS,
    DeclaredTest,
    DeclaredTests,
    parse_test_declared_in_turn,
)
from opencrab.ports.turn.action import ActionContext


def checked_belief_test(said: str, context: ActionContext) -> str:
    """Return a test as it is stored; raises Invalid or Refused for one that code cannot check."""
    test = text_on_one_line(said)
    if not context.clearance.whole:
        raise Refused(
            "tests of beliefs are not declared where others hear your answer",
            cure="leave out `test`; declare it in a turn of your own or of your owner",
        )
    if len(test) > TEST_CHARACTERS:
        raise TooLarge(
            f"test has {len(test)} characters, at most {TEST_CHARACTERS} are allowed",
            field="test",
            cure="give fewer conditions",
        )
    for condition in parse_test_declared_in_turn(test):
        if condition.kind == "action" and context.actions.find(condition.name) is None:
            raise Invalid(
                f"there is no action {condition.name!r}", field="test", cure="use find_actions"
            )
    return test


def belief_test_change(test: str, belief_id: str, context: ActionContext) -> Document:
    """Return the agent's tests with this one of a belief; raises Refused at the limit."""
    agent_id, turn = context.agent.id, context.turn
    stored = context.reach.facts.get(agent_id, BELIEF_TESTS, BELIEF_TESTS)
    tests = DeclaredTests() if stored is None else stored.read(DeclaredTests)
    tests = tests.without(belief_id)
    if len(tests.tests) >= TESTS:
        raise Refused(
            f"limit reached: {TESTS} declared tests",
            cure="leave out `test`, or ask your owner to delete beliefs that have one",
        )
    after = tests.with_test(
        DeclaredTest(
            belief_id=belief_id,
            test=test,
            declared_at=context.clock.now(),
            tainted=not may_vouch_for_learned_skill(turn),
            turn_id=turn.id,
            session_id=context.session.id,
            person_id=turn.principal_id,
        )
    )
    return (
        stored.with_body(after) if stored else new_fact(agent_id, BELIEF_TESTS, BELIEF_TESTS, after)
    )
