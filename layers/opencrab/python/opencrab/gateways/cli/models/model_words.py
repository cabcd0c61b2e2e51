"""Words about models and money, in English and Japanese."""

SENTENCES: dict[str, tuple[str, str]] = {
    # models and providers
    "no_models": ("no model is known there", "該当するモデルはありません"),
    "price_unknown": ("unknown", "不明"),
    "price_unknown_cure": (
        "a model whose price is unknown is not used: set it in config/pricing.toml, "
        "or try `opencrab models refresh-prices`",
        "料金が不明なモデルは使われません。config/pricing.toml で設定するか、"
        "`opencrab models refresh-prices` を試してください",
    ),
    "prices_taken": ("{count} prices are new", "{count} 件の料金を更新しました"),
    "prices_same": (
        "no price has changed ({count} are new)",
        "料金に変更はありません(更新 {count} 件)",
    ),
    "prices_low": (
        "{count} prices are kept: the new ones cost nothing or less than half; "
        "if they are right, use --allow-lower",
        "{count} 件は新しい料金が0または半額未満のため、変更していません。"
        "正しい場合は --allow-lower を指定してください",
    ),
    "really_prices": (
        "Take over these {count} prices?",
        "これら {count} 件の料金を反映しますか?",
    ),
    "prices_untouched": ("no price was changed", "料金は変更していません"),
    "no_price_list": (
        "this program was started without a list of model prices",
        "モデルの料金表がありません",
    ),
    "provider_ready": ("ready", "利用可能"),
    "provider_off": ("switched off", "無効"),
    "provider_lacks": ("{what} is not set", "{what} が未設定"),
    # switches
    "all_frozen": (
        "all agents stop before their next step, and what runs or waits ends as stopped; "
        "after `opencrab unfreeze` they answer again, but nothing that was stopped goes on",
        "すべてのエージェントを凍結しました。実行中と順番待ちのターンは、次のステップの前に"
        "停止として終わります。`opencrab unfreeze` で凍結を解除すると再び応答しますが、"
        "停止したターンは再開しません",
    ),
    "all_unfrozen": ("the agents work again", "エージェントの凍結を解除しました"),
    "agent_frozen": (
        "{name} stops before its next step",
        "{name} を凍結しました。次のステップの前に停止します",
    ),
    "agent_unfrozen": ("{name} works again", "{name} の凍結を解除しました"),
    "still_frozen": (
        "but all agents are frozen: `opencrab unfreeze` lets them work again",
        "ただし全体が凍結中です。解除するには `opencrab unfreeze` を実行してください",
    ),
    "some_frozen": (
        "still frozen one by one: {ids}",
        "個別に凍結したままのエージェント: {ids}",
    ),
    # costs
    "costs_incomplete": (
        "there were more than 10,000 calls: these are the newest",
        "呼び出しが 10,000 回を超えているため、新しいものだけを集計しました",
    ),
    "explain_title": ("turn {id} ({status})", "ターン {id}({status})"),
    "explain_chosen": ("chosen by: {by}", "選択: {by}"),
    "explain_share": (
        "{kind}: {tokens} tokens at {price} per million = {cost}",
        "{kind}: {tokens} トークン × 100万あたり {price} = {cost}",
    ),
    "explain_cost": ("costs {cost}, of {reserved} set aside", "費用 {cost}(確保 {reserved})"),
    "explain_holds": (
        "the calls add up to what the turn spent",
        "呼び出しの合計は、ターンの支出と一致しています",
    ),
    "explain_broken": (
        "these sums do not hold; please report it with the turn's id",
        "合計が一致しません。ターンの ID を添えて報告してください",
    ),
    "explain_incomplete": (
        "the ledger does not have every call of this turn",
        "台帳にこのターンの呼び出しの一部がありません",
    ),
    "ground_counted": ("by its tokens", "トークン数による"),
    "ground_reported": ("as the provider itself says", "提供元が報告した金額"),
    "ground_free": ("free", "無料"),
    "ground_uncounted": (
        "the provider did not say how many tokens it took: charged in full",
        "トークン数が報告されなかったため、確保した全額を計上",
    ),
    "ground_unknown": (
        "the worker died during the call, which may have been billed: charged in full",
        "呼び出し中に処理が中断し、課金された可能性があるため、全額を計上",
    ),
    "ground_perhaps_billed": (
        "it failed, and may have been billed: charged",
        "失敗しましたが、課金された可能性があるため計上",
    ),
    "ground_not_billed": (
        "it failed before anybody could bill it: nothing",
        "課金される前に失敗したため、費用なし",
    ),
    "ground_running": ("it is running: its money is held", "実行中のため、金額を保留"),
    "sum_drawn": ("drawn", "引出"),
    "sum_spent": ("spent", "支出"),
    "sum_held": ("held", "保留"),
    "sum_returned": ("returned", "返却"),
    "sum_taken": ("taken in addition", "追加の引出"),
    # budgets
    "limit_name": ("name a limit: {names}", "上限の名前を指定してください: {names}"),
    "limit_value": (
        "{name} takes US dollars to the millionth, up to 1,000,000 "
        "(session: 0 or none is no limit)",
        "{name} には米ドルの金額を指定してください"
        "(100万まで、小数第6位まで。session の 0 と none は上限なし)",
    ),
    "limit_percent": (
        "{name} takes a whole per cent of an agent's day, from 0 to 100",
        "{name} にはエージェントの1日の上限に対する割合を 0 から 100 の整数(%)で指定してください",
    ),
    "limit_agent": (
        "these limits are for all agents; an agent's own limit is set with: opencrab agents edit",
        "この上限は全エージェント共通です。"
        "エージェントごとの上限は opencrab agents edit で設定してください",
    ),
    "turn_alone": (
        "a turn is explained by itself: leave out --agent and --by",
        "ターンの内訳は単独で表示されます。--agent と --by は付けないでください",
    ),
    "no_limit": ("none", "なし"),
    # heads of tables
    "head_provider": ("provider", "提供元"),
    "head_address": ("address", "アドレス"),
    "head_context": ("context", "コンテキスト"),
    "head_input_price": ("$ per 1M in", "入力100万($)"),
    "head_output_price": ("$ per 1M out", "出力100万($)"),
    "head_notes": ("notes", "備考"),
    "head_before": ("before", "変更前"),
    "head_now": ("now", "現在"),
    "head_calls": ("calls", "呼び出し"),
    "head_failed": ("failed", "失敗"),
    "head_input": ("tokens in", "入力トークン"),
    "head_output": ("tokens out", "出力トークン"),
    "head_task_type": ("task type", "作業の種類"),
    "head_complexity": ("complexity", "複雑さ"),
    "head_limit": ("limit", "上限"),
    "head_configured": ("configured", "設定値"),
    "head_scope_budget": ("budget", "予算"),
    "head_drawn": ("drawn on {day}", "{day} の引出"),
}
