"""The composition for this machine: SQLite, files in a folder, and the local runner."""

import gc
import logging
import os
import sys
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any, cast

from opencrab import __version__, settings
from opencrab.bootstrap.local.models import LocalModels, Network, models_of_local_server
from opencrab.bootstrap.local.owner_key import (
    register_local_owner_key,
    write_secret_for_local_server,
)
from opencrab.bootstrap.local.page_address import (
    PageAddress,
    local_page_address,
    local_server_url,
)
from opencrab.domain.errors import OpenCrabError

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import timedelta

    from opencrab.adapters.providers.registry import ProviderModels
    from opencrab.bootstrap.configuration.local_settings import LocalSettings
    from opencrab.domain.value import Language
    from opencrab.engine.runtime import Runtime
    from opencrab.gateways.cli.terminal.options import UpOptions
    from opencrab.gateways.local.backup_schedule import BackupSchedule
    from opencrab.gateways.rest.http.polling import Watch
    from opencrab.ports.access.secrets import Secrets
    from opencrab.settings import Settings

_PURGES_AN_HOUR, _PURGES_A_FLUSH = 60, 10
_PURGES_WITHOUT_FEED = 10
"""Minutes in which the feed stays whole: indexes catch up with it, also after days."""


def run_local_server(options: "UpOptions") -> int:
    """Run OpenCrab on this machine until it is told to stop; returns the process's exit code."""
    from opencrab.gateways.rest.fastapi_import import load_http_app_quickly

    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    load_http_app_quickly()
    try:
        return _up(options)
    except OpenCrabError as error:
        from opencrab.gateways.language.error_texts import error_text_in

        language = options.places.language
        cure = f"\n  {error_text_in(language, error.cure)}" if error.cure else ""
        sys.stderr.write(f"opencrab: {error_text_in(language, error.message)}{cure}\n")
        return 1


def _up(options: "UpOptions") -> int:
    from opencrab.bootstrap.configuration.local_settings import (
        LocalSettings,
        naming_setting_sources,
    )

    local = LocalSettings(options.places)
    configured = local.load({"gateway.rest.port": options.port})
    with naming_setting_sources(configured):
        return _run(options, local, configured)


def _run(options: "UpOptions", local: "LocalSettings", configured: "Settings") -> int:
    port = _port(options, configured)
    page = local_page_address(configured, options.host, port)
    from opencrab.adapters.sqlite.home import open_sqlite_database
    from opencrab.bootstrap.data_upgrade import upgrade_data_at_local_start
    from opencrab.bootstrap.local.backup import scheduled_backups_of_local_server
    from opencrab.bootstrap.local.model_watch import watch_for_local_model_server
    from opencrab.bootstrap.local.start_screen import print_local_start_screen_line
    from opencrab.bootstrap.own_providers import SettingsWithOwnProviders
    from opencrab.bootstrap.secret_store import encrypted_local_secrets

    os.umask(0o077)
    data = options.data
    secrets = encrypted_local_secrets(data)
    own = SettingsWithOwnProviders(local.load)
    thinking = models_of_local_server(secrets, options.provider, own.load)
    database, network = open_sqlite_database(data), Network()
    try:
        runtime = _runtime(local, configured, database, thinking, secrets, network=network)
        say = partial(_say_upgraded, str(options.language))
        upgrade_data_at_local_start(runtime.home, runtime.clock, say)
        own.follow(runtime.home.facts)
        owner = _owner_key_file(runtime, local, str(configured.get("owner.name")))
        place = _place(options, port, page, owner)
        with (
            scheduled_backups_of_local_server(configured, data, runtime.clock) as backups,
            watch_for_local_model_server(
                cast("ProviderModels", runtime.models),
                thinking,
                partial(print_local_start_screen_line, "model_found", place.language),
            ),
        ):
            _serve(
                runtime,
                database,
                configured,
                thinking,
                place,
                load=own.load,
                network=network,
                setup=partial(_setup, runtime, local, thinking, place, backups=backups),
            )
        network.close()
        return 0
    finally:
        for name in ("endpoint", "instance"):
            with suppress(OSError):
                (data / name).unlink()
        database.close()


def _say_upgraded(language: str, key: str, before: str, release: str, count: int) -> None:
    from opencrab.bootstrap.local.start_screen import print_local_start_screen_line

    print_local_start_screen_line(key, language, before=before, release=release, count=count)


def _owner_key_file(runtime: "Runtime", local: "LocalSettings", name: str) -> Path | None:
    given = settings.owner_key_setting() or settings.owner_key_setting(local.variables)
    return register_local_owner_key(runtime, local.places.data, name, given)


def _runtime(
    local: "LocalSettings",
    configured: "Settings",
    database: Any,
    thinking: "LocalModels",
    secrets: "Secrets",
    *,
    network: "Network",
) -> "Runtime":
    from opencrab.adapters.local_files import AttachedFiles, LocalBlobs
    from opencrab.adapters.providers.registry import ProviderModels
    from opencrab.adapters.sqlite.home import sqlite_home_on_database
    from opencrab.adapters.system_clock import SystemClock
    from opencrab.bootstrap.actions import configured_actions
    from opencrab.bootstrap.consequences import configured_consequences
    from opencrab.bootstrap.discord.channel import configured_channels
    from opencrab.bootstrap.jobs import JOBS
    from opencrab.bootstrap.local.search import local_search
    from opencrab.bootstrap.rules import configured_engine_rules
    from opencrab.bootstrap.vectors import configured_vectors
    from opencrab.bootstrap.world import local_world_link
    from opencrab.domain.turn.crash import CrashRule
    from opencrab.engine.runtime import Runtime

    clock, data, own = SystemClock(), local.places.data, local.places.files
    quota = int(configured.get("agent.max_workspace_size_mb")) * 1024 * 1024
    files = AttachedFiles(data, quota_bytes=quota)
    rules = configured_engine_rules(configured)
    rule = CrashRule(fair_seconds=rules.model_timeout_seconds, lease_seconds=rules.lease_seconds)
    home = sqlite_home_on_database(database, clock, files=files, blobs=LocalBlobs(data), rule=rule)
    home = replace(home, folders=files)
    models = ProviderModels(
        thinking.again, network.transport, stored=home.preferences.get, stamp=local.stamp
    )
    vectors = configured_vectors(configured, home.journal, home.agents, models, clock)
    search = local_search(home, data, clock, vectors)
    actions = partial(configured_actions, load=local.load, secrets=secrets, stamp=local.stamp)
    return Runtime(
        home=home,
        clock=clock,
        models=models,
        rules=rules,
        directory=models,
        secrets=secrets,
        world=local_world_link(secrets, home.facts, clock),
        consequences=configured_consequences(configured, local.load, secrets, background=True),
        jobs=JOBS,
        **vars(actions(configured, search, network.transport, home.facts, files=own)),
        **configured_channels(configured, secrets, clock, home.facts, load=local.load),
    )


@dataclass(frozen=True)
class _Place:
    host: str
    port: int
    url: str
    page: PageAddress | None
    data: Path
    key_file: Path | None
    language: str
    instance: str
    """The secret with which this process proves to the command that it serves this folder."""

    opens_page: bool
    usual_data: Path
    """The data folder that commands use without `--data`."""

    @property
    def ports(self) -> tuple[int, ...]:
        own = None if self.page is None else self.page.port
        return (self.port,) if own is None else (self.port, own)


def _place(
    options: "UpOptions", port: int, page: PageAddress | None, key_file: Path | None
) -> _Place:
    return _Place(
        options.host,
        port,
        local_server_url(options.host, port),
        page,
        options.data,
        key_file,
        str(options.language),
        token_hex(32),
        options.opens_page,
        options.usual_data,
    )


def _serve(
    runtime: "Runtime",
    database: Any,
    configured: "Settings",
    thinking: LocalModels,
    place: _Place,
    *,
    load: "Callable[..., Settings]",
    network: Network,
    setup: "Callable[[Language], dict[str, Any]]",
) -> None:
    from opencrab.adapters.answer_hub import AnswerHub
    from opencrab.adapters.sqlite.access import SqliteFeed
    from opencrab.bootstrap.local.parts import (
        add_local_server_parts,
        interaction_handler,
        local_chat_polling,
    )
    from opencrab.bootstrap.local.search import local_search_indexing
    from opencrab.bootstrap.local.start_screen import print_local_start_screen_line
    from opencrab.bootstrap.prices import configured_nightly_price_update
    from opencrab.bootstrap.rules import configured_deleted_version_age
    from opencrab.gateways.local.feed_watch import FeedWatch
    from opencrab.gateways.local.index_follower import IndexFollower
    from opencrab.gateways.local.runner import Runner

    watch = FeedWatch(feed := SqliteFeed(database))
    runtime = replace(runtime, answers=AnswerHub(watch.notify))
    app = _rest_app(runtime, configured, watch, setup=setup, instance=place.instance)
    runner = Runner(
        runtime,
        watch,
        _purging(runtime, database, configured_deleted_version_age(configured)),
        IndexFollower(feed, local_search_indexing(runtime), runtime.home.agents),
        interact=interaction_handler(configured, runtime),
        price=configured_nightly_price_update(configured, network.transport),
        alive=lambda: database.alive(runtime.clock.now()),
    )
    add_local_server_parts(
        app, configured, runtime, place.data, load=load, wake=runner.take_interactions
    )
    with local_chat_polling(configured, runtime, runner.take_interactions):
        runner.serve(
            app,
            host=place.host,
            ports=place.ports,
            ready=partial(_announce, app, runtime, thinking, place),
            stopping=partial(print_local_start_screen_line, "stopping", place.language),
        )


def _rest_app(
    runtime: "Runtime",
    configured: "Settings",
    watch: "Watch",
    *,
    setup: "Callable[[Language], dict[str, Any]]",
    instance: str,
) -> Any:
    from opencrab.bootstrap.discord.bot import discord_bot_from_settings, own_discord_door
    from opencrab.gateways.local.machine import MachineReader
    from opencrab.gateways.rest.app import create_rest_app

    return create_rest_app(
        runtime,
        watch=watch,
        setup=setup,
        machine=MachineReader(),
        bot=discord_bot_from_settings(configured),
        interactions=own_discord_door(configured, runtime),
        instance=instance,
    )


def _announce(app: Any, runtime: "Runtime", thinking: LocalModels, place: _Place) -> None:
    """Write the files by which the CLI finds this server, and say that it is ready."""
    from opencrab.bootstrap.local.sign_in import local_sign_in_link
    from opencrab.bootstrap.local.start_screen import print_local_start_screen

    write_secret_for_local_server(place.data / "instance", place.instance)
    (place.data / "endpoint").write_text(f"{place.url}\n", encoding="utf-8")
    link = None
    if place.page is not None:
        link = local_sign_in_link(
            app, runtime, place.page, place.key_file, opens_page=place.opens_page
        )
    print_local_start_screen(runtime, thinking.notes, place, link)
    gc.freeze()
    gc.enable()


def _purging(runtime: "Runtime", database: Any, kept: "timedelta") -> "Callable[[], None]":
    """Return a function that deletes expired rows; the runner calls it once a minute.

    Every ten minutes it also writes what is kept in memory, the next times of idle heartbeats,
    deletes old ledger rows, and gives free pages back to the disk.
    Once an hour it ends the versions of files that were deleted `kept` ago.
    """
    from datetime import timedelta
    from itertools import count

    from opencrab.adapters.local_files import AttachedFiles
    from opencrab.adapters.sqlite.database import sqlite_milliseconds

    calls, files = count(), runtime.home.files

    def purge() -> None:
        now = runtime.clock.now()
        number = next(calls)
        feed_before = now - timedelta(days=1)
        database.purge(
            sqlite_milliseconds(now),
            0 if number < _PURGES_WITHOUT_FEED else sqlite_milliseconds(feed_before),
        )
        if number % _PURGES_A_FLUSH == _PURGES_A_FLUSH - 1:
            from opencrab.adapters.sqlite.turn.call_retention import SqliteCallRetention
            from opencrab.adapters.sqlite_pages.page_erasure import release_free_sqlite_pages

            database.flush()
            if runtime.rules.calls_kept is not None:
                SqliteCallRetention(database).purge(now - runtime.rules.calls_kept)
            release_free_sqlite_pages(database.write_transaction)
        if isinstance(files, AttachedFiles) and number % _PURGES_AN_HOUR == 0:
            files.end_deleted_versions(now, kept)

    return purge


def _port(options: "UpOptions", configured: "Settings") -> int:
    from opencrab.bootstrap.local.available_port import available_local_port

    wanted = configured.get("gateway.rest.port")
    return available_local_port(options.host, wanted, fixed=options.port is not None)


def _setup(
    runtime: "Runtime",
    local: "LocalSettings",
    thinking: LocalModels,
    place: _Place,
    language: "Language",
    *,
    backups: "BackupSchedule | None",
) -> dict[str, Any]:
    """Return what is configured, which variables are missing, and what to do about them."""
    from opencrab.bootstrap.local.start_screen import (
        local_start_screen_note,
        local_start_screen_text,
    )
    from opencrab.bootstrap.rules import configured_budget_limits

    default = runtime.models.routing.default
    notes = thinking.notes if default == thinking.settings.default else ()
    now = local.load({}, secret=None if runtime.secrets is None else runtime.secrets.get)
    missing = [
        {
            "part": section,
            "variable": variable,
            "cure": local_start_screen_text("missing_cure", language, variable=variable),
        }
        for section, variable in sorted(now.absent.items())
    ]
    return {
        "version": __version__,
        "home": {"kind": "sqlite", "data": str(place.data.resolve())},
        "model": {
            "default": default,
            "notes": [local_start_screen_note(note, language) for note in notes],
        },
        "budget": configured_budget_limits(runtime.rules.limits, runtime.home.budgets.limits()),
        "missing": missing,
        **({} if backups is None else {"backups": backups.report()}),
    }
