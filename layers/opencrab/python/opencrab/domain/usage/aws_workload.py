"""AwsWorkload: what an installation on AWS has to do in a month, and what it is made of."""

from decimal import Decimal
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from opencrab.domain.value import Value

_CHOICES = ("alarms", "dashboard", "tracing", "discord", "websocket", "world")
_BACKENDS = ("opensearch", "efs")

Count = Annotated[int, Field(ge=0, le=10**12)]


class AwsSearchBackend(StrEnum):
    """The values of the stack's parameter SearchBackend."""

    SQLITE = "sqlite"
    OPENSEARCH = "opensearch"
    EFS = "efs"


class AwsWorkload(Value):
    """A month: turns of people, agents that beat, clients that watch, and the stack's parameters.

    `own_turns` are turns that each agent starts by itself a day. `watch_hours` are the hours of all
    clients together. `model_usd` is what the models of one turn cost.
    """

    turns: Count = 0
    model_seconds: Annotated[int | None, Field(ge=0)] = None
    waiting: bool = False
    agents: Count = 0
    own_turns: Annotated[Decimal, Field(ge=0, le=10**6)] = Decimal(0)
    watch_hours: Count = 0
    visits: Count = 0
    model_usd: Annotated[Decimal, Field(ge=0, le=10**3)] = Decimal(0)
    alarms: bool = False
    dashboard: bool = False
    tracing: bool = False
    discord: bool = False
    websocket: bool = False
    world: bool = False
    search: AwsSearchBackend = AwsSearchBackend.SQLITE

    @staticmethod
    def choice_names() -> tuple[str, ...]:
        """All names that `choices` may have."""
        return (*_CHOICES, "discord_alarms", *_BACKENDS)

    @property
    def choices(self) -> tuple[str, ...]:
        """The names of the sheet's `choices` that are on."""
        found = [name for name in _CHOICES if getattr(self, name)]
        if self.discord and self.alarms:
            found.append("discord_alarms")
        if self.search is not AwsSearchBackend.SQLITE:
            found.append(self.search.value)
        return tuple(found)
