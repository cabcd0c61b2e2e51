"""Words of a conversation with an agent in the terminal."""

SENTENCES: dict[str, tuple[str, str]] = {
    "you": ("you> ", "あなた> "),
    "greeting": (
        "/help shows what you can do; /quit or Ctrl-D leaves",
        "/help で使い方、/quit か Ctrl-D で終了",
    ),
    "thinking": ("{name} is thinking (Ctrl-C stops it)", "{name} が考えています(Ctrl-C で停止)"),
    "stopping": (
        "stopping before its next step … (Ctrl-C again leaves)",
        "次のステップの前に停止します…(もう一度 Ctrl-C で終了)",
    ),
    "silent": ("{name} chose to say nothing", "{name} は何も言いませんでした"),
    "owner_decides": (
        "this waits for the owner's approval",
        "オーナーの承認を待っています",
    ),
    "may_it": ("May it do this?", "許可しますか?"),
    "interrupt_again": ("Ctrl-C again, or /quit, leaves", "もう一度 Ctrl-C か /quit で終了します"),
    "bye": (
        "continue with: opencrab chat --session {id}",
        "続きは: opencrab chat --session {id}",
    ),
    "unknown_command": (
        "there is no {command}; /help lists the commands, and // says a line that begins with /",
        "{command} はありません。/help で一覧、/ で始まる文は // で送れます",
    ),
    "nothing_to_stop": ("nothing is running", "実行中のものはありません"),
    "nothing_to_retry": ("nothing was said yet", "まだ何も送っていません"),
    "retry": (
        "/retry asks for the answer again; the message is not said twice",
        "/retry で返事を取りに行きます(同じ発言が2度届くことはありません)",
    ),
    "new_session": ("a new conversation: {id}", "新しい会話: {id}"),
    "chat_help": (
        "/state    agent, model, conversation and last turn\n"
        "/history  what was said so far\n"
        "/stop     stop what is still running\n"
        "/retry    ask for the last answer again, after a lost connection\n"
        "/new      begin a new conversation\n"
        "/quit     leave (also Ctrl-D)\n"
        'A \\ at the end of a line continues it; a line with """ begins and ends a block.\n'
        "The up arrow recalls what you typed. Ctrl-C while waiting stops the agent.",
        "/state    エージェント、モデル、会話、最後のターン\n"
        "/history  これまでのやりとり\n"
        "/stop     実行中の処理を停止\n"
        "/retry    接続が切れたあと、最後の返事を取りに行く\n"
        "/new      新しい会話を始める\n"
        "/quit     終了(Ctrl-D も可)\n"
        '行末の \\ で次の行に続きます。""" だけの行で複数行の入力を始め、終えます。\n'
        "上矢印で前の入力を呼び出せます。待っている間の Ctrl-C はエージェントを停止します。",
    ),
}
