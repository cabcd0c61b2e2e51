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
        Language.JA: "{what}の予算を使い切ったため、ここで止まりました。{cure}",
        Language.EN: "I stopped because the budget of {what} is used up. {cure}",
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


_BUDGETS = {
    "turn": {Language.JA: "この返答", Language.EN: "this answer"},
    "session": {Language.JA: "この会話", Language.EN: "this conversation"},
    "agent": {Language.JA: "私の今日", Language.EN: "my day"},
    "heartbeat": {Language.JA: "私の自発的な活動", Language.EN: "what I do on my own today"},
    "public": {Language.JA: "あなたの今日の分", Language.EN: "what you may use today"},
    "installation": {
        Language.JA: "このOpenCrab全体の今日",
        Language.EN: "all agents here today",
    },
}
_CURES = {
    Language.JA: "日付が変わる(UTC)と再開できます。",
    Language.EN: "It is filled again tomorrow (UTC).",
}
_OWNERS_CURE = {
    Language.JA: "続けるには、オーナーが上限を上げる必要があります。",
    Language.EN: "To go on, the owner has to raise the limit.",
}
_WITHOUT_DAYS = {"turn", "session"}


def budget_phrase(scope: str | None, language: Language) -> str:
    """Says to people, who know no scopes, which money has ended and what helps."""
    kind = (scope or "installation").partition(":")[0]
    kind = kind if kind in _BUDGETS else "installation"
    cures = _OWNERS_CURE if kind in _WITHOUT_DAYS else _CURES
    return phrase("budget", language, what=_BUDGETS[kind][language], cure=cures[language])
