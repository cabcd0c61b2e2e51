"""Who may import what: the inner parts know no vendor and no I/O, and `up` loads no cloud."""

import subprocess
import sys
from pathlib import Path

from tests.architecture.source import Module, modules, modules_of, obey, part

OWN = frozenset({"opencrab", "pydantic", "cronsim"})
"""Ours, and the two libraries that only reckon: checked values, and the times of cron lines."""

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

outer = {"adapters", "gateways"}


def test_the_domain_does_no_input_or_output() -> None:
    obey(lambda module: module.imports_any_of(EFFECTS), modules_of("domain"))


def test_ports_engine_and_actions_reach_out_only_through_ports() -> None:
    inner = modules_of("ports", "engine", "actions")
    obey(lambda module: module.imports_any_of(REACHING_OUT), inner)


def test_only_adapters_and_gateways_know_libraries() -> None:
    obey(_libraries, [module for module in modules() if part(module) not in outer])


def test_running_at_home_loads_nothing_of_the_cloud(tmp_path: Path) -> None:
    known = {module.name: module for module in modules()}
    home = (known["opencrab.bootstrap.local.command"], known["opencrab.bootstrap.local.models"])
    needed = set(known) & {name for module in home for name in module.imports}
    assert {"opencrab.gateways.rest.app", "opencrab.adapters.sqlite.home"} <= needed
    loaded = _loaded("\n".join(f"import {name}" for name in sorted(needed)), tmp_path)
    assert {"fastapi", "uvicorn", "httpcore"} <= loaded
    # httpx takes 45 ms of CPU, and loads rich where it is installed.
    assert not loaded & {*CLOUD, "httpx", "rich"}


def test_the_command_starts_without_the_web_server(tmp_path: Path) -> None:
    loaded = _loaded("import opencrab.bootstrap.local.entry", tmp_path)
    assert not loaded & {"fastapi", "starlette", "uvicorn", "httpx", "typer", "rich"}


def _libraries(module: Module) -> set[str]:
    """What it imports that is neither ours nor Python's."""
    roots = {name.partition(".")[0] for name in module.imports}
    return roots - OWN - sys.stdlib_module_names


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
