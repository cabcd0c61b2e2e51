"""Answers of webhooks' agents, posted to the address that each webhook's owner set.

They are signed as Standard Webhooks says. A receiver knows a repeat by its webhook-id.
"""

import json
import ssl
from collections.abc import Callable
from contextlib import suppress
from time import monotonic

import httpcore
import httpx

from opencrab.adapters.web.connection import Clock, Resolve, resolve_web_host
from opencrab.adapters.web.signed_post import HttpSignedPost
from opencrab.domain.conversation.message import Channel, Utterance
from opencrab.domain.document import Document, new_fact
from opencrab.domain.errors import NotFound, OpenCrabError, Refused
from opencrab.domain.webhooks.webhook import (
    ANSWERS,
    WEBHOOK,
    WEBHOOKS,
    Webhook,
    WebhookAnswers,
)
from opencrab.ports import clock as clock_port
from opencrab.ports.conversation.channel import Panel
from opencrab.ports.documents import Documents


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
        self._posts = HttpSignedPost(
            clock, connector, resolve=resolve, seconds=seconds, new_tls=new_tls
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
        event_id = f"msg_{utterance.turn_id}_{utterance.ordinal}"
        body = _body(name, utterance)
        self._posts.post(webhook.reply_to, (webhook.reply_secret,), event_id, body)

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
