"""Each page exists in both languages, with the same headings, and is short enough to be read."""

import re
from itertools import pairwise
from pathlib import Path

from tests.docs.site import DOCS, JAPANESE, headings, twin, without_code_blocks

ENGLISH_WORDS = 1_200
JAPANESE_CHARACTERS = 3_000

# Generated, frozen, for maintainers, or written by a measurement.
GENERATED = {"reference", "adr", "design"}
ALONE = ("benchmarks", "glossary")

_WRITTEN_IN_JAPANESE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\u3005\u3006]")


def _is_written_twice(page: Path) -> bool:
    place = page.relative_to(DOCS)
    return place.parts[0] not in GENERATED and not place.name.startswith(ALONE)


PAGES = sorted(page for page in DOCS.rglob("*.md") if _is_written_twice(page))
ENGLISH = [page for page in PAGES if not page.name.endswith(JAPANESE)]
TRANSLATED = [page for page in PAGES if page.name.endswith(JAPANESE)]


def name(page: Path) -> str:
    return page.relative_to(DOCS).as_posix()


def length(page: Path) -> int:
    """Words of English, or characters that only Japanese has, outside of code blocks."""
    text = without_code_blocks(page.read_text(encoding="utf-8"))
    if page.name.endswith(JAPANESE):
        return len(_WRITTEN_IN_JAPANESE.findall(text))
    return len(text.split())


def test_there_are_pages() -> None:
    assert len(ENGLISH) > 50


def test_every_page_has_its_twin() -> None:
    assert [name(twin(page)) for page in ENGLISH] == [name(page) for page in TRANSLATED]


def levels(page: Path) -> list[int]:
    return [level for level, _ in headings(page)]


def test_twins_have_the_same_headings() -> None:
    # Another test tells of pages without a twin.
    pairs = [(page, twin(page)) for page in ENGLISH if twin(page).exists()]
    assert [name(page) for page, other in pairs if levels(page) != levels(other)] == []


def test_a_page_has_one_title_and_no_level_is_left_out() -> None:
    for page in PAGES:
        found = levels(page)
        assert (name(page), found[:1], found.count(1)) == (name(page), [1], 1)
        assert all(after <= before + 1 for before, after in pairwise(found)), name(page)


def test_a_page_is_short_enough() -> None:
    for page in PAGES:
        most = JAPANESE_CHARACTERS if page.name.endswith(JAPANESE) else ENGLISH_WORDS
        assert length(page) <= most, name(page)


def test_a_japanese_page_is_in_japanese() -> None:
    for page in TRANSLATED:
        text = without_code_blocks(page.read_text(encoding="utf-8"))
        assert length(page) > len(re.findall(r"\b[A-Za-z]{2,}\b", text)) / 2, name(page)


def test_words_and_characters_are_counted_without_code(tmp_path: Path) -> None:
    english, japanese = tmp_path / "a.md", tmp_path / "a.ja.md"
    english.write_text("# One two\n\n```\nthree four\n```\n\nfive\n", encoding="utf-8")
    japanese.write_text("# 一二\n\n```\n三四\n```\n\nABC、カナ\n", encoding="utf-8")
    assert (length(english), length(japanese)) == (4, 4)
