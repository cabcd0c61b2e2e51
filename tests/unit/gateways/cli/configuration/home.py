"""A home folder with settings files, and the commands of whoever lives there."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import httpx
from typer.testing import CliRunner

from opencrab.adapters.local_files.secret_cipher import SecretCipher
from opencrab.adapters.local_files.secrets import FileSecrets
from opencrab.bootstrap.configuration.local_configuration import LocalConfiguration
from opencrab.bootstrap.local.doctor import (
    check_local_settings_together,
    is_local_model_priced,
    probe_local_provider,
)
from opencrab.gateways.cli.app import build_cli_app
from opencrab.gateways.cli.terminal.options import Options
from opencrab.ports.installation.deployed_settings import DeployedSettings
from opencrab.settings import load_settings


@cache
def _variables_of_sections() -> tuple[str, ...]:
    """The variables that turn sections of the settings on; no test has them from its machine."""
    return tuple(load_settings({}, {}).absent.values())


@dataclass
class Home:
    """A home folder, and the commands of whoever lives there."""

    folder: Path
    code: int = 0
    out: str = ""
    err: str = ""
    before: tuple[str, ...] = ("config",)
    stages: Callable[[], DeployedSettings] | None = None
    transport: httpx.BaseTransport | None = None

    @property
    def file(self) -> Path:
        return self.folder / "config" / "opencrab" / "config.toml"

    @property
    def secrets(self) -> FileSecrets:
        return FileSecrets(
            self.folder / "data", cipher=SecretCipher(self.folder / "state" / "secrets.key")
        )

    @property
    def own(self) -> Path:
        return self.folder / "data" / "config.toml"

    def run(self, *args: str, language: str = "en", typed: str = "", **more: str) -> "Home":
        options = Options(
            configuration=lambda places: LocalConfiguration(
                places,
                check_local_settings_together,
                probe_local_provider,
                is_local_model_priced,
            ),
            deployed_settings=self.stages,
            transport=self.transport,
        )
        environment: dict[str, str | None] = {
            **dict.fromkeys(_variables_of_sections()),
            "XDG_CONFIG_HOME": str(self.folder / "config"),
            "OPENCRAB_DATA": str(self.folder / "data"),
            "OPENCRAB_CONFIG": None,
            "OPENCRAB_SECRETS_KEY_FILE": str(self.folder / "state" / "secrets.key"),
            "COLUMNS": "200",
            **more,
        }
        said = CliRunner().invoke(
            build_cli_app(lambda _: 0, options),
            ["--language", language, *self.before, *args],
            input=typed,
            env=environment,
        )
        assert said.exception is None or isinstance(said.exception, SystemExit), said.exception
        self.code, self.out, self.err = said.exit_code, said.stdout, said.stderr
        return self

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    def write(self, text: str, *, to: Path | None = None) -> None:
        path = to or self.file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
