"""What a webhook received becomes a message in the webhook's session, once."""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, NamedTuple

from opencrab.domain.access.authority import Source
from opencrab.domain.agents.agent import Profile
from opencrab.domain.conversation.message import Channel, Message, Sender, TextPart
from opencrab.domain.conversation.session import SessionStatus
from opencrab.domain.document import Document, new_fact
from opencrab.domain.errors import Changed, Conflict, NotFound
from opencrab.domain.identifier import stable_id
from opencrab.domain.value import MESSAGE_BYTES, Identifier, Language, Value
from opencrab.domain.webhooks.template import render_webhook_template, summarize_webhook_body
from opencrab.domain.webhooks.webhook import (
    EVENT,
    EVENT_DAYS,
    PRINCIPAL,
    WEBHOOK,
    WEBHOOKS,
    Webhook,
)
from opencrab.engine.conversation.channel_bindings import (
    SessionOpening,
    open_conversation_of_channel,
)
from opencrab.engine.phrases import system_phrase
from opencrab.engine.runtime import Runtime
from opencrab.engine.turn.admission import admit_turns_of_message
from opencrab.engine.webhooks.curation import no_such_webhook

_KIND = "webhook"
_KEY_CHARACTERS, _NAME_CHARACTERS = 200, 100
_TRIES = 3


class WebhookEventSession(Value):
    """The session that an event was given to; kept so that its repeat is given to the same."""

    session_id: Identifier


class AdmittedWebhookEvent(NamedTuple):
    """What became of an event: its session, its turn, and the message for the agent."""

    session_id: str
    turn_id: str
    text: str


@dataclass(frozen=True)
class _Received:
    """An event: its webhook and that one's agent, its id, body, and notes of the door."""

    name: str
    webhook: Webhook
    profile: Profile
    id: str
    body: Any
    notes: Mapping[str, str]

    @property
    def language(self) -> Language:
        return self.profile.agent.language

    def mark(self, runtime: Runtime, session_id: str) -> Document:
        """Return the document that says to which session the event was given."""
        until = runtime.clock.now() + timedelta(days=EVENT_DAYS)
        known = WebhookEventSession(session_id=session_id)
        return new_fact(WEBHOOKS, EVENT, self.mark_id, known, expires_at=until)

    @property
    def mark_id(self) -> str:
        return stable_id(self.name, self.id)


def require_webhook(runtime: Runtime, name: str) -> Webhook:
    """Return a webhook; raises NotFound."""
    found = runtime.home.facts.get(WEBHOOKS, WEBHOOK, name)
    if found is None:
        raise no_such_webhook(name)
    return found.read(Webhook)


def receive_webhook_event(
    runtime: Runtime, name: str, event_id: str, text: str, notes: Mapping[str, str]
) -> AdmittedWebhookEvent:
    """Admit an event to its webhook's session; again it has no effect.

    Raises NotFound (webhook or agent), Conflict (the same id with another body, a retired agent)
    and ValueError for a text that is not JSON.
    """
    webhook = require_webhook(runtime, name)
    profile = runtime.home.agents.get(webhook.agent_id)
    received = _Received(name, webhook, profile, event_id, json.loads(text), notes)
    message = _message(received)
    for _ in range(_TRIES):
        session_id = _session_of_event(runtime, received)
        try:
            turns = admit_turns_of_message(
                runtime, session_id, message, taint=True, only=(webhook.agent_id,), known=(profile,)
            )
        except Conflict:
            # Ended since it was chosen, and nothing was admitted: another one is opened.
            is_active = runtime.home.sessions.get(session_id).status is SessionStatus.ACTIVE
            if is_active or _is_admitted(runtime, message.turn_in(session_id, webhook.agent_id)):
                raise
            forgotten = received.mark(runtime, session_id).replaced(body=None, version=0)
            runtime.home.facts.commit(forgotten)
        else:
            return AdmittedWebhookEvent(session_id, turns[0].id, message.text)
    raise Conflict(f"the session of webhook {name!r} ends again and again", cure="send it again")


def _is_admitted(runtime: Runtime, turn_id: str) -> bool:
    with suppress(NotFound):
        return bool(runtime.home.journal.header(turn_id).id)
    return False


def _session_of_event(runtime: Runtime, received: _Received) -> str:
    """Return the session that an event was given to before, or that of its key."""
    facts = runtime.home.facts
    earlier = facts.get(WEBHOOKS, EVENT, received.mark_id)
    if earlier is not None:
        return earlier.read(WebhookEventSession).session_id
    session_id = _open_session(runtime, received)
    try:
        facts.commit(received.mark(runtime, session_id))
    except Changed:
        earlier = facts.get(WEBHOOKS, EVENT, received.mark_id)
    return session_id if earlier is None else earlier.read(WebhookEventSession).session_id


def _open_session(runtime: Runtime, received: _Received) -> str:
    key = render_webhook_template(received.webhook.session, received.body).strip()
    shown = " ".join(f"{received.name} {key[:_KEY_CHARACTERS]}".split())
    opening = SessionOpening(
        agent_ids=(received.webhook.agent_id,),
        opened_by=f"{PRINCIPAL}{received.name}",
        name="".join(each for each in shown if each.isprintable())[:_NAME_CHARACTERS],
    )
    place = f"{_KIND}.{received.name}.{stable_id(_KIND, received.name, key)}"
    return open_conversation_of_channel(runtime, place, opening, known=(received.profile,)).id


def _message(received: _Received) -> Message:
    principal = f"{PRINCIPAL}{received.name}"
    return Message(
        source=Source.WEBHOOK,
        source_id=received.id,
        principal_id=principal,
        sender=Sender(id=principal, name=received.name),
        authority=received.webhook.authority,
        parts=(TextPart(text=_text(received)),),
        channel=_channel(received),
    )


def _channel(received: _Received) -> Channel | None:
    """Return where answers go; an address is found by the webhook's name when one is sent."""
    kind, _, address = received.webhook.reply_to.partition(":")
    if kind == "https":
        return Channel(kind=WEBHOOK, address=received.name, awaited=True)
    return Channel(kind=kind, address=address) if kind else None


def _text(received: _Received) -> str:
    """Return what is said: the template filled in, or what came as a summary."""
    language, name = received.language, received.name
    if received.webhook.template:
        said = render_webhook_template(
            received.webhook.template,
            received.body,
            lambda field: system_phrase("webhook_field_missing", language, field=field),
        )
    else:
        event = received.notes.get("event")
        summary, is_cut = summarize_webhook_body(received.body)
        said = system_phrase("webhook_received", language, name=name)
        said += f" {event}\n{summary}" if event else f"\n{summary}"
        if is_cut:
            said += f"\n{system_phrase('webhook_cut', language)}"
    return _within_message(said, language) or system_phrase("webhook_empty", language, name=name)


def _within_message(said: str, language: Language) -> str:
    if len(said.encode()) <= MESSAGE_BYTES:
        return said.strip()
    note = f"\n{system_phrase('webhook_cut', language)}"
    room = MESSAGE_BYTES - len(note.encode())
    return f"{said.encode()[:room].decode('utf-8', 'ignore')}{note}"
