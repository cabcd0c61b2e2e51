"""Where a page is followed: a folder with the product in it, and the environment of its reader."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tests.conftest import ROOT
from tests.running import free_port

if TYPE_CHECKING:
    from tests.docs.cloud import Cloud

SHOWN_HOME, SHOWN_ADDRESS = "/home/you", "127.0.0.1:8080"
"""What a page prints for the home and the address, which differ from run to run."""

_LENT = ("Makefile", "docs", ".venv", ".venv-sam")
_COPIED = ("config", "functions", "infra", "layers", "samconfig.toml", "skills", "template.yaml")
"""What is deployed; SAM does not find what lies behind a link."""

_UNNEEDED = shutil.ignore_patterns("__pycache__")
_DATED = ("pyproject.toml", "requirements")
_NOWHERE = "http://127.0.0.1:9"
_NO_PIP = {"BASH_FUNC_pip%%": "() { :; }"}
"""Into a lent environment nothing is installed."""

_LOCALES = {"en": "en_US.UTF-8", "ja": "ja_JP.UTF-8"}


@dataclass(frozen=True)
class Workplace:
    """A folder, a port, and what the environment says."""

    folder: Path
    is_fresh: bool
    port: int = field(default_factory=free_port)
    cloud: "Cloud | None" = None

    @property
    def checkout(self) -> Path:
        """The folder in which the reader types."""
        return self.folder / "opencrab"

    def environment(self, language: str) -> dict[str, str]:
        """A reader without keys, and without a server of models on this computer."""
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "LANG": _LOCALES[language],
            "LC_CTYPE": "C.UTF-8",
            "VIRTUAL_ENV_DISABLE_PROMPT": "1",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "OPENCRAB_GATEWAY__REST__PORT": str(self.port),
            "OPENCRAB_LLM__PROVIDERS__OLLAMA__BASE_URL": _NOWHERE,
            "OPENCRAB_LLM__PROVIDERS__LLAMACPP__BASE_URL": _NOWHERE,
            **({} if self.is_fresh else _NO_PIP),
            **({} if self.cloud is None else self.cloud.environment),
        }

    def real(self, typed: str) -> str:
        """What is typed, with the addresses of this run."""
        typed = typed.replace(SHOWN_ADDRESS, f"127.0.0.1:{self.port}")
        return typed if self.cloud is None else self.cloud.real(typed)

    def shown(self, line: str) -> str:
        """A line of output as a page prints it."""
        line = line.replace(f"127.0.0.1:{self.port}", SHOWN_ADDRESS)
        line = line.replace(str(self.folder), SHOWN_HOME)
        return line if self.cloud is None else self.cloud.shown(line)


@contextmanager
def workplace(folder: Path, *, is_fresh: bool) -> Iterator[Workplace]:
    """The product in a folder: a clone that has nothing installed, or a checkout lent to it."""
    made = Workplace(folder, is_fresh)
    if is_fresh:
        clone = ["git", "clone", "--quiet", str(ROOT), str(made.checkout)]
        subprocess.run(clone, check=True, timeout=300)
    else:
        _lend(made.checkout)
    yield made


def _lend(folder: Path) -> None:
    """Link to this checkout; make finds the environment newer than what it was made from."""
    folder.mkdir()
    assert any((ROOT / ".venv" / each).exists() for each in (".dev", ".runtime")), "run make setup"
    for name in _LENT:
        if (ROOT / name).exists():
            (folder / name).symlink_to(ROOT / name)
    for name in (*_COPIED, *_DATED):
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=_UNNEEDED)
        else:
            shutil.copy(ROOT / name, folder / name)
    for path in (folder / "pyproject.toml", *(folder / "requirements").iterdir()):
        os.utime(path, (0, 0))
