"""Words of `opencrab doctor`: what it finds, and what to do about it."""

SENTENCES: dict[str, tuple[str, str]] = {
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
}
