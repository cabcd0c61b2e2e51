"""The door for signed requests on one's own computer: routes that take no key, only a signature.

On AWS a function of its own stands in their place.
"""

from collections.abc import Mapping
from typing import Protocol, cast

from fastapi import APIRouter, Request, Response
from fastapi.concurrency import run_in_threadpool

from opencrab.domain.errors import NotFound
from opencrab.gateways.rest.http.dependencies import Api

router = APIRouter(include_in_schema=False)


class AnsweredRequest(Protocol):
    """What the door answers: a status, and JSON or nothing."""

    @property
    def status(self) -> int: ...

    @property
    def content(self) -> bytes: ...


class AnswersRequests(Protocol):
    """Answers a request of a kind and name: headers, by names in lower case, body and time."""

    def __call__(
        self, kind: str, name: str, headers: Mapping[str, str], body: bytes, now: float
    ) -> AnsweredRequest: ...


@router.post("/webhooks/{name}")
async def answer_webhook_request(request: Request, api: Api, name: str) -> Response:
    """Answer a request to a webhook."""
    return await _answer(request, api, "webhook", name)


@router.post("/channels/{kind}")
async def answer_channel_request(request: Request, api: Api, kind: str) -> Response:
    """Answer a request of a chat service."""
    return await _answer(request, api, "" if kind == "webhook" else kind, "")


async def _answer(request: Request, api: Api, kind: str, name: str) -> Response:
    answer = cast("AnswersRequests | None", getattr(request.app.state, "channel_door", None))
    if answer is None:
        raise NotFound(
            "this process takes no signed requests",
            cure="deploy with the stack's parameter Channels",
        )
    now, body = api.runtime.clock.now().timestamp(), await request.body()
    made = await run_in_threadpool(answer, kind, name, request.headers, body, now)
    media_type = "application/json" if made.content else None
    return Response(made.content, made.status, media_type=media_type)
