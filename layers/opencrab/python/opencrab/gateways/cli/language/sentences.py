"""Sentences, terms and help of the terminal, in the user's language, read when first needed.

They lie in `en.json` and `ja.json`: a sentence under its key in both, help and OpenCrab's own words
under their English in `ja.json` alone. JSON, as reading the TOML of it takes forty times as long.
"""

import json
from enum import StrEnum
from functools import cache
from pathlib import Path

Texts = dict[str, dict[str, str]]


class CliLanguage(StrEnum):
    """The languages of this program; an agent's own language is another matter."""

    EN = "en"
    JA = "ja"

    @classmethod
    def of(cls, locale: str | None) -> "CliLanguage":
        """The language of a locale such as ja_JP.UTF-8; English where it is none of ours."""
        return cls.JA if (locale or "").lower().startswith("ja") else cls.EN


@cache
def texts_in(tongue: CliLanguage) -> Texts:
    """Everything that is said in one language, by what it is: sentences, terms, help."""
    text = Path(__file__).with_name(f"{tongue}.json").read_text(encoding="utf-8")
    texts: Texts = json.loads(text)
    return texts


class SentenceCatalog:
    """The sentences in one language."""

    def __init__(self, tongue: CliLanguage) -> None:
        self.tongue = tongue

    def __call__(self, key: str, **facts: object) -> str:
        """A sentence with its facts filled in."""
        return texts_in(self.tongue)["sentences"][key].format(**facts)

    def term(self, name: str) -> str:
        """A word of OpenCrab's own, such as a status; one that is not known stays as it is."""
        if self.tongue is CliLanguage.EN:
            return name.replace("_", " ")
        return texts_in(self.tongue)["terms"].get(name, name)

    def help(self, text: str) -> str:
        """A text of the help, which is written in English; untranslated it stays so."""
        if self.tongue is CliLanguage.EN:
            return text
        return texts_in(self.tongue)["help"].get(text, text)
