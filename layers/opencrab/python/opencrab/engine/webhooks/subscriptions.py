"""Subscriptions to events as their owner sees them: add, try, rotate and remove them."""

from collections.abc import Iterable
from typing import Annotated, NamedTuple

from pydantic import Field

from opencrab.domain.document import new_fact
from opencrab.domain.errors import Changed, Conflict, NoRoom, NotFound
from opencrab.domain.value import Identifier, Value
from opencrab.domain.webhooks.subscription import (
    SUBSCRIPTION,
    SUBSCRIPTION_STATE,
    SUBSCRIPTIONS,
    WebhookAddress,
    WebhookEventType,
    WebhookSubscription,
    WebhookSubscriptionState,
)
from opencrab.domain.webhooks.webhook import WebhookName
from opencrab.engine.agents.event_report import (
    MOST_SUBSCRIPTIONS,
    stored_webhook_subscriptions,
    update_event_report_of_agent,
)
from opencrab.engine.conversation.event_delivery import send_test_event_of_webhook
from opencrab.engine.runtime import Runtime
from opencrab.engine.webhooks.curation import (
    HOUR,
    MOST_PREVIOUS,
    new_webhook_signing_secret,
    require_hours_of_webhook_secret,
    require_public_webhook_address,
)

_PAGE = 100


class NewWebhookSubscription(Value, defer_build=False):
    """A subscription to add; without `agent_id` it gets those of all agents, also later ones."""

    name: WebhookName
    url: WebhookAddress
    events: Annotated[tuple[WebhookEventType, ...], Field(min_length=1, max_length=10)]
    agent_id: Identifier | None = None


class SubscriptionWithSecret(NamedTuple):
    """A subscription with its new secret, which is shown nowhere else from here on."""

    name: str
    subscription: WebhookSubscription
    secret: str


class SubscriptionWithState(NamedTuple):
    """A subscription, and what is wrong with its newest events, if anything."""

    name: str
    subscription: WebhookSubscription
    state: WebhookSubscriptionState | None


def list_webhook_subscriptions(runtime: Runtime) -> Iterable[SubscriptionWithState]:
    """Return the subscriptions by name."""
    states = runtime.home.facts.page(SUBSCRIPTIONS, SUBSCRIPTION_STATE, limit=MOST_SUBSCRIPTIONS)
    known = {fact.id: fact.read(WebhookSubscriptionState) for fact in states}
    found = stored_webhook_subscriptions(runtime)
    return [SubscriptionWithState(name, each, known.get(name)) for name, each in found.items()]


def add_webhook_subscription(
    runtime: Runtime, new: NewWebhookSubscription, by: str
) -> SubscriptionWithSecret:
    """Add a subscription and return its secret; agents tell of what ends from now on.

    Raises NotFound (agent), Conflict (one of this name, or nobody delivers here), Invalid (an
    address to which nothing is posted) and NoRoom.
    """
    # On AWS both queues are polled, or neither: one that is polled costs also when it is empty.
    if runtime.home.interactions is None:
        raise Conflict(
            "deliveries are off in this stack, so no event would be posted",
            cure="deploy it with the parameter Channels: make deploy ARGS='--set Channels=webhook'",
        )
    require_public_webhook_address(new.url, "url")
    if new.agent_id is not None:
        runtime.home.agents.get(new.agent_id)
    known = stored_webhook_subscriptions(runtime)
    if new.name in known:
        raise _name_is_taken(new.name)
    if len(known) >= MOST_SUBSCRIPTIONS:
        raise NoRoom(f"there are {MOST_SUBSCRIPTIONS} subscriptions already", cure="remove one")
    secret = new_webhook_signing_secret(runtime)
    added = WebhookSubscription(
        url=new.url,
        events=tuple(dict.fromkeys(new.events)),
        agent_id=new.agent_id,
        secret=secret,
        created_by=by,
        created_at=runtime.clock.now(),
    )
    # Agents first: one that tells nobody of its events would never be noticed.
    _update_agents(runtime, new.agent_id, {**known, new.name: added})
    # What is said of one of this name that was removed while it was being told.
    state = runtime.home.facts.get(SUBSCRIPTIONS, SUBSCRIPTION_STATE, new.name)
    fact = new_fact(SUBSCRIPTIONS, SUBSCRIPTION, new.name, added)
    try:
        runtime.home.facts.commit(fact, *(() if state is None else (state.removed(),)))
    except Changed:
        _update_agents(runtime, new.agent_id, stored_webhook_subscriptions(runtime))
        raise _name_is_taken(new.name) from None
    # Another one was perhaps added, or an agent created, meanwhile.
    _update_agents(runtime, new.agent_id, stored_webhook_subscriptions(runtime))
    return SubscriptionWithSecret(new.name, added, secret)


def rotate_webhook_subscription(
    runtime: Runtime, name: str, *, hours: int
) -> SubscriptionWithSecret:
    """Give a subscription a new secret; events are signed with those before for some hours more.

    Raises NotFound, Invalid for the hours, and Changed.
    """
    require_hours_of_webhook_secret(hours)
    fact = runtime.home.facts.get(SUBSCRIPTIONS, SUBSCRIPTION, name)
    if fact is None:
        raise no_such_webhook_subscription(name)
    known, now = fact.read(WebhookSubscription), runtime.clock.now().timestamp()
    secret = new_webhook_signing_secret(runtime)
    rotated = known.replaced(
        secret=secret,
        previous=known.secrets_at(now)[:MOST_PREVIOUS] if hours else (),
        previous_until=now + hours * HOUR if hours else 0,
    )
    runtime.home.facts.commit(fact.with_body(rotated))
    return SubscriptionWithSecret(name, rotated, secret)


def try_webhook_subscription(runtime: Runtime, name: str, *, event_id: str) -> None:
    """Post an event of the type `webhook.test` with this id, once, and wait for the answer.

    Raises NotFound, and what the receiver's answer means: Unavailable, Refused, Invalid.
    """
    fact = runtime.home.facts.get(SUBSCRIPTIONS, SUBSCRIPTION, name)
    if fact is None:
        raise no_such_webhook_subscription(name)
    found = fact.read(WebhookSubscription)
    send_test_event_of_webhook(runtime, name, found, event_id=event_id)


def remove_webhook_subscription(runtime: Runtime, name: str) -> None:
    """Remove a subscription; what is on its way is not sent any more. Raises NotFound, Changed."""
    found = runtime.home.facts.get_many(
        SUBSCRIPTIONS, (SUBSCRIPTION, name), (SUBSCRIPTION_STATE, name)
    )
    kinds = {fact.kind: fact for fact in found}
    if SUBSCRIPTION not in kinds:
        raise no_such_webhook_subscription(name)
    agent_id = kinds[SUBSCRIPTION].read(WebhookSubscription).agent_id
    runtime.home.facts.commit(*(fact.removed() for fact in found))
    _update_agents(runtime, agent_id, stored_webhook_subscriptions(runtime))


def no_such_webhook_subscription(name: str) -> NotFound:
    """Build the error for a subscription that is not there."""
    return NotFound(
        f"there is no subscription {name!r}", cure="`opencrab webhooks events list` shows them"
    )


def _name_is_taken(name: str) -> Conflict:
    return Conflict(
        f"there is a subscription {name!r} already",
        field="name",
        cure="choose another name, or remove the other one first",
    )


def _update_agents(
    runtime: Runtime, agent_id: str | None, known: dict[str, WebhookSubscription]
) -> None:
    if agent_id is not None:
        update_event_report_of_agent(runtime, agent_id, known)
        return
    after: str | None = None
    while found := runtime.home.agents.page(after=after, limit=_PAGE):
        for profile in found:
            update_event_report_of_agent(runtime, profile.agent.id, known)
        after = found[-1].agent.id
