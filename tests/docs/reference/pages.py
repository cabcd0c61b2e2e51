"""The generated pages of the reference, and where they lie.

`python -m tests.docs.reference.pages` writes them all.
"""

from collections.abc import Callable

from opencrab.domain.value import Language
from tests.conftest import ROOT
from tests.docs.reference import (
    actions,
    cli,
    configuration,
    environment,
    errors,
    events,
    metrics,
    rest,
)

FOLDER = ROOT / "docs" / "reference"
COMMAND = "python -m tests.docs.reference.pages"

PAGES: dict[str, Callable[[Language], str]] = {
    "actions": actions.page,
    "cli": cli.page,
    "configuration": configuration.page,
    "environment": environment.page,
    "errors": errors.page,
    "events": events.page,
    "metrics": metrics.page,
    "rest": rest.page,
}


def files() -> dict[str, str]:
    """What each file of the folder says, in both languages."""
    endings = {Language.EN: ".md", Language.JA: ".ja.md"}
    return {
        f"{name}{ending}": page(language)
        for name, page in PAGES.items()
        for language, ending in endings.items()
    }


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, text in files().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
