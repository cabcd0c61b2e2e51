"""Words about approvals and grants: sentences, terms, and the Japanese of their help."""

SENTENCES: dict[str, tuple[str, str]] = {
    "no_approvals": ("nothing waits for a decision", "承認待ちのものはありません"),
    "no_decided": ("nothing was decided lately", "最近決定されたものはありません"),
    "no_grants": ("{name} has no grants", "{name} への事前の許可はありません"),
    "approval_approved": ("approved: {what}", "承認しました: {what}"),
    "approval_rejected": ("rejected: {what}", "却下しました: {what}"),
    "approval_tainted": (
        "its turn has read words from outside: look closely",
        "このターンは外部の文章を読んでいます。内容をよく確かめてください",
    ),
    "approval_next": (
        "decide: opencrab approvals approve {id} (or reject)",
        "決定するには: opencrab approvals approve {id}(または reject)",
    ),
    "link_made": (
        "good until {until}; whoever holds it decides in your name, once:",
        "{until} まで有効です。このリンクを持つ人は、あなたの名で一度だけ決定できます:",
    ),
    "grant_made": (
        "{name} may do this {calls} time(s) until {until} ({id})",
        "{name} は {until} まで {calls} 回、承認なしで行えます({id})",
    ),
    "grant_revoked": ("grant {id} was taken back", "許可 {id} を取り消しました"),
    "grant_needs": (
        "say what is allowed: --action or --impact",
        "--action か --impact で許可する範囲を指定してください",
    ),
    "no_id": ("{id!r} is no id", "{id!r} は ID ではありません"),
    "no_id_cure": (
        "copy it from `opencrab approvals list` or `grants`",
        "`opencrab approvals list` か `grants` の一覧からコピーしてください",
    ),
    "head_what": ("what", "内容"),
    "head_touches": ("touches", "対象"),
    "head_action": ("action", "行動"),
    "head_impact": ("impact", "影響"),
    "head_since": ("since", "開始"),
    "head_until": ("until", "期限"),
    "head_decided": ("decided", "決定"),
    "head_by": ("by", "決定者"),
    "head_reason": ("why", "理由"),
    "head_arguments": ("exact arguments", "引数(そのまま)"),
    "head_goal": ("for", "目標"),
    "head_allows": ("allows", "許可する範囲"),
    "head_used": ("used", "使用回数"),
}

TERMS: dict[str, str] = {
    "approved": "承認済み",
    "rejected": "却下",
    "expired": "期限切れ",
    "withdrawn": "取り下げ",
    "speech": "発言",
    "read": "読み取り",
    "shared": "共有物の変更",
    "external": "外部への影響",
}

HELP: dict[str, str] = {
    "See and decide what waits for you, and give leave beforehand.": (
        "承認待ちの確認と決定、事前の許可。"
    ),
    "List what waits for a decision, or what was decided.": (
        "承認待ちのもの、または決定されたものの一覧。"
    ),
    "What was decided in the last 35 days.": "直近35日間に決定されたもの。",
    "Show one approval with the exact arguments of its call.": (
        "1件を、行動の引数をそのまま含めて表示します。"
    ),
    "An approval's id.": "承認の ID。",
    "Let the call run, with exactly these arguments.": "表示された引数のままでの実行を承認します。",
    "Refuse the call; its turn ends.": "却下します。ターンは終了します。",
    "Make a link by which somebody without a key can decide.": (
        "キーを持たない人が決定できるリンクを作成します。"
    ),
    "How many hours the link is good for.": "リンクの有効時間(時間)。",
    "Let an agent do something unasked, so often and until a time.": (
        "回数と期限を決めて、承認なしの行動を許可します。"
    ),
    "An action that is allowed; may be repeated.": "許可する行動(複数指定可)。",
    "An impact that is allowed; may be repeated.": "許可する影響(複数指定可)。",
    "Only calls that touch something whose name begins so.": (
        "対象の名前がこの文字で始まるものだけ。"
    ),
    "How many calls.": "回数。",
    "For how many hours.": "有効時間(時間)。",
    "List an agent's grants.": "エージェントへの事前の許可の一覧。",
    "Take a grant back.": "事前の許可を取り消します。",
    "A grant's id.": "許可の ID。",
    "What runs unasked: strict, guarded, open, or a list such as read,self,web_search.": (
        "承認なしで行える範囲: strict、guarded、open、または read,self,web_search のような一覧。"
    ),
}
