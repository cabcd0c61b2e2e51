"""`make audit`: fails on a vulnerable package that ships, a secret in a file or an unclear licence.

Needs no network: advisories come from the snapshot beside this module. `--online` asks OSV instead,
`--refresh` asks OSV for a new snapshot and writes it.
"""

import argparse
import contextlib
import sys
import tomllib
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from infra.audit import bill, leaks, licences, snapshot, vulnerabilities
from infra.audit.locks import DEVELOPMENT, SHIPPED, read_pins

ROOT = Path(__file__).resolve().parent.parent.parent
CONFIGURATION = Path(__file__).with_name("audit.toml")
# Until then a snapshot is young; afterwards the audit says that it is not.
FRESH_DAYS = 30

Say = Callable[[str], object]


def main(arguments: Sequence[str] | None = None, say: Say = print) -> int:
    """Run the audit; returns 1 if something must be mended before a release, else 0."""
    options = _options(arguments)
    if options.refresh:
        return _refresh(options, say)
    configuration = tomllib.loads(options.configuration.read_text(encoding="utf-8"))
    found = [
        *_vulnerable(options, say),
        *_leaking(options, configuration, say),
        *_unlicensed(options, configuration, say),
    ]
    say(f"audit: {len(found)} to mend" if found else "audit: nothing to mend")
    return 1 if found else 0


def _vulnerable(options: argparse.Namespace, say: Say) -> list[str]:
    known = snapshot.read_snapshot(options.advisories)
    age = (date.today() - date.fromisoformat(known["as_of"])).days  # noqa: DTZ011  - days only
    origin = "OSV, asked now" if options.online else f"snapshot of {known['as_of']}"
    if not options.online and (age > FRESH_DAYS or not known["complete"]):
        say(
            f"advisories: the snapshot is {age} days old"
            + ("" if known["complete"] else f" and incomplete ({known['source']})")
            + "; `make audit ARGS=--refresh` renews it where the network reaches OSV"
        )
    locks = {
        lock: read_pins(options.root / "requirements", lock) for lock in (*SHIPPED, *DEVELOPMENT)
    }
    with contextlib.ExitStack() as stack:
        service = (
            snapshot.OSV if options.online else stack.enter_context(vulnerabilities.serve(known))
        )
        every = {pin for pins in locks.values() for pin in pins}
        found = vulnerabilities.find_vulnerable(every, service)
    for lock, pins in locks.items():
        lines = [line for pin in pins for line in found.get(pin, ())]
        _report(say, f"{lock}.txt: {len(pins)} packages, {origin}", lines)
    shipped = sorted({pin for lock in SHIPPED for pin in locks[lock]})
    return [line for pin in shipped for line in found.get(pin, ())]


def _leaking(options: argparse.Namespace, configuration: dict[str, Any], say: Say) -> list[str]:
    texts = [*leaks.tracked_files(options.root), *leaks.added_lines(options.root)]
    probable = [leak for path, text in texts for leak in leaks.find_leaks(path, text)]
    accepted = configuration.get("accepted", [])
    found = leaks.judge(probable, accepted)
    _report(say, f"secrets: tracked files and history, {len(accepted)} accepted", found)
    return found


def _unlicensed(options: argparse.Namespace, configuration: dict[str, Any], say: Say) -> list[str]:
    table = configuration["licences"]
    policy = licences.Policy(frozenset(table["allowed"]), table["named"], table["stated"])
    folders = options.installed or sorted((ROOT / ".venv" / "lib").glob("python3*/site-packages"))
    known = licences.installed_licences(folders, policy)
    locks = options.root / "requirements"
    pins = {pin for lock in (*SHIPPED, *DEVELOPMENT) for pin in read_pins(locks, lock)}
    found = list(licences.judge(pins, known, policy))
    _report(say, f"licences: {len(pins)} packages", found)
    for lock in SHIPPED:
        target = options.output / f"sbom-{lock}.cdx.json"
        count = bill.write_bill(locks / f"{lock}.txt", target, known, policy)
        say(f"SBOM: {count} packages in {target}")
    return found


def _refresh(options: argparse.Namespace, say: Say) -> int:
    names = {
        pin.name
        for lock in (*SHIPPED, *DEVELOPMENT)
        for pin in read_pins(options.root / "requirements", lock)
    }
    try:
        new = snapshot.collect(names, snapshot.ask_osv, date.today())  # noqa: DTZ011
    except OSError as error:
        say(f"no answer from {snapshot.OSV} ({error}); the snapshot stays as it was")
        return 1
    snapshot.write_snapshot(new, options.advisories)
    count = len(new["packages"])
    say(f"wrote {options.advisories}: advisories for {count} of {len(names)} packages")
    return 0


def _report(say: Say, title: str, found: Sequence[str]) -> None:
    say(f"{title}: {len(found)} found" if found else f"{title}: none found")
    for line in found:
        say(f"  {line}")


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make audit", description=__doc__)
    parser.add_argument("--online", action="store_true", help="ask OSV, not the snapshot")
    parser.add_argument("--refresh", action="store_true", help="write a new snapshot from OSV")
    parser.add_argument("--root", type=Path, default=ROOT, help="the checkout to audit")
    parser.add_argument("--output", type=Path, default=Path("build"), help="where SBOMs go")
    parser.add_argument("--advisories", type=Path, default=snapshot.SNAPSHOT)
    parser.add_argument("--configuration", type=Path, default=CONFIGURATION)
    parser.add_argument("--installed", type=Path, action="append", help="instead of .venv")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
