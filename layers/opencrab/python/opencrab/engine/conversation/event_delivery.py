"""Delivery of events to subscriptions: each is told what is true, once it is.

A queue message has ids only; what is told of them is read when it is sent.
"""

import json
import logging
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

from pydantic import ValidationError

from opencrab.domain.conversation.message import ATTEMPTS
from opencrab.domain.document import Document, new_fact
from opencrab.domain.errors import NotFound, OpenCrabError, Unavailable
from opencrab.domain.goals.goal import GOAL, Goal, goal_document_id
from opencrab.domain.identifier import stable_id
from opencrab.domain.webhooks.subscription import (
    SUBSCRIPTION,
    SUBSCRIPTION_STATE,
    SUBSCRIPTIONS,
    TEST_EVENT,
    WebhookEvent,
    WebhookEventType,
    WebhookSubscription,
    WebhookSubscriptionState,
    webhook_event_of_turn_end,
)
from opencrab.engine.approvals.approvals import find_approval
from opencrab.engine.queueing import deliver_later
from opencrab.engine.runtime import Runtime
from opencrab.ports.turn.queue import Delivery, MessageOutcome, Queue

WEBHOOK_EVENT = "webhook event\n"
"""The beginning of the queue messages of events, as in `delivery`."""

LOOKS = 5
"""How often it is looked whether what an event tells of is written: after 1, 3, 7, 15 and 31 s."""

REST = timedelta(minutes=5)
"""The time for which a receiver is not asked again after one event too many."""

log = logging.getLogger(__name__)


class PendingEvent(Exception):
    """What an event tells of is not written yet."""


def queue_webhook_event(deliveries: Queue, event: WebhookEvent, *, run: int) -> None:
    """Queue an event, in order for each subscription.

    `run` numbers the worker of the turn: the one before may have died before it wrote the change.
    """
    deliveries.send(
        WEBHOOK_EVENT + event.model_dump_json(),
        group=stable_id("webhook events", event.subscription),
        deduplication=f"{webhook_event_id(event)}-{run}",
    )


def webhook_event_id(event: WebhookEvent) -> str:
    """Return the id by which a receiver knows a repeat of an event."""
    named = (event.subscription, event.type.value, event.turn_id, event.subject)
    return f"msg_{stable_id('webhook event', *named)}"


def deliver_webhook_event(runtime: Runtime, delivery: Delivery) -> MessageOutcome:
    """Post the event that a queue message names, or give the message back for later.

    After ATTEMPTS, or at once if the receiver refuses, it ends as a dead letter with the reason.
    While a receiver has failed it is asked once for each event, and rarely, so that the events of
    others do not wait for it.
    """
    try:
        event = WebhookEvent.model_validate_json(delivery.body.removeprefix(WEBHOOK_EVENT))
    except ValidationError:
        _dead_letter(runtime, delivery, "malformed webhook event")
        return MessageOutcome.FINISHED
    found = _facts_of(runtime, event.subscription)
    if SUBSCRIPTION not in found:
        return MessageOutcome.FINISHED
    subscription = found[SUBSCRIPTION].read(WebhookSubscription)
    # An agent may still tell one of this name that is gone, and another has its name now.
    is_of_another = subscription.agent_id not in {None, event.agent_id}
    if is_of_another or event.type not in subscription.events:
        return MessageOutcome.FINISHED
    try:
        told = _event_data(runtime, event)
    except PendingEvent:
        return _wait_until_true(runtime, delivery)
    # Or it was meant for one of the same name that is gone.
    if told is None or told["at"] < subscription.created_at:
        return MessageOutcome.FINISHED
    return _post(runtime, delivery, event, (subscription, _state(found)), told)


def send_test_event_of_webhook(
    runtime: Runtime, name: str, found: WebhookSubscription, *, event_id: str
) -> None:
    """Post an event that tells of nothing, once; raises what the receiver's answer means."""
    told = {"type": TEST_EVENT, "at": runtime.clock.now(), "subscription": name}
    _send(runtime, found, f"msg_{event_id}", told)


def _facts_of(runtime: Runtime, name: str) -> dict[str, Document]:
    facts = runtime.home.facts.get_many(
        SUBSCRIPTIONS, (SUBSCRIPTION, name), (SUBSCRIPTION_STATE, name)
    )
    return {fact.kind: fact for fact in facts}


def _state(found: dict[str, Document]) -> WebhookSubscriptionState | None:
    fact = found.get(SUBSCRIPTION_STATE)
    return None if fact is None else fact.read(WebhookSubscriptionState)


def _event_data(runtime: Runtime, event: WebhookEvent) -> dict[str, Any] | None:
    """Return what is told; None if it will never be true. Raises PendingEvent."""
    home = runtime.home
    told: dict[str, Any] = {
        "type": event.type.value,
        "subscription": event.subscription,
        "agent_id": event.agent_id,
        "session_id": event.session_id,
        "turn_id": event.turn_id,
    }
    try:
        if event.type is WebhookEventType.APPROVAL_REQUESTED:
            approval = find_approval(home.facts, event.subject)
            state = {"approval_id": approval.id, "status": approval.state.value}
            return {**told, **state, "at": approval.created_at}
        turn = home.journal.header(event.turn_id)
    except NotFound:
        raise PendingEvent from None
    if not turn.status.is_end:
        raise PendingEvent
    at = turn.ended_at or turn.created_at
    if event.type is not WebhookEventType.GOAL_FINISHED:
        is_this = webhook_event_of_turn_end(turn.status, turn) is event.type
        return {**told, "status": turn.status.value, "at": at} if is_this else None
    fact = home.facts.get(event.agent_id, GOAL, goal_document_id(event.subject))
    goal = None if fact is None else fact.read(Goal)
    if goal is None or not goal.status.is_end:
        return None
    return {**told, "goal_id": goal.id, "status": goal.status.value, "at": at}


def _wait_until_true(runtime: Runtime, delivery: Delivery) -> MessageOutcome:
    if delivery.count > LOOKS:
        # A worker that died before is followed by another, which queues the event again.
        return MessageOutcome.FINISHED
    runtime.home.deliveries.continue_later(delivery.receipt, 2 ** (delivery.count - 1))
    return MessageOutcome.CONTINUE


def _post(
    runtime: Runtime,
    delivery: Delivery,
    event: WebhookEvent,
    to: tuple[WebhookSubscription, WebhookSubscriptionState | None],
    told: dict[str, Any],
) -> MessageOutcome:
    subscription, state = to
    failed, now = (state.failed if state else 0), runtime.clock.now()
    if state is not None and failed and delivery.count <= 1 and now - state.at < REST:
        _give_up(runtime, delivery, event, failed, f"not sent: {state.problem}", at=state.at)
        return MessageOutcome.FINISHED
    try:
        _send(runtime, subscription, webhook_event_id(event), told)
    except Unavailable as error:
        if failed or delivery.count >= ATTEMPTS:
            _give_up(runtime, delivery, event, failed, error.message)
            return MessageOutcome.FINISHED
        _note(runtime, event.subscription, error.message, 0)
        return deliver_later(runtime.home.deliveries, delivery, delivery.count)
    except OpenCrabError as error:
        _give_up(runtime, delivery, event, failed, error.message)
        return MessageOutcome.FINISHED
    if state is not None and (state.problem or failed):
        _note(runtime, event.subscription, "", 0)
    return MessageOutcome.FINISHED


def _send(
    runtime: Runtime, subscription: WebhookSubscription, event_id: str, told: dict[str, Any]
) -> None:
    """Sign and post an event in the form that Standard Webhooks recommends."""
    if runtime.signed_post is None:
        raise Unavailable("this process posts no events", cure="ask the server that runs turns")
    rest = {key: value for key, value in told.items() if key not in {"type", "at"}}
    body = {"type": told["type"], "timestamp": told["at"].isoformat(), "data": rest}
    secrets = subscription.secrets_at(runtime.clock.now().timestamp())
    content = json.dumps(body, ensure_ascii=False).encode()
    runtime.signed_post.post(subscription.url, secrets, event_id, content)


def _give_up(
    runtime: Runtime,
    delivery: Delivery,
    event: WebhookEvent,
    failed: int,
    why: str,
    *,
    at: datetime | None = None,
) -> None:
    """Keep the event among the dead letters, and its reason where its owner sees it."""
    reason = f"event {event.type.value} for {event.subscription!r}: {why}"
    _dead_letter(runtime, delivery, reason)
    problem = why.removeprefix("not sent: ")
    _note(runtime, event.subscription, problem, failed + 1, at=at)


def _dead_letter(runtime: Runtime, delivery: Delivery, reason: str) -> None:
    runtime.home.deliveries.dead_letter(delivery.body, group=delivery.group, reason=reason)
    log.warning("webhook event given up: reason=%s", reason)


def _note(
    runtime: Runtime, name: str, problem: str, failed: int, *, at: datetime | None = None
) -> None:
    said = WebhookSubscriptionState(
        problem=problem[:500], failed=failed, at=at or runtime.clock.now()
    )
    # What became of the event is more than what is shown of it.
    with suppress(OpenCrabError):
        fact = new_fact(SUBSCRIPTIONS, SUBSCRIPTION_STATE, name, said)
        runtime.home.facts.commit(fact.replaced(version=0))
