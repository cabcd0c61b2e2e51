"""Words about trying models out, in English and Japanese."""

SENTENCES: dict[str, tuple[str, str]] = {
    "eval_budget": (
        "give US dollars, more than 0 and at most 1,000",
        "0 より大きく 1,000 以下の米ドルで指定してください",
    ),
    "eval_no_models": (
        "name the models to try, such as fast,openai:gpt-5-mini",
        "試すモデルを fast,openai:gpt-5-mini のように指定してください",
    ),
    "eval_many_models": ("name at most {most} models", "モデルは {most} 個までです"),
    "eval_yes_needed": (
        "this asks real models and may cost money: confirm with --yes",
        "実際のモデルを呼び出し、費用がかかることがあります。--yes で確認してください",
    ),
    "eval_plan": (
        "{name} will do {tasks} tasks with each of: {models}. This may cost {most} at most: no "
        "task is begun once {budget} are spent. These are real turns, which it may remember",
        "{name} が {tasks} 個の課題を、次のモデルでそれぞれ行います: {models}。費用は最大 {most} "
        "です({budget} を使った後は次の課題を始めません)。実際のターンなので、記憶に残ることが"
        "あります",
    ),
    "eval_really": ("Shall it begin?", "始めますか?"),
    "eval_not_run": ("nothing was asked", "何も実行していません"),
    "eval_asking": ("{model}: {task} …", "{model}: {task} …(実行中)"),
    "eval_unscored": (
        "{mark}: not asked, broken off, or answered by another model in its place",
        "{mark}: 未実行、中断、または別のモデルが代わりに回答",
    ),
    "eval_spent": ("spent: {spent} of {budget}", "費用: {budget} のうち {spent}"),
    "eval_remembered": (
        "a few tasks tell little: mind the intervals; the sessions stay with {name} as ended ones",
        "課題が少ないため、区間の幅に注意してください。会話は {name} の終了した会話として残ります",
    ),
    "head_checks_passed": ("passed", "合格率"),
    "head_scored": ("scored", "採点数"),
    "head_task_time": ("a task takes", "1課題の時間"),
    "head_task_id": ("task", "課題"),
}

HELP = {
    "Try models out on an agent's work; that costs money.": (
        "エージェントの仕事でモデルを試します(費用がかかります)。"
    ),
    "Let several models do an agent's work: what they answer, cost and take. Costs money.": (
        "複数のモデルに同じ仕事をさせ、回答・費用・時間を比べます(費用がかかります)。"
    ),
    "Whose work: an agent's id or name.": "対象のエージェント(ID または名前)。",
    "Aliases or provider:model; by default all that may be selected.": (
        "別名か provider:model(省略時は選択可能なものすべて)。"
    ),
    "Tasks of your own, in TOML.": "自分の課題(TOML)。",
    "Ask nothing more once this is spent.": "この額を使ったら次の課題を始めません。",
}
