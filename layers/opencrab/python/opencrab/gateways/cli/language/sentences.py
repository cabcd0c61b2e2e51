"""Sentences, terms and help of the terminal, in the user's language, read when first needed.

Each language is a file here, such as `ja.json`: another file is another language. A sentence lies
under its key; help and the product's own words lie under their English. What a file lacks is said
in English. JSON, as reading the TOML of it takes forty times as long.
"""

import json
from enum import StrEnum
from functools import cache
from pathlib import Path

Texts = dict[str, dict[str, str]]

FOLDER = Path(__file__).parent


class AgentLanguage(StrEnum):
    """The languages that agents speak: those of the domain, which would be slow to load."""

    EN = "en"
    JA = "ja"


class CliLanguage(str):
    """A language of this program, such as `ja`; an agent's own language is another matter."""

    __slots__ = ()

    @classmethod
    def of(cls, locale: str | None) -> "CliLanguage":
        """The language of a locale such as ja_JP.UTF-8; English where there is no file of it."""
        wanted = (locale or "").lower().replace("-", "_")
        found = [
            name for name in cli_languages() if f"{wanted}_".startswith((f"{name}_", f"{name}."))
        ]
        return cls(found[0]) if found else EN

    @property
    def for_agents(self) -> str:
        """The same language where agents speak it, else English."""
        return str(self) if str(self) in AgentLanguage.__members__.values() else str(EN)


EN = CliLanguage("en")
JA = CliLanguage("ja")


@cache
def cli_languages(folder: Path = FOLDER) -> tuple[CliLanguage, ...]:
    """The languages for which there is a file."""
    return tuple(sorted(CliLanguage(path.stem) for path in folder.glob("*.json")))


@cache
def sentences_of_language(tongue: str, folder: Path = FOLDER) -> Texts:
    """Everything that is said in one language, by what it is: sentences, terms, help."""
    text = (folder / f"{tongue}.json").read_text(encoding="utf-8")
    texts: Texts = json.loads(text)
    return texts


class SentenceCatalog:
    """The sentences in one language."""

    def __init__(self, tongue: CliLanguage, folder: Path = FOLDER) -> None:
        self.tongue = tongue
        self._folder = folder

    def __call__(self, key: str, **facts: object) -> str:
        """A sentence with its facts filled in."""
        text = self._text("sentences", key)
        return (text if text is not None else sentences_of_language(EN)["sentences"][key]).format(
            **facts
        )

    def term(self, name: str) -> str:
        """A word of OpenCrab's own, such as a status; one that is not known stays as it is."""
        found = self._text("terms", name)
        return name.replace("_", " ") if found is None else found

    def help(self, text: str) -> str:
        """A text of the help, which is written in English; untranslated it stays so."""
        return self._text("help", text) or text

    def _text(self, kind: str, key: str) -> str | None:
        return sentences_of_language(self.tongue, self._folder).get(kind, {}).get(key)
