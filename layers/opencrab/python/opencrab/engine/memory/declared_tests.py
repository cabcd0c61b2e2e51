"""Declared tests of beliefs, checked by code in an agent's own turns.

A test whose result changed confirms or refutes its belief, with the turn as evidence. A test that
shows the same as before changes nothing, so a turn that is delivered twice counts once.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from functools import partial

from opencrab.domain.document import Document
from opencrab.domain.errors import Changed
from opencrab.domain.learning.skill_trials import may_vouch_for_learned_skill
from opencrab.domain.memory.belief import BELIEF, BELIEF_TESTS, Belief, revise_belief
from opencrab.domain.memory.belief_index import salient_beliefs_change
from opencrab.domain.memory.salient_beliefs import OUTLOOK, SalientBeliefs, remember_belief
from opencrab.domain.outcome import Outcome
from opencrab.domain.turn.declared_test import (
    CHECKED,
    DeclaredTest,
    DeclaredTests,
    KnownFacts,
    is_test_declared_in_turn_met,
    order_of_tests_declared_in_turns,
    parse_test_declared_in_turn,
)
from opencrab.domain.turn.record import action_name_of_turn_call
from opencrab.engine.turn.receipt import receipts_of_turn
from opencrab.engine.turn.work import TurnWork

_ACTION = "action"


def check_belief_tests_on_begin(work: TurnWork, stored: Document) -> None:
    """Check a few tests of files and of the world, before the turn's first prompt.

    At most CHECKED, the least recently checked first. The prompt shows the revised beliefs.
    """
    declared = stored.read(DeclaredTests).tests
    wanted = [each for each in declared if _has_state(each) and _may_check(work, each)]
    due = order_of_tests_declared_in_turns(wanted)[:CHECKED]
    results = _results(work, due, {})
    looked = {each.belief_id for each in due} if len(wanted) > CHECKED else set[str]()
    _keep(work, results, looked)


def check_belief_tests_after_close(work: TurnWork, stored: Document) -> None:
    """Check the tests that name an action that the turn called, or a file that it changed.

    A crash before it loses only the evidence of actions: files are checked again by the next turn.
    """
    called = {
        action_name_of_turn_call(call): result.success
        for call, result in work.transcript.ended_calls
    }
    touched = {receipt.path for receipt in receipts_of_turn(work)}
    declared = stored.read(DeclaredTests).tests
    named = [each for each in declared if _names(each, called, touched) and _may_check(work, each)]
    _keep(work, _results(work, named, called), set())


def _may_check(work: TurnWork, test: DeclaredTest) -> bool:
    """Check whether a turn may test a belief: what is untrusted tests only what is tainted."""
    return test.tainted or may_vouch_for_learned_skill(work.turn)


def _has_state(test: DeclaredTest) -> bool:
    """Check whether a test can be told from files and the world alone."""
    return all(condition.kind != _ACTION for condition in parse_test_declared_in_turn(test.test))


def _names(test: DeclaredTest, called: Mapping[str, bool], touched: set[str | None]) -> bool:
    return any(
        condition.name in (called if condition.kind == _ACTION else touched)
        for condition in parse_test_declared_in_turn(test.test)
        if condition.name
    )


def _results(
    work: TurnWork, tests: Iterable[DeclaredTest], called: Mapping[str, bool]
) -> dict[str, bool]:
    """Return what tests show now, by belief; only those that show something else than before."""
    world = work.prompt.world
    found = dict[str, bool]()
    for test in tests:
        known = KnownFacts(
            has_file=partial(_has_file, work, tainted=test.tainted),
            actions=called,
            balance=None if world is None else world.binding.balance,
            reputation=None if world is None else world.binding.reputation,
        )
        met = is_test_declared_in_turn_met(parse_test_declared_in_turn(test.test), known)
        if met is not None and met is not test.holds:
            found[test.belief_id] = met
    return found


def _has_file(work: TurnWork, path: str, *, tainted: bool) -> bool | None:
    """Check whether a file exists; None for one of others, which tests only tainted beliefs."""
    info = work.runtime.home.files.info(work.turn.agent_id, path)
    if info is None:
        return False
    return True if info.clean or tainted else None


def _keep(work: TurnWork, results: Mapping[str, bool], looked: set[str]) -> None:
    """Store what the tests show, and the beliefs that it revises.

    If something was changed meanwhile, the next turn checks again.
    """
    if not (results or looked):
        return
    facts, agent_id = work.runtime.home.facts, work.turn.agent_id
    names = (
        (BELIEF_TESTS, BELIEF_TESTS),
        (OUTLOOK, OUTLOOK),
        *((BELIEF, each) for each in results),
    )
    found = {(fact.kind, fact.id): fact for fact in facts.get_many(agent_id, *names)}
    stored, now = found.get((BELIEF_TESTS, BELIEF_TESTS)), work.runtime.clock.now()
    if stored is None:
        return
    tests, changes = stored.read(DeclaredTests), list[Document]()
    outlook = found.get((OUTLOOK, OUTLOOK))
    seen = SalientBeliefs() if outlook is None else outlook.read(SalientBeliefs)
    for belief_id, holds in results.items():
        fact, test = found.get((BELIEF, belief_id)), tests.of_belief(belief_id)
        if fact is None or test is None or _is_outdated(test, fact):
            tests = tests.without(belief_id)
        elif test.holds is not holds:
            after = _revision_after_turn(work, fact, holds=holds, now=now)
            changes.append(fact.with_body(after))
            seen = remember_belief(seen, after)
            tests = tests.changed(belief_id, holds=holds, checked_at=now)
    for belief_id in looked:
        tests = tests.changed(belief_id, checked_at=now)
    written = stored.with_body(tests)
    with suppress(Changed):
        facts.commit(written, *changes, *salient_beliefs_change(agent_id, outlook, seen))
        if work.prompt.around is not None:
            around = replace(work.prompt.around, outlook=seen, declared_tests=written)
            work.prompt.around = around


def _is_outdated(test: DeclaredTest, fact: Document) -> bool:
    """Check whether untrusted text declared the test of a belief that is trusted now."""
    return test.tainted and not fact.read(Belief).tainted


def _revision_after_turn(work: TurnWork, fact: Document, *, holds: bool, now: datetime) -> Belief:
    outcome = Outcome.SUCCESS if holds else Outcome.FAILURE
    return revise_belief(fact.read(Belief), outcome, (work.turn.id,), now)
