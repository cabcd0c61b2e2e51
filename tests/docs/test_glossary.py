"""The glossary is law: names of modules and classes are made of its words, or of plain ones."""

import ast
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from tests.architecture.source import PACKAGE, modules
from tests.conftest import ROOT
from tests.docs.glossary import DATA, Term, pages, retired_words, terms

PLAIN = Path(__file__).with_name("plain_words.txt")
"""Words that need no explanation: of English, of Python, and names of products."""


@pytest.mark.parametrize("name", ["glossary.md", "glossary.ja.md"])
def test_a_page_is_what_the_data_says(name: str) -> None:
    kept = (ROOT / "docs" / name).read_text(encoding="utf-8")
    assert kept == pages()[name], "the glossary has changed: run `python -m tests.docs.glossary`"


def test_every_term_is_told_in_both_languages_and_stands_once() -> None:
    for language in ("en", "ja"):
        named = [getattr(each, language) for each in terms()]
        assert len(named) > 80
        assert all(named)
        assert len(set(named)) == len(named)
    assert all(each.means.endswith(".") and each.means_ja.endswith("。") for each in terms())
    assert all(re.search(r"[぀-ヿ一-鿿]", each.means_ja) for each in terms())


def test_what_a_term_is_called_in_the_code_is_there() -> None:
    places = set(_places())
    assert not [(each.en, code) for each in terms() for code in each.code if code not in places]


def test_every_capability_is_explained() -> None:
    explained = {part for each in terms() for part in _explained(each)}
    folders = {
        folder.name
        for layer in ("domain", "engine")
        for folder in (PACKAGE / layer).iterdir()
        if (folder / "__init__.py").exists()
    }
    assert len(folders) > 20
    assert folders - {"text", "statistics", "usage"} <= explained


def test_a_name_is_made_of_words_of_the_glossary_or_plain_ones() -> None:
    known = _known_words()
    assert not {
        name: unknown for name in _named() if (unknown := sorted(set(_words(name)) - known))
    }, f"use the field's term: explain it in {DATA.name}, or add a plain word to {PLAIN.name}"


def test_no_name_has_a_retired_word() -> None:
    assert not {name: found for name in _all_names() if (found := _retired(name))}


def test_a_planted_name_is_found() -> None:
    known = _known_words()
    assert set(_words("ZorgleState")) - known == {"zorgle"}
    assert set(_words("frobnication_ledger")) - known == {"frobnication"}
    assert not set(_words("HeartbeatSweepResult")) - known
    assert _retired("Keepsakes") == "keepsake"
    assert _retired("draw_lots") == "lot"
    assert _retired("lottery") is None


def test_no_plain_word_is_kept_for_nothing_or_retired() -> None:
    used = {word for name in _named() for word in _words(name)}
    plain = _plain_words()
    assert plain == sorted(set(plain))
    assert not set(plain) - used
    assert not [word for word in plain if _retired(word)]


def _known_words() -> set[str]:
    explained = {
        word
        for each in terms()
        for text in (each.en, *(code.rpartition(".")[2] for code in each.code))
        for word in _words(text.replace(" ", "_").replace("-", "_").replace(",", ""))
    }
    return {form for word in explained for form in (word, f"{word}s")} | set(_plain_words())


def _plain_words() -> list[str]:
    return PLAIN.read_text(encoding="utf-8").split()


def _explained(term: Term) -> Iterator[str]:
    """What a term says of folders: its own words, and where it is."""
    yield term.area
    for code in term.code:
        yield from code.split(".")[:2]


def _words(name: str) -> list[str]:
    found = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+", name)
    return [each.lower() for each in found]


def _retired(name: str) -> str | None:
    """The word of a name that is used no more, in the singular."""
    gone = retired_words()
    for word in _words(name):
        for form in (word, word.removesuffix("s")):
            if form in gone:
                return form
    return None


def _public_schemas() -> set[str]:
    """Names that the document of the REST API shows: they change no more."""
    read: dict[str, dict[str, object]] = json.loads(
        (ROOT / "infra" / "openapi.json").read_text(encoding="utf-8")
    )["components"]
    return set(read["schemas"])


def _named() -> Iterator[str]:
    """Public modules and classes, those of the REST API aside."""
    shown = _public_schemas()
    for module in modules():
        if not (last := module.name.rpartition(".")[2]).startswith("_"):
            yield last
        for each in _top_level(module.tree.body):
            if isinstance(each, ast.ClassDef) and each.name not in shown:
                yield each.name


def _all_names() -> Iterator[str]:
    shown = _public_schemas()
    for module in modules():
        yield module.name.rpartition(".")[2]
        for each in module.tree.body:
            if isinstance(each, ast.ClassDef | ast.FunctionDef) and each.name not in shown:
                yield each.name


def _top_level(body: Iterable[ast.stmt]) -> Iterator[ast.ClassDef | ast.FunctionDef]:
    for each in body:
        if isinstance(each, ast.ClassDef | ast.FunctionDef) and not each.name.startswith("_"):
            yield each


def _places() -> Iterator[str]:
    """Every module, folder and public definition, as the glossary names them."""
    for module in modules():
        path = module.name.removeprefix("opencrab.")
        yield path
        for each in _top_level(module.tree.body):
            yield f"{path}.{each.name}"
