"""Tells subscriptions of a turn's end, of approvals that it asks for, and of goals that it ends.

A message is queued before the change that it tells of is written, and sent once that is true: so
no crash loses an event, and none tells of what has not happened (ADR 0069).
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress

from opencrab.domain.document import Document
from opencrab.domain.errors import NotFound
from opencrab.domain.goals.goal import GOAL, Goal
from opencrab.domain.turn.turn import Turn, TurnStatus
from opencrab.domain.webhooks.subscription import (
    WebhookEvent,
    WebhookEventType,
    webhook_event_of_turn_end,
)
from opencrab.engine.consequence import FollowUp, TurnEnding
from opencrab.engine.conversation.event_delivery import queue_webhook_event
from opencrab.engine.runtime import Runtime
from opencrab.engine.turn.work import Consequence, TurnWork

Reported = Mapping[str, Iterable[str]]
"""The types of events that are told, by the names of subscriptions."""


class WebhookEventConsequence(Consequence):
    """Queues the events of a turn for those who are told of them; it writes no document."""

    def on_wait(self, work: TurnWork, asked: Document) -> None:
        kind = WebhookEventType.APPROVAL_REQUESTED
        _queue(work.runtime, work.profile.mind.reported, work.turn, kind, asked.id)

    def on_close(self, work: TurnWork, ending: TurnEnding) -> FollowUp:
        reported = work.profile.mind.reported
        for fact in ending.facts:
            if fact.kind == GOAL and fact.body and fact.read(Goal).status.is_end:
                goal_id = fact.read(Goal).id
                kind = WebhookEventType.GOAL_FINISHED
                _queue(work.runtime, reported, ending.turn, kind, goal_id)
        _queue_end(work.runtime, reported, ending.turn, ending.status)
        return FollowUp()

    def on_abandon(self, runtime: Runtime, turn: Turn, why: str) -> FollowUp:  # noqa: ARG002
        with suppress(NotFound):
            reported = runtime.home.agents.get(turn.agent_id).mind.reported
            _queue_end(runtime, reported, turn, TurnStatus.FAILED)
        return FollowUp()


def _queue_end(runtime: Runtime, reported: Reported, turn: Turn, status: TurnStatus) -> None:
    kind = webhook_event_of_turn_end(status, turn)
    if kind is not None:
        _queue(runtime, reported, turn, kind)


def _queue(
    runtime: Runtime, reported: Reported, turn: Turn, kind: WebhookEventType, subject: str = ""
) -> None:
    for name, kinds in reported.items():
        if kind.value in kinds:
            event = WebhookEvent(
                subscription=name,
                type=kind,
                agent_id=turn.agent_id,
                session_id=turn.session_id,
                turn_id=turn.id,
                subject=subject,
            )
            queue_webhook_event(runtime.home.deliveries, event, run=turn.epoch)
