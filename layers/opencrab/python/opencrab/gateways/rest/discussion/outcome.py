"""Outcome: what came out of a discussion, and what became of what its agents promised."""

from datetime import datetime

from pydantic import Field

from opencrab.domain.conversation.session import Ending
from opencrab.domain.discussion.outcome import (
    DISCUSSION_OUTCOME,
    DiscussionOutcome,
    OutcomeState,
    OutcomeTask,
    TaskAnswer,
)
from opencrab.domain.document import INSTALLATION_FACTS
from opencrab.domain.errors import NotFound
from opencrab.domain.goals.promise import PROMISE, Promise, PromiseStatus
from opencrab.domain.value import Value
from opencrab.engine.access.visibility import require_access_to_session
from opencrab.gateways.rest.http.access import Reader
from opencrab.gateways.rest.http.body import http_routes_below
from opencrab.gateways.rest.http.dependencies import Api, Id
from opencrab.gateways.rest.http.view import View
from opencrab.ports.documents import Documents

router = http_routes_below("/api/sessions", "sessions")


class OutcomeTaskView(View):
    """A task of an outcome: who does what by when, and what its agent answered.

    `promise` is the status of the promise that taking it over made, `goal_id` that agent's goal;
    `evidence` is what the promise was judged by. `reason` says why it was declined or withdrawn.
    """

    number: int
    agent_id: str
    name: str
    what: str
    due: datetime
    done_when: str
    answer: TaskAnswer
    reason: str
    promise: PromiseStatus | None = None
    goal_id: str | None = None
    evidence: tuple[str, ...] = ()


class OutcomeView(Value):
    """The outcome of a discussion: decisions, open points, and who does what by when.

    Its `state` is `asked` while an agent is to write it, and `unknown` if it was not written.
    """

    session_id: str
    state: OutcomeState
    ended_by: Ending
    writer_id: str | None
    decisions: tuple[str, ...]
    open_points: tuple[str, ...]
    tasks: tuple[OutcomeTaskView, ...]
    why: str = Field(description="why there is no outcome; empty if there is one")
    at: datetime


@router.get("/{session_id}/outcome", operation_id="get_outcome")
def get_discussion_outcome(api: Api, caller: Reader, session_id: Id) -> OutcomeView:
    """Get the outcome of a discussion.

    Returns decisions, open points and tasks, with what became of the promises to do them.
    """
    session, _ = require_access_to_session(api.runtime.home, caller.principal, session_id)
    facts = api.runtime.home.facts
    stored = facts.get(INSTALLATION_FACTS, DISCUSSION_OUTCOME, session.id)
    if stored is None:
        raise NotFound(
            f"session {session_id!r} has no outcome",
            cure="a discussion has one once it has ended by itself",
        )
    outcome = stored.read(DiscussionOutcome)
    return OutcomeView(
        session_id=session.id,
        state=outcome.state,
        ended_by=outcome.ended_by,
        writer_id=outcome.writer_id or None,
        decisions=outcome.decisions,
        open_points=outcome.open_points,
        tasks=tuple(_task(facts, task) for task in outcome.tasks),
        why=outcome.why,
        at=outcome.at,
    )


def _task(facts: Documents, task: OutcomeTask) -> OutcomeTaskView:
    stored = facts.get(task.agent_id, PROMISE, task.promise_id) if task.promise_id else None
    if stored is None:
        return OutcomeTaskView.of(task, promise=None, goal_id=None, evidence=())
    promise = stored.read(Promise)
    return OutcomeTaskView.of(
        task,
        promise=promise.status,
        goal_id=promise.goal_id,
        evidence=promise.evidence,
        reason=promise.reason,
    )
