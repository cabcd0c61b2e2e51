"""Webhooks as their owner sees them: add one, give it a new secret, remove it, try it."""

import base64
import hashlib
import re
from collections.abc import Iterable
from typing import Annotated, NamedTuple

from pydantic import Field

from opencrab.domain.access.authority import Authority
from opencrab.domain.discord.community import KIND
from opencrab.domain.document import new_fact
from opencrab.domain.errors import Changed, Conflict, Invalid, NoRoom, NotFound
from opencrab.domain.value import Identifier, ShortText, Value
from opencrab.domain.webhooks.webhook import (
    ANSWERS,
    WEBHOOK,
    WEBHOOK_AUTHORITIES,
    WEBHOOKS,
    Webhook,
    WebhookAnswers,
    WebhookName,
    WebhookReplyPlace,
    WebhookScheme,
)
from opencrab.engine.runtime import Runtime

MOST_WEBHOOKS = 100
HOUR = 3_600
MOST_HOURS = 168
MOST_PREVIOUS = 4

_PUBLIC_PLACE = re.compile(
    r"https://(?:[a-z0-9-]+\.)+[a-z][a-z0-9-]*\.?(?::443)?(?:[/?#].*)?", re.IGNORECASE
)
"""An address that may be on the public internet; where its name leads is judged by each call."""


class NewWebhook(Value, defer_build=False):
    """A webhook to add.

    `session` is a template of a key: events with the same key go to the same session; empty is
    one session for all. `template` is the message for the agent, with fields of the body such as
    `{{ user.name }}`; empty is a summary. `reply_to` is where answers go: `discord:CHANNEL`
    or an https address on the public internet; empty is nowhere.
    """

    name: WebhookName
    agent_id: Identifier
    scheme: WebhookScheme = WebhookScheme.STANDARD
    session: Annotated[ShortText, Field(max_length=500)] = ""
    template: ShortText = ""
    authority: Authority = Field(
        default=Authority.PUBLIC,
        description="on whose behalf the agent acts: public, user or owner; what was sent stays "
        "untrusted",
    )
    reply_to: WebhookReplyPlace = ""


class WebhookWithSecret(NamedTuple):
    """A webhook with its new secret, which is nowhere else from here on."""

    name: str
    webhook: Webhook
    secret: str


def list_webhooks(runtime: Runtime) -> Iterable[tuple[str, Webhook]]:
    """Return the webhooks by name."""
    found = runtime.home.facts.page(WEBHOOKS, WEBHOOK, limit=MOST_WEBHOOKS)
    return [(fact.id, fact.read(Webhook)) for fact in found]


def problems_of_webhook_answers(runtime: Runtime) -> dict[str, str]:
    """Return why answers do not arrive, by the webhook's name.

    That is what was wrong with the newest one to an address, or that Discord is switched off.
    """
    found = runtime.home.facts.page(WEBHOOKS, ANSWERS, limit=MOST_WEBHOOKS)
    problems = {fact.id: fact.read(WebhookAnswers).problem for fact in found}
    if KIND in runtime.channels:
        return problems
    off = "Discord is disabled: set gateway.discord.enabled to true"
    lost = {name: off for name, each in list_webhooks(runtime) if each.reply_to.startswith(KIND)}
    return problems | lost


def add_webhook(runtime: Runtime, new: NewWebhook, by: str) -> WebhookWithSecret:
    """Add a webhook and return its secret.

    Raises NotFound (agent), Conflict (a webhook of this name, a retired agent), Invalid (an
    authority that no webhook has, an address to which nothing is sent), and NoRoom.
    """
    if new.reply_to.startswith("https:"):
        require_public_webhook_address(new.reply_to, "reply_to")
    if new.authority not in WEBHOOK_AUTHORITIES:
        raise Invalid(
            f"a webhook cannot have the authority {new.authority.value!r}",
            field="authority",
            cure=f"use {', '.join(each.value for each in WEBHOOK_AUTHORITIES)}",
        )
    if not runtime.home.agents.get(new.agent_id).agent.answers:
        raise Conflict(f"agent {new.agent_id!r} has retired", cure="choose another agent")
    if len(list(list_webhooks(runtime))) >= MOST_WEBHOOKS:
        raise NoRoom(f"there are {MOST_WEBHOOKS} webhooks already", cure="remove one")
    secret = _new_secret(runtime, new.scheme)
    fields = {name: value for name, value in new if name != "name"}
    webhook = Webhook(
        **fields,
        secrets=(_stored_secret(new.scheme, secret),),
        reply_secret=new_webhook_signing_secret(runtime)
        if new.reply_to.startswith("https:")
        else "",
        created_by=by,
        created_at=runtime.clock.now(),
    )
    try:
        runtime.home.facts.commit(new_fact(WEBHOOKS, WEBHOOK, new.name, webhook))
    except Changed:
        raise Conflict(
            f"there is a webhook {new.name!r} already",
            field="name",
            cure="choose another name, or remove the other one first",
        ) from None
    return WebhookWithSecret(new.name, webhook, secret)


def require_public_webhook_address(url: str, field: str) -> None:
    """Raise Invalid for an address at which nothing could ever arrive."""
    if not _PUBLIC_PLACE.fullmatch(url):
        raise Invalid(
            "answers and events are posted to names on the public internet only",
            field=field,
            cure="use https://NAME/PATH, without a number for a name, a user name and a port",
        )


def rotate_webhook_secret(runtime: Runtime, name: str, *, hours: int) -> WebhookWithSecret:
    """Give a webhook a new secret; those that counted so far count for some hours more.

    Raises NotFound, Invalid for the hours, and Changed.
    """
    require_hours_of_webhook_secret(hours)
    fact = runtime.home.facts.get(WEBHOOKS, WEBHOOK, name)
    if fact is None:
        raise no_such_webhook(name)
    webhook = fact.read(Webhook)
    secret = _new_secret(runtime, webhook.scheme)
    now = runtime.clock.now().timestamp()
    # Whoever rotates twice, as the first secret got lost, has a sender that still uses the oldest.
    still = webhook.previous if now < webhook.previous_until else ()
    rotated = webhook.replaced(
        secrets=(_stored_secret(webhook.scheme, secret),),
        previous=(*webhook.secrets, *still)[:MOST_PREVIOUS] if hours else (),
        previous_until=now + hours * HOUR if hours else 0,
    )
    runtime.home.facts.commit(fact.with_body(rotated))
    return WebhookWithSecret(name, rotated, secret)


def require_hours_of_webhook_secret(hours: int) -> None:
    """Raise Invalid for a time for which no earlier secret counts."""
    if not 0 <= hours <= MOST_HOURS:
        raise Invalid(
            f"an earlier secret cannot count for {hours} hours",
            field="hours",
            cure=f"choose 0 to {MOST_HOURS}",
        )


def remove_webhook(runtime: Runtime, name: str) -> None:
    """Remove a webhook; its sessions stay. Raises NotFound, and Changed."""
    found = runtime.home.facts.get_many(WEBHOOKS, (WEBHOOK, name), (ANSWERS, name))
    if WEBHOOK not in {fact.kind for fact in found}:
        raise no_such_webhook(name)
    runtime.home.facts.commit(*(fact.removed() for fact in found))


def no_such_webhook(name: str) -> NotFound:
    """Build the error for a webhook that is not there."""
    return NotFound(f"there is no webhook {name!r}", cure="`opencrab webhooks list` shows them")


def _new_secret(runtime: Runtime, scheme: WebhookScheme) -> str:
    """Make a secret in the form that the scheme's senders take: 32 bytes of randomness."""
    if scheme is not WebhookScheme.STANDARD:
        return runtime.clock.secret()
    return new_webhook_signing_secret(runtime)


def new_webhook_signing_secret(runtime: Runtime) -> str:
    """Make a secret as Standard Webhooks writes it."""
    digest = hashlib.sha256(runtime.clock.secret().encode()).digest()
    return f"whsec_{base64.b64encode(digest).decode()}"


def _stored_secret(scheme: WebhookScheme, secret: str) -> str:
    """Return what is stored: a hash where the sender brings the secret, else the secret itself."""
    if scheme is WebhookScheme.BEARER:
        return hashlib.sha256(secret.encode()).hexdigest()
    return secret
