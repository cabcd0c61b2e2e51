"""A subscription: an address that is told of events of agents, and what it is told.

An event has ids and a status, and no words: who may read those fetches them with a key.
"""

from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import Field, StringConstraints

from opencrab.domain.turn.turn import Turn, TurnStatus
from opencrab.domain.value import Identifier, Value

SUBSCRIPTIONS, SUBSCRIPTION, SUBSCRIPTION_STATE = (
    "webhooks",
    "webhook_subscription",
    "webhook_subscription_state",
)
"""The owner and the kinds of their documents."""

TEST_EVENT = "webhook.test"
"""The type of the event that a trial sends; it is about nothing."""

WebhookAddress = Annotated[str, StringConstraints(pattern=r"^https://[!-~]{1,500}$")]


class WebhookEventType(StrEnum):
    """The types of events that are posted."""

    TURN_COMPLETED = "turn.completed"
    TURN_FAILED = "turn.failed"
    TURN_STOPPED = "turn.stopped"
    APPROVAL_REQUESTED = "approval.requested"
    GOAL_FINISHED = "goal.finished"


_OF_TURN = {
    TurnStatus.COMPLETED: WebhookEventType.TURN_COMPLETED,
    TurnStatus.IDLE: WebhookEventType.TURN_COMPLETED,
    TurnStatus.FAILED: WebhookEventType.TURN_FAILED,
    TurnStatus.EXHAUSTED: WebhookEventType.TURN_FAILED,
    TurnStatus.STOPPED: WebhookEventType.TURN_STOPPED,
}


class WebhookSubscription(Value):
    """A subscription as it is stored; its secrets are in no answer and no log.

    Without `agent_id` it hears of all agents. Events are signed with `secret`, and until
    `previous_until`, in seconds since 1970, with the `previous` ones too.
    """

    url: WebhookAddress
    events: Annotated[tuple[WebhookEventType, ...], Field(min_length=1)]
    agent_id: Identifier | None = None
    secret: str
    previous: tuple[str, ...] = ()
    previous_until: float = 0
    created_by: Identifier
    created_at: datetime

    def secrets_at(self, now: float) -> tuple[str, ...]:
        """Return the secrets with which an event is signed at a time, the newest first."""
        return (self.secret, *(self.previous if now < self.previous_until else ()))


class WebhookSubscriptionState(Value):
    """What is wrong with the newest event, and how many in a row could not be sent."""

    problem: str = ""
    failed: int = 0
    at: datetime


class WebhookEvent(Value):
    """An event on its way to one subscription.

    `subject` is the id of the approval or goal that it is about; of a turn's end it is empty.
    """

    subscription: str
    type: WebhookEventType
    agent_id: Identifier
    session_id: str
    turn_id: Identifier
    subject: str = ""


def webhook_event_of_turn_end(status: TurnStatus, turn: Turn) -> WebhookEventType | None:
    """Return the event that a turn's end is; None for one that nobody asked for and that is idle.

    Heartbeats would tell each minute that there was nothing to do.
    """
    if status is TurnStatus.IDLE and turn.is_autonomous:
        return None
    return _OF_TURN.get(status)
