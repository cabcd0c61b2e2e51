"""Words about made-up worlds on which learning is tried, and the Japanese of their help."""

SENTENCES: dict[str, tuple[str, str]] = {
    "head_learn_skill": ("skill", "スキル"),
    "head_learn_kind": ("in truth", "真の姿"),
    "head_learn_effect": ("effect in points (95 %)", "効果(点、95 %区間)"),
    "head_learn_truth": ("truth", "真の効果"),
    "head_learn_verdict": ("verdict", "判定"),
    "head_learn_rule": ("way to learn", "学び方"),
    "head_learn_regret": ("regret (points a turn)", "後悔(点/ターン)"),
    "head_learn_late": ("in the last third", "最後の3分の1"),
    "head_learn_most_spent": ("most of a day's budget", "1日の予算の最大消費"),
    "learn_helpful": ("helps", "役立つ"),
    "learn_harmful": ("harms", "害になる"),
    "learn_idle": ("does nothing", "効果なし"),
    "learn_promote": (
        "promoted on night {night}, after {turns} judged turns",
        "{night}夜目に昇格(判定済み{turns}ターン)",
    ),
    "learn_retire": (
        "retired on night {night}, after {turns} judged turns",
        "{night}夜目に引退(判定済み{turns}ターン)",
    ),
    "learn_on_trial": ("on trial, {turns} judged turns", "試用中(判定済み{turns}ターン)"),
    "learn_waiting": ("waits for its trial", "試用待ち"),
    "learn_rule_ours": ("ours", "本製品"),
    "learn_rule_greedy": ("always the best so far", "その時点の最良のみ"),
    "learn_rule_self_grade": ("by self-grades", "自己評価のみ"),
    "learn_effects_at_decision": (
        "effects when decided: {held} of {of} intervals hold the truth",
        "判定時の効果: {of}個の区間のうち{held}個が真の値を含む",
    ),
    "learn_effects": (
        "effects in the end: {held} of {of} intervals hold the truth",
        "終了時の効果: {of}個の区間のうち{held}個が真の値を含む",
    ),
    "learn_qualities": (
        "qualities of models: {held} of {of} intervals hold the truth",
        "モデルの品質: {of}個の区間のうち{held}個が真の値を含む",
    ),
    "learn_decided": (
        "{kind}: of {skills} skills {promoted} promoted, {retired} retired; "
        "half of them by {turns} judged turns",
        "{kind}: {skills}個のうち昇格{promoted}個、引退{retired}個"
        "(半数は判定済み{turns}ターンまでに決定)",
    ),
    "learn_back": (
        "a model got worse in {dropped} worlds: its mix was taken back in {back}, and given up for "
        "another in {left}, after {nights} nights on average; {wrong} mixes were taken back for "
        "nothing",
        "モデルが劣化した世界{dropped}個: 配分を元に戻したのは{back}個、別の配分に替えたのは"
        "{left}個(平均{nights}夜後)。理由なく戻した配分は{wrong}個",
    ),
    "learn_undone": (
        "undoing the newest change brought back what was before in {undone} of {seeds} worlds",
        "最新の変更を取り消して元に戻った世界: {seeds}個のうち{undone}個",
    ),
}

HELP = {
    "Try what agents learn by on a made-up world whose truth is known, without any model.": (
        "真実がわかっている架空の世界で、学び方をモデルなしで試します。"
    ),
    "The same seed is the same world, another one another.": (
        "同じ値なら同じ世界、違う値なら別の世界になります。"
    ),
    "So many worlds together, beginning with the seed.": "シードから始まる世界の数。",
    "How many nights are learned in.": "学ぶ夜の数。",
    "How many turns a day has.": "1日のターン数。",
    "Models praise themselves the more the worse they are.": (
        "モデルは出来が悪いほど自分をほめます。"
    ),
}
