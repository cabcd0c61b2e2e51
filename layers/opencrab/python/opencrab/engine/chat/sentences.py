"""Sentences that people on chat services are told at once, in English and Japanese."""

from opencrab.domain.value import Language
from opencrab.ports.texts import Texts

_TEXTS = Texts(__file__)


def chat_sentence(key: str, language: Language | None = None, /, **facts: object) -> str:
    """Return a sentence with the facts filled in; without a language in all of them."""
    languages = tuple(Language) if language is None else (language,)
    return "\n".join(_TEXTS[key][each].format(**facts) for each in languages)
