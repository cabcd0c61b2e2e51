"""Client: LINE's Messaging API over HTTP, its answers sorted by what to do.

No token appears in an error or a log.
"""

import json
from collections.abc import Callable, Mapping
from contextlib import closing
from time import monotonic
from typing import Any

import httpx

from opencrab.adapters.chat.request import (
    SECONDS,
    USER_AGENT,
    ChatTokens,
    chat_service_unreachable,
)
from opencrab.adapters.line.answers import (
    is_line_reply_refused,
    line_error,
)
from opencrab.adapters.line.rendering import Payload

_UNAUTHORIZED, _CONFLICT = 401, 409
_SUCCESSES = range(200, 300)
_RETRY_KEY = "x-line-retry-key"


class LineClient:
    """Calls to the Messaging API over HTTP connections that are reused.

    Args:
        connect: Creates transports whose timeouts are deadlines in monotonic time. A transport may
            resend a request if its reused connection was already closed; a reply gets a new one.
        api: The base URL, without a trailing slash.
        tokens: Provides the channel access token for each request.
    """

    def __init__(
        self, connect: Callable[[], httpx.BaseTransport], api: str, tokens: ChatTokens
    ) -> None:
        self._connect = connect
        self._api = api
        self._tokens = tokens
        self._kept: httpx.BaseTransport | None = None

    def close(self) -> None:
        """Close the reused connections; a later request opens new ones."""
        kept, self._kept = self._kept, None
        if kept is not None:
            kept.close()

    def reply(self, reply_token: str, messages: tuple[Payload, ...]) -> bool:
        """Answer an event; return False for a token that is used up or no longer valid."""
        body = {"replyToken": reply_token, "messages": list(messages)}
        response, token = self._answered("POST", "/v2/bot/message/reply", body, {}, alone=True)
        if is_line_reply_refused(response):
            return False
        if response.status_code in _SUCCESSES:
            return True
        raise line_error(response, token)

    def push(self, to: str, messages: tuple[Payload, ...], *, retry_key: str) -> None:
        """Send messages to a user or group; within 24 hours the same key sends them once."""
        body = {"to": to, "messages": list(messages)}
        self._call("POST", "/v2/bot/message/push", body, {_RETRY_KEY: retry_key})

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """Make any other API call; returns the decoded response, None if it is not JSON."""
        return self._call(method, path, body)

    def _call(
        self, method: str, path: str, body: Any, headers: Mapping[str, str] | None = None
    ) -> Any:
        given = headers or {}
        response, token = self._answered(method, path, body, given)
        accepted_before = response.status_code == _CONFLICT and _RETRY_KEY in given
        if response.status_code in _SUCCESSES or accepted_before:
            return _json(response)
        raise line_error(response, token)

    def _answered(
        self, method: str, path: str, body: Any, headers: Mapping[str, str], *, alone: bool = False
    ) -> tuple[httpx.Response, str]:
        """Send a request, again with a newer token if it was refused; return also the token."""
        token = self._tokens.token()
        response = self._exchanged(method, path, body, headers, token, alone=alone)
        if response.status_code == _UNAUTHORIZED:
            # Whoever issued the token anew did so a moment ago.
            self._tokens.forget()
            newer = self._tokens.token()
            if newer != token:
                token = newer
                response = self._exchanged(method, path, body, headers, token, alone=alone)
        return response, token

    def _exchanged(
        self,
        method: str,
        path: str,
        body: Any,
        headers: Mapping[str, str],
        token: str,
        *,
        alone: bool,
    ) -> httpx.Response:
        try:
            request = self._request(method, path, body, {**headers, **_auth_header(token)})
            if alone:
                with closing(self._connect()) as fresh:
                    return _fetch_response(fresh, request)
            self._kept = self._kept or self._connect()
            return _fetch_response(self._kept, request)
        except (httpx.HTTPError, httpx.StreamError, httpx.InvalidURL) as error:
            raise chat_service_unreachable("LINE", error) from None

    def _request(
        self, method: str, path: str, body: Any, headers: Mapping[str, str]
    ) -> httpx.Request:
        deadline = monotonic() + SECONDS
        patience = {**dict.fromkeys(("connect", "read", "write"), deadline), "pool": SECONDS}
        return httpx.Request(
            method,
            f"{self._api}{path}",
            headers={"user-agent": USER_AGENT, "accept-encoding": "identity", **headers},
            extensions={"timeout": patience},
            json=body,
        )


def _fetch_response(transport: httpx.BaseTransport, request: httpx.Request) -> httpx.Response:
    with closing(transport.handle_request(request)) as response:
        response.read()
        return response


def _auth_header(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


def _json(response: httpx.Response) -> Any:
    try:
        return json.loads(response.content) if response.content else None
    except (ValueError, RecursionError):
        return None
