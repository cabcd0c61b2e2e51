"""Derived promises: finds promises, and outcomes of discussions, that came from erased data."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from opencrab.domain.discussion.outcome import (
    DISCUSSION_OUTCOME,
    DiscussionOutcome,
    OutcomeState,
)
from opencrab.domain.document import INSTALLATION_FACTS, Document
from opencrab.domain.goals.promise import PROMISE, PROMISE_BOARD, Promise, PromiseBoard
from opencrab.engine.erasure.derived_peers import IsAffected
from opencrab.ports.documents import Documents
from opencrab.ports.paging import all_pages

FORGOTTEN = "forgotten"
"""Why a discussion has no outcome whose words were erased; its end is not settled a second time."""


@dataclass
class DerivedPromises:
    """The promises to remove, the other changes, and the words that are removed."""

    removed: list[Document] = field(default_factory=list)
    changes: list[Document] = field(default_factory=list)
    words: list[str] = field(default_factory=list)


def promises_to_erase(facts: Documents, agent_id: str, means: IsAffected) -> DerivedPromises:
    """Find the affected promises of an agent, and what others promised it there."""
    found = DerivedPromises()
    for fact in all_pages(facts, agent_id, PROMISE):
        promise = fact.read(Promise)
        if means(
            promise.what,
            promise.done_when,
            promise.reason,
            turns=(promise.turn_id,),
            session_id=promise.session_id,
            times=(promise.made_at,),
        ):
            found.removed.append(fact)
            found.words.append(promise.what)
    found.changes += _board(facts, agent_id, means, {fact.id for fact in found.removed})
    found.changes += _outcomes(facts, agent_id, means)
    return found


def _board(
    facts: Documents, agent_id: str, means: IsAffected, gone: set[str]
) -> Iterator[Document]:
    stored = facts.get(agent_id, PROMISE_BOARD, PROMISE_BOARD)
    if stored is None:
        return
    board = stored.read(PromiseBoard)
    affected = {
        each.id
        for each in (*board.made, *board.received)
        if means(each.what, session_id=each.session_id, times=(each.at,))
    }
    bare = board.without(gone | affected)
    if bare != board:
        yield stored.with_erased_body(bare)


def _outcomes(facts: Documents, agent_id: str, means: IsAffected) -> Iterator[Document]:
    """Return the outcomes of this agent's discussions without their words, if affected.

    Several agents may find the same one, so that it is replaced in whatever version it is.
    """
    for fact in all_pages(facts, INSTALLATION_FACTS, DISCUSSION_OUTCOME):
        outcome = fact.read(DiscussionOutcome)
        if agent_id not in outcome.agent_ids or outcome.why == FORGOTTEN:
            continue
        tasks = (text for task in outcome.tasks for text in (task.what, task.reason))
        if means(
            *outcome.decisions,
            *outcome.open_points,
            *tasks,
            turns=(outcome.turn_id,),
            session_id=outcome.session_id,
            times=(outcome.at,),
        ):
            bare = DiscussionOutcome(
                session_id=outcome.session_id,
                ended_by=outcome.ended_by,
                state=OutcomeState.UNKNOWN,
                why=FORGOTTEN,
                agent_ids=outcome.agent_ids,
                at=outcome.at,
            )
            yield fact.with_erased_body(bare).replaced(version=0)
