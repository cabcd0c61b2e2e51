"""Client: Slack's Web API over HTTP, its answers sorted by what to do.

No token appears in an error or a log.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlencode

import httpx

from opencrab.adapters.chat.request import (
    ChatTokens,
    object_of_chat_response,
    post_to_chat_service,
)
from opencrab.domain.errors import (
    Invalid,
    NeverSent,
    NotFound,
    OpenCrabError,
    Refused,
    Unavailable,
)

_JSON = "application/json; charset=utf-8"
_FORM = "application/x-www-form-urlencoded"
_WORDS = 300
_LIMITED = 429
_NOT_THERE = frozenset(
    {"channel_not_found", "message_not_found", "thread_not_found", "user_not_found"}
)
_LATER = frozenset({"internal_error", "fatal_error", "request_timeout", "service_unavailable"})
_TOKENS = frozenset({"invalid_auth", "not_authed", "token_revoked", "token_expired"})
_RULES = frozenset(
    {
        "account_inactive",
        "missing_scope",
        "not_in_channel",
        "is_archived",
        "restricted_action",
        "access_denied",
        "no_permission",
        "team_access_not_granted",
    }
)
_DOCTOR = "`opencrab admin slack doctor` checks the token and its scopes"


class SlackClient:
    """Calls to the Web API; each is sent once, over a connection of its own if it shows something.

    Args:
        connect: Creates transports whose timeouts are deadlines in monotonic time. A transport may
            resend a request if its reused connection was already closed.
        api: The base URL of the methods, without a trailing slash.
        tokens: Provides the bot's token for each request.
    """

    def __init__(
        self, connect: Callable[[], httpx.BaseTransport], api: str, tokens: ChatTokens
    ) -> None:
        self._connect = connect
        self._api = api
        self._tokens = tokens

    def call(self, method: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """Call a method that writes; return what Slack answers, raise what it says is wrong."""
        return self._called(method, _JSON, json.dumps(body, ensure_ascii=False))

    def read(self, method: str, arguments: Mapping[str, str]) -> Mapping[str, Any]:
        """Call a method that reads: these take no JSON (https://docs.slack.dev/apis/web-api)."""
        return self._called(method, _FORM, urlencode(arguments))

    def _called(self, method: str, kind: str, content: str) -> Mapping[str, Any]:
        token = self._tokens.token()
        response = self._exchanged(method, kind, content, token)
        if _error_code(response) in _TOKENS:
            # Whoever replaced the token did so a moment ago.
            self._tokens.forget()
            newer = self._tokens.token()
            if newer != token:
                response = self._exchanged(method, kind, content, newer)
        told = object_of_chat_response(response)
        if told.get("ok") is True:
            scopes = response.headers.get("x-oauth-scopes", "")
            return {**told, "scopes": tuple(each.strip() for each in scopes.split(","))}
        raise slack_error(response)

    def _exchanged(self, method: str, kind: str, content: str, token: str) -> httpx.Response:
        headers = {"authorization": f"Bearer {token}", "content-type": kind}
        url = f"{self._api}/{method}"
        return post_to_chat_service("Slack", self._connect, url, headers, content.encode())


def slack_error(response: httpx.Response) -> OpenCrabError:
    """Map a response that is not ok to our error, by Slack's code or by the status."""
    code, status = _error_code(response), response.status_code
    text = f"Slack answered {code or f'HTTP {status}'}"[:_WORDS]
    if status == _LIMITED or code == "ratelimited":
        return NeverSent(f"rate limited by Slack; retry in {response.headers.get('retry-after')} s")
    if code in _NOT_THERE:
        return NotFound(text, cure="invite the bot to the channel, or use one that exists")
    if code in _TOKENS or code in _RULES:
        return Refused(text, cure=_DOCTOR)
    if code and code not in _LATER and status < 500:  # noqa: PLR2004 - the server's fault
        return Invalid(text, cure="look up the code in Slack's reference of the method")
    return Unavailable(text, cure="try again later; see https://slack-status.com")


def _error_code(response: httpx.Response) -> str:
    told = object_of_chat_response(response)
    return "" if told.get("ok") is True else str(told.get("error") or "")
