"""The few sentences that OpenCrab itself says to people, in Japanese and English."""

from opencrab.domain.value import Language

_SENTENCES = {
    "max_steps": {
        Language.JA: "考える回数の上限({limit}回)に達したため、ここで止まりました。"
        "途中までの結果は残っています。続けるには、もう一度話しかけてください。",
        Language.EN: "I stopped after the limit of {limit} model calls for one turn. What I did so "
        "far is kept; speak to me again to go on.",
    },
    "budget": {
        Language.JA: "予算を使い切ったため、ここで止まりました({what})。",
        Language.EN: "I stopped because a budget is used up ({what}).",
    },
    "failed": {
        Language.JA: "申し訳ありません。この返答は失敗しました: {why}",
        Language.EN: "I am sorry, this answer failed: {why}",
    },
    "no_progress": {
        Language.JA: "申し訳ありません。3回試しても先に進めなかったため、この返答を終えました。",
        Language.EN: "I am sorry: three attempts made no progress, so I ended this answer.",
    },
    "stopped": {
        Language.JA: "停止の指示を受けたため、ここで止まりました。",
        Language.EN: "I stopped because I was told to.",
    },
    "frozen": {
        Language.JA: "現在、このエージェントは凍結されているため、応答できません。",
        Language.EN: "I cannot answer: this agent or installation is frozen at the moment.",
    },
    "retired": {
        Language.JA: "このエージェントは引退しています。",
        Language.EN: "This agent has retired.",
    },
    "rejected": {
        Language.JA: "承認されなかったため、ここで止まりました: {what}",
        Language.EN: "I stopped because this was not approved: {what}",
    },
    "waiting": {
        Language.JA: "承認を待っています: {what}(対象: {touches})",
        Language.EN: "I am waiting for approval: {what} (touches: {touches})",
    },
}


def phrase(key: str, language: Language, **facts: object) -> str:
    """A sentence in the agent's language."""
    return _SENTENCES[key][language].format(**facts)
