"""Writes the bill of materials (SBOM): CycloneDX in JSON, with versions, hashes and licences."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from infra.audit.licences import Policy, licence_of
from infra.audit.locks import Pin, canonical_name


def write_bill(lock: Path, target: Path, known: Mapping[Pin, str], policy: Policy) -> int:
    """Write the parts that `lock` names to `target`; returns how many there are.

    The same lock gives the same bytes: it carries no time and no random number. A test validates
    the result against CycloneDX's schema, which takes longer than all the rest.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    project = Path(__file__).resolve().parent.parent.parent / "pyproject.toml"
    command = [sys.executable, "-W", "ignore", "-m", "cyclonedx_py", "requirements", str(lock)]
    command += ["--output-reproducible", "--sv", "1.6", "--of", "JSON", "--no-validate"]
    command += ["--pyproject", str(project), "--output-file", str(target)]
    subprocess.run(command, capture_output=True, timeout=120, check=True)  # noqa: S603  - our own
    document = json.loads(target.read_text(encoding="utf-8"))
    for part in document["components"]:
        pin = Pin(canonical_name(part["name"]), part["version"])
        licence = licence_of(pin, known, policy)
        if licence:
            part["licenses"] = [{"expression": licence}]
        # The whole entry of the lock; name, version and hashes have fields of their own.
        part.pop("description", None)
    parts = sorted(part["bom-ref"] for part in document["components"])
    others = [each for each in document["dependencies"] if each["ref"] != "root-component"]
    document["dependencies"] = [*others, {"ref": "root-component", "dependsOn": parts}]
    text = json.dumps(document, indent=1, ensure_ascii=False, sort_keys=True)
    target.write_text(text + "\n", encoding="utf-8")
    return len(document["components"])
