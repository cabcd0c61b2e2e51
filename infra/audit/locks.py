"""Reads the locks in requirements/: every pinned package, whatever system its marker names."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

# What runs, on a computer and in Lambda: a finding in these fails the audit.
SHIPPED = ("runtime", "lambda")
# Tests and tools: a known vulnerability is reported, and decides nothing.
DEVELOPMENT = ("dev",)

_PIN = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^\]]*\])?==([^\s;\\]+)", re.M)


@dataclass(frozen=True, order=True)
class Pin:
    """One package in exactly one version."""

    name: str
    version: str


def read_pins(folder: Path, lock: str) -> tuple[Pin, ...]:
    """The packages that `folder`/`lock`.txt pins, sorted.

    Raises:
        ValueError: the lock pins nothing, so an audit of it would pass without looking.
    """
    path = folder / f"{lock}.txt"
    found = _PIN.findall(path.read_text(encoding="utf-8"))
    if not found:
        raise ValueError(f"{path} pins no package; `make lock` writes it")
    return tuple(sorted({Pin(canonical_name(name), version) for name, version in found}))


def canonical_name(name: str) -> str:
    """`name` as package registries compare it: `Foo.Bar_baz` is `foo-bar-baz`."""
    return re.sub(r"[-_.]+", "-", name).lower()


def write_requirements(pins: Iterable[Pin], path: Path) -> None:
    """Write `pins` without markers and hashes, so that those of other systems are audited too."""
    path.write_text("".join(f"{pin.name}=={pin.version}\n" for pin in pins), encoding="utf-8")
