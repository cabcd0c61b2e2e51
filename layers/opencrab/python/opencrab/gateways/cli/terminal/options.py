"""Options: what a user may set on the command line, as values without any library behind them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from opencrab.gateways.cli.language.sentences import EN, CliLanguage

if TYPE_CHECKING:
    from httpx import BaseTransport

    from opencrab.domain.models.price_check import NewPrices
    from opencrab.domain.money.budget import Price
    from opencrab.domain.usage.aws_cost import PriceSheet
    from opencrab.domain.value import Language
    from opencrab.engine.simulation.day import SimulationResult

DATA = Path("data")


@dataclass(frozen=True)
class UpOptions:
    """How to run OpenCrab here; without a port it is the configured one or the next free one."""

    port: int | None = None
    host: str = "127.0.0.1"
    data: Path = DATA
    provider: str | None = None
    language: CliLanguage = EN


class Launch(Protocol):
    """Runs OpenCrab until it is told to stop, and answers the exit code."""

    def __call__(self, options: UpOptions, /) -> int: ...


class NewestPrices(Protocol):
    """Fetches the public price list; answers which of the known models cost something else by now.

    `limits` are the most input tokens that each model is given; with `allow_lower` no price is
    refused for being low.
    """

    def __call__(
        self,
        known: "Mapping[str, Price | None]",
        limits: Mapping[str, int],
        /,
        *,
        allow_lower: bool = False,
    ) -> "NewPrices": ...


class Bring(Protocol):
    """Posts one thing that was heard on Discord to OpenCrab, once for each key."""

    def __call__(self, what: str, body: Mapping[str, Any], /, *, key: str) -> Mapping[str, Any]: ...


@dataclass(frozen=True)
class RelayWay:
    """The relay's way to OpenCrab: how things are brought there, and where agents listen.

    `tell` says what happens: `ready`, `waits` or `refused`, with its facts. `data` holds secrets,
    `memory` what was brought already.
    """

    bring: Bring
    presences: Callable[[], list[dict[str, Any]]]
    tell: Callable[..., None]
    data: Path
    memory: Path


class LaunchRelay(Protocol):
    """Relays from Discord until it is told to stop."""

    def __call__(self, way: RelayWay, /) -> None: ...


class Simulation(Protocol):
    """Lets so many agents live so many hours on a clock of their own; the same for one seed."""

    def __call__(
        self, agents: int, hours: float, seed: int, language: "Language", /
    ) -> "SimulationResult": ...


@dataclass(frozen=True)
class Options:
    """What every command may be told, finds in the environment, or is given by its composer.

    `sheet` reads what AWS charges, `now` this computer's clock, and `prices` what models cost;
    without them nothing is said of these. `relay` relays from Discord, `simulation` lets agents
    live on a clock of their own.
    """

    url: str | None = None
    key: str | None = None
    data: Path = DATA
    language: CliLanguage = EN
    json: bool = False
    editor: str = "vi"
    state: Path | None = None
    transport: "BaseTransport | None" = None
    pause: Callable[[float], object] | None = None
    sheet: "Callable[[], PriceSheet] | None" = None
    now: Callable[[], datetime] | None = None
    prices: NewestPrices | None = None
    relay: LaunchRelay | None = None
    simulation: Simulation | None = None
