"""A real installation in this process that a test breaks and mends, and the doctor beside it.

Its stores, models, routes and command are those of the product; what a test cannot break for real,
such as a disk, is a function that it replaces.
"""

import asyncio
import json
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cache, partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.main import get_command
from typer.testing import CliRunner

from opencrab.actions import GROUPS, Registry
from opencrab.adapters.backup.backups import FolderBackups
from opencrab.adapters.backup.rotation import BackupRotation
from opencrab.adapters.inspection.disk import inspect_disk_by_write, inspect_free_disk_bytes
from opencrab.adapters.local_files import LocalBlobs, LocalFiles
from opencrab.adapters.providers.catalogue.configuration import ModelsSettings, ProviderSettings
from opencrab.adapters.providers.catalogue.model_facts import ModelSettings
from opencrab.adapters.providers.registry import ProviderModels
from opencrab.adapters.providers.transport.http_connections import HttpConnections
from opencrab.adapters.providers.transport.http_transport import HttpTransport
from opencrab.adapters.sqlite.home import open_sqlite_home
from opencrab.adapters.system_clock import SystemClock
from opencrab.bootstrap.consequences import CONSEQUENCES
from opencrab.bootstrap.jobs import JOBS
from opencrab.bootstrap.local.doctor import checks_of_stopped_local_server
from opencrab.bootstrap.local.search import local_search
from opencrab.domain.access.authority import Scope
from opencrab.domain.money.budget import Price
from opencrab.engine.access.api_keys import create_api_key
from opencrab.engine.discord.diagnosis import Check
from opencrab.engine.runtime import Runtime
from opencrab.engine.turn.run import Pace, run_turn
from opencrab.gateways.cli.app import build_cli_app
from opencrab.gateways.cli.terminal.options import Options
from opencrab.gateways.local.machine_checks import MachineChecks
from opencrab.gateways.rest.app import create_rest_app
from opencrab.gateways.rest.http.polling import PollingWatch
from opencrab.gateways.rest.local_parts import offer_installation_machine_checks
from opencrab.ports.installation.configuration import SettingsPaths
from tests.contract.homes import HASTY

MODEL = "crab-1"
GOOD_KEY = "sk-good"
PRICE = Price(input_per_million=1_000_000, output_per_million=4_000_000)


class ShiftedClock(SystemClock):
    """This machine's clock, set forward or back."""

    def __init__(self) -> None:
        super().__init__()
        self.shift = timedelta()

    def now(self) -> datetime:
        return super().now() + self.shift


class Vendor:
    """A vendor of models on this machine, with everything that may be wrong with one."""

    def __init__(self) -> None:
        self.models = [MODEL]
        self.refuses = False
        self.asked = 0
        self._server: ThreadingHTTPServer | None = None
        self._port = 0
        self.open()

    @property
    def url(self) -> str:
        """Its address, whether or not it listens."""
        return f"http://127.0.0.1:{self._port}"

    def open(self) -> None:
        """Listen, on the same port as before."""
        self._server = ThreadingHTTPServer(("127.0.0.1", self._port), partial(_Door, self))
        self._server.daemon_threads = True
        self._port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def close(self) -> None:
        """Listen no more."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None


class _Door(BaseHTTPRequestHandler):
    """What a vendor says to one client."""

    def __init__(self, vendor: Vendor, *given: Any) -> None:
        self._vendor = vendor
        super().__init__(*given)

    def do_GET(self) -> None:
        if self.path == "/api/tags":
            self._reply(200, {"models": [{"name": name} for name in self._vendor.models]})
        elif self.path != "/v1/models":
            self._reply(404, {"error": {"message": "no such page"}})
        elif self._may_enter():
            self._reply(200, {"data": [{"id": name} for name in self._vendor.models]})
        else:
            self._reply(401, {"error": {"message": "wrong key"}})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self._vendor.asked += 1
        if self._vendor.refuses or not self._may_enter():
            self._reply(403, {"error": {"message": "your account is closed"}})
            return
        choice = {"index": 0, "message": {"role": "assistant", "content": "OK"}}
        answer = {
            "model": body["model"],
            "choices": [{**choice, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 20, "completion_tokens": 1},
        }
        self._reply(200, answer)

    def _may_enter(self) -> bool:
        return self.headers.get("authorization") == f"Bearer {GOOD_KEY}"

    def _reply(self, status: int, answer: dict[str, Any]) -> None:
        content = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        with suppress(OSError):
            self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name is given
        """Say nothing."""


class Bridge(httpx.BaseTransport):
    """The command's requests, answered by the application in this process; None is nobody."""

    app: Any = None

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if self.app is None:
            raise httpx.ConnectError("connection refused", request=request)
        return asyncio.run(self._asked(request))

    async def _asked(self, request: httpx.Request) -> httpx.Response:
        transport = httpx.ASGITransport(self.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://here") as client:
            found = await client.request(
                request.method,
                str(request.url.copy_with(scheme="http", host="here", port=None)),
                content=request.read(),
                headers=[
                    (name, value)
                    for name, value in request.headers.raw
                    if name.lower() not in {b"host", b"content-length"}
                ],
            )
        headers = {
            name: value for name, value in found.headers.items() if name != "content-encoding"
        }
        return httpx.Response(found.status_code, content=found.content, headers=headers)


@dataclass(frozen=True)
class Finding:
    """A line of the doctor."""

    name: str
    verdict: str
    detail: str
    cure: str


class Installation:
    """One data folder, with OpenCrab running on it or not."""

    def __init__(self, folder: Path) -> None:
        self.data = folder / "data"
        self.clock = ShiftedClock()
        self.vendor = Vendor()
        self.provider = ProviderSettings(
            "vendor",
            "openai",
            f"{self.vendor.url}/v1",
            api_key=GOOD_KEY,
            key_name="VENDOR_KEY",
            private=False,
        )
        self.write: Callable[[Path], None] = inspect_disk_by_write
        self.free: Callable[[Path], int] = inspect_free_disk_bytes
        self.rotation = BackupRotation(
            FolderBackups(self.clock),
            self.data,
            folder / "data-backups",
            timedelta(days=1),
            7,
            self.clock,
        )
        self.bridge = Bridge()
        self.key = ""
        self.changes: dict[str, Any] = {}
        self.config: Path | None = None
        self._network = HttpConnections()
        self._database: Any = None
        self.start()
        self.key = create_api_key(self.runtime, name="owner", scope=Scope.OWNER)[0]
        self.rotation.run_if_due()
        self.run("agents", "create", "--name", "Ada")

    def start(self) -> None:
        """Run OpenCrab on the folder, in this process and without its workers."""
        files, blobs = LocalFiles(self.data, disk=HASTY), LocalBlobs(self.data, disk=HASTY)
        home, self._database = open_sqlite_home(
            self.data, self.clock, files=files, blobs=blobs, durable=False
        )
        models = ProviderModels(
            self._settings, lambda: HttpTransport(self._network), stored=home.preferences.get
        )
        self.runtime = Runtime(
            home,
            self.clock,
            models,
            Registry(GROUPS),
            directory=models,
            search=local_search(home, self.data, self.clock),
            consequences=CONSEQUENCES,
            jobs=JOBS,
        )
        self.runtime = replace(self.runtime, **self.changes)
        self.bridge.app = create_rest_app(
            self.runtime,
            watch=PollingWatch(0.02),
            setup=lambda _: {"model": {"default": models.routing.default}},
        )
        offer_installation_machine_checks(
            self.bridge.app, lambda findings: self._machine().of_running(findings)
        )

    def stop(self) -> None:
        """End OpenCrab; its data stays."""
        self.bridge.app = None
        if self._database is not None:
            self._database.close()
            self._database = None

    def restart(self, **changes: Any) -> None:
        """End OpenCrab and start it again, with other parts or settings."""
        self.stop()
        self.changes |= changes
        self.start()

    def close(self) -> None:
        """Leave nothing open."""
        self.stop()
        self.vendor.close()
        self._network.close()

    def run(self, *args: str, language: str = "en") -> tuple[int, str]:
        """A command of the owner; its exit code and what it said."""
        command, stage = _built(language)
        stage.at = self
        given = ["--url", "http://127.0.0.1:1", "--key", self.key, "--data", str(self.data)]
        with CliRunner().isolation(env={"TERM": "dumb"}) as (out, _err, _):
            with pytest.raises(SystemExit) as ended:
                command([*given, "--language", language, *args], prog_name="opencrab")
            sys.stdout.flush()
            return int(ended.value.code or 0), out.getvalue().decode()

    def chat(self, agent: str) -> None:
        """Say something to an agent, which answers."""
        worker = threading.Thread(target=self._work)
        worker.start()
        code, said = self.run("chat", agent, "--say", "hello")
        worker.join()
        assert code == 0, said

    def _work(self) -> None:
        delivery = self.runtime.home.turns.receive(visibility_seconds=60, wait_seconds=30)
        assert delivery is not None
        run_turn(self.runtime, delivery, Pace())
        self.runtime.home.turns.acknowledge(delivery.receipt)

    def doctor(self, *args: str, language: str = "en") -> tuple[Finding, ...]:
        """What the doctor finds; its exit code is 1 exactly if something is wrong."""
        code, said = self.run("doctor", "--json", *args, language=language)
        findings = tuple(Finding(**each) for each in json.loads(said))
        assert code == any(each.verdict == "wrong" for each in findings), said
        assert all(each.cure for each in findings if each.verdict in {"wrong", "warning"}), said
        return findings

    def _settings(self) -> ModelsSettings:
        name = f"{self.provider.name}:{MODEL}"
        facts = {name: ModelSettings(max_input_tokens=8_000, price=PRICE)}
        return ModelsSettings(
            default=name, providers={self.provider.name: self.provider}, models=facts
        )

    def _machine(self) -> MachineChecks:
        return MachineChecks(self.data, self.clock.now, self.rotation, self.write, self.free)


@dataclass
class _Stage:
    """The installation whose turn it is."""

    at: Any = None

    def handle(self, request: httpx.Request) -> httpx.Response:
        """Let this installation answer."""
        answer: httpx.Response = self.at.bridge.handle_request(request)
        return answer

    def examine(self, places: SettingsPaths, url: str, /) -> tuple[Check, ...]:
        """Check this installation's folder from outside."""
        at: Installation = self.at
        return checks_of_stopped_local_server(places, url, config=at.config)

    def now(self) -> datetime:
        """Return the time on this installation's computer."""
        at: Installation = self.at
        return at.clock.now()


@cache
def _built(language: str) -> tuple[Any, _Stage]:
    """The hundred commands, put together once for each language."""
    del language
    stage = _Stage()
    outside = Options(
        transport=httpx.MockTransport(stage.handle),
        now=stage.now,
        backups=lambda: FolderBackups(stage.at.clock),
        examine=stage.examine,
    )
    return get_command(build_cli_app(lambda _options: 0, outside)), stage
