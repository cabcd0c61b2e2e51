"""Show words: what commands that show something say to people, in English and Japanese."""

from opencrab.domain.value import Language
from opencrab.ports.texts import Texts

_SENTENCES = Texts(__file__, "sentences")
_TERMS = Texts(__file__, "terms")


def discord_text_of_view(language: Language, key: str, /, **values: object) -> str:
    """Return the sentence of a key in a language, with its values filled in."""
    return _SENTENCES[key][language].format(**values)


def discord_term(language: Language, word: str) -> str:
    """Translate a term of OpenCrab, such as a status; others are returned unchanged."""
    return _TERMS[word][language] if word in _TERMS else word
