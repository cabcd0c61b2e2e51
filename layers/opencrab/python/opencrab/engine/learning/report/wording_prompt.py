"""The words by which a model is asked what a learning report comes to, in Japanese and English."""

from collections.abc import Iterable

from opencrab.domain.agents.agent import Profile
from opencrab.domain.learning.report_wording import SENTENCES
from opencrab.domain.value import Language
from opencrab.engine.turn.prompt.truncation import truncate_prompt_lines
from opencrab.ports.texts import Texts
from opencrab.ports.turn.action import one_line

_SOUL_TOKENS = 400
_LINE = 500
_TEXTS = Texts(__file__)


def report_wording_rules(profile: Profile, language: Language) -> str:
    """Who is asked, and what for."""
    soul = truncate_prompt_lines(profile.soul.describe(language), _SOUL_TOKENS, language)
    name = one_line(profile.soul.persona_name)
    return _TEXTS["rules"][language].format(name=name, soul=soul, most=SENTENCES)


def report_wording_question(period: str, report: Iterable[str], language: Language) -> str:
    """The question with the report, each line of which says by its mark that it is one of it."""
    lines = (f"| {one_line(line, _LINE)}" for line in report if line.strip())
    question = _TEXTS["question"][language].format(period=period)
    return "\n".join((question, _TEXTS["begin"][language], *lines, _TEXTS["end"][language]))
