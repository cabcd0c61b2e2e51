"""Link: names of people on Slack, answers at once, and what Slack says of the bot's setup."""

from collections.abc import Iterator
from threading import Lock
from typing import Any

from opencrab.adapters.slack.client import SlackClient
from opencrab.adapters.slack.rendering import escape_slack_text
from opencrab.domain.chat.event import ChatEvent, ChatRoom
from opencrab.domain.errors import Invalid, NotFound, OpenCrabError, Refused, Unavailable
from opencrab.ports.conversation.chat_link import ChatCheck

NAMES = 500
"""Names that are remembered by this process."""

SCOPES = ("app_mentions:read", "chat:write", "im:history", "users:read")
"""What the bot needs."""

FILES = "files:read"
"""The scope with which files of people can be fetched."""

_LONGEST_NAME = 100


class SlackLink:
    """`ports.conversation.chat_link.ChatLink` for Slack."""

    def __init__(self, slack: SlackClient) -> None:
        self._slack = slack
        self._names: dict[str, str] = {}
        self._lock = Lock()

    def name_of_user(self, room: ChatRoom, user_id: str) -> str | None:  # noqa: ARG002 - the port's
        if user_id in self._names:
            return self._names[user_id]
        try:
            user: Any = self._slack.read("users.info", {"user": user_id}).get("user") or {}
        except (Invalid, NotFound, Refused):  # without a name the message is worth as much
            return None
        profile = user.get("profile") or {}
        given = (profile.get("display_name"), user.get("real_name"), user.get("name"))
        name = next((each.strip() for each in given if isinstance(each, str) and each.strip()), "")
        if not name:
            return None
        with self._lock:
            if len(self._names) >= NAMES:
                self._names.clear()
            self._names[user_id] = name[:_LONGEST_NAME]
        return self._names[user_id]

    def answer_event(self, event: ChatEvent, text: str) -> None:
        """Tell it the person alone, where others listen."""
        given = {"channel": event.room.id, "text": escape_slack_text(text)}
        threaded = {} if event.thread is None else {"thread_ts": event.thread}
        if event.room.is_group:
            whom = {"user": event.user_id}
            self._slack.call("chat.postEphemeral", {**given, **threaded, **whom})
        else:
            self._slack.call("chat.postMessage", {**given, **threaded})

    def checks(self) -> tuple[ChatCheck, ...]:
        return tuple(self._checks())

    def _checks(self) -> Iterator[ChatCheck]:
        """Yield the checks; without a valid token only that problem."""
        try:
            found = self._slack.call("auth.test", {})
        except Unavailable as error:
            yield _problem("token", "unreachable", why=error.message)
            return
        except OpenCrabError as error:
            yield _problem("token", "token_wrong", why=error.message)
            return
        facts = {"name": found.get("user"), "id": found.get("team")}
        yield ChatCheck(name="token", state="ok", key="token", facts=facts)
        missing = [each for each in (*SCOPES, FILES) if each not in found["scopes"]]
        facts = {"missing": ", ".join(missing)}
        if missing == [FILES]:
            yield ChatCheck(name="scopes", state="warning", key="files_scope_missing", facts=facts)
        elif missing:
            yield _problem("scopes", "scopes_missing", **facts)
        else:
            yield ChatCheck(name="scopes", state="ok", key="scopes")


def _problem(name: str, key: str, **facts: object) -> ChatCheck:
    return ChatCheck(name=name, state="problem", key=key, facts=facts)
