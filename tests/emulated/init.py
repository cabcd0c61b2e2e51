"""Measures what a cold start costs: the CPU that a function uses before its first event.

`python -m tests.emulated.init` builds the layers for this computer and starts each function again
and again under the runtime interface emulator, with the compiled bytecode of the layers and
without it. It prints one JSON row for each function and each of the two.
"""

import argparse
import json
import shutil
import statistics
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.conftest import ROOT
from tests.deployed.stack import build
from tests.emulated import runtime

TARGETS = {
    "agent_turn": 300,
    "rest_gateway": 450,
    "rest_authorizer": None,
    "heartbeat": None,
    **dict.fromkeys(("discord_gateway", "discord_interactions", "websocket_gateway", "delivery")),
    "meta_analysis": None,
}
"""CPU milliseconds; None where there is no target, or where it counts the first request as well."""

RUNS = 7
ELSEWHERE = "https://127.0.0.1:9"
KINDS = ("TURNS", "DELIVERIES", "COMPACTIONS", "INTERACTIONS", "BEATS", "NIGHTS")
QUEUES = [f"{kind}_{end}" for kind in KINDS for end in ("QUEUE", "DEAD_QUEUE")]

# Stands where the function's own handler does, and answers what the process had used when that
# was loaded: what follows is the request for the first event.
MEASURING = """
import importlib.util
import sys
import time

began = time.process_time()
spec = importlib.util.spec_from_file_location("measured", {path!r})
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
ended = time.process_time()


def handler(event, context):
    return {{"init_ms": ended * 1000, "handler_ms": (ended - began) * 1000}}
"""


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description="CPU of the init phase, as JSON rows.")
    options.add_argument("--runs", type=int, default=RUNS)
    options.add_argument("--function", action="append", choices=sorted(TARGETS))
    given = options.parse_args()
    if reason := runtime.why_not():
        sys.exit(reason)
    for row in rows(given.runs, given.function or list(TARGETS)):
        sys.stdout.write(f"{json.dumps(row)}\n")
        sys.stdout.flush()


def rows(runs: int, functions: list[str]) -> Iterator[dict[str, Any]]:
    """A row for each function, with and without bytecode."""
    with tempfile.TemporaryDirectory(prefix="opencrab-init-") as made:
        folder = Path(made)
        (folder / "tmp").mkdir()
        compiled = build(folder)
        plain = folder / "plain"
        for layer in runtime.LAYERS:
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(compiled / layer, plain / layer, ignore=ignored)
        for function in functions:
            for bytecode, built in ((True, compiled), (False, plain)):
                found = [one(folder, built, function) for _ in range(runs + 1)][1:]
                yield row(function, found, bytecode=bytecode)


def row(function: str, found: list[Mapping[str, float]], *, bytecode: bool) -> dict[str, Any]:
    """Medians and extremes of several cold starts; the first one only warmed the disk."""
    init = [each["init_ms"] for each in found]
    target = TARGETS[function] if bytecode else None
    return {
        "function": function,
        "bytecode": bytecode,
        "runs": len(init),
        "init_cpu_ms": round(statistics.median(init)),
        "fastest_ms": round(min(init)),
        "slowest_ms": round(max(init)),
        "handler_cpu_ms": round(statistics.median(each["handler_ms"] for each in found)),
        "target_ms": target,
        "met": None if target is None else statistics.median(init) <= target,
    }


def one(folder: Path, built: Path, function: str) -> Mapping[str, float]:
    """One cold start of a function whose AWS is never asked anything."""
    measuring = folder / "measuring" / function
    measuring.mkdir(parents=True, exist_ok=True)
    path = ROOT / "functions" / function / "handler.py"
    (measuring / "handler.py").write_text(MEASURING.format(path=str(path)), encoding="utf-8")
    variables = {
        "AWS_ENDPOINT_URL": ELSEWHERE,
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "OPENCRAB_AWS__TABLE": "table",
        "OPENCRAB_AWS__BUCKET": "bucket",
        "OPENCRAB_AWS__SECRETS": "ssm:/opencrab/test/",
        "OPENCRAB_AWS__OWNER_KEY_HASH": "0" * 64,
        "OPENCRAB_AWS__WEBSOCKET_ENDPOINT": f"{ELSEWHERE}/live",
        "OPENCRAB_DISCORD_PUBLIC_KEY": "0" * 64,
        **{f"OPENCRAB_AWS__{queue}": f"{ELSEWHERE}/{queue}.fifo" for queue in QUEUES},
    }
    settings = runtime.environment(built, measuring, variables)
    with runtime.running(folder, settings) as started:
        told: Mapping[str, float] = started.invoke({})
    return told


if __name__ == "__main__":
    main()
