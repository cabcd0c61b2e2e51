"""A named webhook: who may send to it, which agent hears it, and where the answer goes."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import Field, StringConstraints

from opencrab.domain.access.authority import Authority
from opencrab.domain.value import Identifier, ShortText, Value

WEBHOOKS, WEBHOOK, EVENT, ANSWERS = "webhooks", "webhook", "webhook_event", "webhook_answers"
"""The owner and the kinds of their documents; those of events are kept for EVENT_DAYS."""

EVENT_DAYS = 30

PRINCIPAL = "webhook-"
"""The beginning of the principal ids of webhooks; what follows is the name."""

WebhookName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]{0,39}$")]

WEBHOOK_AUTHORITIES = (Authority.PUBLIC, Authority.USER, Authority.OWNER)


WebhookReplyPlace = Annotated[
    str, StringConstraints(pattern=r"^(|discord:[0-9]{1,20}|https://[!-~]{1,500})$")
]
"""Where answers go: a channel of Discord, an address, or nowhere."""


class WebhookScheme(StrEnum):
    """How a sender proves itself.

    `standard`: signatures of Standard Webhooks. `github`: X-Hub-Signature-256. `bearer`: the secret
    itself in a header, for senders that cannot sign.
    """

    STANDARD = "standard"
    GITHUB = "github"
    BEARER = "bearer"


class Webhook(Value):
    """A webhook as it is stored; its secrets are in no answer and no log.

    Of `bearer` the hashes of secrets are kept. `previous` ones count until `previous_until`, in
    seconds since 1970. `session` is a template of the key of the session that hears an event, and
    `template` one of what is said there; empty is one session, and a summary. `reply_to` is a
    channel's kind and address, `discord:ID`, an https address, or empty; answers to an address are
    signed with `reply_secret`.
    """

    scheme: WebhookScheme = WebhookScheme.STANDARD
    secrets: tuple[str, ...]
    previous: tuple[str, ...] = ()
    previous_until: float = 0
    agent_id: Identifier
    session: Annotated[ShortText, Field(max_length=500)] = ""
    template: ShortText = ""
    authority: Authority = Authority.PUBLIC
    reply_to: WebhookReplyPlace = ""
    reply_secret: str = ""
    created_by: Identifier
    created_at: datetime


class WebhookAnswers(Value):
    """What is wrong with the newest answer to a webhook's address, if anything; since when."""

    problem: str = ""
    at: datetime


def signed_content_of_webhook(event_id: str, timestamp: int, body: bytes) -> bytes:
    """Return what Standard Webhooks signs."""
    return f"{event_id}.{timestamp}.".encode() + body
