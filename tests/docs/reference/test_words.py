"""Texts that people read who never saw our code have the field's words, not a private language.

They are the texts of the OpenAPI document, the comments of the configuration, the sentences of the
reference, and the descriptions of the stacks.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from opencrab.domain.value import Language
from tests.conftest import ROOT
from tests.docs.reference.cloudformation import STACKS, stacks
from tests.docs.reference.configuration import FILE
from tests.docs.reference.text import sentences

PRIVATE = {
    r"tells?|told|telling": "reports, returns, says",
    r"anew": "again",
    r"whoever": "anyone who",
    r"vouch(?:es|ed)?": "mark as trusted",
    r"give up|gives up|given up|gave up": "abandoned, cancelled, failed permanently",
    r"come to|comes to|came to|comes? of|came of": "total, result, outcome",
    r"for good": "permanently",
    r"so many|so much|so long": "this number of",
    r"stands?(?!-in)|stood": "has status, is stored, means",
    r"hears?|heard|unheard": "receives, may read",
    r"unasked": "without approval, on its own",
    r"in vain|fruitless": "unproductive",
    r"is none": "is empty, is not set",
    r"nobody": "no agent, no user, not",
    r"takes? part|took part": "is a participant",
    r"beats?": "heartbeat",
    r"words from outside|foreign words|(?:a )?strangers?'?s?": "untrusted text",
    r"lies": "is",
    r"dearest": "most expensive",
    r"minds?": "agent state",
    r"goes by|go by": "uses",
    r"of its own accord": "on its own",
    r"sign of life": "health check",
}
"""Words that only we use so, and what the field says."""

FOLDER = ROOT / "tests" / "docs" / "reference"

_CODE = re.compile(r"`[^`]*`")
_PRIVATE = re.compile(rf"\b(?:{'|'.join(PRIVATE)})\b", re.IGNORECASE)
_OF_API = {"description", "summary"}
_OF_STACK = {"Description", "AlarmDescription"}


def private_words(text: str) -> list[str]:
    """The private words in a text, names in backticks left out."""
    return _PRIVATE.findall(" ".join(_CODE.sub("", text).split()))


def texts(document: Any, keys: set[str]) -> Iterator[str]:
    """Every text below one of the keys, at any depth."""
    below = document.items() if isinstance(document, dict) else enumerate(document)
    for key, value in below:
        if isinstance(value, str):
            if key in keys:
                yield value
        elif isinstance(value, dict | list):
            yield from texts(value, keys)


def found(all_texts: Iterator[str]) -> dict[str, list[str]]:
    """Texts that have private words, with these words."""
    return {text: words for text in all_texts if (words := private_words(text))}


def comments(text: str) -> Iterator[str]:
    """Comments of a TOML file; lines that follow one another are one comment."""
    block: list[str] = []
    for line in [*text.splitlines(), ""]:
        if line.startswith("#"):
            block.append(line.lstrip("# "))
        elif block:
            yield " ".join(block)
            block = []


@pytest.mark.parametrize("planted", ["It is kept for\ngood.", "Nobody", "a turn TOLD of it"])
def test_a_private_word_is_found(planted: str) -> None:
    assert private_words(planted)
    assert not private_words("`nobody`: an upstanding reminder, headbeat")
    assert found(texts({"a": [{"description": planted}], "title": "told"}, _OF_API)) == {
        planted: private_words(planted)
    }
    assert found(comments(f"# {planted.replace(chr(10), chr(10) + '# ')}\na = 1\n"))


def test_the_openapi_document_has_no_private_words() -> None:
    document = json.loads((ROOT / "infra" / "openapi.json").read_text(encoding="utf-8"))
    assert len(list(texts(document, _OF_API))) > 800
    assert found(texts(document, _OF_API)) == {}


def test_comments_of_the_configuration_have_no_private_words() -> None:
    text = FILE.read_text(encoding="utf-8")
    assert len(list(comments(text))) > 50
    assert found(comments(text)) == {}


@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("*.toml")))
def test_sentences_of_the_reference_have_no_private_words(name: str) -> None:
    english = (said.get(Language.EN.value, "") for said in sentences(name).values())
    assert found(english) == {}


@pytest.mark.parametrize("name", sorted(path.name for path in STACKS))
def test_descriptions_of_a_stack_have_no_private_words(name: str) -> None:
    assert found(texts(stacks()[name], _OF_STACK)) == {}
