"""Follow the pages that teach, from a fresh clone, and compare what they print with what happens.

python -m tests.docs.tutorials                    every page, in a clone with nothing installed
python -m tests.docs.tutorials PAGE …             these pages only
python -m tests.docs.tutorials --lent             borrow this checkout and its environment
python -m tests.docs.tutorials --record           write what happens into the pages
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from tests.conftest import ROOT
from tests.docs.discord_play import DiscordPlay
from tests.docs.page import read_page
from tests.docs.reader import Reader
from tests.docs.workplace import workplace

if TYPE_CHECKING:
    from tests.docs.cloud import Cloud

INSTALLING_SECONDS = 900.0
LANGUAGES = (".md", ".ja.md")
PAGES = tuple(
    ROOT / f"{name}{suffix}"
    for name in (
        "README",
        "docs/tutorial/first-agent",
        "docs/tutorial/a-day",
        "docs/tutorial/first-discord-bot",
        "docs/how-to/write-scripts",
    )
    for suffix in LANGUAGES
)
DEPLOYING = tuple(ROOT / f"docs/tutorial/first-deploy{suffix}" for suffix in LANGUAGES)
"""Pages whose reader deploys to AWS, which takes a minute each."""


def follow(
    path: Path, folder: Path, *, is_fresh: bool = False, more: Mapping[str, str] | None = None
) -> Reader:
    """Follow one page in an empty folder; the reader knows what came of it."""
    page = read_page(path)
    with workplace(folder, is_fresh=is_fresh) as made, ExitStack() as opened:
        place = replace(made, cloud=_opened_cloud(opened)) if page.deploys else made
        reader = Reader(page, place, more=dict(more or {}))
        if is_fresh or page.deploys:
            reader.seconds = INSTALLING_SECONDS
        if any(block.kind == "discord" for block in page.blocks):
            discord = opened.enter_context(DiscordPlay(place.port, page.language))
            reader.more |= discord.environment
            reader.play = discord.play
            opened.callback(lambda: reader.differences.extend(discord.complaints))
        reader.follow()
    return reader


def _opened_cloud(opened: ExitStack) -> "Cloud":
    """An AWS account; only pages that deploy load what serves one."""
    from tests.docs.cloud import cloud  # noqa: PLC0415

    return opened.enter_context(cloud(Path(opened.enter_context(TemporaryDirectory()))))


def record(reader: Reader) -> None:
    """Write what happened into the page."""
    reader.page.path.write_text(reader.page.text_with(reader.recorded), encoding="utf-8")


def main(arguments: Sequence[str]) -> int:
    """Follow the pages; 1 if one of them prints something else than happens."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pages", nargs="*", type=Path, default=(*PAGES, *DEPLOYING))
    parser.add_argument("--lent", action="store_true", help="borrow this checkout's environment")
    parser.add_argument("--record", action="store_true", help="write what happens into the pages")
    chosen = parser.parse_args(arguments)
    wrong = False
    for path in chosen.pages:
        with TemporaryDirectory() as folder:
            reader = follow(path.resolve(), Path(folder), is_fresh=not chosen.lent)
        wrong = wrong or bool(reader.differences)
        if chosen.record:
            record(reader)
        steps = sum(len(block.steps) for block in reader.page.blocks)
        told = "\n\n".join(reader.differences) or f"{steps} steps, all as printed"
        print(f"{path}: {told}", flush=True)  # noqa: T201
    return int(wrong and not chosen.record)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
