"""Words about an agent's views, live and exported, in English and Japanese."""

SENTENCES: dict[str, tuple[str, str]] = {
    "exported": (
        "{state} was written; {events} has {count} new events",
        "{state} に書き込み、{events} に {count} 件のイベントを追記しました",
    ),
    "foreign_file": (
        "{path} is not an export of this agent, or was changed since",
        "{path} はこのエージェントの書き出しではないか、その後に変更されています",
    ),
    "foreign_file_cure": (
        "nothing in it was changed: move it away, or name another folder with --directory",
        "内容は変更していません。別の場所に移すか、--directory で別のフォルダーを指定してください",
    ),
    "name_agent": (
        "there are several agents; say which one",
        "エージェントが複数います。どれか1体を指定してください",
    ),
    "name_agent_cure": (
        "add an agent's name or id; `opencrab agents list` shows them",
        "名前か ID を付けてください(一覧: `opencrab agents list`)",
    ),
    "pane_chat": ("chat", "会話"),
    "pane_cli": ("terminal", "端末"),
    "pane_plan": ("plan", "計画"),
    "pane_inspector": ("inspector", "思考と行動"),
    "pane_vitals": ("vitals", "状態"),
    "watch_gap": (
        "… the lines between {after} and {before} are left out",
        "… {after} と {before} の間の行は省かれました",
    ),
    "watch_title": ("{name} · Ctrl-C ends this", "{name} · Ctrl-C で終了"),
    "view_purpose": ("purpose", "目的"),
    "view_judgment": ("judgment", "判断"),
    "view_intent": ("intent", "次の一手"),
    "view_action": ("action", "行動"),
    "view_result": ("result", "結果"),
    "phase_approving": ("waits for approval", "承認待ち"),
    "phase_executing": ("under way", "実行中"),
    "result_done": ("done", "成功"),
    "result_fail": ("failed", "失敗"),
    "vital_queue_age_seconds": ("oldest in the queue", "順番待ちの最長"),
    "vital_last_beat": ("last beat", "最後の鼓動"),
    "vital_idle_streak": ("idle in a row", "連続の沈黙"),
    "vital_budget_left_micro_usd": ("budget left today", "今日の残り予算"),
    "vital_error_rate": ("errors", "エラー率"),
    "vital_open_approvals": ("open approvals", "承認待ち"),
    "vital_goals": ("open goals", "進行中の目標"),
    "vital_cpu": ("processor load", "CPU 使用率"),
    "vital_memory": ("memory", "メモリー"),
    "vital_network": ("network", "ネットワーク"),
}

HELP = {
    "Write what an agent is and did to files.": (
        "エージェントの状態と履歴をファイルに書き出します。"
    ),
    "Write an agent's state.json, and add what is new to its events.jsonl.": (
        "エージェントの state.json を書き、events.jsonl に新しいイベントを追記します。"
    ),
    "The folder to write to.": "書き出し先のフォルダー。",
    "Watch an agent live: chat, cli, plan, inspector and vitals; or a session as it happens.": (
        "エージェントの会話・端末・計画・思考と行動・状態、またはセッションの様子を表示し続けます。"
    ),
    "A session to watch; with an agent, its panes change as soon as something happens there.": (
        "表示するセッション。エージェントも指定すると、そこで何か起きるたびに画面を更新します。"
    ),
    "Show a session from after this line on; by default what comes next.": (
        "この行より後から表示します。指定がなければ、これから起きることだけを表示します。"
    ),
    "Show what agents think and do in the session as well; needs an owner key.": (
        "エージェントの思考と行動も表示します。所有者のキーが必要です。"
    ),
    "Unfold the goals of the plan into tasks.": "計画の目標をタスクまで展開します。",
}
