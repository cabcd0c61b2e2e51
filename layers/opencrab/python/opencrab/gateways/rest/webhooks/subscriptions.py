"""Subscriptions to events: add, list, try, rotate and remove them; a secret is shown once."""

from datetime import datetime
from typing import Annotated

from fastapi import Path, Response
from pydantic import Field

from opencrab.domain.errors import Conflict
from opencrab.domain.value import Received, Value
from opencrab.domain.webhooks.subscription import (
    WebhookEventType,
    WebhookSubscription,
    WebhookSubscriptionState,
)
from opencrab.domain.webhooks.webhook import WebhookName
from opencrab.engine.webhooks.curation import MOST_HOURS
from opencrab.engine.webhooks.subscriptions import (
    NewWebhookSubscription,
    SubscriptionWithSecret,
    add_webhook_subscription,
    list_webhook_subscriptions,
    remove_webhook_subscription,
    rotate_webhook_subscription,
    try_webhook_subscription,
)
from opencrab.gateways.rest.http.access import Owner
from opencrab.gateways.rest.http.body import Strict, http_routes_below
from opencrab.gateways.rest.http.dependencies import Api
from opencrab.gateways.rest.http.idempotency import Repeatable
from opencrab.gateways.rest.http.view import View

router = http_routes_below("/api/webhook-events", "webhooks")

Name = Annotated[WebhookName, Path(description="the subscription's name")]


class WebhookSubscriptionView(View):
    """A subscription without its secrets; without `agent_id` it gets events of all agents.

    Events are signed with the earlier secret too until `previous_until`, in seconds since 1970.
    `problem` says why the newest event could not be sent, `failed` how many in a row.
    """

    name: str
    url: str
    events: tuple[WebhookEventType, ...]
    agent_id: str | None
    problem: Received = ""
    failed: int = 0
    previous_until: float
    created_at: datetime


class NewWebhookSubscriptionView(WebhookSubscriptionView):
    """A subscription with its new secret."""

    secret: str | None = Field(description="shown only once; null in a repeated response")


class WebhookSubscriptionsView(Value):
    """The subscriptions, by name."""

    items: tuple[WebhookSubscriptionView, ...]


class WebhookSubscriptionTrialView(Value):
    """The subscription whose receiver confirmed the event."""

    name: str


class WebhookSubscriptionRotation(Value, defer_build=False):
    """How long events are signed with the secret before the new one, too."""

    hours: Annotated[int, Field(ge=0, le=MOST_HOURS)] = 24


@router.get("", operation_id="list_webhook_subscriptions")
def list_subscriptions_to_events(api: Api, _caller: Owner) -> WebhookSubscriptionsView:
    """List the subscriptions to events, without their secrets."""
    found = list_webhook_subscriptions(api.runtime)
    return WebhookSubscriptionsView(items=tuple(_view(*each) for each in found))


@router.post(
    "",
    status_code=201,
    response_model=NewWebhookSubscriptionView,
    operation_id="add_webhook_subscription",
)
def add_subscription_to_events(
    api: Api, caller: Owner, once: Repeatable, body: Strict[NewWebhookSubscription]
) -> Response:
    """Add a subscription: events are posted to its address, signed.

    The answer has the secret, which is shown only once. It is 409 if there is one of this name, and
    on AWS while deliveries are off (deploy with the parameter Channels).
    """
    return once.answer(
        body,
        lambda: _new_view(add_webhook_subscription(api.runtime, body, caller.principal.id)),
        status=201,
        again=_unknown_outcome,
        remembered=_without_secret,
    )


@router.delete("/{name}", status_code=204, operation_id="remove_webhook_subscription")
def remove_subscription_to_events(api: Api, _caller: Owner, name: Name) -> None:
    """Remove a subscription.

    Nothing is posted to its address from now on.
    """
    remove_webhook_subscription(api.runtime, name)


@router.post(
    "/{name}/rotate",
    response_model=NewWebhookSubscriptionView,
    operation_id="rotate_webhook_subscription",
)
def rotate_subscription_to_events(
    api: Api,
    _caller: Owner,
    once: Repeatable,
    name: Name,
    body: Strict[WebhookSubscriptionRotation],
) -> Response:
    """Give a subscription a new secret, which is shown only once."""
    return once.answer(
        body,
        lambda: _new_view(rotate_webhook_subscription(api.runtime, name, hours=body.hours)),
        again=_unknown_outcome,
        remembered=_without_secret,
    )


@router.post(
    "/{name}/test",
    response_model=WebhookSubscriptionTrialView,
    operation_id="test_webhook_subscription",
)
def try_subscription_to_events(api: Api, _caller: Owner, once: Repeatable, name: Name) -> Response:
    """Post an event of the type `webhook.test`, and answer what the receiver answered.

    It is 503 if the receiver does not answer, or asks to be called again later.
    """

    def tried() -> WebhookSubscriptionTrialView:
        try_webhook_subscription(api.runtime, name, event_id=once.id_of("webhook test"))
        return WebhookSubscriptionTrialView(name=name)

    return once.answer(None, tried)


def _without_secret(made: NewWebhookSubscriptionView) -> NewWebhookSubscriptionView:
    return made.replaced(secret=None)


def _unknown_outcome() -> NewWebhookSubscriptionView:
    raise Conflict(
        "an earlier request with this Idempotency-Key has not finished; its secret is lost if it "
        "never does",
        field="Idempotency-Key",
        cure="list the subscriptions, rotate the secret of this one, and use a new Idempotency-Key",
    )


def _view(
    name: str, subscription: WebhookSubscription, state: WebhookSubscriptionState | None
) -> WebhookSubscriptionView:
    problem, failed = ("", 0) if state is None else (state.problem, state.failed)
    return WebhookSubscriptionView.of(subscription, name=name, problem=problem, failed=failed)


def _new_view(made: SubscriptionWithSecret) -> NewWebhookSubscriptionView:
    return NewWebhookSubscriptionView.of(
        made.subscription, name=made.name, problem="", failed=0, secret=made.secret
    )
