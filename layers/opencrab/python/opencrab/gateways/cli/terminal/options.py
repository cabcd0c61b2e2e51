"""Options: what a user may set on the command line, as values without any library behind them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from opencrab.gateways.cli.language.sentences import EN, CliLanguage

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from httpx import BaseTransport

    from opencrab.domain.models.price_check import NewPrices
    from opencrab.domain.money.budget import Price
    from opencrab.domain.usage.aws_cost import PriceSheet
    from opencrab.domain.value import Language
    from opencrab.engine.simulation.result import SimulationResult
    from opencrab.ports.backup import Backups
    from opencrab.ports.demo_world import OpenDemoWorld
    from opencrab.ports.installation.configuration import OpenConfiguration, SettingsPaths
    from opencrab.ports.installation.data_upgrade import UpgradeFolder
    from opencrab.ports.installation.deployed_settings import DeployedSettings
    from opencrab.ports.installation.init_system import InitSystem

DATA = Path("data")


@dataclass(frozen=True)
class UpOptions:
    """The options of `up`; without a port it is the configured one or the next free one.

    `usual_data` is the data folder of commands without `--data`, and `config` the owner's settings
    file, which must exist if it is `config_named`.
    """

    port: int | None = None
    host: str = "127.0.0.1"
    data: Path = DATA
    provider: str | None = None
    language: CliLanguage = EN
    opens_page: bool = False
    usual_data: Path = DATA
    config: Path | None = None
    config_named: bool = False

    @property
    def places(self) -> "SettingsPaths":
        """Where the owner's settings are."""
        from opencrab.ports.installation.configuration import SettingsPaths

        return SettingsPaths(self.config, self.data, self.config_named, str(self.language))


class Launch(Protocol):
    """A function that runs OpenCrab until it is stopped, and returns the exit code."""

    def __call__(self, options: UpOptions, /) -> int: ...


class NewestPrices(Protocol):
    """A function that fetches the public price list and returns the prices that have changed.

    `limits` are the most input tokens of each model; with `allow_lower` no price is refused for
    being low. `places` are those of the settings, which name the list.
    """

    def __call__(
        self,
        known: "Mapping[str, Price | None]",
        limits: Mapping[str, int],
        /,
        *,
        allow_lower: bool = False,
        places: "SettingsPaths",
    ) -> "NewPrices": ...


class Bring(Protocol):
    """A function that posts one item from Discord to OpenCrab, at most once for each key."""

    def __call__(self, what: str, body: Mapping[str, Any], /, *, key: str) -> Mapping[str, Any]: ...


@dataclass(frozen=True)
class RelayWay:
    """The relay's connection to OpenCrab: how items are posted, and where agents listen.

    `tell` reports events: `ready`, `waits` or `refused`, with details. `data` has the secrets,
    `memory` the position up to which messages were posted. `places` are those of the settings.
    """

    bring: Bring
    presences: Callable[[], list[dict[str, Any]]]
    tell: Callable[..., None]
    data: Path
    memory: Path
    places: "SettingsPaths"


class LaunchRelay(Protocol):
    """A function that relays messages from Discord until it is stopped."""

    def __call__(self, way: RelayWay, /) -> None: ...


class Simulation(Protocol):
    """A function that simulates some hours; the same seed gives the same result.

    `tell` is called with the number of every hour that has passed.
    """

    def __call__(
        self,
        agents: int,
        hours: float,
        seed: int,
        language: "Language",
        tell: Callable[[int], None],
        /,
    ) -> "SimulationResult": ...


class StoppedCheck(Protocol):
    """A check of the doctor; `state` is ok, warning or problem."""

    @property
    def name(self) -> str: ...

    @property
    def state(self) -> str: ...

    @property
    def what(self) -> str: ...

    @property
    def cure(self) -> str: ...


class StartServer(Protocol):
    """A function that runs OpenCrab within a block, in a process of its own."""

    def __call__(self, options: UpOptions, /) -> "AbstractContextManager[None]": ...


class CheckStopped(Protocol):
    """A function that checks a data folder while no OpenCrab answers at an address."""

    def __call__(self, places: "SettingsPaths", url: str, /) -> "Sequence[StoppedCheck]": ...


@dataclass(frozen=True)
class Options:
    """The settings of a command: from its options, from the environment and from the caller.

    `quiet` leaves out notes, `no_input` never asks, `plain` uses no colours and moves no cursor.

    `sheet` loads AWS prices, `prices` loads model prices, and `now` is this computer's clock;
    commands leave out what is missing. `relay` starts the Discord relay, `simulation` the
    simulator; `backups` is a factory of the backup service; `launch` runs OpenCrab, and
    `start_server` does so while a command needs it; `examine` checks an installation that does not
    run; `configuration` opens the settings files; `init_system` finds what runs programs in the
    background here; `upgrade` upgrades a data folder.
    """

    url: str | None = None
    key: str | None = None
    data: Path = DATA
    language: CliLanguage = EN
    json: bool = False
    quiet: bool = False
    no_input: bool = False
    plain: bool = False
    editor: str = "vi"
    state: Path | None = None
    transport: "BaseTransport | None" = None
    pause: Callable[[float], object] | None = None
    sheet: "Callable[[], PriceSheet] | None" = None
    now: Callable[[], datetime] | None = None
    prices: NewestPrices | None = None
    relay: LaunchRelay | None = None
    simulation: Simulation | None = None
    demo_world: "OpenDemoWorld | None" = None
    backups: "Callable[[], Backups] | None" = None
    launch: Launch | None = None
    start_server: StartServer | None = None
    examine: CheckStopped | None = None
    configuration: "OpenConfiguration | None" = None
    deployed_settings: "Callable[[], DeployedSettings] | None" = None
    init_system: "Callable[[], InitSystem | None] | None" = None
    upgrade: "UpgradeFolder | None" = None
    config: Path | None = None
    config_named: bool = False
    usual_data: Path = DATA
    data_named: bool = False
    data_home: str = ""

    @property
    def places(self) -> "SettingsPaths":
        """Where the owner's settings are."""
        from opencrab.ports.installation.configuration import SettingsPaths

        return SettingsPaths(self.config, self.data, self.config_named, str(self.language))
