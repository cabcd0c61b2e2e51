"""The door of Discord on one's own computer: a route that takes no key, only Discord's signature.

On AWS a function of its own stands in its place.
"""

from collections.abc import Callable, Mapping
from typing import cast

from fastapi import APIRouter, Request, Response
from fastapi.concurrency import run_in_threadpool

from opencrab.domain.errors import NotFound

PATH = "/discord/interactions"

Interactions = Callable[[Mapping[str, str], bytes], tuple[int, bytes]]
"""Answers headers, by their names in lower case, and a body with a status and JSON or nothing."""

router = APIRouter(include_in_schema=False)


@router.post(PATH)
async def answer_discord_interaction(request: Request) -> Response:
    """Answer one interaction of Discord."""
    answer = cast("Interactions | None", request.app.state.interactions)
    if answer is None:
        raise NotFound("Discord is disabled", cure="set gateway.discord.enabled and its public_key")
    status, content = await run_in_threadpool(answer, request.headers, await request.body())
    return Response(content, status, media_type="application/json" if content else None)
