"""The wheel as a user gets it: built, unpacked, and installed into an environment of its own."""

import configparser
import re
import subprocess
import sys
import venv
import zipfile
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from tests.conftest import ROOT

PACKAGE = ROOT / "layers" / "opencrab" / "python" / "opencrab"
BESIDE = ("config", "skills")
"""Folders beside the package in a checkout, and inside it in a wheel."""

_PIN = re.compile(r"^([A-Za-z0-9._-]+)==", re.M)


def build_distributions(folder: Path, *targets: str, source: Path = ROOT) -> list[Path]:
    """Build the wheel or the sdist into a folder, by the build tool of this environment."""
    kinds = [word for each in targets for word in ("-t", each)]
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", *kinds, "-d", str(folder)],
        cwd=source,
        capture_output=True,
        check=True,
    )
    return sorted(folder.iterdir())


def names_in(wheel: Path) -> set[str]:
    """The files of a wheel, without its description."""
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


def package_files() -> set[str]:
    """What the package reads when it runs, as a wheel must name it."""
    return {
        (Path("opencrab") / inside / path.relative_to(top)).as_posix()
        for inside, top in [("", PACKAGE), *((name, ROOT / name) for name in BESIDE)]
        for path in top.rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }


def install_wheel(wheel: Path, folder: Path) -> Path:
    """Install a wheel into a new environment, with the locked packages of running and no others.

    These are linked from the environment of the tests, so that neither network nor pip is needed.
    Returns the `opencrab` command.
    """
    venv.create(folder, with_pip=False, symlinks=True)
    (site,) = folder.glob("lib/python*/site-packages")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    for source in _runtime_packages():
        if not (site / source.name).exists():
            (site / source.name).symlink_to(source)
    return _write_command(site, folder / "bin")


def _write_command(site: Path, commands: Path) -> Path:
    """Write the script that the wheel's entry point declares, as installers do."""
    (declared,) = site.glob("opencrab-*.dist-info/entry_points.txt")
    entries = configparser.ConfigParser()
    entries.read_string(declared.read_text(encoding="utf-8"))
    ((name, place),) = entries["console_scripts"].items()
    module, _, function = place.partition(":")
    command = commands / name
    command.write_text(
        f"#!{commands / 'python'}\nimport sys\nfrom {module} import {function}\n"
        f"sys.exit({function}())\n",
        encoding="utf-8",
    )
    command.chmod(0o755)
    return command


def _runtime_packages() -> Iterator[Path]:
    """Files and folders that the locked packages have at the top of this environment."""
    for name in _PIN.findall((ROOT / "requirements" / "runtime.txt").read_text(encoding="utf-8")):
        try:
            found = distribution(name)
        except PackageNotFoundError:  # for another system or Python
            continue
        tops = {each.parts[0] for each in found.files or () if each.parts[0] != ".."}
        for top in sorted(tops - {"__pycache__"}):
            yield Path(str(found.locate_file(top)))
