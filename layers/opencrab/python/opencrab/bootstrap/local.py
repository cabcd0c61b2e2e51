"""OpenCrab on this machine: SQLite, files in a folder, and the local runner."""

import logging
import os
import socket
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opencrab import __version__, settings
from opencrab.domain.errors import Invalid, OpenCrabError, Unavailable

if TYPE_CHECKING:
    from opencrab.adapters.providers.configuration import ModelsSettings
    from opencrab.adapters.providers.transport import Transport
    from opencrab.domain.cost import Sheet
    from opencrab.engine.runtime import Runtime
    from opencrab.gateways.cli.options import UpOptions
    from opencrab.settings import Settings

_FREE_PORTS = 20
_LAST_PORT = 65_535


def command() -> None:
    """Run the `opencrab` command."""
    from opencrab.adapters.system_clock import SystemClock
    from opencrab.gateways.cli.app import build

    build(up, sheet=_sheet, now=SystemClock().now)()


def _sheet() -> "Sheet":
    """What AWS charges, read when somebody asks."""
    from opencrab.domain.cost import Sheet

    return Sheet.of(settings.aws_pricing())


def up(options: "UpOptions") -> int:
    """Run OpenCrab on this machine until it is told to stop; the exit code of the process."""
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    try:
        return _up(options)
    except OpenCrabError as error:
        cure = f"\n  {error.cure}" if error.cure else ""
        sys.stderr.write(f"opencrab: {error.message}{cure}\n")
        return 1


def _up(options: "UpOptions") -> int:
    configured = settings.load({"gateway.rest.port": options.port})
    port = _port(options.host, configured.get("gateway.rest.port"), fixed=options.port is not None)
    models = _models_settings(configured, options.provider)

    from opencrab.adapters.local_files import LocalBlobs, LocalFiles
    from opencrab.adapters.sqlite.home import home_on, open_database
    from opencrab.adapters.system_clock import SystemClock

    os.umask(0o077)
    clock = SystemClock()
    data = options.data
    quota = int(configured.get("agent.max_workspace_size_mb")) * 1024 * 1024
    database = open_database(data)
    try:
        from opencrab.actions import GROUPS, Registry
        from opencrab.adapters.providers.registry import ProviderModels
        from opencrab.bootstrap.rules import rules_of
        from opencrab.engine.runtime import Runtime

        network = _Network()
        files = LocalFiles(data, quota_bytes=quota)
        runtime = Runtime(
            home=home_on(database, clock, files=files, blobs=LocalBlobs(data)),
            clock=clock,
            models=ProviderModels(models.settings, network.transport),
            actions=Registry(GROUPS),
            rules=rules_of(configured),
        )
        key_file = _owner_key(runtime, data, str(configured.get("owner.name")))
        host = f"[{options.host}]" if ":" in options.host else options.host
        url = f"http://{host}:{port}"
        _serve(
            runtime, database, configured, models, _Place(options.host, port, url, data, key_file)
        )
        network.close()
        return 0
    finally:
        with suppress(OSError):
            (data / "endpoint").unlink()
        database.close()


@dataclass(frozen=True)
class _Place:
    host: str
    port: int
    url: str
    data: Path
    key_file: Path | None


@dataclass(frozen=True)
class _Thinking:
    """The models' settings, and what the owner should be told about how they came about."""

    settings: "ModelsSettings"
    notes: tuple[str, ...]


class _Network:
    """One HTTP client, made when the first model needs it."""

    def __init__(self) -> None:
        self._client: Any = None

    def transport(self) -> "Transport":
        from opencrab.adapters.providers.httpx_transport import HttpxTransport, new_client

        if self._client is None:
            self._client = new_client()
        return HttpxTransport(self._client)

    def close(self) -> None:
        if self._client is not None:
            self._client.close()


def _serve(
    runtime: "Runtime", database: Any, configured: "Settings", models: _Thinking, place: _Place
) -> None:
    from datetime import timedelta

    from opencrab.adapters.sqlite.access import SqliteFeed
    from opencrab.adapters.sqlite.database import milliseconds
    from opencrab.gateways.local import WORKERS, FeedWatch, Runner
    from opencrab.gateways.rest.app import create_app

    def purge() -> None:
        now = runtime.clock.now()
        database.purge(milliseconds(now), milliseconds(now - timedelta(days=1)))

    def ready() -> None:
        (place.data / "endpoint").write_text(f"{place.url}\n", encoding="utf-8")
        _say_ready(models, place)

    watch = FeedWatch(SqliteFeed(database))
    app = create_app(runtime, watch=watch, setup=lambda: _setup(configured, models, place))
    runner = Runner(runtime, watch, purge, workers=WORKERS)
    runner.serve(app, host=place.host, port=place.port, ready=ready)


def _say_ready(models: _Thinking, place: _Place) -> None:
    rows = [
        f"OpenCrab {__version__} listens on {place.url}",
        f"  data    {place.data.resolve()}",
        f"  model   {models.settings.default}",
        *(f"          {note}" for note in models.notes),
    ]
    if place.key_file is not None:
        rows.append(f"  key     {place.key_file} (the owner key; `opencrab chat` finds it itself)")
    rows += ["  stop    Ctrl-C", "ready"]
    sys.stdout.write("\n".join(rows) + "\n")
    sys.stdout.flush()


def _models_settings(configured: "Settings", provider: str | None) -> _Thinking:
    """The models that can be used here: what is configured, else a local server, else scripted."""
    from dataclasses import replace

    from opencrab.adapters.providers.configuration import models_settings
    from opencrab.adapters.providers.detect import LLAMACPP_URL, OLLAMA_URL, detect_local
    from opencrab.adapters.providers.registry import SCRIPTED, usable

    llm = configured.table("llm")
    missing = {
        section.removeprefix("llm.providers."): variable
        for section, variable in configured.absent.items()
        if section.startswith("llm.providers.")
    }
    known = models_settings(llm, configured.pricing, missing)
    if provider is not None:
        name, _, model = provider.partition(":")
        if name != "scripted" and name not in known.providers:
            names = ", ".join(sorted({"scripted", *known.providers}))
            raise Invalid(f"there is no provider {name!r}", cure=f"choose one of {names}")
        default = SCRIPTED if provider == "scripted" else f"{name}:{model}"
        return _Thinking(replace(known, default=default), ("chosen with --provider",))
    found = None
    notes: tuple[str, ...] = ()
    ollama, llamacpp = (
        _address(known, "ollama", OLLAMA_URL),
        _address(known, "llamacpp", LLAMACPP_URL),
    )
    if _answers(ollama) or _answers(llamacpp):
        network = _Network()
        detection = detect_local(network.transport(), ollama, llamacpp)
        network.close()
        found, notes = detection.server, detection.notes
    thinking = usable(known, found)
    if thinking.default == SCRIPTED:
        notes = (
            *notes,
            "this is no language model: set OPENAI_API_KEY, or start Ollama or a llama.cpp",
            "server, and start again; until then answers follow simple rules",
        )
    return _Thinking(thinking, notes)


def _address(known: "ModelsSettings", name: str, default: str) -> str:
    provider = known.providers.get(name)
    return (provider.base_url if provider else "") or default


def _answers(url: str) -> bool:
    """Whether anything listens there; asked first, since most machines run no model server."""
    from urllib.parse import urlsplit

    address = urlsplit(url)
    with socket.socket() as probe, suppress(OSError):
        probe.settimeout(0.2)
        return probe.connect_ex((address.hostname or "localhost", address.port or 80)) == 0
    return False


def _port(host: str, wanted: int, *, fixed: bool) -> int:
    """The wanted port, or the next free one unless the port was asked for."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for port in range(wanted, min(wanted + _FREE_PORTS, _LAST_PORT + 1)):
        with socket.socket(family) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, port))
            except PermissionError:
                raise Unavailable(
                    f"port {port} needs more rights", cure="use --port 8080"
                ) from None
            except OSError as error:
                if fixed:
                    raise Unavailable(
                        f"port {port} on {host} cannot be used: {error.strerror}",
                        cure="choose another with --port",
                    ) from None
                continue
            return port
    raise Unavailable(
        f"no free port from {wanted} on {host}", cure=f"choose one up to {_LAST_PORT} with --port"
    )


def _owner_key(runtime: "Runtime", data: Path, name: str) -> Path | None:
    """See that there is an owner key: the operator's own, or one made and kept for its user."""
    from opencrab.domain.authority import Scope
    from opencrab.engine.keys import admit_key, create_key

    given = settings.owner_key()
    if given is not None:
        admit_key(runtime, name=name, scope=Scope.OWNER, secret=given)
        return None
    path = data / "owner.key"
    if path.exists():
        path.chmod(0o600)
        secret = path.read_text(encoding="utf-8").strip()
        if secret:
            admit_key(runtime, name=name, scope=Scope.OWNER, secret=secret)
            return path
    secret, _ = create_key(runtime, name=name, scope=Scope.OWNER)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(f"{secret}\n")
    return path


def _setup(configured: "Settings", models: _Thinking, place: _Place) -> dict[str, Any]:
    """What is configured, what is missing, and what to do about it."""
    missing = [
        {"part": section, "variable": variable, "cure": f"set {variable} and start again"}
        for section, variable in sorted(configured.absent.items())
    ]
    return {
        "version": __version__,
        "home": {"kind": "sqlite", "data": str(place.data.resolve())},
        "model": {"default": models.settings.default, "notes": list(models.notes)},
        "budget": {
            name: configured.get(f"budget.{name}")
            for name in ("turn_usd", "agent_day_usd", "installation_day_usd")
        },
        "missing": missing,
    }
