"""What `sam build` made, as files: what in it Lambda would not run, or would run too slowly."""

import _imp
import re
from collections.abc import Iterator
from pathlib import Path

ELF = b"\x7fELF"
AARCH64 = 0xB7
MAGIC_3_13 = b"\xf3\r\r\n"
UNCHECKED_HASH = 0b01
HEADER = 16
LARGEST_LAYER = 60 * 2**20

HEAVY = frozenset(
    {
        "anthropic", "aws_xray_sdk", "boto3", "litellm", "moto", "numpy", "openai", "pandas",
        "pip", "requests", "rich", "setuptools", "typer", "uvicorn",
    }
)  # fmt: skip
"""What costs a cold start more than it gives, or belongs on a computer only."""

CARRIED = frozenset({"requests"})
"""What a layer carries and no function loads by itself: OpenTelemetry's exporter needs it."""

_wheel_tag = re.compile(r"^Tag: (\S+)", re.M)
_runs_there = re.compile(
    r"(?:.*-none-any|cp313-(?:cp313|abi3|none)-.*aarch64|cp3\d+-abi3-.*aarch64)"
)


def stale_bytecode(folder: Path) -> Iterator[str]:
    """Compiled files below a folder that Lambda's Python would not take as they are."""
    for compiled in sorted(folder.rglob("*.pyc")):
        name = compiled.relative_to(folder).as_posix()
        content = compiled.read_bytes()
        if compiled.parent.name != "__pycache__" or not compiled.name.endswith(".cpython-313.pyc"):
            yield f"{name}: of another Python"
        elif content[:4] != MAGIC_3_13:
            yield f"{name}: not by 3.13"
        elif int.from_bytes(content[4:8], "little") != UNCHECKED_HASH:
            yield f"{name}: would be checked against the date of its source"
        elif not _is_of(content, _source(compiled)):
            yield f"{name}: of another source"


def uncompiled(folder: Path) -> Iterator[str]:
    """Modules below a folder without bytecode."""
    for source in sorted(folder.rglob("*.py")):
        if not (source.parent / "__pycache__" / f"{source.stem}.cpython-313.pyc").is_file():
            yield source.relative_to(folder).as_posix()


def foreign_binaries(folder: Path) -> Iterator[str]:
    """Binaries and wheels below a folder that are not for Lambda's arm64."""
    for path in sorted(each for each in folder.rglob("*") if each.is_file()):
        name = path.relative_to(folder).as_posix()
        if path.name == "WHEEL":
            tags = _wheel_tag.findall(path.read_text(encoding="utf-8"))
            if not any(_runs_there.fullmatch(tag) for tag in tags):
                yield f"{name}: {', '.join(tags)}"
            continue
        with path.open("rb") as file:
            start = file.read(20)
        if start.startswith(ELF) and int.from_bytes(start[18:20], "little") != AARCH64:
            yield f"{name}: not for aarch64"


def heavy_packages(folder: Path) -> set[str]:
    """Packages of a layer that no function should carry."""
    return {path.stem for path in (folder / "python").iterdir()} & HEAVY - CARRIED


def size(folder: Path) -> int:
    """The bytes of a layer as Lambda counts them, unzipped."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _source(compiled: Path) -> Path:
    return compiled.parent.parent / f"{compiled.name.partition('.')[0]}.py"


def _is_of(content: bytes, source: Path) -> bool:
    """Whether bytecode carries the hash of this source, as the Python that wrote it counts."""
    if not source.is_file():
        return False
    key = int.from_bytes(content[:4], "little")
    return content[8:HEADER] == _imp.source_hash(key, source.read_bytes())
