"""Texts in the results of the model actions, in Japanese and English."""

from opencrab.domain.value import Language
from opencrab.ports.texts import Texts

_SENTENCES = Texts(__file__)


def action_text_for_models(name: str, language: Language) -> str:
    """Return one of the texts in a language."""
    return _SENTENCES[name][language]
