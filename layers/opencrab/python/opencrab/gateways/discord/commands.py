"""Commands: what people can ask for on Discord, as Discord is told of it in English and Japanese.

Everybody may give every command: who may do what is decided when it is done, by OpenCrab's own
rules, and not by permissions of a server.
"""

import json
from typing import Any

from opencrab.domain.models.routing import Use
from opencrab.domain.text.query import LONGEST_QUESTION
from opencrab.domain.usage.ledger import Period
from opencrab.domain.value import Language
from opencrab.gateways.discord.interactions.acks import OFFERED
from opencrab.gateways.discord.text.view_sentences import term
from opencrab.gateways.discord.views.models import ALL_USES

Definition = dict[str, Any]
Words = tuple[str, str]
"""English and Japanese."""

TEXT = 6_000
"""The longest text that Discord lets anybody type into an option."""

_CHAT, _MESSAGE = 1, 3
_SUBCOMMAND, _STRING, _BOOLEAN, _USER = 1, 3, 5, 6
_THEME, _MEMORY_ID, _MODEL = 500, 80, 264
_JAPANESE = "ja"
_EVERYWHERE: Definition = {"integration_types": [0, 1], "contexts": [0, 1, 2]}


def _named(name: Words, description: Words | None = None) -> Definition:
    made: Definition = {"name": name[0], "name_localizations": {_JAPANESE: name[1]}}
    if description is not None:
        made["description"] = description[0]
        made["description_localizations"] = {_JAPANESE: description[1]}
    return made


def _option(
    name: Words, description: Words, kind: int = _STRING, *, required: bool = False, **more: Any
) -> Definition:
    made = {"type": kind, **_named(name, description), "required": required, **more}
    if name[0] in OFFERED:
        made["autocomplete"] = True
    return made


def _choice(value: str, name: Words) -> Definition:
    return {**_named(name), "value": value}


def _command(name: Words, description: Words, *options: Definition) -> Definition:
    return {"type": _CHAT, **_named(name, description), "options": list(options), **_EVERYWHERE}


def _subcommand(name: Words, description: Words, *options: Definition) -> Definition:
    return {"type": _SUBCOMMAND, **_named(name, description), "options": list(options)}


def _menu(name: Words) -> Definition:
    return {"type": _MESSAGE, **_named(name), **_EVERYWHERE}


def _words(word: str) -> Words:
    return term(Language.EN, word), term(Language.JA, word)


def _agent(description: Words, *, required: bool = False) -> Definition:
    return _option(
        ("agent", "エージェント"), description, required=required, min_length=1, max_length=100
    )


def _use(*, required: bool) -> Definition:
    named = [_choice(use.value, _words(use.value)) for use in Use]
    every = _choice(ALL_USES, ("everything else", "そのほかすべて"))
    if not required:
        every = _choice(ALL_USES, ("everything", "すべて"))
    description = ("What the model is for", "モデルの用途")
    return _option(("use", "用途"), description, required=required, choices=[*named, every])


_WHOM: Words = ("Whom: choose one, or type a name", "相手。候補から選ぶか、名前を入力")
_WHICH: Words = ("Which one; not needed where there is only one", "省略すると、ここにいる1人")
_ALL_OR_ONE: Words = ("Only this one; all if left out", "この1人だけ。省略すると全体")

_ASK = _command(
    ("ask", "聞く"),
    ("Ask an agent something", "エージェントに話しかけます"),
    _agent(_WHOM, required=True),
    _option(
        ("text", "内容"),
        ("What you want to say", "伝えたいこと"),
        required=True,
        min_length=1,
        max_length=TEXT,
    ),
)
_SESSION = _command(
    ("session", "会話"),
    ("The conversation in this channel", "このチャンネルの会話"),
    _subcommand(
        ("start", "開始"),
        ("Start a new conversation here", "ここで新しい会話を始めます"),
        _agent(_WHOM, required=True),
        _option(
            ("theme", "テーマ"),
            ("What it is about", "会話のテーマ"),
            min_length=1,
            max_length=_THEME,
        ),
    ),
    _subcommand(
        ("join", "参加"),
        ("Let an agent join the conversation here", "ここの会話にエージェントを加えます"),
        _agent(_WHOM, required=True),
    ),
    _subcommand(
        ("leave", "退出"),
        ("Let an agent leave the conversation here", "ここの会話からエージェントを外します"),
        _agent(_WHICH),
    ),
    _subcommand(
        ("status", "状況"), ("Who takes part in the conversation here", "ここの会話の参加者と様子")
    ),
    _subcommand(("end", "終了"), ("End the conversation here", "ここの会話を終えます")),
)
_TASK = _command(
    ("task", "タスク"),
    ("Give an agent something to do, and watch it", "エージェントに仕事を頼み、進み具合を見ます"),
    _agent(_WHOM, required=True),
    _option(
        ("instruction", "指示"),
        ("What is to be done", "してほしいこと"),
        required=True,
        min_length=1,
        max_length=TEXT,
    ),
)
_APPROVE = _command(
    ("approve", "承認"), ("What waits for your decision", "あなたの決定を待っているもの")
)
_AGENT = _command(
    ("agent", "エージェント"),
    ("Look at an agent", "エージェントの様子を見ます"),
    _subcommand(("show", "紹介"), ("Who it is", "どんなエージェントか"), _agent(_WHICH)),
    _subcommand(("state", "状態"), ("What it does now", "今していること"), _agent(_WHICH)),
    _subcommand(
        ("goals", "目標"), ("Its goals and how far they are", "目標とその進み具合"), _agent(_WHICH)
    ),
)
_MEMORY = _command(
    ("memory", "記憶"),
    ("What an agent remembers", "エージェントの記憶"),
    _subcommand(
        ("search", "検索"),
        ("Search its past, as far as you may hear of it", "聞いてよい範囲で過去を探します"),
        _option(
            ("query", "質問"),
            ("Words, or a whole question", "言葉、または質問文"),
            required=True,
            min_length=1,
            max_length=LONGEST_QUESTION,
        ),
        _agent(_WHICH),
    ),
    _subcommand(
        ("forget", "忘却"),
        ("Forget something for good (owner)", "完全に忘れさせます(オーナーのみ)"),
        _option(
            ("memory", "記憶"),
            ("The id of a memory, as a search shows it", "検索で表示される記憶の ID"),
            min_length=1,
            max_length=_MEMORY_ID,
        ),
        _option(
            ("person", "相手"),
            ("Everything that has to do with this person", "この人に関わるすべて"),
            _USER,
        ),
        _option(
            ("confirm", "確認"),
            (
                "Do it; without this you only see what would go",
                "実行します。なければ対象の表示だけ",
            ),
            _BOOLEAN,
        ),
        _agent(_WHICH),
    ),
)
_MODELS = _command(
    ("model", "モデル"),
    ("Which models an agent thinks with", "エージェントが考えるのに使うモデル"),
    _subcommand(
        ("list", "一覧"), ("Its models, and the aliases", "使うモデルと別名"), _agent(_WHICH)
    ),
    _subcommand(
        ("set", "設定"),
        (
            "Choose a model from the next turn on (owner)",
            "次のターンからのモデルを選びます(オーナーのみ)",
        ),
        _use(required=True),
        _option(
            ("model", "モデル"),
            ("An alias, or provider:model", "別名か provider:model"),
            required=True,
            min_length=1,
            max_length=_MODEL,
        ),
        _agent(_WHICH),
    ),
    _subcommand(
        ("reset", "初期化"),
        ("Return to the installation's model (owner)", "全体の設定に戻します(オーナーのみ)"),
        _use(required=False),
        _agent(_WHICH),
    ),
)
_COSTS = _command(
    ("costs", "費用"),
    ("What model calls came to (owner)", "モデルの呼び出しにかかった費用(オーナーのみ)"),
    _option(
        ("period", "期間"),
        ("How far back; 30 days if left out", "さかのぼる期間。省略すると30日間"),
        choices=[_choice(period.value, _words(period.value)) for period in Period],
    ),
    _agent(_ALL_OR_ONE),
)
_FREEZE = _command(
    ("freeze", "凍結"),
    ("Stop agents before their next step (owner)", "次の一歩の前に止めます(オーナーのみ)"),
    _agent(_ALL_OR_ONE),
)
_UNFREEZE = _command(
    ("unfreeze", "凍結解除"),
    ("Let agents work again (owner)", "凍結を解除します(オーナーのみ)"),
    _agent(_ALL_OR_ONE),
)

COMMANDS: tuple[Definition, ...] = (
    _ASK,
    _SESSION,
    _TASK,
    _APPROVE,
    _AGENT,
    _MEMORY,
    _MODELS,
    _COSTS,
    _FREEZE,
    _UNFREEZE,
    _menu(("Ask about this", "これについて聞く")),
    _menu(("Remember this", "これを覚える")),
)
"""All of them; whoever registers these takes away every other."""


def text() -> str:
    """The commands as the file keeps them."""
    return json.dumps(COMMANDS, indent=2, ensure_ascii=False) + "\n"
