"""Take the pictures: `python -m tests.screenshots [FOLDER]`, in both languages, in a minute."""

import sys
import tempfile
import threading
from pathlib import Path

from tests.integration.browser.conftest import Installation, Vendor
from tests.integration.browser.webdriver import MISSING, Browser, browser
from tests.running import server
from tests.screenshots.demo import furnish_demo
from tests.screenshots.palette import save_with_palette

FOLDER = Path(__file__).parents[2] / "docs" / "images" / "dashboard"
SIZE = (1200, 800)
MOST_BYTES = 120_000
SETTLED_SECONDS = 1.5

PAGES = {
    "home": "/",
    "chat": "/chat",
    "agent": "/agents/{waiting}",
    "persona": "/agents/{agent}/persona",
    "approvals": "/approvals",
    "goals": "/agents/{agent}/goals",
    "turn": "/sessions/{session}/turns/{turn}",
    "analytics": "/analytics/{agent}",
}
DARK = {"agent"}
SHOWN = {
    "persona": "[aria-labelledby=part-big_five]",
    "goals": "[aria-labelledby=part-goals_wants]",
}
"""What stands at the top of a picture, where that is not the page's head."""


def take(folder: Path, language: str) -> None:
    """Take every picture in one language, from an installation of its own."""
    suffix = ".png" if language == "en" else f".{language}.png"
    with (
        tempfile.TemporaryDirectory() as data,
        server(Path(data)) as running,
        browser(language, size=SIZE) as window,
    ):
        window.devtools("Emulation.setScrollbarsHidden", hidden=True)
        ids = furnish_demo(running, language)
        installation = Installation(running, Vendor())
        installation.sign_in(window)
        for name, path in PAGES.items():
            scheme = {"name": "prefers-color-scheme", "value": "dark" if name in DARK else "light"}
            window.devtools("Emulation.setEmulatedMedia", features=[scheme])
            installation.go(window, path.format(**ids))
            _settle(window)
            if name in SHOWN:
                script = "document.querySelector(arguments[0]).scrollIntoView()"
                window.run(script, SHOWN[name])
            shot = folder / f"{name}{suffix}"
            window.screenshot(shot)
            save_with_palette(shot)
            size = shot.stat().st_size
            print(f"{shot} {size:,} bytes")  # noqa: T201 - the answer of the command
            if size > MOST_BYTES:
                raise SystemExit(f"{shot} is larger than {MOST_BYTES:,} bytes")


def _settle(window: Browser) -> None:
    """Wait until the parts of a page have read what they show."""
    window.until(lambda: window.count("[aria-busy=true]") == 0, "the page does not settle")
    threading.Event().wait(SETTLED_SECONDS)


def main() -> None:
    """Take all pictures."""
    if MISSING:
        raise SystemExit(MISSING)
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for language in ("en", "ja"):
        take(folder, language)


if __name__ == "__main__":
    main()
