"""`make docs` makes a site in both languages, without a warning, whose search knows Japanese."""

import json
import subprocess
from pathlib import Path

import pytest
import yaml  # type: ignore[import-untyped, unused-ignore]

from tests.conftest import ROOT
from tests.docs.site import DOCS, JAPANESE

MKDOCS = ROOT / ".venv-docs" / "bin" / "mkdocs"
SECTIONS = ("tutorial", "how-to", "reference", "explanation")


class Configuration(yaml.SafeLoader):  # type: ignore[misc, unused-ignore]
    """mkdocs.yml; the function that makes addresses is not loaded."""


Configuration.add_multi_constructor("tag:yaml.org,2002:python/", lambda *_: None)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built; the test fails with what mkdocs said."""
    if not MKDOCS.exists():
        pytest.skip("there is no .venv-docs: `make setup` makes it")
    folder = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [MKDOCS, "build", "--strict", "--site-dir", folder],
        cwd=ROOT,
        env={"NO_MKDOCS_2_WARNING": "1", "PYTHONDONTWRITEBYTECODE": "1", "LC_ALL": "C.UTF-8"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    told = [line for line in built.stderr.splitlines() if line.startswith(("WARNING", "ERROR"))]
    assert (built.returncode, told) == (0, []), built.stderr[-2_000:]
    return folder


def addresses() -> list[str]:
    """Where the site has each English page."""
    pages = (page.relative_to(DOCS) for page in DOCS.rglob("*.md"))
    plain = [page for page in pages if not page.name.endswith(JAPANESE)]
    # mkdocs takes a README for the index of its folder.
    return sorted(
        page.with_name("index.html" if page.name == "README.md" else f"{page.stem}.html").as_posix()
        for page in plain
    )


def test_every_page_is_there_in_both_languages(site: Path) -> None:
    assert len(addresses()) > 100
    assert [each for each in addresses() if not (site / each).is_file()] == []
    assert [each for each in addresses() if not (site / "ja" / each).is_file()] == []


def test_the_japanese_pages_are_japanese(site: Path) -> None:
    english, japanese = (
        (site / folder / "explanation" / "costs.html").read_text(encoding="utf-8")
        for folder in ("", "ja")
    )
    assert '<html lang="en"' in english
    assert '<html lang="ja"' in japanese
    assert "<h1" in japanese
    assert "費用" in japanese.partition("<h1")[2].partition("</h1>")[0]
    assert "チュートリアル" in japanese
    assert "チュートリアル" not in english


def test_the_search_index_knows_japanese(site: Path) -> None:
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    assert {"en", "ja"} <= set(index["config"]["lang"])
    titles = {each["title"] for each in index["docs"]}
    assert {"Security", "セキュリティ"} <= titles
    # What cuts Japanese into words in the browser comes with the site.
    assert list(site.glob("assets/javascripts/lunr/min/lunr.ja.min.js"))
    assert list(site.glob("assets/javascripts/lunr/tinyseg.js"))


def test_nothing_is_fetched_while_a_page_is_read(site: Path) -> None:
    page = (site / "index.html").read_text(encoding="utf-8")
    assert 'src="http' not in page
    assert '<link rel="stylesheet" href="http' not in page


def test_the_navigation_has_every_page_once() -> None:
    configured = yaml.load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), Configuration)  # noqa: S506 - a SafeLoader
    listed = _pages_of(configured["nav"])
    pages = {
        page.relative_to(DOCS).as_posix()
        for page in DOCS.rglob("*.md")
        if not page.name.endswith(JAPANESE) and page.parent.name != "adr"
    }
    assert len(listed) == len(set(listed))
    assert pages - set(listed) == set(), "add the page to nav in mkdocs.yml"
    assert set(listed) - pages == {"adr/README.md"}


def test_every_section_has_a_japanese_name() -> None:
    configured = yaml.load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), Configuration)  # noqa: S506 - a SafeLoader
    (plugin,) = (each["i18n"] for each in configured["plugins"] if "i18n" in each)
    (japanese,) = (each for each in plugin["languages"] if each["locale"] == "ja")
    # "Discord" is called so in both.
    assert _names_of(configured["nav"]) - set(japanese["nav_translations"]) == {"Discord"}


def _pages_of(entries: list[object]) -> list[str]:
    found = list[str]()
    for entry in entries:
        values = list(entry.values()) if isinstance(entry, dict) else [entry]
        for value in values:
            found += _pages_of(value) if isinstance(value, list) else [str(value)]
    return found


def _names_of(entries: list[object]) -> set[str]:
    found = set[str]()
    for entry in entries:
        for title, value in entry.items() if isinstance(entry, dict) else ():
            found |= {str(title)} | (_names_of(value) if isinstance(value, list) else set())
    return found
