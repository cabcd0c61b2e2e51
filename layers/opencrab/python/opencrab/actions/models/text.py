"""What the meta actions say in words, in Japanese and English; the rest is numbers."""

from opencrab.domain.value import Language
from opencrab.ports.texts import Texts

_SENTENCES = Texts(__file__)


def model_action_text(name: str, language: Language) -> str:
    """One of the sentences in a language."""
    return _SENTENCES[name][language]
