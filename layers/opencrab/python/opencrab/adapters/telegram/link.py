"""Link: names of people on Telegram, answers at once, updates, and what it says of the setup."""

from collections.abc import Iterator, Mapping
from threading import Lock
from typing import Any

from opencrab.adapters.telegram.client import TelegramClient
from opencrab.domain.chat.event import ChatButtonEvent, ChatEvent, ChatRoom
from opencrab.domain.errors import NotFound, OpenCrabError, Refused, Unavailable
from opencrab.domain.text.message_split import split_text_to_limit
from opencrab.ports.conversation.chat_link import ChatCheck

NAMES = 500
"""Names that are remembered by this process."""

UPDATES = ("message", "callback_query")
"""The kinds of updates that are asked for; edits are not."""

POLL_SECONDS = 25
ALERT_UNITS = 200
"""UTF-16 units of the answer to a button."""

_LONGEST_NAME = 100
_WORDS = 200


class TelegramLink:
    """`ports.conversation.chat_link.BotLink` for Telegram."""

    def __init__(self, telegram: TelegramClient) -> None:
        self._telegram = telegram
        self._names: dict[tuple[str, str], str] = {}
        self._bot: tuple[str, str] | None = None
        self._lock = Lock()

    def own_names(self) -> tuple[str, str]:
        if self._bot is None:
            found = _object(self._telegram.call("getMe", {}))
            self._bot = str(found.get("id", "")), str(found.get("username", ""))
        return self._bot

    def next_updates(self, after: int) -> tuple[Mapping[str, Any], ...]:
        asked = {"offset": after, "timeout": POLL_SECONDS, "allowed_updates": list(UPDATES)}
        found = self._telegram.call("getUpdates", asked, wait=POLL_SECONDS)
        listed = found if isinstance(found, list) else []
        return tuple(each for each in listed if isinstance(each, dict))

    def set_webhook(self, url: str, secret: str) -> None:
        if not url:
            self._telegram.call("deleteWebhook", {"drop_pending_updates": False})
            return
        given = {"url": url, "secret_token": secret, "allowed_updates": list(UPDATES)}
        self._telegram.call("setWebhook", given)

    def name_of_user(self, room: ChatRoom, user_id: str) -> str | None:
        key = room.id, user_id
        if key in self._names:
            return self._names[key]
        try:
            if room.is_group:
                asked = {"chat_id": int(room.id), "user_id": int(user_id)}
                member = _object(self._telegram.call("getChatMember", asked))
                person = _object(member.get("user"))
            else:
                person = _object(self._telegram.call("getChat", {"chat_id": int(user_id)}))
        except (NotFound, Refused, ValueError):
            return None
        given = (person.get("first_name"), person.get("last_name"))
        name = " ".join(each.strip() for each in given if isinstance(each, str) and each.strip())
        if not name:
            return None
        with self._lock:
            if len(self._names) >= NAMES:
                self._names.clear()
            self._names[key] = name[:_LONGEST_NAME]
        return self._names[key]

    def answer_event(self, event: ChatEvent, text: str) -> None:
        """Tell it the person who pressed a button alone; else it is a message."""
        if isinstance(event, ChatButtonEvent):
            shown = split_text_to_limit(text, ALERT_UNITS)[0]
            given = {"callback_query_id": event.reply_token, "text": shown, "show_alert": True}
            self._telegram.call("answerCallbackQuery", given)
            return
        self._telegram.call("sendMessage", {"chat_id": int(event.room.id), "text": text})

    def checks(self) -> tuple[ChatCheck, ...]:
        return tuple(self._checks())

    def _checks(self) -> Iterator[ChatCheck]:
        """Yield the checks; without a valid token only that problem."""
        try:
            bot = _object(self._telegram.call("getMe", {}))
        except Unavailable as error:
            yield _problem("token", "unreachable", why=error.message)
            return
        except OpenCrabError as error:
            yield _problem("token", "token_wrong", why=error.message)
            return
        facts = {"name": bot.get("first_name"), "id": f"@{bot.get('username')}"}
        yield ChatCheck(name="token", state="ok", key="token", facts=facts)
        try:
            hook = _object(self._telegram.call("getWebhookInfo", {}))
        except OpenCrabError as error:
            yield _problem("webhook", "webhook_unread", why=error.message)
            return
        facts = {"url": hook.get("url") or "", "waiting": hook.get("pending_update_count")}
        why = str(hook.get("last_error_message") or "")[:_WORDS]
        if not facts["url"]:
            yield ChatCheck(name="webhook", state="ok", key="polls", facts=facts)
        elif why and facts["waiting"]:
            # The error stays at Telegram also after what waited has arrived.
            yield _problem("webhook", "webhook_fails", **facts, why=why)
        else:
            yield ChatCheck(name="webhook", state="ok", key="webhook", facts=facts)


def _problem(name: str, key: str, **facts: object) -> ChatCheck:
    return ChatCheck(name=name, state="problem", key=key, facts=facts)


def _object(found: Any) -> Mapping[str, Any]:
    return found if isinstance(found, dict) else {}
