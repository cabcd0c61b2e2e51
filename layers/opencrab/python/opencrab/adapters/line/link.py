"""Service: names of people on LINE, answers at once, and what LINE says of the bot's setup."""

from collections.abc import Iterator, Mapping
from threading import Lock
from typing import Any

from opencrab.adapters.line.client import LineClient
from opencrab.adapters.line.rendering import line_text_message
from opencrab.domain.chat.event import ChatEvent, ChatRoom
from opencrab.domain.errors import NotFound, OpenCrabError, Refused, Unavailable
from opencrab.ports.conversation.chat_link import ChatCheck

NAMES = 500
"""Names that are remembered by this process."""

_LONGEST_NAME = 100


class LineLink:
    """`ports.conversation.chat_link.ChatLink` for LINE."""

    def __init__(self, line: LineClient) -> None:
        self._line = line
        self._names: dict[tuple[str, str], str] = {}
        self._lock = Lock()

    def name_of_user(self, room: ChatRoom, user_id: str) -> str | None:
        key = room.id, user_id
        if key in self._names:
            return self._names[key]
        try:
            found = self._line.ask("GET", _profile_path(room, user_id))
        except NotFound:
            return None
        name = found.get("displayName") if isinstance(found, dict) else None
        if not isinstance(name, str) or not name.strip():
            return None
        with self._lock:
            if len(self._names) >= NAMES:
                self._names.clear()
            self._names[key] = name.strip()[:_LONGEST_NAME]
        return self._names[key]

    def answer_event(self, event: ChatEvent, text: str) -> None:
        if event.reply_token is None:
            raise NotFound("the event cannot be answered: it has no reply token")
        if not self._line.reply(event.reply_token, (line_text_message(text),)):
            raise NotFound("the event was answered before, or its reply token is over")

    def checks(self) -> tuple[ChatCheck, ...]:
        return tuple(self._checks())

    def _checks(self) -> Iterator[ChatCheck]:
        """Yield the checks; without a valid token only that problem."""
        try:
            bot = _object(self._line.ask("GET", "/v2/bot/info"))
        except Unavailable as error:
            yield _problem("token", "unreachable", why=error.message)
            return
        except OpenCrabError as error:
            yield _problem("token", "token_wrong", why=error.message)
            return
        facts = {"name": bot.get("displayName"), "id": bot.get("basicId")}
        yield ChatCheck(name="token", state="ok", key="token", facts=facts)
        yield from self._of_webhook()
        yield from self._of_quota()

    def _of_webhook(self) -> Iterator[ChatCheck]:
        """Check the webhook's address, and let LINE call it as it calls it with events."""
        path = "/v2/bot/channel/webhook/endpoint"
        try:
            found = _object(self._line.ask("GET", path))
        except NotFound:
            yield _problem("webhook", "webhook_none")
            return
        except OpenCrabError as error:
            yield _problem("webhook", "webhook_unread", why=error.message)
            return
        url = str(found.get("endpoint") or "")
        if not url:
            yield _problem("webhook", "webhook_none")
            return
        if found.get("active") is not True:
            yield _problem("webhook", "webhook_off", url=url)
        try:
            tried = _object(self._line.ask("POST", "/v2/bot/channel/webhook/test", {}))
        except OpenCrabError as error:
            yield _problem("webhook test", "test_unread", why=error.message)
            return
        if tried.get("success") is True:
            yield ChatCheck(name="webhook", state="ok", key="webhook", facts={"url": url})
            return
        reason, detail = tried.get("reason"), tried.get("detail")
        yield _problem("webhook", "webhook_fails", url=url, why=f"{reason}: {detail}"[:300])

    def _of_quota(self) -> Iterator[ChatCheck]:
        try:
            quota = _object(self._line.ask("GET", "/v2/bot/message/quota"))
            used = _object(self._line.ask("GET", "/v2/bot/message/quota/consumption"))
        except (Refused, NotFound, Unavailable) as error:
            yield ChatCheck(
                name="quota", state="warning", key="quota_unread", facts={"why": error.message}
            )
            return
        most, so_far = quota.get("value"), used.get("totalUsage")
        if quota.get("type") != "limited" or not isinstance(most, int):
            yield ChatCheck(name="quota", state="ok", key="quota_none", facts={"used": so_far})
            return
        is_over = isinstance(so_far, int) and so_far >= most
        yield ChatCheck(
            name="quota",
            state="problem" if is_over else "ok",
            key="quota_over" if is_over else "quota",
            facts={"used": so_far, "most": most},
        )


def _profile_path(room: ChatRoom, user_id: str) -> str:
    """Return the path of a profile: people in a group need not be the bot's friends."""
    if not room.is_group:
        return f"/v2/bot/profile/{user_id}"
    kind = "group" if room.id.startswith("C") else "room"
    return f"/v2/bot/{kind}/{room.id}/member/{user_id}"


def _problem(name: str, key: str, **facts: object) -> ChatCheck:
    return ChatCheck(name=name, state="problem", key=key, facts=facts)


def _object(found: Any) -> Mapping[str, Any]:
    return found if isinstance(found, dict) else {}
