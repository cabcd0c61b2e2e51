"""API Gateway's HTTP API before the REST application: an event in, an answer out."""

import asyncio
from collections.abc import Callable
from typing import Any

from mangum import Mangum
from starlette.types import ASGIApp, Receive, Scope, Send

Answer = Callable[[dict[str, Any], Any], dict[str, Any]]


def http_request_handler(app: ASGIApp) -> Answer:
    """Return the handler of the HTTP API's events; the stage's name is not part of the path."""

    async def addressed(scope: Scope, receive: Receive, send: Send) -> None:
        # Mangum decodes the path and forgets how it came, which the door looks at.
        scope["raw_path"] = scope["aws.event"]["rawPath"].encode()
        await app(scope, receive, send)

    served: Any = addressed

    def answer(event: dict[str, Any], context: Any) -> dict[str, Any]:
        # Mangum takes the loop of its thread, which only the main one has, and not for ever.
        with asyncio.Runner() as runner:
            asyncio.set_event_loop(runner.get_loop())
            return Mangum(served, lifespan="off")(event, context)

    return answer
