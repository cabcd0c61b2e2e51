"""What the refusals of all vendors have in common, whatever words each has for them."""

from collections.abc import Mapping
from typing import Any, Protocol

from opencrab.adapters.providers.transport.exchange import Reply, response_excerpt
from opencrab.adapters.providers.wire.lenient import (
    parse_provider_json,
    wire_json_excerpt,
    wire_retry_after,
)
from opencrab.adapters.providers.wire.text import repair_wire_text
from opencrab.adapters.providers.wire.wire import ErrorParty
from opencrab.domain.models.fault import Fault, ModelCallFailed

_BY_STATUS = {
    401: Fault.AUTH,
    402: Fault.QUOTA_SPENT,
    403: Fault.AUTH,
    404: Fault.MODEL_GONE,
    408: Fault.TIMEOUT,
    413: Fault.TOO_LONG,
    429: Fault.RATE_LIMITED,
    503: Fault.OVERLOADED,
    529: Fault.OVERLOADED,
}
_REDIRECT, _REQUEST, _SERVER = 300, 400, 500
_REQUEST_TIMEOUT = 408
_TOLD_LENGTH = 500
_READ_LENGTH = 4_000
_NO_OTHERS: Mapping[int, Fault] = {}


class ErrorSorter(Protocol):
    """A function that classifies the body of an error, by its words or its status code."""

    def __call__(
        self, body: Any, party: ErrorParty, *, status: int = 0, billed: bool | None = None
    ) -> ModelCallFailed: ...


def wire_refusal_of_reply(reply: Reply, party: ErrorParty, sort: ErrorSorter) -> ModelCallFailed:
    """Return the error for a response whose status code is not 200, classified by `sort`."""
    if moved := wire_redirect_refusal(reply, party):
        return moved
    found = sort(
        wire_refusal_body(reply),
        party,
        status=reply.status,
        billed=is_wire_refusal_billed(reply.status),
    )
    if found.retry_after_seconds is None:
        found.retry_after_seconds = wire_retry_after(reply.headers)
    return found


def wire_redirect_refusal(reply: Reply, party: ErrorParty) -> ModelCallFailed | None:
    """Return the error for a redirect; following one would send the key elsewhere."""
    if not _REDIRECT <= reply.status < _REQUEST:
        return None
    return ModelCallFailed(
        f"{party.provider} answered with a redirect ({reply.status})",
        Fault.BAD_REQUEST,
        cure="set base_url to the address that it redirects to",
    )


def is_wire_refusal_billed(status: int) -> bool | None:
    """Return False for HTTP 408, as an unread request is not billed; None: by its fault."""
    return False if status == _REQUEST_TIMEOUT else None


def wire_refusal_body(reply: Reply) -> Any:
    """Return the JSON of an error, or the beginning of another body."""
    try:
        return parse_provider_json(reply.body)
    except ModelCallFailed:
        return response_excerpt(reply.body)


def wire_fault_of_status(status: int, others: Mapping[int, Fault] = _NO_OTHERS) -> Fault:
    """Return the fault of a status code; `others` are the vendor's own."""
    known = others.get(status) or _BY_STATUS.get(status)
    is_ours = _REQUEST <= status < _SERVER
    return known or (Fault.BAD_REQUEST if is_ours else Fault.SERVER_ERROR)


def wire_refusal_key_place(party: ErrorParty) -> str:
    """Return where the owner sets the key, for error messages."""
    return party.key_name or "the api_key of this provider"


def wire_vendor_message(words: Any) -> str:
    """Return a vendor's message on one line, cut to 500 characters."""
    text = words if isinstance(words, str) else wire_json_excerpt(words)
    return " ".join(repair_wire_text(text[:_READ_LENGTH]).split())[:_TOLD_LENGTH]
