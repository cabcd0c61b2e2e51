"""Answers of webhooks' agents, posted to the address that each webhook's owner set.

They are signed as Standard Webhooks says. A receiver knows a repeat by its webhook-id.
"""

import base64
import hmac
import json
import ssl
from collections.abc import Callable
from contextlib import suppress
from time import monotonic

import httpcore
import httpx

from opencrab.adapters.web.address import Address
from opencrab.adapters.web.connection import Clock, Resolve, resolve_web_host
from opencrab.adapters.web.guarded_get import MOVED, GuardedGet, require_web_status_200
from opencrab.domain.conversation.message import Channel, Utterance
from opencrab.domain.document import Document, new_fact
from opencrab.domain.errors import Invalid, NotFound, OpenCrabError, Refused
from opencrab.domain.webhooks.webhook import (
    ANSWERS,
    WEBHOOK,
    WEBHOOKS,
    Webhook,
    WebhookAnswers,
    signed_content_of_webhook,
)
from opencrab.ports import clock as clock_port
from opencrab.ports.conversation.channel import Panel
from opencrab.ports.documents import Documents

SECONDS = 15.0
"""The time for one request, until the status has come."""

_GONE = 410
_WHAT = "webhook's receiver"
_SENT = range(200, 300)


class WebhookAnswerChannel:
    """`ports.conversation.channel.DeliveryChannel` of the kind `webhook`; arguments as `HttpPages`.

    A channel's address is the name of a webhook. Answers of the receiver are not read.
    """

    def __init__(
        self,
        facts: Documents,
        clock: clock_port.Clock,
        connector: httpcore.NetworkBackend,
        *,
        resolve: Resolve = resolve_web_host,
        seconds: Clock = monotonic,
        new_tls: Callable[[], ssl.SSLContext] = httpx.create_ssl_context,
    ) -> None:
        self._facts = facts
        self._clock = clock
        self._seconds = seconds
        self._http = GuardedGet(
            connector, resolve, seconds, new_tls, what=_WHAT, allowance="in time"
        )

    def piece_count(self, utterance: Utterance) -> int:  # noqa: ARG002 - the port's
        return 1

    def is_idempotent(self, utterance: Utterance) -> bool:  # noqa: ARG002 - the port's
        return True

    def send(self, utterance: Utterance) -> None:
        name = utterance.channel.address
        found = {fact.kind: fact for fact in self._read(name)}
        if WEBHOOK not in found:
            raise NotFound(f"there is no webhook {name!r} any more", cure="add it again")
        try:
            self._post(name, found[WEBHOOK].read(Webhook), utterance)
        except OpenCrabError as error:
            self._note(name, found.get(ANSWERS), error.message)
            raise
        self._note(name, found.get(ANSWERS), "")

    def show(self, place: Channel, panel: Panel) -> None:
        pass

    def _read(self, name: str) -> tuple[Document, ...]:
        return self._facts.get_many(WEBHOOKS, (WEBHOOK, name), (ANSWERS, name))

    def _post(self, name: str, webhook: Webhook, utterance: Utterance) -> None:
        if not webhook.reply_secret:
            raise Refused("answers of this webhook go nowhere", cure="add it with --reply-to")
        address = Address.of(webhook.reply_to)
        now, body = self._clock.now(), _body(name, utterance)
        event_id, timestamp = f"msg_{utterance.turn_id}_{utterance.ordinal}", int(now.timestamp())
        signed = signed_content_of_webhook(event_id, timestamp, body)
        key = base64.b64decode(webhook.reply_secret.removeprefix("whsec_"))
        signature = base64.b64encode(hmac.digest(key, signed, "sha256")).decode()
        headers = [
            ("content-type", "application/json"),
            ("content-length", str(len(body))),
            ("user-agent", "opencrab"),
            ("webhook-id", event_id),
            ("webhook-timestamp", str(timestamp)),
            ("webhook-signature", f"v1,{signature}"),
        ]
        deadline = self._seconds() + SECONDS
        with self._http.opened(address, headers, deadline, post=body) as response:
            status = response.status
        if status in _SENT:
            return
        if status in MOVED:
            raise Refused(f"the {_WHAT} redirects", cure="add the webhook with the other address")
        if status == _GONE:
            raise Invalid(f"the {_WHAT} is gone (status 410)", cure="remove the webhook")
        require_web_status_200(_WHAT, status)

    def _note(self, name: str, known: Document | None, problem: str) -> None:
        """Keep what is wrong with the newest answer; nothing is written while all is well."""
        if not problem and (known is None or not known.read(WebhookAnswers).problem):
            return
        with suppress(OpenCrabError):
            said = WebhookAnswers(problem=problem[:500], at=self._clock.now())
            self._facts.commit(new_fact(WEBHOOKS, ANSWERS, name, said).replaced(version=0))


def _body(name: str, utterance: Utterance) -> bytes:
    """Return the event as JSON: what was said, a question for an approval, or a silent end."""
    data = {
        "webhook": name,
        "agent_id": utterance.agent_id,
        "session_id": utterance.session_id,
        "turn_id": utterance.turn_id,
        "text": utterance.text,
        "last": utterance.closes,
    }
    if utterance.approval is not None:
        data["approval_id"] = utterance.approval
    kind = "message.sent" if utterance.text else "turn.ended"
    told = {
        "type": kind if utterance.approval is None else "approval.requested",
        "timestamp": utterance.created_at.isoformat(),
        "data": data,
    }
    return json.dumps(told, ensure_ascii=False).encode()
