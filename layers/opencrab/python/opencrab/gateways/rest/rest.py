"""What every route gets: the installation that it serves, and the ids in its path."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, cast

from fastapi import Depends, Path, Request

from opencrab.domain.value import Identifier
from opencrab.engine.runtime import Runtime
from opencrab.gateways.rest.watch import Watch


@dataclass(frozen=True)
class Rest:
    """The installation behind the routes, the watch of its sessions, and its state of setup."""

    runtime: Runtime
    watch: Watch
    setup: Callable[[], dict[str, Any]]


async def _rest(request: Request) -> Rest:
    return cast("Rest", request.app.state.rest)


Api = Annotated[Rest, Depends(_rest)]
Id = Annotated[Identifier, Path()]
