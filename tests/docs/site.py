"""The pages as the site has them: which file each language reads, and the addresses of headings."""

import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.conftest import ROOT

DOCS = ROOT / "docs"
JAPANESE = ".ja.md"

_FENCE = re.compile(r"^( *)(```+|~~~+)[^\n]*\n.*?^\1\2 *$", re.M | re.S)
_CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)", re.S)
_LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^()\s]*(?:\([^()]*\))?[^()\s]*)\)")
_HEADING = re.compile(r"^(#{1,6}) +(.*?)(?: +#+)? *$", re.M)


def without_code_blocks(text: str) -> str:
    """A page's text without what is fenced."""
    return _FENCE.sub("", text)


def headings(page: Path) -> list[tuple[int, str]]:
    """Level and text of each heading."""
    text = without_code_blocks(page.read_text(encoding="utf-8"))
    return [(len(marks), title) for marks, title in _HEADING.findall(text)]


def links(page: Path) -> Iterator[str]:
    """Where a page's links and images lead, as they are written."""
    text = without_code_blocks(page.read_text(encoding="utf-8"))
    return (found[1] for found in _LINK.finditer(_CODE.sub("", text)))


def slug(title: str) -> str:
    """The address of a heading, as pymdownx's `slugify(case="lower")` makes it (mkdocs.yml)."""
    plain = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", title).replace("`", "").replace("*", "")
    plain = re.sub(r"</?[^>]*>", "", unicodedata.normalize("NFC", plain)).strip().lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


@cache
def anchors(page: Path) -> frozenset[str]:
    """The addresses of a page's headings; one that comes again is counted on."""
    found = dict[str, int]()
    for _, title in headings(page):
        address = slug(title)
        if address in found:
            found[address] += 1
            address = f"{address}_{found[address]}"
        found.setdefault(address, 0)
    return frozenset(found)


def twin(page: Path) -> Path:
    """The Japanese page of an English one."""
    return page.with_name(page.name.removesuffix(".md") + JAPANESE)


def read_in_japanese(page: Path) -> Path:
    """What the Japanese site shows where a link names this page."""
    japanese = page if page.name.endswith(JAPANESE) else twin(page)
    return japanese if japanese.exists() else page
