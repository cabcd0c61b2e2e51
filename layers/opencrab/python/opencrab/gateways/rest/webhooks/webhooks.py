"""Webhooks: add, list, try, rotate and remove them; a secret is shown once."""

import json
from datetime import datetime
from typing import Annotated, Any

from fastapi import Path, Response
from pydantic import Field

from opencrab.domain.access.authority import Authority
from opencrab.domain.errors import Conflict
from opencrab.domain.value import Received, Value
from opencrab.domain.webhooks.webhook import Webhook, WebhookName, WebhookScheme
from opencrab.engine.webhooks.curation import (
    MOST_HOURS,
    NewWebhook,
    WebhookWithSecret,
    add_webhook,
    list_webhooks,
    problems_of_webhook_answers,
    remove_webhook,
    rotate_webhook_secret,
)
from opencrab.engine.webhooks.received import receive_webhook_event
from opencrab.gateways.rest.http.access import Owner
from opencrab.gateways.rest.http.body import Strict, http_routes_below
from opencrab.gateways.rest.http.dependencies import Api
from opencrab.gateways.rest.http.idempotency import Repeatable
from opencrab.gateways.rest.http.view import View

router = http_routes_below("/api/webhooks", "webhooks")

Name = Annotated[WebhookName, Path(description="the webhook's name")]


class WebhookView(View):
    """A webhook without its secrets; senders post to `path` at the server's address.

    An earlier secret still counts until `previous_until`, in seconds since 1970. `reply_problem`
    says why the newest answer could not be sent to the address `reply_to`.
    """

    name: str
    path: str
    agent_id: str
    scheme: WebhookScheme
    session: Received
    template: Received
    authority: Authority
    reply_to: str
    reply_problem: Received = ""
    previous_until: float
    created_at: datetime


class NewWebhookView(WebhookView):
    """A webhook with its new secret."""

    secret: str | None = Field(description="shown only once; null in a repeated response")
    reply_secret: str | None = Field(
        default=None, description="the receiver of answers verifies them with it; shown only once"
    )


class WebhooksView(Value):
    """The webhooks, by name."""

    items: tuple[WebhookView, ...]


class WebhookTest(Value, defer_build=False):
    """A made-up body, as a sender would send it."""

    body: Any


class WebhookTestView(Value):
    """The message that a made-up body became, its session, and the turn that answers."""

    session_id: str
    turn_id: str
    text: Received


class WebhookRotation(Value, defer_build=False):
    """How long the secret before the new one still counts."""

    hours: Annotated[int, Field(ge=0, le=MOST_HOURS)] = 24


@router.get("", operation_id="list_webhooks")
def list_inbound_webhooks(api: Api, _caller: Owner) -> WebhooksView:
    """List the webhooks, without their secrets."""
    problems = problems_of_webhook_answers(api.runtime)
    found = list_webhooks(api.runtime)
    return WebhooksView(
        items=tuple(_view(name, webhook, problems.get(name, "")) for name, webhook in found)
    )


@router.post("", status_code=201, response_model=NewWebhookView, operation_id="add_webhook")
def add_inbound_webhook(
    api: Api, caller: Owner, once: Repeatable, body: Strict[NewWebhook]
) -> Response:
    """Add a webhook.

    The answer has the secret, which is shown only once. It is 409 if there is one of this name.
    """
    return once.answer(
        body,
        lambda: _new_view(add_webhook(api.runtime, body, caller.principal.id), is_new=True),
        status=201,
        again=_unknown_outcome,
        remembered=_without_secret,
    )


@router.delete("/{name}", status_code=204, operation_id="remove_webhook")
def remove_inbound_webhook(api: Api, _caller: Owner, name: Name) -> None:
    """Remove a webhook.

    Requests to it are refused from now on; its sessions stay.
    """
    remove_webhook(api.runtime, name)


@router.post("/{name}/rotate", response_model=NewWebhookView, operation_id="rotate_webhook")
def rotate_inbound_webhook(
    api: Api, _caller: Owner, once: Repeatable, name: Name, body: Strict[WebhookRotation]
) -> Response:
    """Give a webhook a new secret, which is shown only once."""
    return once.answer(
        body,
        lambda: _new_view(rotate_webhook_secret(api.runtime, name, hours=body.hours)),
        again=_unknown_outcome,
        remembered=_without_secret,
    )


@router.post("/{name}/test", status_code=202, operation_id="test_webhook")
def try_inbound_webhook(
    api: Api, _caller: Owner, once: Repeatable, name: Name, body: Strict[WebhookTest]
) -> WebhookTestView:
    """Send a webhook's agent a made-up body, as if it came from a sender."""
    text = json.dumps(body.body, ensure_ascii=False)
    event_id = f"test-{once.id_of('webhook event')}"
    return WebhookTestView(**receive_webhook_event(api.runtime, name, event_id, text, {})._asdict())


def _without_secret(made: NewWebhookView) -> NewWebhookView:
    return made.replaced(secret=None, reply_secret=None)


def _unknown_outcome() -> NewWebhookView:
    raise Conflict(
        "an earlier request with this Idempotency-Key has not finished; its secret is lost if it "
        "never does",
        field="Idempotency-Key",
        cure="list the webhooks, rotate the secret of this one, and use a new Idempotency-Key",
    )


def _view(name: str, webhook: Webhook, problem: str) -> WebhookView:
    return WebhookView.of(webhook, name=name, path=f"/webhooks/{name}", reply_problem=problem)


def _new_view(made: WebhookWithSecret, *, is_new: bool = False) -> NewWebhookView:
    return NewWebhookView.of(
        made.webhook,
        name=made.name,
        path=f"/webhooks/{made.name}",
        reply_problem="",
        secret=made.secret,
        reply_secret=(made.webhook.reply_secret or None) if is_new else None,
    )
