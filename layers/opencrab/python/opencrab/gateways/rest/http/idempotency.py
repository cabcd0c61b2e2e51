"""Repeats: the Idempotency-Key, by which a request may be sent again and is done once.

Whatever a keyed request creates gets an id from principal, route and key, so that even a repeat
after a crash finds what is there. The answer is remembered for a day.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, TypeVar

from fastapi import Depends, Header, Request, Response
from pydantic import BaseModel

from opencrab.domain.errors import Conflict
from opencrab.domain.identifier import content_hash, stable_id
from opencrab.engine.runtime import Runtime
from opencrab.gateways.rest.http.access import CALLER, Caller
from opencrab.gateways.rest.http.dependencies import Api

REPLAYED = "Idempotency-Replayed"

Answer = TypeVar("Answer", bound=BaseModel)


@dataclass(frozen=True)
class IdempotentRequest:
    """One request that may be a repeat; without a key it never is."""

    runtime: Runtime
    principal_id: str
    route: str
    key: str | None

    def id_of(self, kind: str) -> str:
        """The id of what this request creates: the same for every repeat."""
        if self.key is None:
            return self.runtime.clock.new_id()
        return stable_id(kind, self.principal_id, self.route, self.key)

    def answer(
        self,
        body: BaseModel | None,
        make: Callable[[], Answer],
        *,
        status: int = 200,
        again: Callable[[], Answer] | None = None,
        remembered: Callable[[Answer], Answer] | None = None,
    ) -> Response:
        """Do it and answer, or answer what was answered before.

        Args:
            body: What was asked for; the same key for something else raises Conflict.
            make: Does it; it may run again when a crash came between it and its answer.
            status: The answer's status.
            again: Does it after such a crash, where that differs from `make`.
            remembered: What may be kept of the answer, where it holds a secret.
        """
        if self.key is None:
            return _json(make().model_dump_json(), status)
        marker = stable_id("repeat", self.principal_id, self.route, self.key)
        store, now = self.runtime.home.idempotency, self.runtime.clock.now()
        request_hash = _hash(body)
        earlier = store.begin(marker, request_hash, now)
        if earlier is not None:
            if earlier.request_hash != request_hash:
                raise Conflict(
                    "this Idempotency-Key was already used for another request",
                    field="Idempotency-Key",
                    cure="use a new key for a new request",
                )
            if earlier.status is not None:
                return _json(earlier.body or "", earlier.status, {REPLAYED: "true"})
        value = again() if earlier is not None and again is not None else make()
        kept = value if remembered is None else remembered(value)
        store.finish(marker, status, kept.model_dump_json())
        return _json(value.model_dump_json(), status)


async def _once(
    request: Request,
    api: Api,
    key: Annotated[
        str | None,
        Header(
            alias="Idempotency-Key",
            pattern="^[!-~]{1,200}$",
            description="Idempotency key. A repeated request with the same key returns the first"
            " response. Keys expire after 24 hours.",
        ),
    ] = None,
) -> IdempotentRequest:
    caller: Caller = request.scope[CALLER]
    route = f"{request.method} {request.scope['path']}"
    return IdempotentRequest(api.runtime, caller.principal.id, route, key)


Repeatable = Annotated[IdempotentRequest, Depends(_once)]


def _hash(body: BaseModel | None) -> str:
    content = None if body is None else body.model_dump(mode="json")
    return content_hash(json.dumps(content, sort_keys=True).encode())


def _json(content: str, status: int, headers: dict[str, str] | None = None) -> Response:
    return Response(content, status, headers, media_type="application/json")
