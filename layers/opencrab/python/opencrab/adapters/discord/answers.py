"""Answers: what Discord says when it does not do what it was asked, as errors of ours."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from opencrab.adapters.chat.request import object_of_chat_response
from opencrab.domain.errors import (
    Invalid,
    NotFound,
    OpenCrabError,
    Refused,
    TooLarge,
    Unavailable,
)

_WORDS = 400
_DEPTH = 12
_TOKEN_EXPIRED = 50_027
_LONGEST = 86_400.0
_BY_STATUS: Mapping[int, tuple[type[OpenCrabError], str]] = {
    401: (Refused, "check the bot's token: `opencrab admin discord doctor` shows the problem"),
    403: (Refused, "let the bot see the channel and write there, or ask elsewhere"),
    404: (NotFound, "use a channel and a message that exist"),
    413: (TooLarge, "send less"),
}


@dataclass(frozen=True)
class DiscordFailure:
    """An error with Discord's JSON error code; 0 if the response had none."""

    error: OpenCrabError
    code: int


def discord_error(response: httpx.Response, token: str) -> DiscordFailure:
    """Map a response with an error status to our error; the message never contains the token."""
    told = object_of_chat_response(response)
    code = told.get("code")
    code = code if isinstance(code, int) else 0
    status = response.status_code
    words = "; ".join(dict.fromkeys((str(told.get("message") or "no reason"), *_error_lines(told))))
    text = f"Discord returned HTTP {status}: {words.replace(token, '…')}"[:_WORDS]
    if code:
        text = f"{text} (code {code})"
    if code == _TOKEN_EXPIRED:
        return DiscordFailure(
            NotFound(text, cure="the interaction is over: answer in the channel"), code
        )
    if status in _BY_STATUS:
        kind, cure = _BY_STATUS[status]
        return DiscordFailure(kind(text, cure=cure), code)
    known = 400 <= status < 500  # noqa: PLR2004 - the client's own fault
    return DiscordFailure(
        Invalid(text, cure="look up the code in Discord's documentation, and correct what it names")
        if known
        else Unavailable(text, cure="try again later; see discordstatus.com"),
        code,
    )


def discord_retry_after(response: httpx.Response) -> tuple[float, bool]:
    """Return the seconds to wait after HTTP 429, and whether the limit is global."""
    told = object_of_chat_response(response)
    known = _discord_api_seconds(told.get("retry_after"))
    seconds = _discord_api_seconds(response.headers.get("retry-after")) if known is None else known
    everything = told.get("global") is True or not told
    return (1.0 if seconds is None else seconds), everything


def _discord_api_seconds(value: Any) -> float | None:
    """Parse a number of seconds, limited to 0 to 86,400 (one day); None if it is no number."""
    try:
        found = float(value)
    except (TypeError, ValueError):
        return None
    return min(max(found, 0.0), _LONGEST) if math.isfinite(found) else None


def _error_lines(body: Mapping[str, Any]) -> tuple[str, ...]:
    """Flatten the nested `errors` of a body into one line per error: path, message, code."""
    return tuple(_leaves(body.get("errors"), (), 0))


def _leaves(tree: Any, path: tuple[str, ...], depth: int) -> Iterator[str]:
    if not isinstance(tree, Mapping) or depth > _DEPTH:
        return
    for name, inner in tree.items():
        if name != "_errors":
            yield from _leaves(inner, (*path, str(name)), depth + 1)
            continue
        for each in inner if isinstance(inner, list) else ():
            if isinstance(each, Mapping):
                where = ".".join(path) or "message"
                yield f"{where}: {each.get('message')} ({each.get('code')})"
