"""What is shown and taken of the Discord side: checks, presences, and what became of messages."""

from typing import Annotated

from pydantic import Field, field_validator

from opencrab.domain.discord.community import Presence, Snowflake, Spot
from opencrab.domain.value import Name, Value
from opencrab.engine.discord.ambient_messages import AmbientOutcome, Silence
from opencrab.engine.discord.diagnosis import Check
from opencrab.engine.discord.reactions import Unused


class DoctorView(Value):
    """The checks of the setup, in the order in which problems should be fixed."""

    checks: tuple[Check, ...]


class PresencesView(Value):
    """Discord settings of agents, in order of their ids."""

    items: tuple[Presence, ...]


class PresencePut(Value, defer_build=False):
    """An agent's Discord settings as a whole; fields that are left out get their defaults.

    `token_secret` names the secret with the token of a bot of the agent's own.
    """

    spots: Annotated[tuple[Spot, ...], Field(max_length=100)] = ()
    owner_ids: Annotated[tuple[Snowflake, ...], Field(max_length=20)] = ()
    user_ids: Annotated[tuple[Snowflake, ...], Field(max_length=100)] = ()
    role_ids: Annotated[tuple[Snowflake, ...], Field(max_length=100)] = ()
    token_secret: Name | None = None

    @field_validator("spots")
    @classmethod
    def _each_channel_once(cls, spots: tuple[Spot, ...]) -> tuple[Spot, ...]:
        if len({spot.channel_id for spot in spots}) < len(spots):
            raise ValueError("a channel is listed twice: list each once")
        return spots


class OverheardView(Value):
    """The turns that a message started; without any the reason why no agent answers."""

    turn_ids: tuple[str, ...]
    reason: Silence | None = None

    @classmethod
    def of(cls, outcome: AmbientOutcome) -> "OverheardView":
        """Convert the outcome of a message to its view."""
        return cls(turn_ids=tuple(turn.id for turn in outcome.turns), reason=outcome.silence)


class ReactedView(Value):
    """The turn that the feedback is about, or that was stopped; without one the reason."""

    turn_id: str | None
    reason: Unused | None = None
