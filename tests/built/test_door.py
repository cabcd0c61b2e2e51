"""The door of Discord loads almost nothing: each thing more is paid at every cold start."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

PUBLIC_KEY = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"

LIBRARIES = {"cryptography", "_cffi_backend"}
"""All that it loads beside our package and Python's own."""

HEAVY = {
    *("pydantic", "pydantic_core", "botocore", "boto3", "pynamodb", "fastapi", "starlette"),
    *("httpx", "httpcore", "anyio", "mangum", "aws_lambda_powertools", "nacl", "urllib3"),
    *("http.client", "email", "urllib.request", "dataclasses", "inspect", "asyncio", "pathlib"),
    *("random", "secrets", "datetime", "tomllib", "subprocess", "tempfile", "argparse"),
    *("opencrab.settings", "opencrab.domain.value", "opencrab.engine", "opencrab.ports"),
    *(
        "opencrab.bootstrap.aws.functions",
        "opencrab.bootstrap.local.command",
        "opencrab.bootstrap.local.entry",
        "opencrab.adapters.aws_client",
    ),
    *("opencrab.gateways.rest", "opencrab.gateways.aws.functions"),
}
"""What took milliseconds when it was measured, or leads to what does."""

OURS = {
    "opencrab",
    *("opencrab.adapters", "opencrab.adapters.door", "opencrab.adapters.door.discord"),
    *("opencrab.adapters.door.aws", "opencrab.adapters.door.http"),
    "opencrab.adapters.door.discord",
    *("opencrab.bootstrap", "opencrab.bootstrap.discord", "opencrab.bootstrap.discord.door"),
    *("opencrab.domain", "opencrab.domain.errors"),
    *("opencrab.gateways", "opencrab.gateways.discord", "opencrab.gateways.discord.interactions"),
    *("opencrab.gateways.discord.interactions.acks", "opencrab.gateways.discord.interactions.door"),
}

# Without site, which loads what an editable install and the environment bring along.
LOADING = """
import json, sys
sys.path += {paths!r}
before = set(sys.modules)
import handler
print(json.dumps(sorted(set(sys.modules) - before)))
"""


@pytest.fixture(scope="module")
def loaded() -> set[str]:
    """Every module that the door loads until it is ready."""
    package = ROOT / "layers" / "opencrab" / "python"
    installed = [path for path in sys.path if path.endswith("site-packages")]
    paths = [str(ROOT / "functions" / "discord_gateway"), str(package), *installed]
    run = subprocess.run(
        [sys.executable, "-S", "-c", LOADING.format(paths=paths)],
        env={
            "PYTHONDONTWRITEBYTECODE": "1",
            "AWS_REGION": "eu-central-1",
            "AWS_ACCESS_KEY_ID": "made-up",
            "AWS_SECRET_ACCESS_KEY": "made-up",
            "OPENCRAB_DISCORD_PUBLIC_KEY": PUBLIC_KEY,
            "OPENCRAB_AWS__INTERACTIONS_QUEUE": "https://sqs.eu-central-1.amazonaws.com/1/q.fifo",
            "OPENCRAB_AWS__TABLE": "table",
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert run.returncode == 0, run.stderr
    return set(json.loads(run.stdout))


def test_it_loads_nothing_heavy(loaded: set[str]) -> None:
    assert not {
        name for name in loaded for heavy in HEAVY if name == heavy or name.startswith(f"{heavy}.")
    }


def test_it_loads_one_library(loaded: set[str]) -> None:
    roots = {name.partition(".")[0] for name in loaded}
    assert roots - sys.stdlib_module_names - {"opencrab", "handler"} - {"_openssl"} == LIBRARIES


def test_it_loads_these_modules_of_ours_and_no_other(loaded: set[str]) -> None:
    assert {name for name in loaded if name.partition(".")[0] == "opencrab"} == OURS


def test_the_handler_is_as_small_as_the_others() -> None:
    handler = Path(ROOT / "functions" / "discord_gateway" / "handler.py")
    assert len(handler.read_text(encoding="utf-8").splitlines()) <= 60
