"""Delivery: sends an utterance to its channel piece by piece, each of them visible once."""

import json
from contextlib import suppress
from datetime import datetime

from opencrab.domain.conversation.message import ATTEMPTS, DeliveryState, Utterance
from opencrab.domain.errors import NeverSent, NotFound, OpenCrabError, Unavailable
from opencrab.engine.goals.panel_notice import PANEL
from opencrab.engine.queueing import deliver_later
from opencrab.engine.runtime import Runtime
from opencrab.ports.conversation.channel import DeliveryChannel
from opencrab.ports.turn.queue import Delivery, MessageOutcome

WEBHOOK_EVENT = "webhook event\n"
"""The beginning of the queue messages of events; an utterance's begins with a channel's kind."""


def deliver_session_utterance(runtime: Runtime, delivery: Delivery) -> MessageOutcome:
    """Deliver what a queue message names: an utterance, a progress panel, or a webhook's event.

    `sending` is stored before the channel is called. A piece found in that state is repeated only
    if the channel shows repeats once; elsewhere the utterance ends as indeterminate, since nobody
    can know whether it was seen.
    """
    if delivery.body.startswith(PANEL):
        return _deliver_panel(runtime, delivery)
    if delivery.body.startswith(WEBHOOK_EVENT):
        from opencrab.engine.conversation.event_delivery import (  # noqa: PLC0415 - few have any
            deliver_webhook_event,
        )

        return deliver_webhook_event(runtime, delivery)
    target, _, key = delivery.body.rpartition("\n")
    outbox = runtime.home.outbox
    with suppress(NotFound):
        utterance = outbox.get(target, key)
        if not utterance.state.is_end:
            return _deliver_utterance(runtime, delivery, utterance)
    return MessageOutcome.FINISHED


def _deliver_utterance(
    runtime: Runtime, delivery: Delivery, utterance: Utterance
) -> MessageOutcome:
    channel = runtime.channels.get(utterance.channel.kind)
    if channel is None:
        kind = utterance.channel.kind
        return _record_final_state(
            runtime, utterance, DeliveryState.FAILED, f"no channel of kind {kind!r}"
        )
    # A target's messages go to one worker at a time: whoever set it to sending is taken for dead,
    # and may have been heard (ADR 0023).
    died = utterance.state is DeliveryState.SENDING
    if (died or utterance.since is not None) and not channel.is_idempotent(utterance):
        why = "a worker died while sending" if died else utterance.error
        return _record_final_state(runtime, utterance, DeliveryState.INDETERMINATE, why)
    now = runtime.clock.now()
    sending = utterance.replaced(
        state=DeliveryState.SENDING,
        attempts=utterance.attempts + 1,
        since=utterance.since or now,
        updated_at=now,
    )
    # Compared with the state that was read: of two workers one sends.
    if not runtime.home.outbox.mark(sending, utterance.state):
        return MessageOutcome.FINISHED
    return _send(runtime, channel, sending, delivery, before=utterance.since)


def _send(
    runtime: Runtime,
    channel: DeliveryChannel,
    utterance: Utterance,
    delivery: Delivery,
    *,
    before: datetime | None,
) -> MessageOutcome:
    """Send the remaining pieces; the write after each one says that the next is on its way.

    `before` is the time since when an earlier attempt may have shown the first of them, or None.
    """
    try:
        pieces = channel.piece_count(utterance)
        while True:
            channel.send(utterance)
            if utterance.piece + 1 >= pieces:
                break
            now = runtime.clock.now()
            following = utterance.replaced(
                piece=utterance.piece + 1, attempts=1, since=now, updated_at=now, error=""
            )
            if not runtime.home.outbox.mark(following, DeliveryState.SENDING):
                return MessageOutcome.FINISHED
            # The write for the next piece is the proof that this one was shown.
            utterance, before = following, None
    # Provably not shown, so it may be sent again even where a repeat would be seen twice.
    except NeverSent as error:
        return _again(runtime, utterance.replaced(since=before), delivery, error)
    except Unavailable as error:
        if not channel.is_idempotent(utterance):
            return _record_final_state(
                runtime, utterance, DeliveryState.INDETERMINATE, error.message
            )
        return _again(runtime, utterance, delivery, error)
    except OpenCrabError as error:
        return _record_final_state(runtime, utterance, DeliveryState.FAILED, error.message)
    return _record_final_state(runtime, utterance, DeliveryState.SENT, "")


def _again(
    runtime: Runtime, utterance: Utterance, delivery: Delivery, error: Unavailable
) -> MessageOutcome:
    """Retry later; after ATTEMPTS end as failed, or as indeterminate if it may have been seen."""
    if utterance.attempts >= ATTEMPTS:
        lost = DeliveryState.FAILED if utterance.since is None else DeliveryState.INDETERMINATE
        return _record_final_state(runtime, utterance, lost, error.message)
    waiting = utterance.replaced(
        state=DeliveryState.QUEUED, updated_at=runtime.clock.now(), error=error.message[:500]
    )
    runtime.home.outbox.mark(waiting, DeliveryState.SENDING)
    asked = error.retry_after if isinstance(error, NeverSent) else 0
    return deliver_later(runtime.home.deliveries, delivery, utterance.attempts, at_least=asked)


def _deliver_panel(runtime: Runtime, delivery: Delivery) -> MessageOutcome:
    """Show an instruction's progress; retries are few, since the next change sends it again."""
    from opencrab.engine.conversation.goal_panel import (  # noqa: PLC0415 - loads what goals need
        show_goal_panel_in_conversation,
    )

    try:
        show_goal_panel_in_conversation(runtime, json.loads(delivery.body))
    except Unavailable:
        if delivery.count < ATTEMPTS:
            return deliver_later(runtime.home.deliveries, delivery, delivery.count)
    except OpenCrabError:
        return MessageOutcome.FINISHED
    return MessageOutcome.FINISHED


def _record_final_state(
    runtime: Runtime, utterance: Utterance, state: DeliveryState, error: str
) -> MessageOutcome:
    ended = utterance.replaced(state=state, updated_at=runtime.clock.now(), error=error[:500])
    runtime.home.outbox.mark(ended, utterance.state)
    return MessageOutcome.FINISHED
