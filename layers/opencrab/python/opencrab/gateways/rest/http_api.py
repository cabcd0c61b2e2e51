"""API Gateway's HTTP API before the REST application: an event in, an answer out."""

from collections.abc import Callable
from typing import Any

from mangum import Mangum
from starlette.types import ASGIApp

Answer = Callable[[dict[str, Any], Any], dict[str, Any]]


def answering(app: ASGIApp) -> Answer:
    """What the function behind the HTTP API does with an event; the stage's name is no path."""
    served: Any = app
    return Mangum(served, lifespan="off")
