"""Words about schedules: sentences, and the Japanese of their help."""

SENTENCES: dict[str, tuple[str, str]] = {
    "no_schedules": ("{name} has no schedules", "{name} に予定はありません"),
    "unknown_schedule": (
        "{name} has no schedule {schedule}",
        "{name} に「{schedule}」という予定はありません",
    ),
    "unknown_schedule_cure": (
        "`opencrab schedules list` shows them with their ids",
        "`opencrab schedules list` で ID とともに確認できます",
    ),
    "schedule_ambiguous": (
        "{count} schedules are named {schedule}",
        "「{schedule}」という名前の予定が {count} 件あります",
    ),
    "schedule_next": ("{name}: next at {at}", "{name}: 次回は {at} です"),
    "schedule_is_off": ("{name}: paused", "{name}: 停止中です"),
    "schedule_deleted": ("{name} was deleted", "{name} を削除しました"),
    "really_delete_schedule": ("Delete {name}?", "{name} を削除しますか?"),
    "schedule_yes": ("confirm it with --yes", "--yes で確認してください"),
    "schedule_nothing": (
        "say what to change, such as --when or --text",
        "--when や --text などで、変更する内容を指定してください",
    ),
    "schedule_begun": ("begun: turn {turn}", "開始しました: ターン {turn}"),
    "schedule_text_needed": (
        "say what the agent shall do: --text, or text through a pipe",
        "--text かパイプで指示を渡してください",
    ),
    "schedule_channel_form": (
        "write KIND:ADDRESS, such as discord:123, or none",
        "discord:123 のように 種類:宛先 で指定するか、none としてください",
    ),
    "agent_retired_off": ("paused: the agent has retired", "停止(エージェントが引退しました)"),
    "session_over_off": (
        "paused: the session is over, or the agent has left it",
        "停止(会話が終了したか、エージェントが抜けました)",
    ),
    "never_again_off": ("paused: it never comes again", "停止(次の時刻がありません)"),
    "schedule_on": ("on", "有効"),
    "schedule_paused": ("paused", "停止"),
    "head_schedule": ("schedule", "予定"),
    "head_times": ("when", "時刻"),
    "head_zone": ("zone", "タイムゾーン"),
    "head_next": ("next", "次回"),
    "head_last": ("last", "前回"),
    "head_fired": ("done", "実行回数"),
    "head_said_to": ("said to", "送り先"),
}

HELP = {
    "Give an agent instructions for set times; pause, run and delete them.": (
        "決まった時刻の指示の追加・停止・実行・削除。"
    ),
    "List an agent's schedules with their next times.": "予定と次回の時刻の一覧。",
    "Show one schedule with its instructions.": "予定を指示とともに表示します。",
    "Give an agent instructions for set times.": "決まった時刻に行う指示を追加します。",
    "Change a schedule by options, or all of it in your editor; it does not run by that.": (
        "予定を、オプションまたはエディターで変更します(それだけでは実行されません)。"
    ),
    "Let a schedule rest until it is resumed.": "再開するまで予定を停止します。",
    "Let a schedule go on with its next time from now.": (
        "予定を、これからの次回の時刻で再開します。"
    ),
    "Do at once what a schedule says; its times stay.": (
        "予定の指示を今すぐ実行します(時刻は変わりません)。"
    ),
    "Delete a schedule; what it has begun goes on.": (
        "予定を削除します。始まったターンは続きます。"
    ),
    "A schedule's id or name.": "予定の ID または名前。",
    "The schedule's name.": "予定の名前。",
    "@every 5m, 2h or 1d, or five cron fields: minute hour day month weekday.": (
        "@every 5m・2h・1d、または cron の5項目(分 時 日 月 曜日)。"
    ),
    "The time zone of a cron line, such as Asia/Tokyo; UTC if left out.": (
        "cron のタイムゾーン(例: Asia/Tokyo。省略時は UTC)。"
    ),
    "What the agent shall do; without it standard input.": "指示の内容(省略時は標準入力)。",
    "The session to do it in, or own for the agent's own.": (
        "行う会話の ID(own はエージェント自身の会話)。"
    ),
    "Where what it says is sent: KIND:ADDRESS, or none.": "発言の送り先(種類:宛先、または none)。",
}
