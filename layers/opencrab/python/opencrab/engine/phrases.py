"""The few sentences that OpenCrab itself says to people, in Japanese and English."""

from opencrab.domain.value import Language
from opencrab.ports.texts import Texts

_SENTENCES = Texts(__file__, "sentences")


def phrase(key: str, language: Language, **facts: object) -> str:
    """A sentence in the agent's language."""
    return _SENTENCES[key][language].format(**facts)


_BUDGETS = Texts(__file__, "budgets")
_CURES = Texts(__file__, "cures")
_WITHOUT_DAYS = {"turn", "session"}


def budget_phrase(scope: str | None, language: Language) -> str:
    """Says to people, who know no scopes, which money has ended and what helps."""
    kind = (scope or "installation").partition(":")[0]
    kind = kind if kind in _BUDGETS else "installation"
    cure = _CURES["owner" if kind in _WITHOUT_DAYS else "tomorrow"]
    return phrase("budget", language, what=_BUDGETS[kind][language], cure=cure[language])
