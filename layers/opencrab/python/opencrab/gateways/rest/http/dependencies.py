"""What every route gets: the installation that it serves, and the ids in its path."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, cast

from fastapi import Depends, Path, Request

from opencrab.domain.value import Identifier, Language
from opencrab.engine.discord.setup import BotApplication
from opencrab.engine.runtime import Runtime
from opencrab.gateways.rest.http.polling import Watch

if TYPE_CHECKING:
    from opencrab.engine.insight.vitals import ReadMachine


@dataclass(frozen=True)
class RestContext:
    """The installation and the other objects that the routes need.

    `longest_seconds` is the maximum duration of a request, None for no limit. `machine` reads the
    load of the computer if it is the owner's. `discord` is the configured bot. `instance` is the
    secret with which the process proves that it serves its data folder; None without a folder.
    """

    runtime: Runtime
    watch: Watch
    setup: Callable[[Language], dict[str, Any]]
    longest_seconds: int | None = None
    machine: "ReadMachine" = lambda: None
    discord: BotApplication = field(default_factory=BotApplication)
    instance: str | None = None

    def capped_wait(self, seconds: int | None) -> int | None:
        """Limit the requested seconds to the maximum duration; None is without end."""
        if self.longest_seconds is None or seconds is None:
            return self.longest_seconds if seconds is None else seconds
        return min(seconds, self.longest_seconds)


async def _rest(request: Request) -> RestContext:
    return cast("RestContext", request.app.state.rest)


Api = Annotated[RestContext, Depends(_rest)]
Id = Annotated[Identifier, Path()]
