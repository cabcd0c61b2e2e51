"""Texts of the learning report, in Japanese and English."""

from opencrab.domain.value import Language
from opencrab.ports.texts import Texts

_SENTENCES = Texts(__file__)


def learning_phrase(key: str, language: Language, **parts: object) -> str:
    """Return a text with its placeholders filled in."""
    return _SENTENCES[key][language].format(**parts)


def learning_reason_phrase(reason: str, language: Language) -> str:
    """Return the text for a reason, or the reason's code if there is none."""
    key = f"reason_{reason}"
    return learning_phrase(key, language) if key in _SENTENCES else reason.replace("_", " ")
