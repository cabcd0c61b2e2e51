"""`make validate`: lint, transform, lint again, checkov, and the rules of our own.

Every check prints one line, `ok` or each violation with its cure; the last line sums up.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.conftest import ROOT
from tests.template.document import DOCUMENT, document
from tests.template.rules import broken
from tests.template.stacks import Templates, Violation, evaluated, variants
from tests.template.tools import ToolError, exceptions, is_installed, judged, lint, scan, transform

Found = dict[str, list[Violation]]


def checked(root: Path, out: Path, templates: Templates) -> Iterator[tuple[str, list[Violation]]]:
    """Each check by its name, with what it found; the programs run beside each other."""
    exempt = exceptions()
    with ThreadPoolExecutor(max_workers=2) as pool:
        scanned = pool.submit(scan, out)
        linted = {
            name: pool.submit(lint, folder, templates)
            for name, folder in (("cfn-lint on the source", root), ("cfn-lint", out))
        }
        own = broken(templates, root)
        for name, task in linted.items():
            yield name, judged(name, task.result(), exempt)
        yield "checkov", judged("checkov", scanned.result(), exempt)
    yield from own.items()


def report(found: Sequence[tuple[str, list[Violation]]], say: Callable[[str], object]) -> None:
    """One line for each check; under it one for each violation."""
    for name, violations in found:
        say(f"{'FAIL' if violations else 'ok  '} {name}\n")
        for each in violations:
            say(f"       {each.resource}: {each.problem}. Cure: {each.cure}\n")


def main(arguments: Sequence[str]) -> int:
    """Check the templates of a checkout."""
    parser = argparse.ArgumentParser(prog="make validate", description=__doc__)
    parser.add_argument("--root", type=Path, default=ROOT, help="the checkout to look at")
    parser.add_argument("--write", action="store_true", help=f"write {DOCUMENT.name} again")
    options = parser.parse_args(arguments)
    if options.write:
        DOCUMENT.write_text(document(), encoding="utf-8")
    if not is_installed():
        sys.stderr.write("the programs are not installed: run `make validate`\n")
        return 2
    root = options.root.resolve()
    with tempfile.TemporaryDirectory(prefix="opencrab-template-") as folder:
        out = Path(folder)
        try:
            templates = transform(root, out)
            found = list(checked(root, out, templates))
        except ToolError as error:
            sys.stderr.write(f"{error}\n")
            return 2
    report(found, sys.stdout.write)
    failed = sum(bool(violations) for _, violations in found)
    choices = len(list(variants(templates)))
    sys.stdout.write(
        f"{len(found) - failed} of {len(found)} checks passed: "
        f"{len(templates)} templates, {len(evaluated(templates, root, {}).resources)} resources, "
        f"{choices} choices of parameters, {len(exceptions())} exceptions\n"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
