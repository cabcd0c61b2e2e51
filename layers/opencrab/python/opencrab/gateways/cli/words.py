"""Words: every sentence that this program says to people, in English and Japanese."""

from opencrab.gateways.cli import (
    approval_words,
    autonomy_words,
    discord_words,
    goal_words,
    head_words,
    memory_words,
    model_words,
    schedule_words,
    skill_words,
    task_words,
    view_words,
    workspace_words,
)
from opencrab.gateways.cli.options import Tongue
from opencrab.gateways.cli.terms import TERMS

_PARTS = (
    approval_words,
    autonomy_words,
    discord_words,
    goal_words,
    head_words,
    memory_words,
    model_words,
    schedule_words,
    skill_words,
    task_words,
    view_words,
    workspace_words,
)
_SENTENCES: dict[str, tuple[str, str]] = {
    # errors and their cures
    "down": ("nothing answers at {url}", "{url} から応答がありません"),
    "down_cure": (
        "start OpenCrab with `make up` (or `opencrab up`), or name another address with --url",
        "`make up`(または `opencrab up`)で起動するか、--url で別のアドレスを指定してください",
    ),
    "unreachable": ("{url} cannot be reached: {why}", "{url} に接続できません: {why}"),
    "unreachable_cure": (
        "check the address and the network",
        "アドレスとネットワークを確認してください",
    ),
    "timeout": ("{url} took too long to answer", "{url} の応答に時間がかかりすぎています"),
    "timeout_cure": ("try again", "もう一度試してください"),
    "broken": (
        "the connection to {url} broke: {why}",
        "{url} との接続が切れました: {why}",
    ),
    "broken_cure": ("try again", "もう一度試してください"),
    "busy": (
        "{url} cannot answer now (status {status})",
        "{url} は現在応答できません(ステータス {status})",
    ),
    "busy_cure": ("try again in a moment", "少し待って、もう一度試してください"),
    "function": (
        "the function behind {url} failed before it could answer",
        "{url} の関数が、応答する前に失敗しました",
    ),
    "function_cure": (
        "read the log of the rest_gateway function; docs/deploy.md says where",
        "rest_gateway 関数のログを確認してください(場所は docs/deploy.md)",
    ),
    "not_opencrab": (
        "what answers at {url} is not OpenCrab (status {status})",
        "{url} で応答しているのは OpenCrab ではありません(ステータス {status})",
    ),
    "not_opencrab_cure": (
        "name the right address with --url; `opencrab up` prints it when it starts",
        "--url で正しいアドレスを指定してください。アドレスは `opencrab up` の起動時に表示されます",
    ),
    "no_key": ("this needs an API key, and none was found", "API キーが見つかりません"),
    "wrong_key": (
        "the server does not accept this API key",
        "この API キーはサーバーに受け付けられませんでした",
    ),
    "key_cure": (
        "set OPENCRAB_KEY or use --key; `opencrab up` keeps the owner's in data/owner.key "
        "(another folder: --data), `make deploy` in ~/.opencrab/STAGE-ACCOUNT-REGION.key",
        "OPENCRAB_KEY か --key でキーを指定してください。オーナーのキーは `opencrab up` が "
        "data/owner.key に(別のフォルダーは --data)、`make deploy` が "
        "~/.opencrab/ステージ名-アカウント-リージョン.key に保存します",
    ),
    "again": (
        "{why}; trying again with the same message ({attempt})",
        "{why}。同じメッセージでもう一度試します({attempt})",
    ),
    "empty": ("there is nothing to send", "送る内容がありません"),
    "too_long": (
        "this message has {size} bytes; at most {most} can be sent",
        "メッセージが長すぎます({size} バイト、上限は {most} バイト)",
    ),
    "too_long_cure": (
        "send it in parts, or write it into the agent's workspace",
        "分けて送るか、エージェントのワークスペースに書き込んでください",
    ),
    # agents
    "no_agents": ("there are no agents yet", "エージェントはまだいません"),
    "no_agents_cure": (
        "create one with `opencrab agents create`",
        "`opencrab agents create` で作成してください",
    ),
    "unknown_agent": (
        "there is no agent named {name}",
        "「{name}」というエージェントはいません",
    ),
    "did_you_mean": ("did you mean {name}?", "「{name}」ではありませんか?"),
    "agents_are": ("the agents are: {names}", "エージェント: {names}"),
    "ambiguous": (
        "{count} agents are named {name}",
        "「{name}」という名前のエージェントが {count} 体います",
    ),
    "ambiguous_cure": ("use an id: {ids}", "ID で指定してください: {ids}"),
    "choose_agent": (
        "there are several agents; say which one",
        "エージェントが複数います。どれと話すか指定してください",
    ),
    "choose_agent_cure": (
        "name one: `opencrab chat AGENT`; `opencrab agents list` shows them",
        "`opencrab chat AGENT` のように指定してください。一覧は `opencrab agents list` です",
    ),
    "which_agent": ("Which one", "どのエージェントと話しますか"),
    "create_one": ("Create one now?", "今、作成しますか?"),
    "ask_language": (
        "Its language, ja or en / 言語",
        "エージェントの言語 (ja / en)",
    ),
    "ask_name": ("Name", "名前"),
    "ask_persona": (
        "Persona, such as: a curious researcher (Enter: none)",
        "ペルソナ(例: 好奇心旺盛な研究者。Enter で省略)",
    ),
    "ask_purpose": (
        "What is it there for, in one sentence? (Enter: nothing special)",
        "何のためのエージェントですか? ひとことで(Enter で省略)",
    ),
    "one_of": ("please answer with one of: {choices}", "次のどれかを入力してください: {choices}"),
    "needed": ("this one is needed", "これは必須です"),
    "name_needed": ("say the agent's name", "エージェントの名前を指定してください"),
    "nothing_to_edit": (
        "say what to change, such as --name or --traits",
        "--name や --traits などで、変更する内容を指定してください",
    ),
    "agent_created": ("{name} is here ({id})", "{name} を作成しました({id})"),
    "agent_created_next": (
        'talk to it: opencrab chat "{name}"',
        '話しかけるには: opencrab chat "{name}"',
    ),
    "agent_changed": ("{name} was changed", "{name} を変更しました"),
    "agent_retired": ("{name} has retired", "{name} は引退しました"),
    "unchanged": ("{name} stays as it is", "{name} は変更していません"),
    "really_retire": (
        "Retire {name} for good?",
        "{name} を引退させますか? 元には戻せません",
    ),
    "yes_needed": (
        "retiring is for good: confirm it with --yes",
        "引退は取り消せません。--yes で確認してください",
    ),
    "unknown_fields": (
        "these fields do not exist or cannot be changed: {names}",
        "次の項目は存在しないか、変更できません: {names}",
    ),
    "not_json": ("this is not JSON: {why}", "JSON として読めません: {why}"),
    "not_an_object": ("it must be an object in braces", "全体を {{ }} で囲んでください"),
    "edit_again": ("Edit again?", "もう一度編集しますか?"),
    "no_editor": (
        "the editor {editor} did not work: {why}",
        "エディター {editor} を使えませんでした: {why}",
    ),
    "no_editor_cure": (
        "set EDITOR to yours, or use options such as --name",
        "EDITOR を設定するか、--name などのオプションを使ってください",
    ),
    # chat
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
    # sessions, turns, keys
    "no_sessions": ("there are no conversations yet", "会話はまだありません"),
    "session_ended": ("conversation {id} has ended", "会話 {id} を終了しました"),
    "mentored": (
        "the agents will read it before their next step",
        "エージェントは次のステップの前にこれを読みます",
    ),
    "turn_cancelled": (
        "turn {id} stops before its next call (now: {status})",
        "ターン {id} は次の呼び出しの前に停止します(現在: {status})",
    ),
    "turn_approved": ("turn {id} goes on ({status})", "ターン {id} は続行します({status})"),
    "turn_rejected": ("turn {id} will end ({status})", "ターン {id} は終了します({status})"),
    "feedback_kept": (
        "noted: turn {id} has your feedback",
        "ターン {id} への評価を記録しました",
    ),
    "decision_needed": ("say --approve or --reject", "--approve か --reject を指定してください"),
    "how_to_decide": (
        "it waits for a decision: opencrab turns decide {id} --approve (or --reject)",
        "承認待ちです: opencrab turns decide {id} --approve(または --reject)",
    ),
    "key_created": (
        "key {name} (scope {scope}, id {id}):",
        "キー {name}(権限 {scope}、ID {id}):",
    ),
    "key_shown_once": (
        "keep it safe; it is not shown again",
        "大切に保管してください。二度と表示されません",
    ),
    "key_revoked": ("key {name} was revoked", "キー {name} を無効にしました"),
    # stories
    "story_title": ("{agent} · turn {id}", "{agent} ・ ターン {id}"),
    "story_trigger": (
        "{trigger} through {source}, on behalf of {authority}, {at}",
        "きっかけ: {trigger}({source}、権限: {authority}、{at})",
    ),
    "story_step": ("step {number}", "ステップ {number}"),
    "story_judgment": ("judgment:", "判断:"),
    "story_intent": ("intent:", "意図:"),
    "story_memory": ("to remember:", "覚えること:"),
    "story_answer": ("answer:", "回答:"),
    "story_error": ("error:", "エラー:"),
    "story_asked": ("asks: {what}", "承認待ち: {what}"),
    "story_approved": ("approved: {what}", "承認: {what}"),
    "story_rejected": ("rejected: {what}", "却下: {what}"),
    "story_stopped": ("stop asked by {by}, {at}", "停止の指示: {by}、{at}"),
    "story_end": (
        "{status} after {calls} model call(s), {seconds} s, {money}",
        "{status}: モデル呼び出し {calls} 回、{seconds} 秒、{money}",
    ),
    # doctor
    "python_cure": ("install Python 3.11 or newer", "Python 3.11 以降を入れてください"),
    "server_ok": ("{url} (OpenCrab {version})", "{url}(OpenCrab {version})"),
    "key_ok": ("accepted", "有効です"),
    "key_open": (
        "accepted, but it travels unencrypted to another computer",
        "有効ですが、暗号化されずに別のコンピューターへ送られています",
    ),
    "key_open_cure": ("use an https address", "https のアドレスを使ってください"),
    "model_none": ("none can be used", "使えるモデルがありません"),
    "model_scripted": (
        "no language model: answers follow simple rules",
        "言語モデルがなく、返答は簡単な規則によるものです",
    ),
    "model_cure": (
        "set OPENAI_API_KEY or ANTHROPIC_API_KEY, or start Ollama or a llama.cpp server,"
        " and start OpenCrab again",
        "OPENAI_API_KEY などのキーを設定するか、Ollama または llama.cpp サーバーを起動して、"
        "OpenCrab を起動し直してください",
    ),
    "setup_missing": (
        "{part} is off: {variable} is not set",
        "{part} は無効です({variable} が未設定)",
    ),
    "agents_ok": ("{count}: {names}", "{count} 体: {names}"),
    "model_ssm_cure": (
        "put its key into SSM: aws ssm put-parameter --type SecureString "
        '--name {path}OPENAI_API_KEY --value "$OPENAI_API_KEY"',
        "モデルのキーを SSM に登録してください: aws ssm put-parameter --type SecureString "
        '--name {path}OPENAI_API_KEY --value "$OPENAI_API_KEY"',
    ),
    "model_aws_cure": (
        "put its key, as OPENAI_API_KEY, where the deployment looks for secrets ({place})",
        "シークレットの保存先({place})に OPENAI_API_KEY としてキーを登録してください",
    ),
    "budget_ok": (
        "${turn} a turn, ${agent} an agent a day, ${all} in all a day",
        "1ターン ${turn}、エージェントごとに1日 ${agent}、全体で1日 ${all}",
    ),
    "budget_session": (", ${session} a session", "、1セッション ${session}"),
    "budget_changed": (" (set at run time: {names})", "(実行中に設定: {names})"),
    "budget_raise_cure": (
        "raise it: opencrab budgets --set {limit}=0.50, or return to the configured: --reset",
        "上限を上げてください: opencrab budgets --set {limit}=0.50"
        "(--reset で設定ファイルの上限に戻ります)",
    ),
    "budget_none": (
        "{name} is {value}: nothing can be spent",
        "{name} が {value} で、支出できません",
    ),
    "budget_none_cure": (
        "set {variable} to more than 0 and start or deploy again",
        "{variable} を 0 より大きくして、起動またはデプロイし直してください",
    ),
    "clock_ok": ("{seconds} s apart from the server's", "サーバーとの差は {seconds} 秒です"),
    "clock_cure": (
        "set this computer's clock by the network",
        "このコンピューターの時計をネットワークに合わせてください",
    ),
    "beat_ok": ("the last one {seconds} s ago", "最後は {seconds} 秒前です"),
    "beat_none": ("there was none so far", "まだ一度もありません"),
    "beat_none_cure": (
        "wait two minutes after the first deployment, and ask again",
        "最初のデプロイから2分ほど待って、もう一度確認してください",
    ),
    "beat_late_cure": (
        "read the log of the heartbeat function, and see that its schedule is enabled",
        "heartbeat 関数のログを確認し、スケジュールが有効かどうかを見てください",
    ),
    # cost
    "cost_prices": (
        "AWS prices in {region} as of {as_of}, from memory (config/aws-pricing.toml); "
        "without tokens and tax",
        "AWS の料金({region}、{as_of} 時点、記憶に基づく値。config/aws-pricing.toml)。"
        "トークン代と税は含みません",
    ),
    "cost_idle": ("A month without traffic", "利用のない1か月"),
    "cost_beating": (
        "A day of each agent that beats every {seconds} s and has nothing to do",
        "{seconds} 秒ごとに目を覚まし、することのないエージェント1体の1日",
    ),
    "cost_turns": (
        "{count} turns, of which each waits {seconds} s for its model",
        "{count} ターン(1ターンにつきモデルの応答を {seconds} 秒待つ場合)",
    ),
    "cost_turns_waiting": (
        "{count} turns, of which each waits {seconds} s for its model, and a client for each",
        "{count} ターン(1ターンにつきモデルの応答を {seconds} 秒待ち、クライアントも待つ場合)",
    ),
    "cost_month": (
        "A month with {count} turns: {cost}; {rest} after the free tier",
        "{count} ターンの1か月: {cost}、無料枠を引くと {rest}",
    ),
    "cost_free": (
        "The free tier here is what AWS leaves to every account for good; all that runs in the "
        "account shares it.",
        "無料枠は、期限のない分だけを数えています。アカウント全体で共有されます。",
    ),
    "cost_total": ("total", "合計"),
    "no_prices": ("this program was started without its price sheet", "料金表がありません"),
    "no_prices_cure": ("install OpenCrab again", "OpenCrab を入れ直してください"),
    "default_model": ("(default)", "(既定)"),
    **dict(pair for part in _PARTS for pair in part.SENTENCES.items()),
}


class Speech:
    """The sentences in one language."""

    def __init__(self, tongue: Tongue) -> None:
        self.tongue = tongue

    def __call__(self, key: str, **facts: object) -> str:
        """A sentence with its facts filled in."""
        english, japanese = _SENTENCES[key]
        return (japanese if self.tongue is Tongue.JA else english).format(**facts)

    def term(self, name: str) -> str:
        """A word of OpenCrab's own, such as a status; one that is not known stays as it is."""
        if self.tongue is Tongue.JA:
            return TERMS.get(name, name)
        return name.replace("_", " ")
