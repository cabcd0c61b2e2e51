"""Words about an agent's goals, in English and Japanese."""

SENTENCES: dict[str, tuple[str, str]] = {
    "no_goals": ("{name} has no goals yet", "{name} の目標はまだありません"),
    "no_scores": ("{name} has no open goals", "{name} に取りかかれる目標はありません"),
    "goal_added": ("{id} was added: {name}", "{id} を加えました: {name}"),
    "goal_abandoned": ("{id} was given up: {name}", "{id} をやめました: {name}"),
    "head_horizon": ("horizon", "時期"),
    "head_origin": ("from", "由来"),
    "head_cause": ("because", "原因"),
    "head_deadline": ("deadline", "期限"),
    "head_waits": ("waits", "待つ理由"),
    "head_revision": ("plan", "計画の版"),
    "head_priority": ("priority", "優先度"),
    "head_reward": ("reward, expected and actual", "報酬(予想 → 実際)"),
}

TERMS = {
    "aspiration": "志",
    "objective": "目標",
    "abandoned": "中止",
    "survival": "存続",
    "role": "役目",
    "opportunity": "機会",
    "curiosity": "好奇心",
    "social": "人間関係",
    "urgency": "緊急度",
    "expected_reward": "報酬",
    "capability_match": "得意さ",
    "novelty": "新しさ",
    "social_value": "人のため",
}

HELP = {
    "See what an agent wants and why; give it goals, and give them up.": (
        "エージェントの目標とその理由を見る・目標を与える・やめさせる。"
    ),
    "List an agent's goals, the newest first.": "エージェントの目標の一覧(新しい順)。",
    "Show a goal with its plan.": "目標を計画とともに表示します。",
    "Give an agent a goal that it begins by itself, by its priority.": (
        "エージェントが優先度に応じて自分から始める目標を与えます。"
    ),
    "Give a goal up; what is done stays.": "目標をやめます。終わった分は残ります。",
    "Show how much an agent wants each open goal, and every number of it.": (
        "取りかかれる目標ごとに、優先度とそのすべての数値を表示します。"
    ),
    "A goal, such as G3.": "目標の ID(例: G3)。",
    "What is to be reached, in a line.": "目指すこと(1行)。",
    "What is meant, in more words.": "詳しい説明。",
    "An aspiration: it is never begun, and leads to objectives.": (
        "志として加えます。始められることはなく、目標を生みます。"
    ),
    "Until when: a day or a time.": "期限(日付または日時)。",
    "What it brings, 0 to 1.": "もたらすもの(0〜1)。",
    "How many goals.": "目標の件数。",
}
