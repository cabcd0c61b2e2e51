"""The prompt that asks a model to summarise a learning report, in Japanese and English."""

from collections.abc import Iterable

from opencrab.domain.agents.agent import Profile
from opencrab.domain.insight.report_wording import SENTENCES
from opencrab.domain.value import Language
from opencrab.engine.turn.prompt.truncation import truncate_prompt_lines
from opencrab.ports.models.model import TrustedText
from opencrab.ports.texts import Texts
from opencrab.ports.turn.action import one_line

_SOUL_TOKENS = 400
_LINE = 500
_TEXTS = Texts(__file__)


def learning_report_wording_rules(profile: Profile, language: Language) -> str:
    """Return the system prompt: the agent's persona and the task."""
    soul = truncate_prompt_lines(
        TrustedText(profile.soul.describe(language)), _SOUL_TOKENS, language
    )
    name = one_line(profile.soul.persona_name)
    return _TEXTS["rules"][language].format(name=name, soul=soul, most=SENTENCES)


def learning_report_wording_question(period: str, report: Iterable[str], language: Language) -> str:
    """Return the question with the report, each line of which is marked with "| "."""
    lines = (f"| {one_line(line, _LINE)}" for line in report if line.strip())
    question = _TEXTS["question"][language].format(period=period)
    return "\n".join((question, _TEXTS["begin"][language], *lines, _TEXTS["end"][language]))
