"""The door of Discord on one's own computer: a route that takes no key, only Discord's signature.

On AWS a function of its own stands in its place.
"""

from collections.abc import Callable, Mapping
from typing import Protocol, cast

from fastapi import APIRouter, Request, Response
from fastapi.concurrency import run_in_threadpool

from opencrab.domain.errors import NotFound
from opencrab.gateways.rest.http.dependencies import Api

PATH = "/discord/interactions"


class InteractionResponse(Protocol):
    """What the door answers: a status, and JSON or nothing."""

    @property
    def status(self) -> int: ...

    @property
    def content(self) -> bytes: ...


Interactions = Callable[[Mapping[str, str], bytes, float], InteractionResponse]
"""Answers headers, by their names in lower case, and a body, at a time in seconds since 1970."""

router = APIRouter(include_in_schema=False)


@router.post(PATH)
async def answer_discord_interaction(request: Request, api: Api) -> Response:
    """Answer one interaction of Discord."""
    answer = cast("Interactions | None", request.app.state.interactions)
    if answer is None:
        raise NotFound("Discord is disabled", cure="set gateway.discord.enabled and its public_key")
    now, body = api.runtime.clock.now().timestamp(), await request.body()
    made = await run_in_threadpool(answer, request.headers, body, now)
    media_type = "application/json" if made.content else None
    return Response(made.content, made.status, media_type=media_type)
