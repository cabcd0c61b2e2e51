"""Beat text: what wakes an agent, as it is told to the agent alone."""

from opencrab.domain.autonomy.heartbeat_gate import BeatReason
from opencrab.domain.value import Language

_REASONS = {
    BeatReason.MENTION: {
        Language.JA: "ここであなたへの言葉に、まだ誰も答えていません",
        Language.EN: "somebody spoke to you here and nobody has answered",
    },
    BeatReason.UNREAD: {
        Language.JA: "まだ見ていない出来事が{unread}件あります",
        Language.EN: "events that you have not looked at: {unread}",
    },
    BeatReason.GOAL: {
        Language.JA: "始められる目標があります",
        Language.EN: "a goal is worth beginning",
    },
    BeatReason.CURIOSITY: {
        Language.JA: "しばらく新しい経験がありません",
        Language.EN: "nothing new has happened to you for long",
    },
}
_WOKEN = {
    Language.JA: "[鼓動で目を覚ましました。理由: {reasons}。話す、学ぶ、行動する、"
    "または黙って終えることができます。]",
    Language.EN: "[Your heartbeat woke you: {reasons}. You may speak, learn, act, or stay silent.]",
}
_BETWEEN = {Language.JA: "、", Language.EN: "; "}


def woken_by(reasons: tuple[BeatReason, ...], language: Language, *, unread: int) -> str:
    """Tells an agent why it is awake and what it may do."""
    told = (_REASONS[reason][language].format(unread=unread) for reason in reasons)
    return _WOKEN[language].format(reasons=_BETWEEN[language].join(told))
