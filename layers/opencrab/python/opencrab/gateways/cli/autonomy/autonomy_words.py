"""Words about agents that live on their own: sentences, and the Japanese of their help."""

SENTENCES: dict[str, tuple[str, str]] = {
    "heartbeat_on": (
        "{name} wakes every {seconds} seconds",
        "{name} は{seconds}秒ごとに目を覚まします",
    ),
    "heartbeat_off": ("{name} does not wake on its own", "{name} は自分からは目を覚ましません"),
    "heartbeat_asleep": (
        "{name} is asleep, and does nothing on its own until something wakes it: "
        "a message, an event, a goal, or `opencrab heartbeats wake`",
        "{name} は眠っています。メッセージ・出来事・目標、または "
        "`opencrab heartbeats wake` で目を覚ますまで、自分からは何もしません",
    ),
    "heartbeat_awake": ("{name} is awake", "{name} は起きています"),
    "heartbeat_hours": ("awake from {start} to {end} ({zone})", "活動時間 {start}〜{end} ({zone})"),
    "heartbeat_unasked": (
        "it may want things itself, and is told:",
        "自分から目標を持つことがあります。指示:",
    ),
    "heartbeat_asked": (
        "it does only what others cause: messages, events, schedules, goals that it is given",
        "メッセージ・出来事・予定・与えられた目標にだけ応じます",
    ),
    "beats_so_far": (
        "{beats} beats so far, {idle} of them idle; {turns} turns",
        "これまでの鼓動 {beats}回(うち何もなし {idle}回)、番 {turns}回",
    ),
    "seeded_before": ("{preset} is there already", "{preset} はすでにいます"),
    "discussion_over": ("ended: {why}", "終了: {why}"),
    "head_sim_name": ("agent", "エージェント"),
    "head_sim_beats": ("beats", "鼓動"),
    "head_sim_idle": ("idle", "何もなし"),
    "head_sim_turns": ("turns", "番"),
    "head_sim_calls": ("model calls", "モデル呼び出し"),
    "head_sim_spent": ("spent", "費用"),
    "head_sim_goals": ("goals by source", "目標の源"),
    "simulated": (
        "{beats} beats, {idle} idle; {turns} turns, {calls} model calls "
        "({reasonless} without a reason), ${spent}; goals: {goals}",
        "鼓動 {beats}回(何もなし {idle})、番 {turns}回、モデル呼び出し {calls}回"
        "(理由なし {reasonless}回)、${spent}。目標: {goals}",
    ),
}

HELP = {
    "Let the founding agents live some hours on a simulated clock, without any model.": (
        "最初の住人たちを、模擬時計の上で数時間、モデルなしで生活させます。"
    ),
    "How many agents live.": "エージェントの数。",
    "How many hours pass.": "経過させる時間数。",
    "The same seed is the same day, another one another.": (
        "同じ値なら同じ一日、違う値なら別の一日になります。"
    ),
    "See and set how agents wake on their own.": "エージェントの自発的な目覚めの確認と設定。",
    "Show how often an agent wakes, and what it does then.": "目を覚ます間隔と指示を表示します。",
    "Wake an agent that is asleep; one that is awake stays it.": (
        "眠っているエージェントを起こします。起きていれば何も変わりません。"
    ),
    "Change how an agent lives on its own; what is left out stays.": (
        "自発的な活動の設定を変えます。省いた項目はそのままです。"
    ),
    "List the beats for which an agent had a reason, the newest first.": (
        "理由のあった鼓動を新しい順に表示します。"
    ),
    "Seconds between beats: a prime, 29 or more.": "鼓動の間隔(秒)。29以上の素数。",
    'What it does unasked; "" is nothing.': "自分から行うこと。空なら何もしません。",
    "Whether it beats at all.": "鼓動の有無。",
    "Whether it may want things itself.": "自分から目標を持ってよいかどうか。",
    "The time zone of its active hours.": "活動時間の時間帯(例: Asia/Tokyo)。",
    "When it is awake; - is always.": "活動時間。- は常時。",
    "Make agents from presets.": "用意された人格からエージェントを作ります。",
    "Make the eight founders, once.": "最初の8人を作ります(一度だけ)。",
    "Make one agent from a preset.": "用意された人格から1人作ります。",
    "List the presets.": "用意された人格の一覧。",
    "A preset's name.": "人格の名前。",
    "What the agent is called.": "エージェントの名前。",
}

TERMS = {
    "done": "全員が完了",
    "quorum": "定足数が完了",
    "max_turns": "番の上限",
    "concluded": "進行役が終了",
    "no_novelty": "新しい発言なし",
    "hops": "続けた番の上限",
    "quiet": "全員が沈黙",
    "by_hand": "手動",
    "discussant": "参加者",
    "facilitator": "進行役",
    "observer": "傍聴",
}
