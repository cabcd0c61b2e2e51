"""The checks of what was built: each fails on a small wrong sample."""

import _imp
from pathlib import Path

import pytest

from tests.built.artifact import (
    AARCH64,
    ELF,
    MAGIC_3_13,
    UNCHECKED_HASH,
    foreign_binaries,
    heavy_packages,
    size,
    stale_bytecode,
    uncompiled,
)

SOURCE = b"greeting = 'konnichiwa'\n"


def module(
    folder: Path,
    *,
    magic: bytes = MAGIC_3_13,
    flags: int = UNCHECKED_HASH,
    of: bytes = SOURCE,
    tag: str = "cpython-313",
) -> Path:
    """A module with bytecode; the sample is right unless something is said."""
    (folder / "greet.py").write_bytes(SOURCE)
    cache = folder / "__pycache__"
    cache.mkdir()
    digest = _imp.source_hash(int.from_bytes(magic, "little"), of)
    head = magic + flags.to_bytes(4, "little") + digest
    (cache / f"greet.{tag}.pyc").write_bytes(head + b"code")
    return folder


def binary(folder: Path, machine: int) -> Path:
    """A shared library, as far as its header goes."""
    header = ELF + b"\x02\x01\x01".ljust(14, b"\0") + machine.to_bytes(2, "little")
    (folder / "native.so").write_bytes(header)
    return folder


def wheel(folder: Path, *tags: str) -> Path:
    """The description of an installed wheel."""
    text = "Wheel-Version: 1.0\n" + "".join(f"Tag: {tag}\n" for tag in tags)
    (folder / "WHEEL").write_text(text, encoding="utf-8")
    return folder


def test_bytecode_that_needs_no_check_is_right(tmp_path: Path) -> None:
    assert not list(stale_bytecode(module(tmp_path)))
    assert not list(uncompiled(tmp_path))


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"flags": 0b00}, "date"),
        ({"flags": 0b11}, "date"),
        ({"of": b"greeting = 'hello'\n"}, "another source"),
        ({"magic": b"\xa7\r\r\n"}, "not by 3.13"),
        ({"tag": "cpython-311"}, "another Python"),
    ],
)
def test_bytecode_that_lambda_would_not_take_is_found(
    tmp_path: Path, wrong: dict[str, int], why: str
) -> None:
    (found,) = stale_bytecode(module(tmp_path, **wrong))  # type: ignore[arg-type]
    assert why in found


def test_bytecode_without_its_source_is_found(tmp_path: Path) -> None:
    (module(tmp_path) / "greet.py").unlink()
    assert list(stale_bytecode(tmp_path))


def test_a_module_without_bytecode_is_found(tmp_path: Path) -> None:
    (tmp_path / "greet.py").write_bytes(SOURCE)
    assert list(uncompiled(tmp_path)) == ["greet.py"]


def test_a_library_for_another_processor_is_found(tmp_path: Path) -> None:
    assert not list(foreign_binaries(binary(tmp_path, AARCH64)))
    assert list(foreign_binaries(binary(tmp_path, 0x3E))) == ["native.so: not for aarch64"]


@pytest.mark.parametrize(
    ("tag", "runs"),
    [
        ("py3-none-any", True),
        ("cp313-cp313-manylinux_2_17_aarch64", True),
        ("cp39-abi3-manylinux_2_28_aarch64", True),
        ("cp313-cp313-manylinux_2_17_x86_64", False),
        ("cp311-cp311-manylinux_2_17_aarch64", False),
        ("cp313-cp313-macosx_11_0_arm64", False),
    ],
)
def test_a_wheel_is_known_by_its_tag(tmp_path: Path, tag: str, runs: bool) -> None:  # noqa: FBT001
    assert (not list(foreign_binaries(wheel(tmp_path, tag)))) is runs


def test_a_heavy_package_is_found_as_folder_or_module(tmp_path: Path) -> None:
    for name in ("boto3", "botocore", "pydantic"):
        (tmp_path / "python" / name).mkdir(parents=True)
    (tmp_path / "python" / "typer.py").touch()
    assert heavy_packages(tmp_path) == {"boto3", "typer"}


def test_a_layer_is_as_large_as_its_files(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b").write_bytes(bytes(1000))
    (tmp_path / "c").write_bytes(bytes(24))
    assert size(tmp_path) == 1024
