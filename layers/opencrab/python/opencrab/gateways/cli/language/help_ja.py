"""Help words: the Japanese of what `--help` says; the English stands where the commands are."""

from opencrab.gateways.cli.agents.soul_option import NUMBERS, TRAITS_HELP
from opencrab.gateways.cli.approvals.approval_words import HELP
from opencrab.gateways.cli.autonomy import autonomy_words, schedule_words
from opencrab.gateways.cli.discord import discord_words
from opencrab.gateways.cli.goals import goal_words, task_words
from opencrab.gateways.cli.insight import analytics_words, view_words
from opencrab.gateways.cli.learning import model_trial_words
from opencrab.gateways.cli.memory import memory_words
from opencrab.gateways.cli.program.options import Tongue
from opencrab.gateways.cli.simulation import learning_words
from opencrab.gateways.cli.skills import skill_words
from opencrab.gateways.cli.workspace.workspace_words import JAPANESE

_JAPANESE = {
    **HELP,
    "Autonomous agents that live on your own computer, or on serverless AWS.": (
        "自律エージェントを、手元のコンピューターまたはサーバーレス AWS で動かします。"
    ),
    "Show this message and exit.": "この説明を表示して終了します。",
    TRAITS_HELP: f"openness=0.8,hobby=chess のように指定します。数値の項目: {NUMBERS}。",
    "Show the version.": "バージョンを表示します。",
    "Where OpenCrab is.": "OpenCrab のアドレス。",
    "The API key to use.": "使用する API キー。",
    "The data folder.": "データフォルダー。",
    "The language of this program.": "表示言語。",
    "Answer in JSON, for scripts.": "スクリプト向けに JSON で出力します。",
    "Run OpenCrab on this computer.": "このコンピューターで OpenCrab を起動します。",
    "The port to listen on.": "待ち受けるポート。",
    "The address to listen on.": "待ち受けるアドレス。",
    "The folder for everything kept.": "すべてのデータを保存するフォルダー。",
    "The model to think with.": "使用するモデル。",
    "Talk to an agent; lines from a pipe are answered one by one.": (
        "エージェントと話します。パイプからの入力には1行ずつ答えます。"
    ),
    "An agent's id or name.": "エージェントの ID または名前。",
    "Continue this conversation.": "この会話を続けます。",
    "Say one thing and leave.": "ひとことだけ送って終了します。",
    "Your name, as the agent sees it.": "エージェントに伝わるあなたの名前。",
    "List, create, show, edit and retire agents.": "エージェントの一覧・作成・表示・編集・引退。",
    "List the agents.": "エージェントの一覧。",
    "Retired ones too.": "引退したものも含めます。",
    "Create an agent, by a short dialogue or by options.": (
        "エージェントを、短い対話またはオプションで作成します。"
    ),
    "Show one agent with its personality.": "エージェントを性格とともに表示します。",
    "Change an agent by options, or all of it in your editor.": (
        "エージェントを、オプションまたはエディターで変更します。"
    ),
    "Retire an agent for good; what it said and wrote stays.": (
        "エージェントを引退させます。発言とファイルは残ります。"
    ),
    "Do not ask.": "確認しません。",
    "The agent's name.": "エージェントの名前。",
    "Who it is, in a few words.": "ペルソナ(短い言葉で)。",
    "The language that the agent speaks.": "エージェントが話す言語。",
    "What it is there for, in one sentence.": "目的(一文で)。",
    "provider:model, or 'default'.": "provider:model、または 'default'。",
    "List, show and end conversations.": "会話の一覧・表示・終了。",
    "List the conversations, the latest first.": "会話の一覧(新しい順)。",
    "Show what was said in a conversation, or how evenly.": (
        "会話の内容、または発言の偏りを表示します。"
    ),
    "How evenly the agents spoke instead.": "内容の代わりに発言の偏りを表示します。",
    "A session's id.": "会話の ID。",
    "How many lines.": "表示する行数。",
    "Also what agents think and do (owner).": "エージェントの思考と行動も表示(オーナー)。",
    "End a conversation; it stays readable.": "会話を終了します。内容は残ります。",
    "Give a session's agents an instruction that only they and the owner see.": (
        "会話のエージェントに、オーナーと本人たちだけに見える指示を出します。"
    ),
    "The instruction.": "指示の内容。",
    "Read a turn as a story, stop it, decide what it waits for.": (
        "ターンの経過の表示、停止、承認の決定。"
    ),
    "Tell what happened in a turn, step by step.": "ターンの経過を順に表示します。",
    "A turn's id.": "ターンの ID。",
    "Ask a turn to stop before its next call.": "ターンを次の呼び出しの前に停止させます。",
    "Why.": "理由。",
    "Tell an agent what you thought of a turn; it learns from it.": (
        "ターンの良し悪しをエージェントに伝えます。エージェントはそこから学びます。"
    ),
    "Well done (up), or not (down).": "良かった (up)、または良くなかった (down)。",
    "Why, in your words.": "理由や感想。",
    "Approve or reject what a waiting turn asks for.": (
        "承認待ちのターンの求めを、承認または却下します。"
    ),
    "May it do what it asks for?": "求めていることを許可するかどうか。",
    "Create, list and revoke API keys.": "API キーの作成・一覧・無効化。",
    "Create an API key and show its secret, this once.": ("API キーを作成し、一度だけ表示します。"),
    "What the key is for.": "キーの用途。",
    "What it may do.": "権限。",
    "List the API keys, without their secrets.": "API キーの一覧(中身は表示しません)。",
    "Revoke an API key, at once and for good.": "API キーを無効にします。元には戻せません。",
    "A key's id.": "キーの ID。",
    "See what an installation on AWS costs.": "AWS での費用を調べます。",
    "Estimate what an installation on AWS costs, without the model's tokens.": (
        "AWS での費用を見積もります(モデルのトークン代は含みません)。"
    ),
    "How many turns a month.": "1か月のターン数。",
    "How long a turn's model calls take together.": (
        "1ターンのモデル呼び出しにかかる合計時間(秒)。"
    ),
    "Clients wait for the answer (Prefer: wait).": ("クライアントが返事を待つ場合(Prefer: wait)。"),
    "List the models with their prices, or take over newer prices.": (
        "モデルと料金の一覧、または最新の料金への更新。"
    ),
    "Only this provider's.": "この提供元のものだけ。",
    "Fetch today's public prices and take over those that changed.": (
        "公開されている最新の料金を取得し、変わったものを反映します。"
    ),
    "Also prices that fall by more than half.": "半額未満に下がった料金も反映します。",
    "List the providers of models, and what each of them lacks.": (
        "モデルの提供元と、足りない設定の一覧。"
    ),
    "Show what model calls came to, or where the money of one turn went.": (
        "モデル呼び出しの費用、または1ターンの費用の内訳を表示します。"
    ),
    "Only this agent: an id or a name.": "このエージェントだけ(ID または名前)。",
    "How far back.": "集計する期間。",
    "Sort calls by this.": "呼び出しの分類方法。",
    "Where each micro-dollar of this turn went.": "このターンの費用の内訳。",
    "Show what may be spent and what is drawn today, and set limits.": (
        "予算の上限と今日の引出を表示し、上限を設定します。"
    ),
    "Set a limit in US dollars (heartbeat: per cent; session=0: no limit); may be repeated.": (
        "上限を米ドルで設定します(heartbeat は%、session=0 は上限なし。複数指定可)。"
    ),
    "Return all other limits to the configured ones.": (
        "(--set で指定したもの以外の)すべての上限を設定ファイルの値に戻します。"
    ),
    "Stop all agents, or one, before the next step; queued work too.": (
        "すべて、または1体のエージェントを凍結し、次のステップの前に停止させます(順番待ちも含む)。"
    ),
    "Let all agents work again, or one.": "すべて、または1体のエージェントの凍結を解除します。",
    "An agent's id or name; all of them if left out.": (
        "エージェントの ID または名前(省略時はすべて)。"
    ),
    **JAPANESE,
    **analytics_words.HELP,
    **autonomy_words.HELP,
    **discord_words.HELP,
    **model_trial_words.HELP,
    **goal_words.HELP,
    **memory_words.HELP,
    **schedule_words.HELP,
    **learning_words.HELP,
    **skill_words.HELP,
    **task_words.HELP,
    **view_words.HELP,
    "Check that everything works, and say what to do where it does not.": (
        "動作を確認し、問題があれば対処方法を示します。"
    ),
}


def help_in(tongue: Tongue, text: str) -> str:
    """A text of the help in a language; one without a translation stays English."""
    return _JAPANESE.get(text, text) if tongue is Tongue.JA else text
