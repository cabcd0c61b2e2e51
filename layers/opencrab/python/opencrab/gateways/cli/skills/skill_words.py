"""Words about skills: sentences, and the Japanese of their help."""

SENTENCES: dict[str, tuple[str, str]] = {
    "no_skills": ("{name} has no skills", "{name} にスキルはありません"),
    "skill_on": ("on", "有効"),
    "skill_off": ("off", "無効"),
    "skill_tried": ("on trial", "試行中"),
    "skill_queued": ("waits for a trial", "試行待ち"),
    "skill_effect": ("{points} points ({low} to {high})", "{points}点({low}〜{high})"),
    "skill_waiting": ("waits for approval", "承認待ち"),
    "skill_archived": ("retired", "使用停止"),
    "skill_standard": ("standard", "標準"),
    "skill_acquired": ("acquired", "習得"),
    "skill_is": ("{name}: {status}", "{name}: {status}です"),
    "skill_added": ("{name} was added ({status})", "{name} を追加しました({status})"),
    "skill_text_needed": (
        "say what to do: --text, or text through a pipe",
        "--text かパイプで本文を渡してください",
    ),
    "skill_read_first": (
        "read it first: opencrab skills show; then confirm with --yes",
        "先に opencrab skills show で内容を確かめ、--yes で確認してください",
    ),
    "really_approve": (
        "Shall {name} be tried from now on?",
        "{name} を試し始めますか?",
    ),
    "head_skill": ("skill", "スキル"),
    "head_kind": ("kind", "種類"),
    "head_description": ("what for", "説明"),
    "head_situation": ("when", "状況"),
    "head_skill_version": ("version", "版"),
    "head_actions": ("actions", "アクション"),
    "head_source": ("learned by", "学び方"),
    "head_taught_by": ("taught by", "教えた人"),
    "head_approved_by": ("approved by", "承認した人"),
    "head_usage": ("used", "使用回数"),
    "head_effect": ("effect", "効果"),
}

TERMS: dict[str, str] = {
    "experience": "経験",
    "research": "調査",
    "reflection": "振り返り",
    "feedback": "指導",
}

HELP = {
    "See what an agent knows how to do; add, approve, switch and retire skills.": (
        "エージェントのスキルの一覧・追加・承認・切り替え・停止。"
    ),
    "List an agent's skills, standard and learned.": "標準と習得したスキルの一覧。",
    "Show one skill with its text.": "スキルを本文とともに表示します。",
    "Give an agent a skill.": "エージェントにスキルを与えます。",
    "Switch a skill on for good or off, or to what it is not.": (
        "スキルを試行なしで有効にするか、無効にします(指定がなければ反転)。"
    ),
    "Let a skill count that waits for approval.": "承認待ちのスキルを使えるようにします。",
    "Retire a learned skill; `restore` brings it back.": (
        "習得したスキルの使用を停止します。restore で戻せます。"
    ),
    "Bring a retired skill back.": "停止したスキルを戻します。",
    "A skill's name.": "スキルの名前。",
    "What it is for and when to use it.": "何のために、いつ使うか。",
    "When it fits: words of a message, alternatives separated by |.": (
        "合う状況(発言に出てくる言葉。| で区切る)。"
    ),
    "What to do, in Markdown; without it standard input.": ("本文(Markdown。省略時は標準入力)。"),
    "On or off, rather than what it is not.": "反転せず、有効か無効を指定します。",
}
