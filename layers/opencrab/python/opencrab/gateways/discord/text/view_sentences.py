"""Show words: what commands that show something say to people, in English and Japanese."""

from opencrab.domain.value import Language

_SENTENCES: dict[str, tuple[str, str]] = {
    # which agent is meant
    "unknown_agent": (
        "no agent {name!r} can be asked here",
        "ここで話せるエージェント {name!r} はいません",
    ),
    "ambiguous": (
        "{count} agents that can be asked here are called {name!r}",
        "ここで話せる {name!r} という名前のエージェントが {count} 人います",
    ),
    "ambiguous_cure": ("name one of them by its id: {ids}", "ID で指定してください: {ids}"),
    "name_agent": (
        "several agents can be asked here",
        "ここで話せるエージェントが複数います",
    ),
    "agents_are": ("name one of {names}", "次の中から指定してください: {names}"),
    "no_agents": ("no agent can be asked here", "ここで話せるエージェントがいません"),
    "no_agents_cure": (
        "ask the owner to create one, or to let one speak in this channel",
        "エージェントの作成か、このチャンネルへの配置を管理者に頼んでください",
    ),
    # agents
    "role": ("Role", "役割"),
    "job": ("Job", "職種"),
    "organization": ("Organisation", "所属"),
    "status": ("Status", "状態"),
    "language": ("Language", "言語"),
    "model": ("Model", "モデル"),
    "no_purpose": ("Nobody has given it a purpose yet.", "目的はまだ設定されていません。"),
    "state_of": ("{name} now", "{name} の今"),
    "now": ("Now", "今"),
    "heard": ("Last heard", "最後に聞いたこと"),
    "thought": ("Newest thought", "最新の思考"),
    "intent": ("Intent", "意図"),
    "last_action": ("Last action", "最後の行動"),
    "last_result": ("Last result", "最後の結果"),
    "open_goals": ("Open goals", "進行中の目標"),
    "waits_for_approval": ("Waits for an approval", "承認を待っています"),
    "works": ("At work", "作業中です"),
    "rests": ("Nothing", "何もしていません"),
    "goals_of": ("Goals of {name}", "{name} の目標"),
    "no_goals": ("There is no goal to show.", "表示できる目標はありません。"),
    "older_goals": ("and {count} more", "ほか {count} 件"),
    # memory
    "found_of": ("What {name} found", "{name} の記憶から"),
    "found_nothing": ("Nothing that fits.", "該当するものはありません。"),
    "blank_query": ("the query is blank", "何を探すかを書いてください"),
    "forget_what": (
        "it does not say what is to be forgotten",
        "何を忘れるかが指定されていません",
    ),
    "forget_what_cure": (
        "name either a memory or a person",
        "memory か person のどちらか一方を指定してください",
    ),
    "no_memory_id": ("this is no memory's id", "これは記憶の ID ではありません"),
    "no_memory_id_cure": (
        "/memory search shows the ids of memories",
        "記憶の ID は /memory search で確認できます",
    ),
    "would_forget": ("{name} would forget", "{name} が忘れることになるもの"),
    "confirm": (
        "Nothing has been forgotten yet. It is for good: to do it, give the same command again "
        "with `confirm: True`.",
        "まだ何も忘れていません。元には戻せません。実行するには、同じコマンドを "
        "`confirm: True` を付けてもう一度送ってください。",
    ),
    "forgotten": ("{name} has forgotten", "{name} は忘れました"),
    "forgotten_partly": ("{name} is forgetting", "{name} は忘れている途中です"),
    "forget_again": (
        "There was not enough time for everything: give the same command again.",
        "時間内に終わりませんでした。同じコマンドをもう一度送ってください。",
    ),
    "of_person": ("Everything of <@{id}>", "<@{id}> についてのすべて"),
    "of_memory": ("The memory `{id}`", "記憶 `{id}`"),
    "lines": ("Lines", "発言"),
    "repeated": ("Lines that repeat it", "それを繰り返す発言"),
    "turns": ("Turns", "ターン"),
    "kept": ("Memories and other things kept", "記憶など"),
    "files_stay": ("Files that came of it (they stay)", "そこから生まれたファイル(残ります)"),
    "skills_stay": ("Skills that came of it (they stay)", "そこから生まれたスキル(残ります)"),
    "schedules_stay": (
        "Schedules that have to do with it (they stay)",
        "関係する予定(残ります)",
    ),
    # models
    "models_of": ("Models of {name}", "{name} のモデル"),
    "next_turn": (
        "This counts from the next turn on; a turn that runs keeps its model.",
        "次のターンから有効です。実行中のターンのモデルは変わりません。",
    ),
    "aliases": ("Aliases", "別名"),
    "which_model": ("it does not say which model", "モデルが指定されていません"),
    "which_model_cure": (
        "write provider:model, or one of the aliases",
        "provider:model か別名を指定してください",
    ),
    "no_use": ("there is no use {use!r}", "{use!r} という用途はありません"),
    "uses_are": ("name one of {uses}", "次の中から指定してください: {uses}"),
    # money and switches
    "costs_of": ("Costs of {name}, {period}", "{name} の費用({period})"),
    "installation": ("the installation", "全体"),
    "agent": ("the agent", "エージェント"),
    "heartbeat": ("its heartbeats", "ハートビート"),
    "cost": ("Cost", "費用"),
    "calls": ("Model calls", "モデルの呼び出し"),
    "budgets": ("Today's budgets (UTC)", "今日の予算(UTC)"),
    "by_model": ("By model", "モデル別"),
    "by_agent": ("By agent", "エージェント別"),
    "unknown_calls": ("Calls of unknown end, charged in full", "結果不明(満額で計上)"),
    "not_all_calls": (
        "Only the newest {count} calls of each agent are counted.",
        "各エージェントの新しい呼び出し {count} 件だけを数えています。",
    ),
    "no_period": ("there is no period {period!r}", "{period!r} という期間はありません"),
    "periods_are": ("name one of {periods}", "次の中から指定してください: {periods}"),
    "all_frozen": (
        "Everything is frozen: no agent takes another step",
        "全体を凍結しました。どのエージェントも次の一歩に進みません",
    ),
    "all_unfrozen": ("The installation works again", "全体の凍結を解除しました"),
    "agent_frozen": (
        "{name} is frozen and takes no other step",
        "{name} を凍結しました。次の一歩に進みません",
    ),
    "agent_unfrozen": ("{name} works again", "{name} の凍結を解除しました"),
    "still_frozen": (
        "The whole installation is frozen still: `/unfreeze` without an agent lets it work.",
        "全体は凍結されたままです。agent を付けない `/unfreeze` で解除できます。",
    ),
    "some_frozen": ("Frozen still: {ids}", "まだ凍結中: {ids}"),
    # approvals
    "approvals": ("Approvals", "承認"),
    "no_approvals": (
        "Nothing waits for your decision.",
        "あなたの決定を待っているものはありません。",
    ),
    "more_approvals": (
        "There are more: decide on these, then give the command again.",
        "ほかにもあります。これらを決めてから、もう一度コマンドを送ってください。",
    ),
    "approve": ("Approve", "承認"),
    "reject": ("Reject", "却下"),
    "touches": ("Touches", "対象"),
    "expires": ("Expires", "期限"),
    "tainted": (
        "It has read words from outside before it asked.",
        "この求めの前に、外部の言葉を読んでいます。",
    ),
}

_TERMS: dict[str, tuple[str, str]] = {
    "discussant": ("discussant", "議論参加者"),
    "facilitator": ("facilitator", "ファシリテーター"),
    "observer": ("observer", "オブザーバー"),
    "active": ("active", "活動中"),
    "dormant": ("dormant", "休眠中"),
    "retired": ("retired", "引退"),
    "frozen": ("frozen", "凍結中"),
    "ja": ("Japanese", "日本語"),
    "en": ("English", "英語"),
    "pending": ("in line", "順番待ち"),
    "waiting": ("waiting for approval", "承認待ち"),
    "paused": ("paused", "中断中"),
    "completed": ("completed", "完了"),
    "abandoned": ("given up", "中止"),
    "instruction": ("instruction", "指示"),
    "inner_voice": ("inner voice", "内なる声"),
    "memory": ("memory", "記憶"),
    "experience": ("experience", "経験"),
    "summary": ("summary", "要約"),
    "thinking": ("thinking", "思考"),
    "conversation": ("conversation", "会話"),
    "analysis": ("analysis", "分析"),
    "tool_calling": ("calling actions", "行動の呼び出し"),
    "creative": ("creative", "創作"),
    "embedding": ("embedding", "埋め込み"),
    "by_default": ("the installation's default", "全体の既定"),
    "by_use": ("the installation's, for this use", "全体の用途別の設定"),
    "by_agent": ("the agent's, for every use", "エージェントの全用途の設定"),
    "by_permanent": ("the agent's, for this use", "エージェントの用途別の設定"),
    "by_fallback": ("in place of one that cannot be asked", "使えないモデルの代替"),
    "last_hour": ("last hour", "直近1時間"),
    "last_day": ("last day", "直近24時間"),
    "last_week": ("last 7 days", "直近7日間"),
    "last_month": ("last 30 days", "直近30日間"),
    "all": ("in all", "全期間"),
    "speech": ("speech", "発言"),
    "read": ("reads", "読み取り"),
    "self": ("changes its own things", "自分のものを変更"),
    "shared": ("changes shared things", "共有のものを変更"),
    "external": ("acts outside", "外部への操作"),
}


def say(language: Language, key: str, /, **values: object) -> str:
    """A sentence in somebody's language."""
    english, japanese = _SENTENCES[key]
    return (japanese if language is Language.JA else english).format(**values)


def term(language: Language, word: str) -> str:
    """A word of OpenCrab's own, such as a status, in somebody's language; others stay."""
    english, japanese = _TERMS.get(word, (word, word))
    return japanese if language is Language.JA else english
