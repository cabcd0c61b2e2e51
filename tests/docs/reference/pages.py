"""The generated pages of the reference, and where they lie.

`python -m tests.docs.reference.pages` writes them all.
"""

import re
from collections.abc import Callable

from opencrab.domain.value import Language
from tests.conftest import ROOT
from tests.docs.reference import (
    access,
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
    "access": access.page,
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
        f"{name}{ending}": _linked(page(language), language)
        for name, page in PAGES.items()
        for language, ending in endings.items()
    }


def _linked(page: str, language: Language) -> str:
    """The page with links to pages of its own language, also where it is read as a file."""
    if language is Language.EN:
        return page
    return re.sub(r"\]\(((?:\.\./)?[\w/-]+)\.md", r"](\1.ja.md", page)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, text in files().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
