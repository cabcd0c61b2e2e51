"""Names and descriptions of goals that agents set themselves, in English and Japanese."""

from opencrab.domain.goals.goal import GoalSource
from opencrab.domain.turn.success_condition import SUCCESS_MARKS
from opencrab.domain.value import Language
from opencrab.ports.texts import Texts

_NAMES = Texts(__file__, "names")
_WORDS = Texts(__file__, "words")
_EARLIER = Texts(__file__, "earlier")


def survival_goal_text(language: Language, balance: int) -> str:
    """Return the description of a survival goal for an agent with a low world balance."""
    return _WORDS["poor"][language].format(balance=balance)


def goal_text(source: GoalSource, language: Language, **what: object) -> tuple[str, str]:
    """Return name and description of a self-set goal from this source."""
    return _format_goal_text(source, language, **what)


def social_goal_text(reason: str, language: Language, who: str) -> tuple[str, str]:
    """Return name and description of the goal to turn to somebody, by the reason."""
    return _format_goal_text(reason, language, what=who)


def aspiration_text(language: Language, whole: str = "", *, asked: bool) -> str:
    """Return the description of an aspiration: what the owner asked for, or the purpose.

    `whole` is what its name has no room for.
    """
    return "\n".join(filter(None, (_WORDS["asked" if asked else "role"][language], whole)))


def next_step_goal_text(language: Language, what: str, *, asked: bool) -> tuple[str, str]:
    """Return name and description of the next step towards an aspiration.

    `asked` says that the aspiration is what the owner asked the agent to do unasked.
    """
    return _format_goal_text("asked_step" if asked else "step", language, what=what)


def planned_goal_text(
    language: Language, name: str, words: str, conditions: str, event: str = ""
) -> tuple[str, str]:
    """Return name and description of a step for one thing that standing instructions ask for.

    `conditions` are its success conditions, `event` what happened that it is for.
    """
    what, described = _format_goal_text("asked_step", language, what=name)
    mark = f"{SUCCESS_MARKS[language]}{conditions}" if conditions else ""
    words = "" if words.strip() == name.strip() else words
    told = _WORDS["happened"][language].format(what=event) if event else ""
    return what, "\n".join(filter(None, (mark, words, told, described)))


def earlier_goal_text(key: str, language: Language, **what: object) -> str:
    """Return one of the texts about earlier steps towards an aspiration."""
    return _EARLIER[key][language].format(**what)


def _format_goal_text(reason: str, language: Language, **what: object) -> tuple[str, str]:
    name, words = _NAMES[reason][language], _WORDS[reason][language]
    return name.format(**what), words.format(**what)
