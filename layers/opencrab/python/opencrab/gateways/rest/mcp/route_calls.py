"""Calls of our own routes: what MCP clients ask for passes the rules of REST, and no others.

A call is a request inside this process, in the name of the caller whose key came with the message.
"""

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

from fastapi import Request
from starlette.exceptions import HTTPException
from starlette.types import Message, Scope

from opencrab.domain.value import Language
from opencrab.gateways.language.error_texts import error_words_in
from opencrab.gateways.rest.http.access import CALLER, Caller
from opencrab.gateways.rest.http.problem import MEDIA_TYPE

_KEPT = frozenset({b"accept-language", b"host"})
"""Headers of the client's request that the routes read, too."""


class RouteProblem(Exception):
    """A route's problem document, told in MCP's terms by whoever called the route.

    Args:
        status: The HTTP status.
        problem: The problem document, in English.
        language: The language of the words.
    """

    def __init__(self, status: int, problem: Mapping[str, Any], language: Language) -> None:
        super().__init__(error_words_in(language, problem["detail"], problem.get("cure")))
        self.status = status
        self.problem = problem
        self.code = str(problem.get("code", ""))
        self.field = problem.get("field")


class RouteCalls:
    """The routes of the application that got a request, as its caller may use them."""

    def __init__(self, request: Request) -> None:
        self._request = request

    async def call(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, object] | None = None,
        body: Mapping[str, Any] | None = None,
        key: str | None = None,
    ) -> Any:
        """Return a route's JSON; raises RouteProblem. `key` is an Idempotency-Key."""
        content, _ = await self.fetch(method, path, query=query, body=body, key=key)
        return json.loads(content)

    async def fetch(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, object] | None = None,
        body: Mapping[str, Any] | None = None,
        key: str | None = None,
    ) -> tuple[bytes, str]:
        """Return what a route answers, and its media type; raises RouteProblem.

        Parts of the path, but that of a file, have been checked to have no slash.
        """
        scope = self._scope(method, path, query or {})
        if key is not None:
            scope["headers"].append((b"idempotency-key", key.encode()))
        waiting = [b"" if body is None else json.dumps(body).encode()]
        start: Message = {}
        content = bytearray()

        async def receive() -> Message:
            if waiting:
                return {"type": "http.request", "body": waiting.pop(), "more_body": False}
            return {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            start.update(message if message["type"] == "http.response.start" else {})
            content.extend(message.get("body", b""))

        try:
            await self._request.app.router(scope, receive, send)
        except HTTPException as error:
            # No route has this path, as that of a file with a line break.
            raise self._problem(error.status_code, {"detail": "there is no such thing"}) from None
        told = dict(start["headers"])
        media_type = told.get(b"content-type", b"").decode().partition(";")[0]
        if media_type == MEDIA_TYPE:
            raise self._problem(int(start["status"]), json.loads(content))
        return bytes(content), media_type

    def _problem(self, status: int, problem: Mapping[str, Any]) -> RouteProblem:
        caller: Caller = self._request.scope[CALLER]
        return RouteProblem(status, problem, caller.language)

    def _scope(self, method: str, path: str, query: Mapping[str, object]) -> Scope:
        asked = {name: value for name, value in query.items() if value is not None}
        sent = [pair for pair in self._request.scope["headers"] if pair[0] in _KEPT]
        return {
            **self._request.scope,
            "method": method,
            "path": path,
            "raw_path": quote(path).encode(),
            "query_string": urlencode(asked).encode(),
            "headers": [*sent, (b"content-type", b"application/json")],
            "path_params": {},
        }
