"""Sections of docs/benchmarks.md that commands of their own write, and `make bench` keeps."""

import re
from collections.abc import Sequence
from pathlib import Path

from tests.bench.world import ROOT

PAGE = ROOT / "docs" / "benchmarks.md"
PEERS = "Beside other agents"
LARGE = "A large folder"
DASHBOARD = "The dashboard"
RETRIEVAL = "Retrieval"
"""Where what is written by hand begins."""

KEPT = (PEERS, LARGE, DASHBOARD, RETRIEVAL)


def kept(page: str, names: Sequence[str] = KEPT) -> str:
    """The page from the first of these sections on; "" where it has none."""
    starts = [page.find(f"\n## {name}\n") for name in names]
    found = [start for start in starts if start >= 0]
    return page[min(found) :] if found else ""


def replaced(page: str, name: str, body: str) -> str:
    """The page with this text as that section, which is new or replaces the one of its name."""
    section = f"\n## {name}\n\n{body.strip()}\n"
    old = re.compile(rf"\n## {re.escape(name)}\n.*?(?=\n## |\Z)", re.DOTALL)
    if old.search(page):
        return old.sub(lambda _: section, page, count=1)
    after = kept(page, KEPT[KEPT.index(name) + 1 :])
    return page.removesuffix(after) + section + after


def write_section(name: str, body: str, page: Path = PAGE) -> None:
    """Write a section into the page."""
    text = page.read_text(encoding="utf-8")
    page.write_text(replaced(text, name, body), encoding="utf-8")
