"""Wishes text: how the goals that an agent puts up by itself are called, in both languages."""

from opencrab.domain.goals.goal import GoalSource
from opencrab.domain.value import Language

_NAMES = {
    GoalSource.CURIOSITY: {
        Language.EN: "Explore the unknown",
        Language.JA: "未知を探る",
    },
    GoalSource.SURVIVAL: {
        Language.EN: "Spend less of today's budget, or earn",
        Language.JA: "今日の予算を節約するか、稼ぐ",
    },
    GoalSource.OPPORTUNITY: {
        Language.EN: "Look into an opportunity: {what}",
        Language.JA: "機会を調べる: {what}",
    },
    GoalSource.SOCIAL: {
        Language.EN: "Do something well together with {what}",
        Language.JA: "{what}と一緒に何かをうまくやる",
    },
    GoalSource.ROLE: {Language.EN: "{what}", Language.JA: "{what}"},
}

_WORDS = {
    GoalSource.CURIOSITY: {
        Language.EN: "For a long time there was nothing new. Choose one thing that you do not know "
        "and that could be of use, find something out about it, and keep what you learned with "
        "learn_from_experience. Keep it small and cheap.",
        Language.JA: "長いあいだ新しい経験がありません。まだ知らず、役に立ちそうなことを一つ選んで"
        "調べ、学んだことを learn_from_experience で残します。小さく、安く済ませます。",
    },
    GoalSource.SURVIVAL: {
        Language.EN: "Only {percent}% of today's budget is left. See what you can leave out, do "
        "later, or do with a cheaper model, and tell your owner if that is not enough.",
        Language.JA: "今日の予算は残り{percent}%です。やめること、後にすること、安いモデルで"
        "できることを決め、足りなければオーナーに伝えます。",
    },
    GoalSource.OPPORTUNITY: {
        Language.EN: "This happened: {what}\nFind out whether it is worth anything, and do what "
        "is worth it.",
        Language.JA: "起きたこと: {what}\n価値があるかを調べ、あればそれを行います。",
    },
    GoalSource.SOCIAL: {
        Language.EN: "You hardly trust {what} yet. Find one small thing that helps both of you, "
        "and do it well.",
        Language.JA: "{what}への信頼はまだわずかです。互いのためになる小さなことを一つ見つけ、"
        "うまくやります。",
    },
    GoalSource.ROLE: {
        Language.EN: "This is what you are there for. It is never finished: set yourself "
        "objectives that bring you closer to it.",
        Language.JA: "これがあなたの役目です。終わりはありません。"
        "近づくための目標を自分で立てます。",
    },
}

_MENTION = {
    Language.EN: ("Answer what {what} said to you", "Somebody waits for your answer."),
    Language.JA: ("{what}の言葉に答える", "あなたの答えを待っている人がいます。"),
}


_POOR = {
    Language.EN: "Your balance is {balance}, and that is little. See how you can earn in your "
    "world, and what you can do without.",
    Language.JA: "残高は{balance}で、残りわずかです。ワールドで稼ぐ方法と、"
    "やめられることを考えます。",
}

_STEP = {
    Language.EN: (
        "Take the next step towards: {what}",
        "You are there for this: {what}\nSee how far it has come, choose one small thing that "
        "brings it closer, and do it.",
    ),
    Language.JA: (
        "次の一歩を踏み出す: {what}",
        "あなたの役目: {what}\nどこまで進んだかを見て、近づくための小さなことを一つ選び、"
        "行います。",
    ),
}


def poor_words(language: Language, balance: int) -> str:
    """What an agent is told whose balance in its world is low."""
    return _POOR[language].format(balance=balance)


def called(source: GoalSource, language: Language, **what: object) -> tuple[str, str]:
    """Name and description of a goal that an agent puts up for this reason."""
    name, words = _NAMES[source][language], _WORDS[source][language]
    return name.format(**what), words.format(**what)


def owed(language: Language, who: str) -> tuple[str, str]:
    """Name and description of the goal to answer somebody."""
    name, words = _MENTION[language]
    return name.format(what=who), words


def towards(language: Language, what: str) -> tuple[str, str]:
    """Name and description of the next step that an agent takes towards its aspiration."""
    name, words = _STEP[language]
    return name.format(what=what), words.format(what=what)
