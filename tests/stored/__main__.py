"""`python -m tests.stored` writes the stored forms and rows of the version in pyproject.toml.

Runs the tests that store most, and keeps of what they store what differs in form: some minutes.
`--forms` writes the forms only, in seconds. `--release X.Y.Z` (`make release`) prepares a release.
"""

import argparse
import json
import sys

import pytest

from tests.stored.forms import CORPUS, FORMS, forms_of, stored_kinds
from tests.stored.harvest import Harvest, collecting
from tests.stored.release import close_changelog, next_steps, prepared_release, set_version

STORING = ["tests/unit/engine", "tests/unit/actions", "tests/unit/adapters", "tests/e2e"]

_IGNORED = ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # what is imported here already


def main() -> int:
    """Write the folder of the release that is being prepared."""
    arguments = argparse.ArgumentParser(prog="python -m tests.stored", description=__doc__)
    arguments.add_argument("--forms", action="store_true", help="write the forms only")
    arguments.add_argument("--release", metavar="X.Y.Z", help="prepare this release")
    arguments.add_argument("--tests", nargs="*", default=STORING, help="the tests that store")
    asked = arguments.parse_args()
    if asked.release:
        set_version(asked.release)
    folder = prepared_release()
    folder.mkdir(parents=True, exist_ok=True)
    forms = json.dumps(forms_of(stored_kinds()), indent=1, sort_keys=True, ensure_ascii=False)
    (folder / FORMS).write_text(f"{forms}\n", encoding="utf-8")
    if asked.forms:
        return 0
    harvest = Harvest()
    with collecting(harvest):
        failed = pytest.main(["-q", "-p", "no:cacheprovider", *_IGNORED, *asked.tests])
    if failed:
        sys.stderr.write("tests failed: look at them before you use the rows\n")
        if asked.release:
            return 1
    rows = [
        json.dumps({"kind": kind, "body": body}, ensure_ascii=False, sort_keys=True)
        for kind, bodies in sorted(harvest.bodies.items())
        for body in bodies
    ]
    (folder / CORPUS).write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
    missing = sorted(stored_kinds().keys() - harvest.bodies.keys())
    found = f"{len(rows)} rows of {len(harvest.bodies)} kinds"
    sys.stdout.write(f"{found}; without rows: {', '.join(missing)}\n")
    if asked.release:
        close_changelog(asked.release)
        sys.stdout.write(next_steps(asked.release))
    return 0


sys.exit(main())
