"""Words about sessions, turns and their stories, and keys."""

SENTENCES: dict[str, tuple[str, str]] = {
    # sessions, turns, keys
    "no_sessions": ("there are no conversations yet", "会話はまだありません"),
    "session_ended": ("conversation {id} has ended", "会話 {id} を終了しました"),
    "mentored": (
        "the agents will read it before their next step",
        "エージェントは次のステップの前にこれを読みます",
    ),
    "turn_cancelled": (
        "turn {id} stops before its next call (now: {status})",
        "ターン {id} は次の呼び出しの前に停止します(現在: {status})",
    ),
    "turn_approved": ("turn {id} goes on ({status})", "ターン {id} は続行します({status})"),
    "turn_rejected": ("turn {id} will end ({status})", "ターン {id} は終了します({status})"),
    "feedback_kept": (
        "noted: turn {id} has your feedback",
        "ターン {id} への評価を記録しました",
    ),
    "decision_needed": ("say --approve or --reject", "--approve か --reject を指定してください"),
    "how_to_decide": (
        "it waits for a decision: opencrab turns decide {id} --approve (or --reject)",
        "承認待ちです: opencrab turns decide {id} --approve(または --reject)",
    ),
    "key_created": (
        "key {name} (scope {scope}, id {id}):",
        "キー {name}(権限 {scope}、ID {id}):",
    ),
    "key_shown_once": (
        "keep it safe; it is not shown again",
        "大切に保管してください。二度と表示されません",
    ),
    "key_revoked": ("key {name} was revoked", "キー {name} を無効にしました"),
    # stories
    "story_title": ("{agent} · turn {id}", "{agent} ・ ターン {id}"),
    "story_trigger": (
        "{trigger} through {source}, on behalf of {authority}, {at}",
        "きっかけ: {trigger}({source}、権限: {authority}、{at})",
    ),
    "story_step": ("step {number}", "ステップ {number}"),
    "story_judgment": ("judgment:", "判断:"),
    "story_intent": ("intent:", "意図:"),
    "story_memory": ("to remember:", "覚えること:"),
    "story_answer": ("answer:", "回答:"),
    "story_error": ("error:", "エラー:"),
    "story_asked": ("asks: {what}", "承認待ち: {what}"),
    "story_approved": ("approved: {what}", "承認: {what}"),
    "story_rejected": ("rejected: {what}", "却下: {what}"),
    "story_stopped": ("stop asked by {by}, {at}", "停止の指示: {by}、{at}"),
    "story_end": (
        "{status} after {calls} model call(s), {seconds} s, {money}",
        "{status}: モデル呼び出し {calls} 回、{seconds} 秒、{money}",
    ),
}
