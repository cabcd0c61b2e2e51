"""Words: what conversations, tasks and buttons say to people, in English and Japanese."""

import re

from opencrab.domain.errors import Invalid, OpenCrabError
from opencrab.domain.value import Language
from opencrab.gateways.discord.text.embeds import cut, plain

CONTENT = 2_000
"""Units that the text of a message may have."""

_HIRAGANA = re.compile("[\u3041-\u3096]")

_SENTENCES: dict[str, tuple[str, str]] = {
    "guild": ("I do not speak in this server.", "このサーバーではお話しできません。"),
    "guild_cure": (
        "Its owner can add the server's id to guild_ids.",
        "管理者が guild_ids にこのサーバーの ID を追加すると使えます。",
    ),
    "private": (
        "In private I speak with owners and users only.",
        "サーバーの外では、オーナーと許可されたユーザーとだけお話しします。",
    ),
    "private_cure": (
        "The owner can add your Discord id to user_ids.",
        "管理者が user_ids にあなたの Discord の ID を追加すると使えます。",
    ),
    "unknown": ("I do not know this command.", "このコマンドは分かりません。"),
    "unknown_cure": (
        "It may be old: `opencrab discord register` brings the commands up to date.",
        "古い可能性があります。`opencrab discord register` で更新できます。",
    ),
    "given_up": (
        "This could not be done just now. Look whether it has happened, and try again if not.",
        "いま処理できませんでした。反映されていなければ、もう一度お試しください。",
    ),
    "no_words": ("There are no words in it.", "内容が空です。"),
    "no_words_cure": ("Write something.", "何か書いてください。"),
    "about": (
        "What do you say to this message? {name} wrote it:",
        "{name}さんの発言についてどう思いますか:",
    ),
    "file": ("[file {name}]", "[ファイル {name}]"),
    "retired": ("{name} has retired.", "{name} は引退しています。"),
    "remember_refused": (
        "Only {name}'s owner and users may have something remembered.",
        "{name} に覚えさせられるのは、オーナーと許可されたユーザーだけです。",
    ),
    "remembered": ("{name} remembers now:", "{name} が覚えました:"),
    "memory": ("{author} wrote on Discord: {text}", "{author}さんがDiscordでこう書いた: {text}"),
    "known": ("{name} knows this already.", "{name} はすでに知っています。"),
    "task_refused": (
        "Only {name}'s owner and users may give it tasks.",
        "{name} にタスクを頼めるのは、オーナーと許可されたユーザーだけです。",
    ),
    "ask_instead": ("Ask it something with /ask.", "/ask で質問はできます。"),
    "goal_refused": (
        "Only the owner, or who gave this task, may do this.",
        "この操作ができるのは、オーナーとタスクを頼んだ本人だけです。",
    ),
    "goal_no_more": (
        "{name} takes no tasks from you any more.",
        "あなたは {name} にタスクを頼めなくなりました。",
    ),
    "goal_no_more_cure": ("You can only cancel this one.", "できるのは取り消しだけです。"),
    "steered": (
        "{name} hears this before its next step.",
        "{name} に伝えました。次の一歩の前に読みます。",
    ),
    "session_refused": (
        "Only who opened this session, or the owner of all agents in it, may end it.",
        "このセッションを終えられるのは、開始した本人と、参加者全員のオーナーだけです。",
    ),
    "leave_refused": (
        "Only {name}'s owner and users, or who opened this session, may send {name} away.",
        "{name} を外せるのは、そのオーナー、許可されたユーザー、開始した本人だけです。",
    ),
    "join_refused": (
        "Only {name}'s owner and users may bring {name} into this session.",
        "{name} をこのセッションに入れられるのは、オーナーと許可されたユーザーだけです。",
    ),
    "theme_refused": (
        "Only the owner and users of all agents in a session may give it a theme.",
        "テーマを決められるのは、参加者全員のオーナーか許可されたユーザーだけです。",
    ),
    "theme_refused_cure": ("Start it without a theme.", "テーマなしで始められます。"),
    "theme_long": ("The theme is too long.", "テーマが長すぎます。"),
    "theme_cure": ("At most {most} characters.", "{most} 文字以内にしてください。"),
    "started": (
        "A new session begins with {names}.",
        "新しいセッションを始めました。参加者: {names}",
    ),
    "joined": ("{name} takes part. Here now: {names}", "{name} が参加しました。参加者: {names}"),
    "left": ("{name} takes no part here any more.", "{name} はここから退席しました。"),
    "ended": ("The session has ended.", "セッションを終えました。"),
    "no_session": ("No session is open here.", "ここで開いているセッションはありません。"),
    "no_session_cure": (
        "Begin one with /session start, or just /ask.",
        "/session start か /ask で始められます。",
    ),
    "theme": ("Theme: {theme}", "テーマ: {theme}"),
    "status": (
        "Taking part: {names}\nTurns: {turns} · Phase: {phase}",
        "参加者: {names}\nターン数: {turns} · 段階: {phase}",
    ),
    "divergent": ("gathering ideas", "発散"),
    "convergent": ("coming together", "収束"),
    "concluded": ("concluded", "終結"),
    "approved": ("✅ Approved by {by}", "✅ {by} が承認しました"),
    "rejected": ("⛔ Rejected by {by}", "⛔ {by} が却下しました"),
    "expired": ("⌛ Nobody decided in time.", "⌛ 期限までに決定されませんでした。"),
    "withdrawn": ("This is not asked any more.", "この確認は取り下げられました。"),
    "approval_gone": ("This is not asked any more.", "この確認はもうありません。"),
    "approval_refused": (
        "Only the owner, or somebody the owner has named, may decide this.",
        "決定できるのは、オーナーとオーナーが指名した人だけです。",
    ),
    "approval_busy": (
        "This is being changed just now. Try again.",
        "ちょうど処理中です。もう一度お試しください。",
    ),
    "thanks": (
        "Thank you. {name} will learn from it.",
        "ありがとうございます。{name} が学びます。",
    ),
    "feedback_before": (
        "You have told your opinion of this already.",
        "この発言への評価はすでに受け取っています。",
    ),
    "feedback_early": (
        "This is not finished yet. Tell it at its end.",
        "まだ終わっていません。終わってから評価してください。",
    ),
    "feedback_public": (
        "{name} learns only from what its owner and users think.",
        "{name} が学ぶのは、オーナーと許可されたユーザーの評価からだけです。",
    ),
    "feedback_refused": (
        "This was not said here.",
        "このチャンネルでの発言ではありません。",
    ),
}

_CODES = {
    "refused": "許可されていません",
    "not-found": "見つかりません",
    "invalid": "入力に誤りがあります",
    "too-large": "大きすぎます",
    "conflict": "いまはできません",
    "changed": "ほかの操作と重なりました。もう一度お試しください",
    "exhausted": "予算を使い切りました",
    "unavailable": "いま応答がありません",
}

_IN_JAPANESE = (
    (r"agent '([^']*)' has retired", "エージェント {0} は引退しています。"),
    (r"agent '([^']*)' has (\d+) open goals", "{0} には未完了の目標が {1} 件あります。"),
    (r"a session has at most (\d+) agents", "1つのセッションに参加できるのは {0} 人までです。"),
    (r"(G\d+) has ended and cannot be", "{0} はすでに終わっています。"),
    (r"there is no agent '([^']*)'", "エージェント {0} はいません。"),
    (r"agent '([^']*)' has no goal '([^']*)'", "{0} に {1} というタスクはありません。"),
    (
        r"(?:is|are) chang\w+ (?:all the time|by others)",
        "ほかの操作と重なりました。もう一度お試しください。",
    ),
    (r"is being changed just now", "ちょうど処理中です。もう一度お試しください。"),
    (r"session '[^']*' has ended", "このセッションは終わっています。"),
)


def say(language: Language, key: str, **values: object) -> str:
    """A sentence in somebody's language."""
    english, japanese = _SENTENCES[key]
    return (japanese if language is Language.JA else english).format(**values)


def quoted(text: str) -> str:
    """Somebody's words, line by line behind a mark, so that nothing in them ends the quotation."""
    return "\n".join(f"> {line}" for line in text.splitlines() or [""])


def problem(error: OpenCrabError, language: Language) -> str:
    """What somebody is told of an error, and what they can do."""
    told, cure = error.message, error.cure
    if language is Language.JA and not _HIRAGANA.search(told):
        told, cure = _translated(error), None
    return cut("\n".join(filter(None, (f"⚠️ {plain(told)}", cure))), CONTENT)


def no_words(language: Language, field: str) -> Invalid:
    """The error of somebody who said nothing."""
    return Invalid(say(language, "no_words"), field=field, cure=say(language, "no_words_cure"))


def _translated(error: OpenCrabError) -> str:
    for pattern, japanese in _IN_JAPANESE:
        found = re.search(pattern, error.message)
        if found:
            return japanese.format(*found.groups())
    return f"{_CODES.get(error.code, '失敗しました')}: {error.message}"
