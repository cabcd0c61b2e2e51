"""Runs pip-audit over the locks, against the snapshot or against OSV itself."""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from infra.audit.locks import Pin, canonical_name, write_requirements
from infra.audit.snapshot import affecting


def find_vulnerable(pins: Iterable[Pin], service: str) -> dict[Pin, list[str]]:
    """One line for each known vulnerability of `pins`, by package.

    Args:
        pins: the packages, all of which must be answered for.
        service: where pip-audit sends its queries, in OSV's format.

    Raises:
        RuntimeError: pip-audit judged fewer packages than were asked for, or none at all.
    """
    found: dict[Pin, list[str]] = {}
    for batch in _one_version_each(pins):
        judged = _judge(batch, service)
        for each in judged:
            pin = Pin(canonical_name(each["name"]), each.get("version", ""))
            # A package that is skipped is no finding for pip-audit, and one for us.
            if "vulns" in each:
                found[pin] = [_line(each, vulnerability) for vulnerability in each["vulns"]]
    missing = sorted(f"{pin.name} {pin.version}" for pin in set(pins) - found.keys())
    if missing:
        raise RuntimeError(f"pip-audit did not judge {', '.join(missing)}")
    return {pin: lines for pin, lines in found.items() if lines}


def _one_version_each(pins: Iterable[Pin]) -> list[list[Pin]]:
    """`pins` in as few parts as it takes to have one version of each package in a part."""
    batches: list[dict[str, Pin]] = []
    for pin in sorted(set(pins)):
        batch = next((each for each in batches if pin.name not in each), None)
        if batch is None:
            batches.append(batch := {})
        batch[pin.name] = pin
    return [list(each.values()) for each in batches]


def _judge(pins: Sequence[Pin], service: str) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        requirements = Path(folder) / "requirements.txt"
        write_requirements(pins, requirements)
        command = [sys.executable, "-m", "pip_audit", "--requirement", str(requirements)]
        command += ["--disable-pip", "--no-deps", "--strict", "--progress-spinner", "off"]
        command += ["--vulnerability-service", "osv", "--osv-url", service, "--format", "json"]
        # A proxy for the network outside must not be asked for an address of this machine.
        outside = {**os.environ, "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}  # noqa: TID251
        run = subprocess.run(  # noqa: S603  - our own arguments
            command, env=outside, capture_output=True, text=True, timeout=300, check=False
        )
    try:
        judged: list[dict[str, Any]] = json.loads(run.stdout)["dependencies"]
    except (ValueError, KeyError):
        raise RuntimeError(f"pip-audit gave no report: {run.stderr.strip()[-500:]}") from None
    return judged


@contextlib.contextmanager
def serve(snapshot: Mapping[str, Any]) -> Iterator[str]:
    """Answer queries in OSV's format from `snapshot`, on this machine; yields the address."""

    class Answering(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            query = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            found = affecting(snapshot, query["package"]["name"], query["version"])
            body = json.dumps({"vulns": found} if found else {}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            """Keep the terminal for findings."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Answering) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1/query"
        finally:
            server.shutdown()
            thread.join()


def _line(package: Mapping[str, Any], found: Mapping[str, Any]) -> str:
    names = ", ".join([found["id"], *found["aliases"]])
    fixed = ", ".join(found["fix_versions"])
    cure = f'fixed in {fixed}: `make lock ARGS="--upgrade-package {package["name"]}"`'
    return f"{package['name']} {package['version']}: {names}; {cure if fixed else 'no fix yet'}"
