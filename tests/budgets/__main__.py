"""`python -m tests.budgets` prints all counts beside their ceilings; `--lower` lowers these."""

import sys

from tests.budgets.table import CEILINGS, beside, ceilings, counts, lowered, table


def main() -> None:
    """Count and print; the exit code says whether every budget is kept."""
    budgets = beside(counts(), ceilings())
    sys.stdout.write(table(budgets))
    if "--lower" in sys.argv:
        text = CEILINGS.read_text(encoding="utf-8")
        CEILINGS.write_text(lowered(text, budgets), encoding="utf-8")
    complaints = [each.complaint for each in budgets if each.complaint]
    sys.exit("\n".join(complaints) or None)


if __name__ == "__main__":
    main()
