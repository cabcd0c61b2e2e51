"""Words about tasks: sentences in English and Japanese, and the Japanese of their help."""

SENTENCES: dict[str, tuple[str, str]] = {
    "no_tasks": ("{name} was given no task yet", "{name} へのタスクはまだありません"),
    "no_task_fits": (
        "{name} has no task of which this could be said",
        "{name} に、対象になるタスクはありません",
    ),
    "no_task_fits_cure": (
        "`opencrab task list AGENT` shows them all",
        "一覧は `opencrab task list AGENT` で表示できます",
    ),
    "which_task": (
        "{name} has several tasks: {ids}",
        "{name} には該当するタスクが複数あります: {ids}",
    ),
    "which_task_cure": ("name one of them", "どれか1つを指定してください"),
    "task_pending": ("in line", "順番待ち"),
    "task_active": ("at work", "実行中"),
    "task_waiting": ("waiting for approval", "承認待ち"),
    "task_paused": ("paused", "中断中"),
    "task_completed": ("completed", "完了"),
    "task_abandoned": ("given up", "中止"),
    "task_title": ("{id} {name}: {status}", "{id} {name}: {status}です"),
    "task_figures": (
        "task {task} of {tasks} · step {step} of {steps} · {money}",
        "タスク {task}/{tasks} ・ ステップ {step}/{steps} ・ {money}",
    ),
    "task_unplanned": (
        "no plan yet · step {step} of {steps} · {money}",
        "計画はまだありません ・ ステップ {step}/{steps} ・ {money}",
    ),
    "task_steps": ("step {step} of {steps} · {money}", "ステップ {step}/{steps} ・ {money}"),
    "task_behind": (
        "in line behind {id} {name} ({status})",
        "{id} {name}({status})の後の順番待ちです",
    ),
    "task_unconfirmed": ("unconfirmed: {what}", "未確認: {what}"),
    "unconfirmed": ("unconfirmed", "未確認"),
    "task_again": (
        "{why}; looking again ({attempt})",
        "{why}。もう一度接続します({attempt})",
    ),
    "task_thinks": ("thought: {text}", "思考: {text}"),
    "task_why_paused": ("why: {reason}", "理由: {reason}"),
    "task_asks": ("asks: {what}", "承認の求め: {what}"),
    "task_touches": ("touches: {touches}", "対象: {touches}"),
    "task_keys": ("Ctrl-C: pause, cancel or leave", "Ctrl-C: 一時停止・中止・離れる"),
    "task_interrupted": (
        "p: pause it, c: cancel it, l: leave it running",
        "p: 一時停止、c: 中止、l: 続けたまま離れる",
    ),
    "task_left": (
        "{id} goes on; see it again: opencrab task show {agent} {id} --follow",
        "{id} は続いています。もう一度見るには: opencrab task show {agent} {id} --follow",
    ),
    "task_next_paused": (
        "go on: opencrab task resume {agent} {id}; give it up: opencrab task discard {agent} {id}",
        "再開: opencrab task resume {agent} {id}、破棄: opencrab task discard {agent} {id}",
    ),
    "task_next_behind": (
        "see what it waits for: opencrab task show {agent} {id}",
        "何を待っているかは: opencrab task show {agent} {id}",
    ),
    "task_next_waiting": (
        "decide: opencrab approvals approve {approval} (or reject), and see it again: "
        "opencrab task show {agent} {id} --follow",
        "決定するには: opencrab approvals approve {approval}(または reject)、もう一度見るには: "
        "opencrab task show {agent} {id} --follow",
    ),
    "task_steered": (
        "{id} hears it before its next step",
        "{id} は次のステップの前にこれを読みます",
    ),
    "head_completion": ("done", "完了率"),
    "head_tasks": ("tasks", "タスク"),
}

HELP: dict[str, str] = {
    "Let an agent carry out an instruction in sight, and steer it.": (
        "エージェントに指示を出し、経過を見ながら、止めたり方向を変えたりします。"
    ),
    "Let an agent plan and carry out an instruction, and watch it.": (
        "指示を出して、計画から報告までの経過を表示します。"
    ),
    "What is to be done.": "指示の内容。",
    "A name for it; by default its first line.": "名前(省略時は最初の行)。",
    "What its plan may cost at most, in US dollars.": "計画の費用の上限(米ドル)。",
    "List an agent's tasks, the newest first.": "タスクの一覧(新しい順)。",
    "How many tasks.": "表示する件数。",
    "Show how far a task has come; the newest one by default.": (
        "タスクの進み具合を表示します(省略時は最新のタスク)。"
    ),
    "Watch it until it ends.": "終わるまで表示し続けます。",
    "Also what its actions are done with, and what came of them (owner).": (
        "行動の引数と結果も表示(オーナー)。"
    ),
    "A task, such as G3; may be left out where only one fits.": (
        "タスク(G3 など)。該当するものが1つだけなら省略できます。"
    ),
    "Give a task up; what is done stays done.": "タスクを中止します。済んだことは残ります。",
    "Let a task wait before its next call.": "タスクを次の呼び出しの前で一時停止します。",
    "Go on with a task that waits.": "待っているタスクを再開します。",
    "Give up a task that waits.": "待っているタスクを破棄します。",
    "Say something that the agent hears before its next step.": (
        "次のステップの前にエージェントが読む言葉を送ります。"
    ),
    "The task, if there are several, and what to say.": "タスク(複数ある場合)と、伝える言葉。",
}
