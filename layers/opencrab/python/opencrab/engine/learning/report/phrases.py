"""The words of the learning report, in Japanese and English."""

from opencrab.domain.value import Language
from opencrab.ports.texts import Texts

_SENTENCES = Texts(__file__)


def report_phrase(key: str, language: Language, **parts: object) -> str:
    """A sentence with its parts filled in."""
    return _SENTENCES[key][language].format(**parts)


def report_reason_phrase(reason: str, language: Language) -> str:
    """Why something was done, in words; a reason that has none is told as it is."""
    key = f"reason_{reason}"
    return report_phrase(key, language) if key in _SENTENCES else reason.replace("_", " ")
