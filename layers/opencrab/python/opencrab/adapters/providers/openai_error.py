"""Errors of OpenAI-shaped servers, sorted by what the caller must do about them."""

import json
from dataclasses import dataclass
from typing import Any

from opencrab.adapters.providers.text import repaired
from opencrab.domain.errors import Busy, Invalid, OpenCrabError, Refused, TooLarge, Unavailable

_TOO_LONG = (
    "context_length_exceeded",
    "exceed_context_size",
    "maximum context length",
    "max context length",
    "available context size",
    "prompt is too long",
    "prompt too long",
    "string_above_max_length",
    "request too large",
)
_NO_CREDIT = ("insufficient_quota", "insufficient credits", "insufficient balance")
_UNKNOWN_MODEL = ("model_not_found", "deploymentnotfound")
_RETRY_LATER = {408, 409, 425, 429}
_OK = 200
_REDIRECT = 300
_SERVER_ERROR = 500
_TOLD_LENGTH = 500


@dataclass(frozen=True)
class Party:
    """Whom an error is about: the provider, its model, and where its key is set."""

    provider: str = "the provider"
    model: str = ""
    key_name: str = ""


_NOBODY = Party()


def failure(status: int, error: Any, party: Party = _NOBODY) -> OpenCrabError:
    """The error for a reply's status and error object.

    An error that came with status 200 is judged by the status in its own code, or by its words.
    """
    told, marks = _told(error), _marks(error)
    turned_away = status == 429  # noqa: PLR2004  - too many requests
    inner = error.get("code") if isinstance(error, dict) else None
    if status == _OK and isinstance(inner, int) and not isinstance(inner, bool):
        status = inner
    if status == 413 or any(mark in marks for mark in _TOO_LONG):  # noqa: PLR2004
        return _too_long(told, party)
    if any(mark in marks for mark in _NO_CREDIT):
        return _unpaid(told, party)
    found = _by_status(status, told, marks, party)
    return Busy(found.message) if turned_away and type(found) is Unavailable else found


def _by_status(status: int, told: str, marks: str, party: Party) -> OpenCrabError:
    if status in {401, 403}:
        return _forbidden(told, party)
    if status == 402:  # noqa: PLR2004  - payment required
        return _unpaid(told, party)
    if status == 404 or any(mark in marks for mark in _UNKNOWN_MODEL):  # noqa: PLR2004
        return _not_found(told, party)
    if status in _RETRY_LATER or status >= _SERVER_ERROR or status < _REDIRECT:
        return Unavailable(f"{party.provider} failed ({status}): {told}")
    if status < 400:  # noqa: PLR2004  - redirects: the key goes nowhere else
        return Invalid(
            f"{party.provider} answered with a redirect ({status})",
            cure="set base_url to the address that it redirects to",
        )
    return Invalid(f"{party.provider} refused the request ({status}): {told}")


def _forbidden(told: str, party: Party) -> Refused:
    where = party.key_name or "the api_key of this provider"
    return Refused(f"{party.provider} refused the key in {where}: {told}", cure=f"check {where}")


def _unpaid(told: str, party: Party) -> Refused:
    return Refused(
        f"the account at {party.provider} has no credit left: {told}",
        cure="add credit at the provider, or use another model",
    )


def _too_long(told: str, party: Party) -> TooLarge:
    return TooLarge(
        f"the request is too long for {party.model or 'the model'} of {party.provider}: {told}",
        cure="send less, or use a model with a larger context",
    )


def _not_found(told: str, party: Party) -> Invalid:
    return Invalid(
        f"{party.provider} does not know the model {party.model!r}, or not at this address: {told}",
        field="model",
        cure="check the model's name and the provider's base_url",
    )


def _told(error: Any) -> str:
    """What the provider said, on one line."""
    if isinstance(error, dict):
        error = error.get("message") or error.get("detail") or error.get("code") or error
    text = error if isinstance(error, str) else _dumped(error)
    return " ".join(repaired(text).split())[:_TOLD_LENGTH]


def _marks(error: Any) -> str:
    """Everything in an error that tells its kind, in lower case."""
    if not isinstance(error, dict):
        return str(error).lower()[:_TOLD_LENGTH] if isinstance(error, str) else ""
    fields = (error.get(field) for field in ("code", "type", "message"))
    return " ".join(field for field in fields if isinstance(field, str)).lower()


def _dumped(value: Any) -> str:
    try:
        return json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        return type(value).__name__
