"""Delivery: push an utterance to its channel, so that it becomes visible once."""

from datetime import timedelta

from opencrab.domain.errors import NeverSent, NotFound, OpenCrabError, Unavailable
from opencrab.domain.utterance import ATTEMPTS, DeliveryState, Utterance
from opencrab.engine.runtime import Runtime
from opencrab.engine.turn import Outcome
from opencrab.ports.channel import Channel
from opencrab.ports.queue import Delivery

BACKOFF_SECONDS = 2
BACKOFF_LIMIT = timedelta(minutes=5)


def deliver(runtime: Runtime, delivery: Delivery) -> Outcome:
    """Deliver the utterance that a queue message names.

    `sending` is stored before the channel is called. Found again in that state, the utterance is
    repeated only where the channel recognises its nonce; elsewhere it ends as indeterminate, since
    nobody can know whether it was seen.
    """
    target, _, key = delivery.body.rpartition("\n")
    outbox = runtime.home.outbox
    try:
        utterance = outbox.get(target, key)
    except NotFound:
        return Outcome.FINISHED
    if utterance.state.is_end:
        return Outcome.FINISHED
    channel = runtime.channels.get(utterance.channel.kind)
    if channel is None:
        kind = utterance.channel.kind
        return _ended(runtime, utterance, DeliveryState.FAILED, f"no channel of kind {kind!r}")
    if utterance.state is DeliveryState.SENDING and not channel.repeatable:
        why = "a worker died while sending"
        return _ended(runtime, utterance, DeliveryState.INDETERMINATE, why)
    sending = _moved(runtime, utterance, DeliveryState.SENDING, attempts=utterance.attempts + 1)
    if not outbox.mark(sending, utterance.state):
        return Outcome.FINISHED
    return _send(runtime, channel, sending, delivery)


def _send(runtime: Runtime, channel: Channel, utterance: Utterance, delivery: Delivery) -> Outcome:
    try:
        channel.send(utterance)
    except Unavailable as error:
        if not channel.repeatable and not isinstance(error, NeverSent):
            return _ended(runtime, utterance, DeliveryState.INDETERMINATE, error.message)
        if utterance.attempts >= ATTEMPTS:
            return _ended(runtime, utterance, DeliveryState.FAILED, error.message)
        waiting = _moved(runtime, utterance, DeliveryState.QUEUED, error=error.message[:500])
        runtime.home.outbox.mark(waiting, DeliveryState.SENDING)
        seconds = BACKOFF_SECONDS * 2**utterance.attempts
        runtime.home.deliveries.continue_later(
            delivery.receipt, min(seconds, int(BACKOFF_LIMIT.total_seconds()))
        )
        return Outcome.CONTINUE
    except OpenCrabError as error:
        return _ended(runtime, utterance, DeliveryState.FAILED, error.message)
    return _ended(runtime, utterance, DeliveryState.SENT, "")


def _ended(runtime: Runtime, utterance: Utterance, state: DeliveryState, error: str) -> Outcome:
    ended = _moved(runtime, utterance, state, error=error[:500])
    runtime.home.outbox.mark(ended, utterance.state)
    return Outcome.FINISHED


def _moved(
    runtime: Runtime, utterance: Utterance, state: DeliveryState, **changes: object
) -> Utterance:
    return utterance.replaced(state=state, updated_at=runtime.clock.now(), **changes)
