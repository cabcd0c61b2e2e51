"""The tests of real providers are themselves tested: against llama.cpp, and against nobody."""

import re
import subprocess
import sys
from collections import Counter

from tests.conftest import ROOT
from tests.llama.asking import KEY, MODEL
from tests.llama.server import StartLlama

pytest_plugins = ["tests.llama.fixture"]

NAMED = "name a model in OPENCRAB_LIVE_PROVIDER and OPENCRAB_LIVE_MODEL"
HERE = "OPENCRAB_LLM__PROVIDERS__LLAMACPP__"


def _run(**environment: str) -> tuple[Counter[str], list[str]]:
    """How many of the live tests of models came to what, and why some were skipped."""
    run = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-m", "live", "-rA", "--tb=short"),
            *("-p", "no:cacheprovider", "tests/live", "--ignore=tests/live/test_opensearch.py"),
        ],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=110,
    )
    last = run.stdout.strip().splitlines()[-1]
    counts = {word: int(number) for number, word in re.findall(r"(\d+) (\w+)", last)}
    assert run.returncode == 0, run.stdout[-8_000:]
    return Counter(counts), re.findall(r"^SKIPPED \[\d+\] \S+ (.+)$", run.stdout, re.M)


def test_without_a_named_model_all_are_skipped_and_say_why() -> None:
    counts, reasons = _run()
    assert counts["skipped"] >= 20
    assert counts["passed"] == 0
    assert set(reasons) == {NAMED}


def test_the_scripted_model_passes_what_needs_no_server() -> None:
    counts, _ = _run(OPENCRAB_LIVE_PROVIDER="scripted", OPENCRAB_LIVE_MODEL="rules")
    assert counts["passed"] >= 8


def test_a_real_server_passes_all_but_what_it_lacks(start_llama: StartLlama) -> None:
    with start_llama(api_key=KEY, embeddings=True) as server:
        counts, reasons = _run(
            **{f"{HERE}BASE_URL": server.url, f"{HERE}API_KEY": KEY},
            OPENCRAB_LIVE_PROVIDER="llamacpp",
            OPENCRAB_LIVE_MODEL=MODEL,
            OPENCRAB_LIVE_EMBEDDING=MODEL,
            OPENCRAB_LIVE_RANDOM="1",
        )
    lacking = ("is not known to see", "answers to any name", "at a time")
    assert all(any(lack in reason for lack in lacking) for reason in reasons), reasons
    assert counts["passed"] >= 20
