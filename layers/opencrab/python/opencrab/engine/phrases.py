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
    "paused": {
        Language.JA: "[{label}] 中断しました。ここまでに行ったこと: {done}。"
        "再開するか、破棄するかを選んでください。",
        Language.EN: "[{label}] I have paused. Done so far: {done}. Resume this, or discard it.",
    },
    "note_task": {
        Language.JA: "[目標 {goal}「{goal_name}」のタスク {task} ({place}): {name}\n"
        "前提: {before}\n完了の条件: {after}\n"
        "このタスクだけを行い、終わったら finish_task、できなければ fail_task を呼びます]",
        Language.EN: '[Task {task} ({place}) of goal {goal} "{goal_name}": {name}\n'
        "Before: {before}\nDone when: {after}\n"
        "Do this task only; then call finish_task, or fail_task if it cannot be done]",
    },
    "note_goal": {
        Language.JA: "[目標 {goal}「{goal_name}」。数段階かかるなら plan_goal で計画します。"
        "すぐできるなら行って report を呼びます]",
        Language.EN: '[Goal {goal} "{goal_name}". If it takes several steps, plan it with '
        "plan_goal; if not, do it now and call report]",
    },
    "note_report": {
        Language.JA: "[目標 {goal}「{goal_name}」\n{rows}\n"
        "すべてのタスクが終わりました。report を呼びます]",
        Language.EN: '[Goal {goal} "{goal_name}"\n{rows}\nEvery task is over. Call report now]',
    },
    "paused_by_hand": {
        Language.JA: "一時停止されました。",
        Language.EN: "It was paused.",
    },
    "interrupted": {
        Language.JA: "話しかけられたので中断しました: {text}",
        Language.EN: "Interrupted by a message: {text}",
    },
    "nothing_yet": {Language.JA: "まだ何もありません", Language.EN: "nothing yet"},
    "goal_begins": {
        Language.JA: "[{goal}] 取りかかってください: {name}",
        Language.EN: "[{goal}] Begin: {name}",
    },
    "task_begins": {
        Language.JA: "[{task}] 取りかかってください: {name}",
        Language.EN: "[{task}] Begin: {name}",
    },
    "report_due": {
        Language.JA: "[{goal}] すべてのタスクが終わりました。報告してください: {name}",
        Language.EN: "[{goal}] Every task has ended. Report: {name}",
    },
    "goal_stopped": {
        Language.JA: "止められました。続けるには再開してください。",
        Language.EN: "It was stopped. To go on, resume it.",
    },
    "goal_rejected": {
        Language.JA: "承認されませんでした。続けるには再開してください。",
        Language.EN: "What it asked for was not approved. To go on, resume it.",
    },
    "goal_failed": {
        Language.JA: "失敗しました。もう一度行うには、明示的に再開してください。",
        Language.EN: "It failed. It is tried again only if you resume it.",
    },
    "goal_exhausted": {
        Language.JA: "回数か予算の上限に達しました。続けるには再開してください。",
        Language.EN: "It reached a limit of steps or money. To go on, resume it.",
    },
    "goal_idle": {
        Language.JA: "何も言わずに終わりました。続けるには再開してください。",
        Language.EN: "It ended without a word. To go on, resume it.",
    },
    "goal_unplanned": {
        Language.JA: "計画が受け付けられず({why})、ほかに何もしませんでした。"
        "続けるには再開してください。",
        Language.EN: "Its plan was refused ({why}), and nothing else was done. "
        "To go on, resume it.",
    },
    "goal_waits": {
        Language.JA: "進めません。理由を見て、どうすればよいか教えてください。",
        Language.EN: "I cannot go on. See why, and tell me how to.",
    },
    "task_silent": {
        Language.JA: "結果を言わずに終わりました",
        Language.EN: "it ended without a result",
    },
    "nothing_done": {
        Language.JA: "記録に残る行動がありません",
        Language.EN: "the journal knows of no action for it",
    },
    "unconfirmed": {Language.JA: "未確認: {what}", Language.EN: "Unconfirmed: {what}"},
    "waiting": {
        Language.JA: "承認を待っています: {what}(対象: {touches})",
        Language.EN: "I am waiting for approval: {what} (touches: {touches})",
    },
    "repair_due": {
        Language.JA: "[{goal}] 行き詰まりました({cause})。残りを計画し直してください: {name}",
        Language.EN: "[{goal}] Stuck ({cause}). Plan anew what is left: {name}",
    },
    "note_repair": {
        Language.JA: "[目標 {goal}「{goal_name}」は行き詰まりました: {cause}\n{rows}\n"
        "plan_goal で、残りを別のやり方で計画します。"
        "無理ならオーナーに何が必要かを言います]",
        Language.EN: '[Goal {goal} "{goal_name}" is stuck: {cause}\n{rows}\n'
        "Plan what is left in another way with plan_goal. If there is none, say "
        "what you need from your owner]",
    },
    "goal_stuck": {
        Language.JA: "計画し直しても進めませんでした。どうすればよいか教えてください: {cause}",
        Language.EN: "Other plans did not help either. Tell me how to go on: {cause}",
    },
    "task_unmet": {
        Language.JA: "前提が成り立っていません: {what}",
        Language.EN: "its precondition does not hold: {what}",
    },
    "task_over": {
        Language.JA: "{turns}回の番で終わりませんでした",
        Language.EN: "it was not over after {turns} turns",
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
