"""Texts of the Discord setup check in English and Japanese: findings and what to click."""

from opencrab.domain.value import Language
from opencrab.engine.discord.setup import ATTACH, EMBED, HISTORY, IN_THREADS, SEND, VIEW
from opencrab.ports.texts import Texts

PERMISSION_NAMES: dict[int, dict[Language, str]] = {
    VIEW: {Language.EN: "View Channel", Language.JA: "チャンネルを見る"},
    SEND: {Language.EN: "Send Messages", Language.JA: "メッセージを送る"},
    EMBED: {Language.EN: "Embed Links", Language.JA: "埋め込みリンク"},
    ATTACH: {Language.EN: "Attach Files", Language.JA: "ファイルを添付"},
    HISTORY: {Language.EN: "Read Message History", Language.JA: "メッセージ履歴を読む"},
    IN_THREADS: {
        Language.EN: "Send Messages in Threads",
        Language.JA: "スレッドでメッセージを送信",
    },
}
"""Permissions as Discord's own pages name them."""

_PORTAL = "https://discord.com/developers/applications"

_WHAT = Texts(__file__, "what")
_CURES = Texts(__file__, "cure")
"""The instructions for findings that need an action."""


def discord_advice(key: str, language: Language, /, **facts: object) -> tuple[str, str]:
    """Return a finding and what to do about it, with the facts filled in."""
    cure = _CURES[key][language] if key in _CURES else ""
    return _WHAT[key][language].format(**facts), cure.format(portal=_PORTAL, **facts)
