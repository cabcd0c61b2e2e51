"""Measures what a cold start costs: the CPU that a function uses before its first event.

`python -m tests.emulated.init` builds the layers for this computer and starts each function again
and again under the runtime interface emulator, in turn with one that does nothing. It prints one
JSON row for each function; targets are multiples of the one that does nothing.
"""

import argparse
import json
import statistics
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.conftest import ROOT
from tests.deployed.stack import build
from tests.emulated import runtime

EMPTY = "empty"
TARGETS = {
    EMPTY: None,
    "agent_turn": 5.0,
    "rest_gateway": 7.0,
    "rest_authorizer": 2.5,
    "heartbeat": None,
    **dict.fromkeys(("discord_gateway", "discord_interactions", "websocket_gateway", "delivery")),
    **dict.fromkeys(("channel_gateway",)),
    "meta_analysis": None,
}
"""At most so many times the CPU of the function that does nothing; None: no target."""

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
path = {path!r}
spec = path and importlib.util.spec_from_file_location("measured", path)
if spec:
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
    """A row for each function; each is started once before the next one is started again."""
    with tempfile.TemporaryDirectory(prefix="opencrab-init-") as made:
        folder = Path(made)
        (folder / "tmp").mkdir()
        built = build(folder)
        wanted = list(dict.fromkeys([EMPTY, *functions]))
        found = [{each: one(folder, built, each) for each in wanted} for _ in range(runs + 1)][1:]
        nothing = statistics.median(each[EMPTY]["init_ms"] for each in found)
        for function in wanted:
            yield row(function, [each[function] for each in found], nothing)


def row(function: str, found: list[Mapping[str, float]], nothing: float) -> dict[str, Any]:
    """Medians and extremes of several cold starts; the first one only warmed the disk."""
    init = [each["init_ms"] for each in found]
    target, ratio = TARGETS[function], statistics.median(init) / nothing
    return {
        "function": function,
        "runs": len(init),
        "init_cpu_ms": round(statistics.median(init)),
        "fastest_ms": round(min(init)),
        "slowest_ms": round(max(init)),
        "handler_cpu_ms": round(statistics.median(each["handler_ms"] for each in found)),
        "ratio": round(ratio, 1),
        "target": target,
        "met": None if target is None else ratio <= target,
    }


def one(folder: Path, built: Path, function: str) -> Mapping[str, float]:
    """One cold start of a function whose AWS is never asked anything."""
    measuring = folder / "measuring" / function
    measuring.mkdir(parents=True, exist_ok=True)
    path = "" if function == EMPTY else str(ROOT / "functions" / function / "handler.py")
    (measuring / "handler.py").write_text(MEASURING.format(path=path), encoding="utf-8")
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
        "OPENCRAB_CHANNELS": "webhook",
        **{f"OPENCRAB_AWS__{queue}": f"{ELSEWHERE}/{queue}.fifo" for queue in QUEUES},
    }
    settings = runtime.environment(built, measuring, variables)
    with runtime.running(folder, settings) as started:
        told: Mapping[str, float] = started.invoke({})
    return told


if __name__ == "__main__":
    main()
