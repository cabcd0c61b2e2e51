"""Answers: what LINE says when it does not do what it was asked, as errors of ours."""

from collections.abc import Mapping
from typing import Any

import httpx

from opencrab.adapters.chat.request import object_of_chat_response
from opencrab.domain.errors import (
    Invalid,
    NeverSent,
    NotFound,
    OpenCrabError,
    Refused,
    TooLarge,
    Unavailable,
)

_WORDS = 400
_BY_STATUS: Mapping[int, tuple[type[OpenCrabError], str]] = {
    401: (Refused, "issue the channel access token again: `opencrab admin line doctor` checks it"),
    403: (Refused, "check the plan and permissions of the channel in the LINE Developers Console"),
    404: (NotFound, "check the user id or group id, and whether the bot is still a member"),
    413: (TooLarge, "send less"),
}
_INVALID, _LIMITED = 400, 429


def is_line_reply_refused(response: httpx.Response) -> bool:
    """Check whether LINE refused a reply token, as it was used before or is no longer valid."""
    words = _words(object_of_chat_response(response)).casefold()
    return response.status_code == _INVALID and words.startswith("invalid reply token")


def line_error(response: httpx.Response, token: str) -> OpenCrabError:
    """Map a response with an error status to our error; the message never contains the token."""
    status, told = response.status_code, object_of_chat_response(response)
    words = _words(told).replace(token, "…")
    text = f"LINE returned HTTP {status}: {words}"[:_WORDS]
    if status == _LIMITED:
        return _limit_error(text, words)
    if status in _BY_STATUS:
        kind, cure = _BY_STATUS[status]
        return kind(text, cure=cure)
    if 400 <= status < 500:  # noqa: PLR2004 - the client's own fault
        return Invalid(text, cure="correct what LINE names, or report it with this message")
    return Unavailable(text, cure="try again later; see https://status.line.me")


def _limit_error(text: str, words: str) -> OpenCrabError:
    """Tell the month's quota, for which a retry is in vain, from a rate limit."""
    if "monthly limit" in words.casefold():
        return Refused(
            text,
            cure="raise the number of messages in LINE Official Account Manager, or wait for the "
            "next month; answers within a minute are free",
        )
    return NeverSent(text)


def _words(told: Mapping[str, Any]) -> str:
    """Return LINE's message with the properties that it names."""
    listed = told.get("details")
    details = (
        [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    )
    named = (f"{each.get('property')}: {each.get('message')}" for each in details)
    return "; ".join((str(told.get("message") or "no reason"), *named))
