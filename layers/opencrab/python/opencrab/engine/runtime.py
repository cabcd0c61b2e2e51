"""Runtime: everything the engine needs, passed in as one value."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from opencrab.domain.money import Limits
from opencrab.domain.turn import MAX_STEPS
from opencrab.ports.action import Actions
from opencrab.ports.channel import Channel
from opencrab.ports.clock import Clock
from opencrab.ports.home import Home
from opencrab.ports.model import Directory, Models
from opencrab.ports.secrets import Secrets


@dataclass(frozen=True)
class Rules:
    """The engine's numbers; every one is a setting."""

    limits: Limits = field(default_factory=Limits)
    max_steps: int = MAX_STEPS
    lease_seconds: int = 300
    visibility_seconds: int = 1_800
    stale_seconds: int = 60
    continue_seconds: int = 2
    model_timeout_seconds: float = 120.0
    max_output_tokens: int = 2_048
    history_lines: int = 48
    high_water_tokens: int = 80_000


@dataclass(frozen=True)
class Runtime:
    """One installation: its home, clock, models, actions and channels.

    `directory` and `secrets` are for people who ask about providers and set them up.
    """

    home: Home
    clock: Clock
    models: Models
    actions: Actions
    channels: Mapping[str, Channel] = field(default_factory=dict)
    rules: Rules = field(default_factory=Rules)
    directory: Directory | None = None
    secrets: Secrets | None = None
