"""`python -m tests.page_types`: check the dashboard's modules against infra/openapi.json.

`make` installs TypeScript into .node; without it one line says that nothing was checked.
"""

import json
import sys

from tests.page_types.compiler import MISSING, ROOT, faults


def main() -> int:
    """Print what is wrong, and fail if anything is."""
    if MISSING:
        sys.stdout.write(f"types of the dashboard are not checked: {MISSING} (it needs npm)\n")
        return 0
    found = faults(json.loads((ROOT / "infra" / "openapi.json").read_text(encoding="utf-8")))
    sys.stdout.writelines(f"{each}\n" for each in found)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
