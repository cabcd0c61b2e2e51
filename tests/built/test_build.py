"""`sam build`: what it makes is what Lambda runs, whatever computer it was made on."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.built.artifact import (
    HEAVY,
    LARGEST_LAYER,
    foreign_binaries,
    heavy_packages,
    size,
    stale_bytecode,
    uncompiled,
)
from tests.conftest import ROOT

pytestmark = pytest.mark.slow

SAM = ROOT / ".venv-sam" / "bin" / "sam"
PLAINLY = ("env", "-u", "LAMBDA_PLATFORM", "-u", "LAMBDA_PYTHON", "SAM_CLI_TELEMETRY=0")
LAYERS = ("DependenciesLayer", "OpencrabLayer")
FUNCTIONS = sorted(path.parent for path in (ROOT / "functions").glob("*/handler.py"))
NO_PYTHON = "no Python 3.13 here"
WEB = {"fastapi", "mangum", "starlette"}
ELSEWHERE = "http://127.0.0.1:9"
PUBLIC_KEY = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"

every_layer = pytest.mark.parametrize("layer", LAYERS)
every_function = pytest.mark.parametrize("function", FUNCTIONS, ids=lambda path: path.name)

OWN_ACTION = """
from opencrab.actions.custom import action

@action(impact="read", effect="pure")
def ticket_status(number: int) -> str:
    \"\"\"Look up a ticket.\"\"\"
    return "open"
"""

IMPORTING = """
import json, sys
import handler
print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))
"""


class Built:
    """A folder that `sam build` filled, and what it said."""

    def __init__(self, folder: Path, said: str) -> None:
        self.folder = folder
        self.compiled = NO_PYTHON not in said


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """The checkout, built once; for arm64, whatever the environment asks for."""
    if not SAM.is_file():
        pytest.skip("there is no .venv-sam: `make build` makes it")
    folder, actions = tmp_path_factory.mktemp("build"), tmp_path_factory.mktemp("actions")
    write_custom_actions(actions)
    run = subprocess.run(
        [*PLAINLY, f"ACTIONS={actions}", SAM, "build", "--build-dir", folder],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=110,
    )
    assert run.returncode == 0, run.stderr
    return Built(folder, run.stdout + run.stderr)


def write_custom_actions(folder: Path) -> None:
    """A folder of custom actions as an author has it, with a hidden file and a cache."""
    for name, text in {"tickets.py": OWN_ACTION, "desk/__init__.py": "", ".env": "TOKEN=1"}.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__" / "tickets.cpython-311.pyc").write_bytes(b"old")


def test_custom_actions_lie_in_the_layer_compiled_and_nothing_hidden(built: Built) -> None:
    layer = built.folder / "OpencrabLayer" / "custom_actions"
    found = {name for name in _files(layer) if not name.endswith(".pyc")}
    assert found == {"tickets.py", "desk/__init__.py"}
    assert not list(stale_bytecode(layer))
    if built.compiled:
        assert not list(uncompiled(layer))


def test_the_worker_of_the_built_layer_loads_custom_actions_by_their_setting(
    built: Built, tmp_path: Path
) -> None:
    layer = built.folder / "OpencrabLayer" / "python"
    program = "import handler, json, sys\nprint(json.dumps(sorted(sys.modules)))"
    worker = ROOT / "functions" / "agent_turn"
    named = {"OPENCRAB_ACTIONS__MODULES": "tickets"}
    loaded = {
        bool(more): {
            name.partition(".")[2] for name in _modules(layer, worker, tmp_path, program, more)
        }
        for more in ({}, named)
    }
    assert "tickets" in loaded[True]
    assert not {"tickets", "actions.custom.call"} & loaded[False]


def test_the_package_lies_where_lambda_looks_for_it(built: Built) -> None:
    layer = built.folder / "OpencrabLayer"
    assert (layer / "python" / "opencrab" / "__init__.py").is_file()
    for name in ("default.toml", "pricing.toml", "models.json"):
        assert (layer / "config" / name).read_bytes() == (ROOT / "config" / name).read_bytes()


def test_skills_lie_in_the_layer_where_the_settings_find_them(built: Built) -> None:
    layer = built.folder / "OpencrabLayer"
    assert _files(layer / "skills") == _files(ROOT / "skills") != {}
    run = subprocess.run(
        [
            sys.executable,
            "-c",
            "from opencrab import settings; print(settings.skills_folder_setting())",
        ],
        cwd=layer,
        env={"PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(layer / "python")},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert run.returncode == 0, run.stderr
    assert Path(run.stdout.strip()) == layer / "skills"


def test_the_libraries_are_exactly_the_locked_ones(built: Built) -> None:
    lock = (ROOT / "requirements" / "lambda.txt").read_text(encoding="utf-8")
    locked = {line.split()[0] for line in lock.splitlines() if "==" in line and line[0].isalnum()}
    folders = (built.folder / "DependenciesLayer" / "python").glob("*.dist-info")
    found = {path.name.removesuffix(".dist-info").replace("-", "==") for path in folders}
    assert {name.replace("_", "-").lower() for name in found} == locked


def test_the_roots_of_trust_lie_one_by_one(built: Built) -> None:
    certifi = built.folder / "DependenciesLayer" / "python" / "certifi"
    told = (certifi / "cacert.pem").read_text(encoding="utf-8").count("BEGIN CERTIFICATE")
    assert len(list((certifi / "roots").iterdir())) == told > 100


@every_layer
def test_no_bytecode_is_stale(built: Built, layer: str) -> None:
    assert not list(stale_bytecode(built.folder / layer))
    if not built.compiled:
        pytest.skip(NO_PYTHON)
    assert not list(uncompiled(built.folder / layer))


@every_layer
def test_nothing_is_for_another_processor(built: Built, layer: str) -> None:
    assert not list(foreign_binaries(built.folder / layer))


def test_there_is_native_code_to_be_judged(built: Built) -> None:
    assert list((built.folder / "DependenciesLayer").rglob("*.so"))


@every_layer
def test_a_layer_carries_nothing_heavy(built: Built, layer: str) -> None:
    assert not heavy_packages(built.folder / layer)


@every_layer
def test_a_layer_is_small(built: Built, layer: str) -> None:
    assert 100_000 < size(built.folder / layer) < LARGEST_LAYER


@every_function
def test_a_function_ships_its_handler_alone(function: Path) -> None:
    shipped = {path.name for path in function.rglob("*") if path.is_file()}
    assert shipped == {"handler.py"}, "SAM ships the folder as it is: remove the rest"


@every_function
def test_a_function_loads_nothing_heavy(function: Path, tmp_path: Path) -> None:
    loaded = _loaded_by(function, tmp_path)
    assert "opencrab" in loaded
    assert not loaded & HEAVY
    assert bool(loaded & WEB) == (function.name == "rest_gateway")


def _files(folder: Path) -> dict[str, bytes]:
    found = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def _loaded_by(function: Path, folder: Path) -> set[str]:
    """The packages that a fresh interpreter has loaded when a function is ready."""
    return set(_modules(function, function, folder, IMPORTING, {}))


def _modules(
    before: Path, function: Path, folder: Path, program: str, more: dict[str, str]
) -> list[str]:
    """What a program says of a function's modules; those of the folder `before` come first."""
    kinds = ("TURNS", "DELIVERIES", "COMPACTIONS", "INTERACTIONS", "BEATS", "NIGHTS")
    queues = [f"{kind}_{end}" for kind in kinds for end in ("QUEUE", "DEAD_QUEUE")]
    run = subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder,
        env={
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONPATH": f"{before}:{function}",
            "AWS_DEFAULT_REGION": "eu-central-1",
            "AWS_ACCESS_KEY_ID": "made-up",
            "AWS_SECRET_ACCESS_KEY": "made-up",
            "AWS_ENDPOINT_URL": ELSEWHERE,
            "OPENCRAB_DISCORD_PUBLIC_KEY": PUBLIC_KEY,
            "OPENCRAB_CHANNELS": "webhook",
            "OPENCRAB_AWS__TABLE": "table",
            "OPENCRAB_AWS__BUCKET": "bucket",
            "OPENCRAB_AWS__WEBSOCKET_ENDPOINT": ELSEWHERE,
            "OPENCRAB_AWS__SECRETS": "ssm:/opencrab/test/",
            **{f"OPENCRAB_AWS__{queue}": f"{ELSEWHERE}/{queue}.fifo" for queue in queues},
            **more,
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert run.returncode == 0, run.stderr
    found: list[str] = json.loads(run.stdout.splitlines()[-1])
    return found
