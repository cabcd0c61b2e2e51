"""The `opencrab` command: what each command needs of this machine, loaded when it is used.

Most commands run nothing themselves, and Tab asks for candidates while somebody types.
"""

import gc
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager
    from datetime import datetime
    from pathlib import Path

    from opencrab.domain.models.price_check import NewPrices
    from opencrab.domain.money.budget import Price
    from opencrab.domain.usage.aws_cost import PriceSheet
    from opencrab.domain.value import Language
    from opencrab.engine.discord.diagnosis import Check
    from opencrab.engine.simulation.result import SimulationResult
    from opencrab.gateways.cli.terminal.options import RelayWay, UpOptions
    from opencrab.ports.demo_world import DemoWorldProcess
    from opencrab.ports.installation.configuration import Configuration, SettingsPaths
    from opencrab.ports.installation.data_upgrade import FolderUpgrade
    from opencrab.ports.installation.deployed_settings import DeployedSettings
    from opencrab.ports.installation.init_system import InitSystem


def run_local_command() -> None:
    """Run the `opencrab` command."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # closed; its number would go to the next file
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115
    try:
        _program()()
    except KeyboardInterrupt:
        # Ctrl-C outside of a command, also while it loads: no traceback, and the shell's code.
        raise SystemExit(130) from None


def _program() -> "Callable[[], object]":
    gc.disable()  # what loads now stays: looking for garbage in it only takes time
    from opencrab.bootstrap.local.backup import backups_of_local_installation
    from opencrab.gateways.cli.app import build_cli_app
    from opencrab.gateways.cli.terminal.options import Options

    gc.enable()
    outside = Options(
        sheet=_sheet,
        now=_now,
        prices=_newest_prices,
        relay=_relay,
        simulation=_simulation,
        demo_world=_demo_world,
        backups=backups_of_local_installation,
        examine=_examine_stopped,
        configuration=_configuration,
        deployed_settings=_deployed_settings,
        init_system=_init_system,
        upgrade=_upgrade,
        start_server=_start_server,
    )
    return build_cli_app(_up, outside)


def _init_system() -> "InitSystem | None":
    from opencrab.bootstrap.local.init_system import local_init_system

    return local_init_system()


def _upgrade(data: "Path", backup: "Path | None", /, *, dry_run: bool = False) -> "FolderUpgrade":
    """Upgrade the data folder of a stopped installation; what it needs is loaded only then."""
    from opencrab.bootstrap.data_upgrade import upgrade_local_data_folder

    return upgrade_local_data_folder(data, backup, dry_run=dry_run)


def _deployed_settings() -> "DeployedSettings":
    from opencrab.bootstrap.aws.operator import OperatorSettings

    return OperatorSettings()


def _now() -> "datetime":
    from opencrab.adapters.system_clock import SystemClock

    return SystemClock().now()


def _up(options: "UpOptions", /) -> int:
    # As above; `command` enables it when the server is ready.
    gc.disable()
    from opencrab.bootstrap.local.command import run_local_server

    return run_local_server(options)


def _start_server(options: "UpOptions", /) -> "AbstractContextManager[None]":
    from opencrab.bootstrap.local.process.temporary_server import run_temporary_server

    return run_temporary_server(options)


def _relay(way: "RelayWay", /) -> None:
    from opencrab.bootstrap.discord.relay import run_discord_relay

    run_discord_relay(way)


def _simulation(
    agents: int,
    hours: float,
    seed: int,
    language: "Language",
    tell: "Callable[[int], None]",
    /,
) -> "SimulationResult":
    from opencrab.bootstrap.local.simulation import run_local_day_simulation

    return run_local_day_simulation(agents, hours, seed, language, tell)


def _demo_world(folder: "Path", seed: int, /) -> "DemoWorldProcess":
    from opencrab.bootstrap.local.demo_world import open_local_demo_world

    return open_local_demo_world(folder, seed)


def _configuration(places: "SettingsPaths", /) -> "Configuration":
    """Open the settings files of this computer."""
    from opencrab.bootstrap.configuration.local_configuration import LocalConfiguration
    from opencrab.bootstrap.local.doctor import (
        check_local_settings_together,
        is_local_model_priced,
        probe_local_provider,
    )

    return LocalConfiguration(
        places, check_local_settings_together, probe_local_provider, is_local_model_priced
    )


def _sheet() -> "PriceSheet":
    """Load the AWS price sheet; read only when it is needed."""
    from opencrab import settings
    from opencrab.domain.usage.aws_cost import PriceSheet

    return PriceSheet.of(settings.aws_pricing_settings())


def _examine_stopped(places: "SettingsPaths", url: str, /) -> "tuple[Check, ...]":
    """Check a data folder while no OpenCrab answers; what it needs is loaded only then."""
    from opencrab.bootstrap.local.doctor import checks_of_stopped_local_server

    return checks_of_stopped_local_server(places, url)


def _newest_prices(
    known: "Mapping[str, Price | None]",
    limits: "Mapping[str, int]",
    /,
    *,
    allow_lower: bool = False,
    places: "SettingsPaths",
) -> "NewPrices":
    """Fetch today's model prices from the public list."""
    from opencrab.adapters.providers.catalogue.prices import newest_provider_prices
    from opencrab.bootstrap.configuration.local_settings import LocalSettings
    from opencrab.bootstrap.local.models import Network

    url = str(LocalSettings(places).load({}).get("llm.prices_url"))
    network, today = Network(), _now().date()
    try:
        return newest_provider_prices(
            network.transport(), url, known, today, limits=limits, allow_lower=allow_lower
        )
    finally:
        network.close()
