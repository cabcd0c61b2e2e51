"""Repeats: the Idempotency-Key, by which a request may be sent again and is done once.

Whatever a keyed request creates gets an id from principal, route and key, so that even a repeat
after a crash, or while the first request still runs, finds what is there. The answer is remembered
for a day. A request whose effect has no such id, as a paid model call, refuses such repeats.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, NoReturn, TypeVar

from fastapi import Depends, Header, Request, Response
from pydantic import BaseModel

from opencrab.domain.errors import Conflict, Invalid
from opencrab.domain.identifier import content_hash, stable_id
from opencrab.engine.runtime import Runtime
from opencrab.gateways.rest.http.access import CALLER, Caller
from opencrab.gateways.rest.http.dependencies import Api

REPLAYED = "Idempotency-Replayed"

Answer = TypeVar("Answer", bound=BaseModel)


@dataclass(frozen=True)
class IdempotentRequest:
    """A request that may be a repeat if it has an Idempotency-Key."""

    runtime: Runtime
    principal_id: str
    route: str
    key: str | None

    def id_of(self, kind: str) -> str:
        """Return the id of the object that the request creates, the same for every repeat."""
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
        """Carry out the request, or return the stored response of the first one.

        Args:
            body: The body; the same key with another body raises Conflict.
            make: Carries out the request; runs again for a repeat while no response is stored:
                the first request still runs, has failed, or was ended by a crash.
            status: The status of the response.
            again: Replaces `make` for such a repeat, if it differs.
            remembered: Removes secrets from the response before it is stored.
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


def refuse_unfinished_http_repeat() -> NoReturn:
    """Raise Conflict for a repeat that would be paid for again: the `again` of paid requests."""
    raise Conflict(
        "an earlier request with this Idempotency-Key is still running or has failed",
        field="Idempotency-Key",
        cure="wait for its answer, or use a new Idempotency-Key, which is paid for again",
    )


async def _once(
    request: Request,
    api: Api,
    key: Annotated[
        str | None,
        Header(
            alias="Idempotency-Key",
            pattern="^[!-~]{1,200}$",
            description="Idempotency key. A repeated request with the same key returns the first"
            " response. While the first one has none, as it still runs or has failed, a repeat"
            " creates nothing twice, or is refused with 409. Keys expire after 24 hours.",
        ),
    ] = None,
) -> IdempotentRequest:
    if len(request.headers.getlist("Idempotency-Key")) > 1:
        # Whichever of them counted, a client that meant the other one would do its request twice.
        raise Invalid(
            "the Idempotency-Key header is sent more than once",
            field="Idempotency-Key",
            cure="send it once",
        )
    caller: Caller = request.scope[CALLER]
    route = f"{request.method} {request.scope['path']}"
    return IdempotentRequest(api.runtime, caller.principal.id, route, key)


Repeatable = Annotated[IdempotentRequest, Depends(_once)]


def _hash(body: BaseModel | None) -> str:
    content = None if body is None else body.model_dump(mode="json")
    return content_hash(json.dumps(content, sort_keys=True).encode())


def _json(content: str, status: int, headers: dict[str, str] | None = None) -> Response:
    return Response(content, status, headers, media_type="application/json")
