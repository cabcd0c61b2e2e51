"""Words: every sentence that this program says to people, in English and Japanese."""

from opencrab.gateways.cli.agents import agent_words
from opencrab.gateways.cli.approvals import approval_words
from opencrab.gateways.cli.autonomy import autonomy_words, schedule_words
from opencrab.gateways.cli.conversation import chat_words, turn_words
from opencrab.gateways.cli.discord import discord_words
from opencrab.gateways.cli.doctor import doctor_words
from opencrab.gateways.cli.goals import goal_words, task_words
from opencrab.gateways.cli.insight import analytics_words, view_words
from opencrab.gateways.cli.language import column_headings
from opencrab.gateways.cli.language.vocabulary_ja import TERMS
from opencrab.gateways.cli.learning import model_trial_words
from opencrab.gateways.cli.memory import memory_words
from opencrab.gateways.cli.models import model_words
from opencrab.gateways.cli.program.options import Tongue
from opencrab.gateways.cli.simulation import learning_words
from opencrab.gateways.cli.skills import skill_words
from opencrab.gateways.cli.usage import aws_cost_words
from opencrab.gateways.cli.workspace import workspace_words

_PARTS = (
    agent_words,
    analytics_words,
    approval_words,
    autonomy_words,
    chat_words,
    aws_cost_words,
    discord_words,
    doctor_words,
    model_trial_words,
    goal_words,
    column_headings,
    memory_words,
    model_words,
    schedule_words,
    learning_words,
    skill_words,
    task_words,
    turn_words,
    view_words,
    workspace_words,
)
_SENTENCES: dict[str, tuple[str, str]] = {
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
