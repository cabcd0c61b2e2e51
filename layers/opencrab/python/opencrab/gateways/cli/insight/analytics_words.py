"""Words about analytics, experiments, changes and what-if, in English and Japanese."""

SENTENCES: dict[str, tuple[str, str]] = {
    # numbers
    "percent_between": ("{mean}% ({low} to {high})", "{mean}%({low}〜{high} の間)"),
    "too_little_data": ("too little data", "データ不足"),
    # analytics
    "title_usage": ("{name}: use", "{name}: 利用"),
    "title_skills": ("{name}: skills", "{name}: スキル"),
    "title_llm": ("{name}: models", "{name}: モデル"),
    "title_memory": ("{name}: memory", "{name}: 記憶"),
    "counted_since": ("calls since {since}", "{since} からの呼び出し"),
    "evidence_to": (
        "what happened is evaluated up to {day} (UTC)",
        "結果の評価は {day}(UTC)まで",
    ),
    "no_evidence": (
        "no night has evaluated anything yet: opencrab meta run does it now",
        "夜間の評価がまだありません。opencrab meta run ですぐに実行できます",
    ),
    "no_calls": ("no model was called in this period", "この期間にモデルの呼び出しはありません"),
    "calls_told": (
        "{calls} calls ({failed} failed), {input} tokens in, {output} out, {cost}, "
        "{latency} a call",
        "呼び出し {calls} 回(失敗 {failed})、トークン 入力 {input}・出力 {output}、{cost}、"
        "1回 {latency}",
    ),
    "turns_told": (
        "{turns} turns; it spoke in {spoke} ({a_day} a day); begun by: {begun}",
        "{turns} ターン、うち発言 {spoke}(1日 {a_day})。きっかけ: {begun}",
    ),
    "turns_incomplete": (
        "these are the newest turns; there were more",
        "新しいターンのみの集計です",
    ),
    "no_acquired": ("it has learned no skill yet", "習得したスキルはまだありません"),
    "no_quality_yet": (
        "quality: too little data; no turn was judged by what happened",
        "品質: データ不足(結果から評価できたターンがありません)",
    ),
    "grades_told": (
        "{model} grades itself: that explains {weight} of what happened",
        "{model} の自己評価: 結果を説明する割合 {weight}",
    ),
    "grades_steps": ("  said → came to: {steps}", "  自己評価 → 実際: {steps}"),
    "recommended": (
        "recommended for {purpose} / {task_type}: {suggestion} instead of {current}",
        "推奨({purpose} / {task_type}): {current} の代わりに {suggestion}",
    ),
    "recommended_for": (
        "  for {category}, {confidence} certain",
        "  目的は{category}、確度 {confidence}",
    ),
    "memories_told": (
        "{memories} memories were found in the last 30 days, {found} times without 30 days "
        "between, {useful} times of use;\n  {junk} never were: junk rate {rate}",
        "直近30日間に {memories} 件の記憶が見つかり(30日を超える間を空けずに計 {found} 回)、"
        "{useful} 回役立ちました。\n  役立たないもの {junk} 件(不要率 {rate})",
    ),
    "memory_useless": ("  {id}: found {found} times, never of use", "  {id}: {found} 回、効果なし"),
    "more_left": ("  and {count} more", "  ほか {count} 件"),
    "no_recalled": (
        "searches found no memory in 30 days",
        "30日間の検索で見つかった記憶はありません",
    ),
    "memories_change": (
        "what memories change: {effect}, {given} turns with and {held} without them; "
        "{percent}% go without",
        "記憶の効果: {effect}。あり {given}・なし {held} ターン(見せない割合 {percent}%)",
    ),
    "graph_told": (
        "it knows {nodes} things with {edges} relations, and {people} people and agents",
        "知っている物事 {nodes} 件、関係 {edges} 件、人やエージェント {people}",
    ),
    # experiments
    "no_experiments": (
        "nothing is tried out on {name}",
        "{name} で試していることはありません",
    ),
    "experiment_running": ("running", "実験中"),
    "experiment_settled": ("settled: one model alone", "決定済み(1つのモデルのみ)"),
    "experiment_pinned": ("pinned: evidence moves nothing", "固定中(変わりません)"),
    "trial_shows": (
        "  effect: {effect}, {given} turns with and {held} without it; {percent}% go without",
        "  効果: {effect}。あり {given}・なし {held} ターン(使わない割合 {percent}%)",
    ),
    "trial_so_far": (
        "  {turns} turns judged, decided between {least} and {most}; now: {verdict} ({reason})",
        "  評価済み {turns} ターン({least}〜{most} で判断)。現在: {verdict}({reason})",
    ),
    "not_set_up": ("(not set up)", "(未設定)"),
    "off_policy_is": (
        "  if always: what all turns that drew from this mix would have been worth with one model",
        "  常時なら: この組み合わせで抽選した全ターンを1つのモデルだけで行った場合の推定品質",
    ),
    "pinned_are": ("pinned: {names}", "固定: {names}"),
    "explores": (
        "{share} of turns may try another model than the best one known",
        "最良以外のモデルを試してよいターンの割合: {share}",
    ),
    "one_act": (
        "give one of --stop, --pin and --unpin",
        "--stop、--pin、--unpin はどれか1つだけ指定してください",
    ),
    "one_change": (
        "give either --undo or --apply",
        "--undo と --apply はどちらか1つだけ指定してください",
    ),
    "subject_pinned": ("{name} stays as it is", "{name} を固定しました"),
    "subject_free": ("evidence may move {name} again", "{name} の固定を解きました"),
    # changes
    "no_changes": ("nothing was changed about {name}", "{name} に変更はありません"),
    "only_newest": (
        "these are the newest {count}; --json has the cursor to go on",
        "新しい {count} 件のみです。続きのカーソルは --json で得られます",
    ),
    "change_is": ("{at}  {subject}: {state}", "{at}  {subject}: {state}です"),
    "change_made": ("  {before} → {after}: {reason}", "  {before} → {after}。理由: {reason}"),
    "change_proposed": ("proposed", "提案"),
    "change_applied": ("done", "実施"),
    "change_undone": ("taken back", "取り消し済み"),
    "change_rolled_back": ("taken back by itself", "自動で元に戻した"),
    "change_superseded": ("replaced since", "置き換え済み"),
    "nothing_before": ("nothing", "なし"),
    "memories_hidden": ("hidden in {percent}% of turns", "{percent}% のターンで隠す"),
    "rests_on_points": (
        "effect {effect}, {given} turns with and {held} without it",
        "効果 {effect}。あり {given}・なし {held} ターン",
    ),
    "rests_on_quality": (
        "expected quality {quality}, {cost} a turn",
        "見込みの品質 {quality}、1ターン {cost}",
    ),
    "rests_on_finds": (
        "searches showed it {found} times, of use {useful} times",
        "検索で {found} 回見つかり、役立ったのは {useful} 回",
    ),
    "rests_on_likeness": ("{share} of the words are the same", "言葉の {share} が一致"),
    "goes_says": ("it says: {text}", "内容: {text}"),
    "stays_says": ("the other one says: {text}", "もう一方の内容: {text}"),
    # meta run
    "looked_at": (
        "{name}, {first} to {last} (UTC): {turns} turns, {judged} of them judged; {spent} of "
        "{budget} spent",
        "{name}、{first} 〜 {last}(UTC): {turns} ターン(評価済み {judged})、"
        "{budget} のうち {spent} を使用",
    ),
    "looked_before": (
        "this was done before, and nothing was done again",
        "実施済みのため、何も変更していません",
    ),
    "looked_dry": ("nothing was changed; this would be:", "変更していません。実行した場合:"),
    "nothing_followed": ("no change follows", "変更はありません"),
    "stands_still": ("{subject}: unchanged, since {reason}", "{subject}: 変更なし({reason})"),
    "report_at": ("report: {path} in the workspace", "レポート: ワークスペースの {path}"),
    "report_missing": ("the report was not written: {why}", "レポートを書けませんでした: {why}"),
    "junk_told": (
        "{junk} of {found} memories that searches found were never of use: {rate}",
        "検索で見つかった記憶 {found} 件のうち {junk} 件は役立ちませんでした({rate})",
    ),
    "lived_junk_told": (
        "{junk} of {found} experiences that searches found were never of use: {rate}",
        "検索で見つかった経験 {found} 件のうち {junk} 件は役立ちませんでした({rate})",
    ),
    # what-if
    "alias_form": (
        "write it as smart=openai:gpt-5-mini",
        "smart=openai:gpt-5-mini の形で指定してください",
    ),
    "whatif_calls": (
        "{name}: {moved} of {calls} calls would have gone to another model",
        "{name}: {calls} 回のうち {moved} 回の呼び出しが別のモデルになります",
    ),
    "whatif_meant": ("  {alias}: {model} → {other}", "  別名 {alias}: {model} → {other}"),
    "whatif_none": (
        "no call of this period was answered by what these names mean now",
        "この期間に、これらの名前が今指すモデルの呼び出しはありません",
    ),
    "whatif_saves": (
        "all calls: {now}, then {then}: {difference} less",
        "全呼び出し: {now} → {then}({difference} の節約)",
    ),
    "whatif_adds": (
        "all calls: {now}, then {then}: {difference} more",
        "全呼び出し: {now} → {then}({difference} の増加)",
    ),
    "whatif_same": (
        "all calls: {now}, then {then}: a difference of {difference}",
        "全呼び出し: {now} → {then}(差は {difference})",
    ),
    "whatif_quality": (
        "expected quality: {now}, then {then} (known for {share} of these calls)",
        "見込みの品質: {now} → {then}(対象の {share} で判明)",
    ),
    "whatif_no_quality": (
        "expected quality: not known; the other model was not judged at this work yet",
        "見込みの品質: 不明(この作業での評価がまだありません)",
    ),
    "whatif_latency": (
        "expected time of a call: {now}, then {then} (known for {share} of these calls)",
        "1回の見込み時間: {now} → {then}(対象の {share} で判明)",
    ),
    "whatif_uncounted": (
        "{count} calls stay at what they cost: nobody knows their tokens",
        "{count} 回はトークン数が不明なため、元の費用のままです",
    ),
    "whatif_incomplete": (
        "there were more calls: these are the newest {count}",
        "呼び出しが多いため、新しい {count} 回だけを計算しました",
    ),
    "whatif_tokens": (
        "tokens are those that were counted; another model may need more or fewer",
        "トークン数は実績のままです。別のモデルでは増減することがあります",
    ),
    # heads of tables
    "head_day_utc": ("day (UTC)", "日(UTC)"),
    "head_week": ("week", "週"),
    "head_spoke": ("spoke", "発言"),
    "head_share_of_cost": ("of cost", "費用の割合"),
    "head_with_without": ("with / without", "あり / なし"),
    "head_trial": ("trial", "試用"),
    "head_learned": ("learned", "習得"),
    "head_promoted": ("promoted", "採用"),
    "head_retired": ("retired", "停止"),
    "head_taken_back": ("taken back", "取り消し"),
    "head_latency": ("per call", "1回"),
    "head_quality": ("quality", "品質"),
    "head_off_policy": ("if always", "常時なら"),
    "head_per_dollar": ("per $", "$あたり"),
    "head_for": ("for", "用途"),
    "head_judged": ("judged", "評価済み"),
    "head_alias": ("alias", "別名"),
    "head_per_turn": ("a turn", "1ターン"),
    "head_proposal": ("proposal", "提案"),
}

TERMS: dict[str, str] = {
    "candidate": "試行中",
    "disabled": "無効",
    "quarantined": "承認待ち",
    "archived": "使用停止",
    "cost": "費用",
    "quality": "品質",
    "latency": "速さ",
    "promote": "採用",
    "keep": "継続",
    "refine": "書き直し",
    "merge": "統合",
    "retire": "停止",
}

HELP = {
    "Show how much an agent was asked, and whether its models, skills and memories helped.": (
        "利用状況と、モデル・スキル・記憶の効果を表示します。"
    ),
    "One part alone.": "1つの項目だけを表示します。",
    "Show what is tried out on an agent; stop it, or keep something as it is.": (
        "エージェントで試していることを表示し、終了や固定をします。"
    ),
    "End this one; what is best now stays.": "この実験を終え、今の最良を残します。",
    "Keep this as it is.": "これを固定します。",
    "Let evidence move this again.": "これの固定を解きます。",
    "Show what was changed or proposed on evidence, the newest first; undo it, or do it.": (
        "根拠にもとづく変更と提案を新しい順に表示し、取り消しや実施をします。"
    ),
    "Do what this one proposes.": "この提案を実施します。",
    "Take this change back.": "この変更を取り消します。",
    "Let an agent learn from its days now, rather than by night.": (
        "夜を待たずに、エージェントの日々をいま振り返ります。"
    ),
    "Look at an agent's last day or week now, or review what it learned, as nights do.": (
        "直近の1日か1週間の振り返り、または学んだことの見直しを、夜を待たずにいま行います。"
    ),
    "The last day or week that is over (UTC), or today's skills so far.": (
        "終わった直近の1日か1週間(UTC)、または今日ここまでのスキル。"
    ),
    "Only say what would be done.": "何が行われるかを示すだけにします。",
    "Say what an agent's calls would have cost, and been worth, with other models.": (
        "別のモデルだったら費用と品質がどうなったかを計算します。"
    ),
    "What an alias would mean; may be repeated.": "別名が指すモデル(複数指定可)。",
}
