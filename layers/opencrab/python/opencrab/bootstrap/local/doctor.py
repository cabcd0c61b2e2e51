"""The composition of the doctor's checks of this computer, with OpenCrab running and without."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opencrab.bootstrap.configuration.local_settings import LocalSettings
    from opencrab.engine.discord.diagnosis import Check
    from opencrab.engine.installation.findings import Findings, Look
    from opencrab.ports.clock import Clock
    from opencrab.ports.installation.configuration import SettingsPaths
    from opencrab.ports.models.readiness import ProviderHealth
    from opencrab.settings import Settings

_SECONDS = 2.2


def checks_of_running_local_server(configured: "Settings", data: Path, clock: "Clock") -> "Look":
    """Return the checks of the computer on which this process serves a data folder."""

    def look(findings: "Findings") -> "Iterable[Check]":
        from opencrab.bootstrap.local.backup import backup_rotation_of_local_server
        from opencrab.gateways.local.machine_checks import MachineChecks

        rotation = backup_rotation_of_local_server(configured, data, clock)
        return MachineChecks(data, clock.now, rotation).of_running(findings)

    return look


def checks_of_stopped_local_server(
    places: "SettingsPaths", url: str, *, config: Path | None = None
) -> "tuple[Check, ...]":
    """Return the checks of a data folder while no OpenCrab answers at `url`.

    They read the disk, and ask the default model's provider whether it is there. `config` is the
    folder of the default settings, if it is not that of this installation.
    """
    from opencrab.bootstrap.configuration.local_settings import LocalSettings
    from opencrab.domain.value import Language
    from opencrab.engine.installation.examination import run_installation_checks_concurrently
    from opencrab.engine.installation.findings import Findings

    findings = Findings(Language(places.language))
    local = LocalSettings(places, folder=config)
    looks: dict[str, Look] = {
        "config": lambda findings: _of_config(findings, local),
        "machine": lambda findings: _of_machine(findings, local, url),
        "model": lambda findings: _of_model(findings, local),
    }
    return run_installation_checks_concurrently(looks, findings, _SECONDS)


def check_local_settings_together(local: "LocalSettings") -> "Settings":
    """Read what the settings configure; raises Invalid for the first fault, naming the setting.

    These are faults that no single setting has, such as an alias of nothing.
    """
    from opencrab import settings
    from opencrab.bootstrap.consequences import configured_consequences
    from opencrab.bootstrap.local.backup import backup_interval_of_local_server
    from opencrab.bootstrap.local.models import configured_local_models
    from opencrab.bootstrap.rules import configured_engine_rules
    from opencrab.bootstrap.secret_store import local_secret_store

    configured = local.load({})
    configured_engine_rules(configured)
    backup_interval_of_local_server(str(configured.get("backup.every")))
    if any(name.startswith("mcp.servers.") for name in configured.values):
        from opencrab.bootstrap.mcp.servers import configured_mcp_servers

        configured_mcp_servers(configured, is_local=True)
    if modules := configured.get("actions.modules"):
        from opencrab.bootstrap.custom_actions import custom_action_folders, load_custom_actions

        load_custom_actions(map(str, modules), custom_action_folders(local.places.files))
    secrets = local_secret_store(local.places.data)
    configured_local_models(secrets, local.load)
    configured_consequences(configured, local.load, secrets, background=True)
    settings.public_prices_of_settings()
    return configured


def probe_local_provider(local: "LocalSettings", name: str) -> "ProviderHealth":
    """Ask a provider for its list of models, which costs nothing, with what is set here."""
    from opencrab.adapters.providers.registry import ProviderModels
    from opencrab.bootstrap.configuration.local_settings import SecretsWithDraft
    from opencrab.bootstrap.local.models import Network, configured_local_models
    from opencrab.bootstrap.secret_store import local_secret_store
    from opencrab.engine.installation.model_checks import WAIT_SECONDS

    network = Network()
    secrets = SecretsWithDraft(local_secret_store(local.places.data), local.draft_secrets)
    try:
        models = ProviderModels(
            lambda: configured_local_models(secrets, local.load), network.transport
        )
        return models.health(name, timeout_seconds=WAIT_SECONDS)
    finally:
        network.close()


def is_local_model_priced(local: "LocalSettings", name: str) -> bool:
    """Check whether a `provider:model` has a price, or costs nothing, with what is set here."""
    from opencrab.adapters.providers.registry import ProviderModels
    from opencrab.bootstrap.configuration.local_settings import SecretsWithDraft
    from opencrab.bootstrap.local.models import Network, configured_local_models
    from opencrab.bootstrap.secret_store import local_secret_store

    secrets = SecretsWithDraft(local_secret_store(local.places.data), local.draft_secrets)
    models = ProviderModels(
        lambda: configured_local_models(secrets, local.load), Network().transport
    )
    return models.price(name) is not None


def _of_config(findings: "Findings", local: "LocalSettings") -> "Iterator[Check]":
    from opencrab.domain.errors import Invalid

    try:
        configured = check_local_settings_together(local)
    except Invalid as error:
        facts = {"why": error.message, "cure": error.cure or "-"}
        yield findings.problem("config", "config_wrong", **facts)
        return
    yield findings.well("config", "config", count=len(configured.values))


def _of_machine(findings: "Findings", local: "LocalSettings", url: str) -> "Iterable[Check]":
    from opencrab.adapters.system_clock import SystemClock
    from opencrab.bootstrap.local.backup import backup_rotation_of_local_server
    from opencrab.domain.errors import Invalid
    from opencrab.gateways.local.machine_checks import MachineChecks

    clock, data = SystemClock(), local.places.data
    try:
        rotation = backup_rotation_of_local_server(local.load({}), data, clock)
    except Invalid:
        rotation = None  # the check of the configuration says so
    return MachineChecks(data, clock.now, rotation).of_stopped(findings, url)


def _of_model(findings: "Findings", local: "LocalSettings") -> "Iterator[Check]":
    from opencrab.adapters.providers.registry import ProviderModels
    from opencrab.bootstrap.local.models import Network, models_of_local_server
    from opencrab.bootstrap.secret_store import local_secret_store
    from opencrab.domain.errors import Invalid
    from opencrab.engine.installation.model_checks import WAIT_SECONDS

    try:
        secrets = local_secret_store(local.places.data)
        thinking = models_of_local_server(secrets, None, local.load)
        network = Network()
        models = ProviderModels(thinking.again, network.transport)
        name = models.routing.default
        provider = name.partition(":")[0]
        health = models.readiness((provider,), wait_seconds=WAIT_SECONDS).get(provider)
    except Invalid:
        return  # the check of the configuration says so
    facts: dict[str, object] = {"model": name, "users": findings.words("default_users")}
    if provider == "scripted":
        yield findings.warning("model", "model_scripted")
    elif health is None:
        facts |= {"provider": provider, "seconds": f"{WAIT_SECONDS:g}"}
        yield findings.problem("model", "model_silent", **facts)
    elif not health.ok:
        cure = health.cure or "opencrab models providers"
        yield findings.problem("model", "model_down", **facts, why=health.problem, cure=cure)
    else:
        yield findings.well("model", "model_untried", **facts, ms=health.latency_ms)
