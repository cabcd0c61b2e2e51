"""Words about Discord: sentences, and the Japanese of their help."""

SENTENCES: dict[str, tuple[str, str]] = {
    "discord_unchanged": (
        "{count} commands stay as they are",
        "{count} 個のコマンドはそのままです",
    ),
    "discord_same": (
        "everything is registered already",
        "すべて登録済みです。変更はありません",
    ),
    "discord_registered": (
        "registered; Discord shows it within a minute",
        "登録しました。1分ほどで Discord に表示されます",
    ),
    "discord_not_registered": ("nothing was changed", "何も変更していません"),
    "discord_really_register": ("Register these?", "登録しますか?"),
    "discord_yes_needed": (
        "this changes the commands: confirm it with --yes",
        "コマンドが変わります。--yes で確認してください",
    ),
    "discord_invite_server": (
        "into a server (you need Manage Server there):",
        "サーバーに追加する(サーバー管理の権限が必要です):",
    ),
    "discord_invite_user": (
        "for yourself alone, in every server and conversation:",
        "自分用に追加する(どのサーバーや会話でも使えます):",
    ),
    "discord_off_alone": (
        "--off goes with no other option",
        "--off はほかのオプションと一緒に使えません",
    ),
    "discord_where": ("say in which --channel", "--channel でチャンネルを指定してください"),
    "discord_anywhere": (
        "none: it can be asked anywhere, and hears nothing by itself",
        "なし(どこでもコマンドで話せますが、自分からは聞きません)",
    ),
    "discord_mentions": ("hears mentions", "メンションを聞く"),
    "discord_everything": ("hears everything", "すべての発言を聞く"),
    "discord_writes": ("writes", "書き込む"),
    "relay_none": ("this program has no relay", "このプログラムに中継機能はありません"),
    "relay_none_cure": ("install OpenCrab again", "OpenCrab を入れ直してください"),
    "relay_starts": (
        "relaying from Discord to {url}; Ctrl-C stops it",
        "Discord から {url} へ中継します(Ctrl-C で停止)",
    ),
    "relay_ready": ("connected to Discord as {name}", "{name} として Discord に接続しました"),
    "relay_waits": (
        "{why}; trying again in {seconds} s, nothing is lost",
        "{why}。{seconds} 秒後にもう一度試します(失われません)",
    ),
    "relay_refused": ("OpenCrab does not take this: {why}", "受け付けられませんでした: {why}"),
    "head_channels": ("channels", "チャンネル"),
    "head_owner_ids": ("owners", "オーナー"),
    "head_user_ids": ("users", "ユーザー"),
    "head_role_ids": ("roles", "ロール"),
    "head_token_secret": ("own bot", "専用 Bot"),
}

HELP = {
    "Set the Discord bot up, see what is wrong with it, and bring messages from there.": (
        "Discord の Bot の設定、点検、メッセージの中継。"
    ),
    "Register the bot's commands, after showing what that changes.": (
        "Bot のコマンドを登録します。先に差分を表示します。"
    ),
    "Only in this server, and at once.": "このサーバーだけに、すぐに登録します。",
    "Show the links that invite the bot.": "Bot を招待するリンクを表示します。",
    "Check the bot's token, keys, endpoint and permissions, and say what to click.": (
        "Bot のトークン・鍵・送り先・権限を点検し、どこを押せばよいかを示します。"
    ),
    "Show where an agent takes part on Discord and who is who to it, or change what is given.": (
        "エージェントが参加するチャンネルと、人の権限を表示し、指定した項目を変更します。"
    ),
    "Takes part here; may be repeated.": "参加するチャンネル(複数指定可)。",
    "Hears all that is said there, not only mentions.": (
        "メンションだけでなく、すべての発言を聞きます。"
    ),
    "Who owns it; may be repeated.": "オーナー(複数指定可)。",
    "Who is known to it; may be repeated.": "ユーザー(複数指定可)。",
    "Whose members are known to it.": "このロールの人をユーザーとします(複数指定可)。",
    "The secret of a bot of its own.": "専用 Bot のトークンを保存したシークレットの名前。",
    "Forget all of this.": "これらの設定をすべて消します。",
    "Bring ordinary messages from Discord to OpenCrab, until it is stopped.": (
        "Discord の通常のメッセージを OpenCrab に中継します(停止するまで)。"
    ),
}
