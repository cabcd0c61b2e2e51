"""A home folder with settings files, and the commands of whoever lives there."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from opencrab.bootstrap.configuration.local_configuration import LocalConfiguration
from opencrab.bootstrap.local.doctor import (
    check_local_settings_together,
    probe_local_provider,
)
from opencrab.gateways.cli.app import build_cli_app
from opencrab.gateways.cli.terminal.options import Options
from opencrab.settings import load_settings


@dataclass
class Home:
    """A home folder, and the commands of whoever lives there."""

    folder: Path
    code: int = 0
    out: str = ""
    err: str = ""
    before: tuple[str, ...] = ("config",)

    @property
    def file(self) -> Path:
        return self.folder / "config" / "opencrab" / "config.toml"

    @property
    def own(self) -> Path:
        return self.folder / "data" / "config.toml"

    def run(self, *args: str, language: str = "en", typed: str = "", **more: str) -> "Home":
        options = Options(
            configuration=lambda places: LocalConfiguration(
                places, check_local_settings_together, probe_local_provider
            )
        )
        environment: dict[str, str | None] = {
            **dict.fromkeys(load_settings({}, {}).absent.values()),
            "XDG_CONFIG_HOME": str(self.folder / "config"),
            "OPENCRAB_DATA": str(self.folder / "data"),
            "OPENCRAB_CONFIG": None,
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
