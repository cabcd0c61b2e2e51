"""The words of the learning report, in Japanese and English."""

from opencrab.domain.value import Language

_SENTENCES: dict[str, tuple[str, str]] = {
    "title_daily": ("# {name} learned this on {period}", "# {name} の学習記録 {period}"),
    "title_weekly": ("# {name} learned this in week {period}", "# {name} の学習記録 {period} 週"),
    "turns": (
        "{turns} turns, {judged} of them judged by what happened. Days are those of UTC.",
        "{turns} ターン。うち結果から評価できたもの {judged} ターン。日付は UTC です。",
    ),
    "beside": (
        "`{path}` is not a report of the night: it was left as it is, and this one lies beside it.",
        "`{path}` は夜の学習記録ではないため残し、この記録を隣に置きました。",
    ),
    "words_head": ("## In its own words", "## 自分の言葉で"),
    "words": (
        "{text}\n\nWorded by `{model}`; the numbers are those below.",
        "{text}\n\n文章は `{model}` が書きました。数値は以下のものです。",
    ),
    "no_words": ("Not worded: {reason}.", "文章はありません。理由: {reason}。"),
    "words_budget": ("its share of the day's budget was used up", "予算の割り当てが足りません"),
    "words_frozen": ("the agent is frozen", "エージェントが凍結されています"),
    "words_stopped": ("it was stopped", "停止されました"),
    "words_number": (
        "what a model wrote was dropped, as it named a number that is not in the report",
        "記録にない数値があったため、モデルの文章を取り下げました",
    ),
    "words_form": (
        "what a model wrote was dropped, as it was not plain sentences",
        "決められた形でなかったため、モデルの文章を取り下げました",
    ),
    "words_empty": ("the model wrote nothing", "モデルが何も書きませんでした"),
    "words_unknown": (
        "whoever asked the model died meanwhile, and nobody pays for it twice",
        "モデルの回答を待つ間に処理が止まりました。二重に支払わないため再試行しません",
    ),
    "words_unanswered": ("no model answered", "モデルが回答しませんでした"),
    "budget_head": ("## Within the budget?", "## 予算内か"),
    "budget_yes": (
        "Yes: {spent} of {budget} ({share}).",
        "はい。{budget} のうち {spent}({share})を使いました。",
    ),
    "budget_no": (
        "No: {spent}, and {budget} were allowed.",
        "いいえ。上限 {budget} に対して {spent} を使いました。",
    ),
    "budget_none": (
        "No model was called, so nothing was spent.",
        "モデルの呼び出しはなく、費用はかかっていません。",
    ),
    "model": (
        "- `{model}`: {calls} calls, {failed} failed, {cost}, {latency} on average",
        "- `{model}`: 呼び出し {calls} 回(失敗 {failed} 回)、{cost}、平均 {latency}",
    ),
    "no_latency": ("time unknown", "時間は不明"),
    "quality_head": ("## Is the quality at the goal?", "## 品質は目標に達しているか"),
    "goal": (
        "The goal is {goal}. Known by now, from all judged turns:",
        "目標は {goal} です。評価できた全ターンから分かっていること:",
    ),
    "quality": (
        "- {subject}, `{model}`: {quality}, {turns} turns: {says}",
        "- {subject}、`{model}`: {quality}、{turns} ターン: {says}",
    ),
    "at_goal": ("at the goal", "目標に達しています"),
    "below_goal": ("below the goal", "目標を下回っています"),
    "near_goal": ("not certain yet", "まだはっきりしません"),
    "no_quality": (
        "Too little data: no turn was judged yet.",
        "データが足りません。評価できたターンがまだありません。",
    ),
    "waste_head": ("## Wasteful choices?", "## 無駄な選択はあったか"),
    "waste": (
        "- {subject}: `{dear}` costs {dear_cost} a turn and `{cheap}` {cheap_cost}, and nothing "
        "speaks for the dearer one: {difference}",
        "- {subject}: `{dear}` は1ターン {dear_cost}、`{cheap}` は {cheap_cost} ですが、"
        "品質の差は {difference} で、高いほうが優れている証拠はありません",
    ),
    "waste_failed": (
        "- {failed} of {calls} calls to `{model}` failed",
        "- `{model}` の呼び出し {calls} 回のうち {failed} 回が失敗しました",
    ),
    "waste_none": ("None was found.", "見つかりませんでした。"),
    "waste_unknown": (
        "Too little data: of no two models for the same work enough is known.",
        "データが足りません。同じ用途のモデルを2つ比べられるだけの記録がありません。",
    ),
    "changes_head": ("## What changed, why, and on what evidence?", "## 変更とその理由・根拠"),
    "change_none": ("Nothing was changed or proposed.", "変更も提案もありません。"),
    "change": (
        "- {subject}: {before} → {after} ({state}), since {reason}{evidence} [change {id}]",
        "- {subject}: {before} → {after}({state})。理由: {reason}{evidence} [変更 {id}]",
    ),
    "evidence_skill": (
        "; {points}, {given} turns with it and {held} without",
        "。{points}、使った {given} ターン・使わなかった {held} ターン",
    ),
    "evidence_models": (
        "; expected quality {quality}, {cost} a turn, {turns} turns a day",
        "。見込みは品質 {quality}、1ターン {cost}、1日 {turns} ターン",
    ),
    "evidence_experience": (
        "; searches showed it {found} times, of use {useful} times",
        "。検索で {found} 回見つかり、役立ったのは {useful} 回",
    ),
    "evidence_twin": (
        "; {percent} % of the words are the same",
        "。言葉の {percent} % が一致",
    ),
    "nothing": ("as configured", "設定どおり"),
    "still": ("- {subject}: unchanged, since {reason}", "- {subject}: 変更なし。理由: {reason}"),
    "skills_head": ("## Skills", "## スキル"),
    "skill": (
        "- `{name}` ({status}): {effect}; {remark}",
        "- `{name}`({status}): {effect}。{remark}",
    ),
    "skill_none": (
        "No learned skill is live, so none was measured.",
        "有効な習得スキルがなく、測定もしていません。",
    ),
    "effect": ("{points}, {turns} turns", "{points}、{turns} ターン"),
    "no_effect": ("too little data", "データ不足"),
    "keep": ("keep it", "このまま続けます"),
    "refine": (
        "refine it: half of its trial is over and no use was seen",
        "書き直しを勧めます(試用の半分を過ぎても効果が見えません)",
    ),
    "merge": (
        "merge it with `{other}`: both say the same",
        "`{other}` と内容が重なり、統合を勧めます",
    ),
    "retire": ("retire it: it does harm", "引退を勧めます(悪影響があります)"),
    "memories_head": ("## Memories", "## 記憶"),
    "memories": (
        "Memories that searches found in the last 30 days: {found}. Found three times or more, "
        "without 30 days between, and never of use: {useless}, a junk rate of {rate}.",
        "直近30日間の検索で見つかった記憶は {found} 件。うち {useless} 件は"
        "30日を超える間を空けずに3回以上見つかったのに"
        "一度も役立ちませんでした(不要率 {rate})。",
    ),
    "memories_none": (
        "No search found a memory in 30 days.",
        "30日間、検索で見つかった記憶はありません。",
    ),
    "experiences": (
        "Experiences that searches found in the last 30 days: {found}. Found three times or more, "
        "without 30 days between, and never of use: {useless}, a junk rate of {rate}.",
        "直近30日間の検索で見つかった経験は {found} 件。うち {useless} 件は"
        "30日を超える間を空けずに3回以上見つかったのに"
        "一度も役立ちませんでした(不要率 {rate})。",
    ),
    "memories_effect": (
        "With memories, turns were worth {points} more than without.",
        "記憶を見せたターンと見せなかったターンの差: {points}。",
    ),
    "grades_head": ("## What models think of their own answers", "## モデルの自己評価"),
    "grade": (
        "- `{model}`: its grades explain {weight} of what happened; {steps}",
        "- `{model}`: 自己評価が結果を説明する割合 {weight}。{steps}",
    ),
    "step": ("said {said}, came to {came_to}", "自己評価 {said} → 実際 {came_to}"),
    "grades_none": (
        "No graded answer could be compared with what happened.",
        "結果と比べられる自己評価はありません。",
    ),
    "points": ("{mean} points ({low} to {high})", "{mean} ポイント({low}〜{high})"),
    "percent": ("{mean} % ({low} to {high})", "{mean} %({low}〜{high})"),
    "between": (", ", "、"),
    "too_few": ("{count} more are not listed", "ほか {count} 件"),
    "skill_subject": ("skill `{name}`", "スキル `{name}`"),
    "experience_subject": ("an experience", "経験"),
    "memories_subject": ("memories in searches", "検索で見せる記憶"),
    "withheld": ("hidden in {percent} % of turns", "{percent} % のターンで隠す"),
    "models_subject": ("models for {name}", "{name} のモデル"),
    "applied": ("done", "実施"),
    "proposed": ("proposed", "提案"),
    "undone": ("undone", "取り消し済み"),
    "rolled_back": ("taken back by itself", "自動で元に戻しました"),
    "superseded": ("replaced since", "その後の変更に置き換え"),
    "quarantined": ("in quarantine", "隔離中"),
    "candidate": ("on trial", "試用中"),
    "active": ("active", "有効"),
    "disabled": ("switched off", "無効"),
    "archived": ("retired", "引退"),
    "experience_active": ("recalled", "思い出す"),
    "experience_archived": ("recalled no more", "思い出さない"),
    "experience_retire": ("recall it no more", "今後は思い出さないことを提案"),
    "experience_merge": (
        "leave it to the one that says the same",
        "同じ内容の別の経験だけを残すことを提案",
    ),
    "reason_helps": ("it helps", "効果がある"),
    "reason_probably_helps": ("it very probably helps", "効果がある可能性がきわめて高い"),
    "reason_harms": ("it does harm", "悪影響がある"),
    "reason_probably_harms": ("it very probably does harm", "悪影響の可能性がきわめて高い"),
    "reason_no_use_seen": ("no use was seen", "効果が見られない"),
    "reason_says_the_same": ("another one says the same", "別のスキルと内容が同じ"),
    "reason_never_of_use": (
        "searches found it often and it was never of use",
        "検索で何度も見つかったのに一度も役立っていない",
    ),
    "reason_told_twice": ("another experience says the same", "別の経験と内容が同じ"),
    "reason_unseen": (
        "too few judged turns were about it",
        "評価されたターンで使う場面が少なすぎた",
    ),
    "reason_room": ("there is room for one more trial", "試用の枠が空いた"),
    "reason_stopped": ("somebody ended the trial", "試用が打ち切られた"),
    "reason_learned": ("that is what was learned", "測定の結果による"),
    "reason_over_budget": (
        "even the cheapest costs more than the budget",
        "最も安いモデルでも予算を超える",
    ),
    "reason_no_models": ("no model may be selected", "選べるモデルがない"),
    "reason_one_model": ("there is only one model to select", "選べるモデルが1つしかない"),
    "reason_too_little_data": ("there is too little data", "データが足りない"),
    "reason_no_price": ("prices are unknown", "価格が分からない"),
    "reason_not_sure": ("no other is certain to be better", "より良いと言い切れるものがない"),
    "reason_undecided": ("nothing is certain yet", "まだ判断できない"),
    "reason_pinned": ("the owner keeps it as it is", "所有者が固定している"),
    "reason_chosen": ("somebody chose the model for good", "モデルが固定で選ばれている"),
    "reason_as_it_is": ("it is best as it is", "今のままが最良"),
    "reason_watched": (
        "the last change is new, and its turns are watched",
        "直近の変更の様子を見ている",
    ),
    "reason_taken_back": ("the same was taken back of late", "同じ変更が最近取り消された"),
    "reason_proposed": ("the same is proposed already", "同じ提案が済んでいる"),
    "reason_frozen": ("the agent is frozen", "エージェントが凍結されている"),
    "reason_no_trials": ("there are no trials any more", "試用そのものが行われなくなった"),
    "reason_off": ("the owner left that off", "所有者がオフにしている"),
}


def learned_phrase(key: str, language: Language, **parts: object) -> str:
    """A sentence with its parts filled in."""
    english, japanese = _SENTENCES[key]
    return (japanese if language is Language.JA else english).format(**parts)


def reason_phrase(reason: str, language: Language) -> str:
    """Why something was done, in words; a reason that has none is told as it is."""
    key = f"reason_{reason}"
    return learned_phrase(key, language) if key in _SENTENCES else reason.replace("_", " ")
