"""Who may import what: the inner parts know no vendor and no I/O, and `up` loads no cloud."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.source import Module, modules, modules_of, part

OWN = frozenset({"opencrab", "pydantic"})
EFFECTS = frozenset(
    {
        "asyncio", "concurrent", "ctypes", "ftplib", "getpass", "glob",
        "http", "io", "logging", "mmap", "multiprocessing", "os", "pathlib", "pickle", "platform",
        "queue", "random", "secrets", "select", "shelve", "shutil", "signal", "smtplib", "socket",
        "socketserver", "sqlite3", "ssl", "subprocess", "sys", "tempfile", "threading", "time",
        "urllib.request", "uuid",
    }
)  # fmt: skip
REACHING_OUT = frozenset(
    {
        "ftplib", "http.client", "shutil", "smtplib", "socket", "sqlite3", "subprocess",
        "tempfile", "urllib.request",
    }
)  # fmt: skip
CLOUD = ("boto3", "botocore", "pynamodb", "mangum", "aws_lambda_powertools")

UP = """
from opencrab import bootstrap
from opencrab.actions import GROUPS, Registry
from opencrab.adapters.local_files import LocalBlobs, LocalFiles
from opencrab.adapters.providers import detect, httpx_transport, registry
from opencrab.adapters.sqlite import home
from opencrab.adapters.system_clock import SystemClock
from opencrab.gateways.cli import app, options
from opencrab.gateways.local import Runner
from opencrab.gateways.rest.app import create_app
"""

outer = {"adapters", "gateways"}


@pytest.mark.parametrize("module", modules_of("domain"), ids=lambda module: module.name)
def test_the_domain_does_no_input_or_output(module: Module) -> None:
    assert not module.imports_any_of(EFFECTS)


@pytest.mark.parametrize(
    "module", modules_of("ports", "engine", "actions"), ids=lambda module: module.name
)
def test_ports_engine_and_actions_reach_out_only_through_ports(module: Module) -> None:
    assert not module.imports_any_of(REACHING_OUT)


@pytest.mark.parametrize(
    "module",
    [module for module in modules() if part(module) not in outer],
    ids=lambda module: module.name,
)
def test_only_adapters_and_gateways_know_libraries(module: Module) -> None:
    roots = {name.partition(".")[0] for name in module.imports}
    assert not roots - OWN - sys.stdlib_module_names


@pytest.mark.parametrize(
    "code", ["import opencrab.bootstrap", UP], ids=["bootstrap", "everything up needs"]
)
def test_running_at_home_loads_nothing_of_the_cloud(code: str, tmp_path: Path) -> None:
    assert not _loaded(code, tmp_path) & set(CLOUD)


def test_the_command_starts_without_the_web_server(tmp_path: Path) -> None:
    loaded = _loaded("import opencrab.bootstrap", tmp_path)
    assert not loaded & {"fastapi", "starlette", "uvicorn", "httpx", "typer", "rich"}


def _loaded(code: str, folder: Path) -> set[str]:
    """The top-level modules that a fresh interpreter has loaded after this code."""
    told = "\nimport sys\nprint(*{name.partition('.')[0] for name in sys.modules})"
    run = subprocess.run(
        [sys.executable, "-c", code + told],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    loaded = set(run.stdout.split())
    assert "opencrab" in loaded
    return loaded
