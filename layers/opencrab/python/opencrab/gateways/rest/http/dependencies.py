"""What every route gets: the installation that it serves, and the ids in its path."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any, cast

from fastapi import Depends, Path, Request

from opencrab.domain.value import Identifier
from opencrab.engine.discord.setup import BotApplication
from opencrab.engine.insight.vitals import ReadMachine, no_machine_vitals
from opencrab.engine.runtime import Runtime
from opencrab.gateways.rest.http.polling import Watch


@dataclass(frozen=True)
class RestContext:
    """The installation behind the routes, the watch of its sessions, and its state of setup.

    `longest_seconds` is how long one request may take to be answered, where there is such a limit.
    `machine` tells of the computer that this runs on, where that is the owner's. `discord` is the
    bot as it is configured.
    """

    runtime: Runtime
    watch: Watch
    setup: Callable[[], dict[str, Any]]
    longest_seconds: int | None = None
    machine: ReadMachine = no_machine_vitals
    discord: BotApplication = field(default_factory=BotApplication)

    def within(self, seconds: int | None) -> int | None:
        """The time that a client asked for, as far as there is time; None is without end."""
        if self.longest_seconds is None or seconds is None:
            return self.longest_seconds if seconds is None else seconds
        return min(seconds, self.longest_seconds)


async def _rest(request: Request) -> RestContext:
    return cast("RestContext", request.app.state.rest)


Api = Annotated[RestContext, Depends(_rest)]
Id = Annotated[Identifier, Path()]
