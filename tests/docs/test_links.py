"""Every relative link of the documents leads to a file that is there, and to a heading of it.

So does every page that the product names in a message, a setting or a parameter.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

from tests.conftest import ROOT
from tests.docs.site import (
    DOCS,
    JAPANESE,
    anchors,
    headings,
    links,
    read_in_japanese,
    slug,
    twin,
)

OUTSIDE = ("http://", "https://", "mailto:")
BESIDE = ("README.md", "README.ja.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")
DOCUMENTS = sorted(
    path.relative_to(ROOT).as_posix()
    for path in (*(ROOT / name for name in BESIDE), *DOCS.rglob("*.md"))
)


def broken_links(page: Path) -> list[str]:
    """Those of a page's links that lead nowhere, in the file or on the site."""
    return [link for link in links(page) if not link.startswith(OUTSIDE) and _is_broken(page, link)]


def _is_broken(page: Path, link: str) -> bool:
    place, _, anchor = link.partition("#")
    target = (page.parent / unquote(place)).resolve() if place else page
    if not target.exists():
        return True
    return bool(anchor) and any(
        unquote(anchor) not in anchors(shown) for shown in _shown(page, target)
    )


def _shown(page: Path, target: Path) -> list[Path]:
    """The pages that a link leads to: those of each language in which its own page is shown."""
    if page.name.endswith(JAPANESE):
        return [read_in_japanese(target)]
    both = page.is_relative_to(DOCS) and not twin(page).exists()
    return [target, read_in_japanese(target)] if both else [target]


def test_links_lead_somewhere() -> None:
    assert [(each, link) for each in DOCUMENTS for link in broken_links(ROOT / each)] == []


def test_links_of_the_site_stay_on_it() -> None:
    pages = [ROOT / each for each in DOCUMENTS if each.startswith("docs/")]
    places = [
        (page, link.partition("#")[0])
        for page in pages
        for link in links(page)
        if not link.startswith(OUTSIDE)
    ]
    left = [
        (page.relative_to(ROOT).as_posix(), place)
        for page, place in places
        if not (page.parent / place).resolve().is_relative_to(DOCS)
    ]
    assert left == [], "the site has only docs/: name the file as `code` instead"


def sources() -> Iterator[Path]:
    """What the product says, wherever it says it."""
    yield ROOT / "template.yaml"
    for folder in ("layers/opencrab/python/opencrab", "config", "infra"):
        for ending in ("py", "json", "toml", "yaml"):
            yield from (ROOT / folder).rglob(f"*.{ending}")


def test_pages_that_the_product_names_are_there() -> None:
    named = {
        found
        for path in sources()
        for found in re.findall(r"\bdocs/[\w/.-]+\.md\b", path.read_text(encoding="utf-8"))
    }
    assert len(named) > 10
    assert sorted(each for each in named if not (ROOT / each).is_file()) == []


def test_there_are_many_links_to_look_at() -> None:
    assert sum(len(list(links(ROOT / each))) for each in DOCUMENTS) > 400
    assert sum("#" in link for each in DOCUMENTS for link in links(ROOT / each)) > 30


def test_addresses_are_those_of_the_site() -> None:
    assert slug("Costs: `turn_usd` and *more* (2)") == "costs-turn_usd-and-more-2"
    assert slug("権限の主体") == "権限の主体"
    assert slug("モデル: 予算つきバンディット") == "モデル-予算つきバンディット"


def test_what_leads_nowhere_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(
        "# A\n\n## B c\n\n## B c\n\n[1](a.md#b-c) [2](#b-c_1) [3](b.md) [4](#b) `[5](gone)`\n\n"
        "```\n[6](gone)\n# D\n```\n\n![7](x.svg) [`8`](a.md#d) [9](https://example.org)\n",
        encoding="utf-8",
    )
    assert broken_links(tmp_path / "a.md") == ["b.md", "#b", "x.svg", "a.md#d"]
    assert headings(tmp_path / "a.md") == [(1, "A"), (2, "B c"), (2, "B c")]
