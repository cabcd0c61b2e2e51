"""Requests to a named webhook: Standard Webhooks, GitHub's signature, or a secret in a header.

The webhook's document says which, and has its secrets (`domain.webhooks.webhook`). What the
signature does not cover, such as GitHub's id of a delivery, decides nothing.
"""

import base64
import hashlib
import hmac
import json
from collections.abc import Iterable, Mapping
from typing import Any

from opencrab.gateways.door.request import (
    NotGenuineRequest,
    ReadingOfRequest,
    ReceivedEvent,
    RequestLookup,
    SignedRequest,
    StaleRequest,
    UnreadableRequest,
    parse_json_request,
)

FRESH_SECONDS = 300
"""How far a timestamp may be from now."""

OWNER, DOCUMENT = "webhooks", "webhook"
"""Where the webhooks' documents lie: apart, so that the door's function may read nothing else."""

NAME_LENGTH, ID_LENGTH = 40, 200
_SIGNATURES, _SIGNATURE_CHARACTERS = 16, 4_096
_DIGITS = frozenset("0123456789")
_NAME = _DIGITS | frozenset("abcdefghijklmnopqrstuvwxyz-")
_NONE: Mapping[str, Any] = {"scheme": "standard", "secrets": ["whsec_bm8gc3VjaCB3ZWJob29r"]}
"""Stands in for a webhook that is not there, so that its answer takes as long."""

_FORM = "application/x-www-form-urlencoded"


def read_signed_request(request: SignedRequest, lookup: RequestLookup) -> ReadingOfRequest:
    """Verify a request to a webhook; its body, JSON or a form, becomes one event."""
    name = request.name
    if not 0 < len(name) <= NAME_LENGTH or not _NAME.issuperset(name):
        raise NotGenuineRequest
    timestamp = request.headers.get("webhook-timestamp")
    if timestamp is not None and not _is_fresh(timestamp, request.now):
        raise StaleRequest
    found = lookup.document(OWNER, DOCUMENT, name)
    webhook: Mapping[str, Any] = found if isinstance(found, dict) else _NONE
    secrets = list(_secrets_in_force(webhook, request.now))
    event_id, notes = _verify(str(webhook.get("scheme", "standard")), secrets, request, lookup)
    if webhook is _NONE:
        raise NotGenuineRequest
    text = _event_text(request)
    return ReadingOfRequest((ReceivedEvent(event_id, name, text, notes),), 202, {"id": event_id})


def _verify(
    scheme: str, secrets: Iterable[str], request: SignedRequest, lookup: RequestLookup
) -> tuple[str, Mapping[str, str]]:
    """Return the id of a genuine request and notes about it; raises NotGenuineRequest."""
    if scheme == "github":
        return _verify_as_github(secrets, request)
    if scheme == "bearer":
        return _verify_by_secret(secrets, request, lookup)
    return _verify_as_standard(secrets, request)


def _verify_as_standard(
    secrets: Iterable[str], request: SignedRequest
) -> tuple[str, Mapping[str, str]]:
    """Verify a request of standardwebhooks.com: one of its signatures by one of the secrets."""
    event_id = _usable_id(request.headers.get("webhook-id"))
    timestamp = request.headers.get("webhook-timestamp")
    told = request.headers.get("webhook-signature", "")
    if not event_id or timestamp is None or len(told) > _SIGNATURE_CHARACTERS:
        raise NotGenuineRequest
    given = [each[3:] for each in told.split(" ")[:_SIGNATURES] if each.startswith("v1,")]
    signed = f"{event_id}.{timestamp}.".encode() + request.body
    for secret in secrets:
        key = base64.b64decode(secret.removeprefix("whsec_"))
        expected = base64.b64encode(hmac.digest(key, signed, "sha256"))
        if any(hmac.compare_digest(expected, each.encode(errors="replace")) for each in given):
            return event_id, {}
    raise NotGenuineRequest


def _verify_as_github(
    secrets: Iterable[str], request: SignedRequest
) -> tuple[str, Mapping[str, str]]:
    """Verify X-Hub-Signature-256; as only the body is signed, its hash is the event's id."""
    given = request.headers.get("x-hub-signature-256", "").encode(errors="replace")
    for secret in secrets:
        expected = f"sha256={hmac.digest(secret.encode(), request.body, 'sha256').hex()}".encode()
        if hmac.compare_digest(expected, given):
            kind = _usable_id(request.headers.get("x-github-event"))
            event_id = f"sha256-{hashlib.sha256(request.body).hexdigest()}"
            return event_id, {"event": kind} if kind else {}
    raise NotGenuineRequest


def _verify_by_secret(
    secrets: Iterable[str], request: SignedRequest, lookup: RequestLookup
) -> tuple[str, Mapping[str, str]]:
    """Verify a secret in `Authorization: Bearer` or X-Webhook-Secret."""
    scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
    given = bearer.strip() if scheme.lower() == "bearer" else ""
    given = given or request.headers.get("x-webhook-secret", "")
    digest = hashlib.sha256(given.encode("utf-8", "surrogatepass")).hexdigest()
    if not given or not any(hmac.compare_digest(digest, each) for each in secrets):
        raise NotGenuineRequest
    headers = request.headers
    event_id = _usable_id(headers.get("webhook-id") or headers.get("idempotency-key"))
    return event_id or lookup.new_id(), {}


def _secrets_in_force(webhook: Mapping[str, Any], now: float) -> Iterable[str]:
    """Yield a webhook's secrets without those whose time is over."""
    yield from webhook.get("secrets", ())
    if now < float(webhook.get("previous_until") or 0):
        yield from webhook.get("previous", ())


def _is_fresh(timestamp: str, now: float) -> bool:
    if not 0 < len(timestamp) <= 12 or not _DIGITS.issuperset(timestamp):  # noqa: PLR2004 - digits of seconds
        return False
    return abs(now - int(timestamp)) <= FRESH_SECONDS


def _usable_id(given: str | None) -> str:
    """Return an id if it is printable ASCII without spaces; "" if not."""
    if not given or len(given) > ID_LENGTH or not given.isascii() or not given.isprintable():
        return ""
    return "" if " " in given else given


def _event_text(request: SignedRequest) -> str:
    """Return the body as JSON; of a form the fields, or the JSON in its field `payload`."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _FORM:
        return parse_json_request(request.body)[0]
    from urllib.parse import parse_qsl  # noqa: PLC0415 - few senders use forms

    try:
        fields = dict(
            parse_qsl(request.body.decode(), keep_blank_values=True, max_num_fields=1_000)
        )
    except ValueError:
        raise UnreadableRequest("the body is not a form in UTF-8") from None
    if fields.keys() == {"payload"}:
        return parse_json_request(fields["payload"].encode())[0]
    return json.dumps(fields, ensure_ascii=False)
