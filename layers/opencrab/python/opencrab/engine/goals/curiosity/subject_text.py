"""Names and descriptions of exploration goals about one subject, in English and Japanese."""

from opencrab.domain.autonomy.curiosity_subject import SubjectKind
from opencrab.domain.value import Language
from opencrab.ports.texts import Texts
from opencrab.ports.turn.action import one_line

_TEXTS = Texts(__file__)
_NAME, _WHAT = 100, 500


def curiosity_goal_text(
    kind: SubjectKind, language: Language, what: str, **facts: object
) -> tuple[str, str]:
    """Return name and description of the goal to explore a subject; `what` are its words."""
    name = _TEXTS["name"][language].format(what=one_line(what, _NAME))
    return name, _TEXTS[kind][language].format(what=one_line(what, _WHAT), **facts)
