"""Link: answers at once, and what the mail servers say of the setup."""

import imaplib
from collections.abc import Iterator

from opencrab.adapters.email.channel import letter_of_email_event
from opencrab.adapters.email.mailbox import ImapMailbox, OpenMailbox
from opencrab.adapters.email.post import SmtpPost
from opencrab.adapters.email.rendering import compose_email_reply
from opencrab.adapters.email.server import CHECK_SECONDS
from opencrab.domain.chat.event import ChatEvent, ChatRoom
from opencrab.domain.email.authentication import authserv_id_of_headers
from opencrab.domain.email.incoming import UnreadableEmail, parse_incoming_email
from opencrab.domain.email.intake import EmailRules
from opencrab.domain.email.letter import own_message_id
from opencrab.domain.errors import Conflict, OpenCrabError
from opencrab.ports.conversation.chat_link import ChatCheck
from opencrab.ports.documents import Documents

NEWEST = 5
"""The mails that the doctor looks at, to learn the server's name."""


class EmailLink:
    """`ports.conversation.chat_link.ChatLink` for e-mail."""

    def __init__(
        self, mailbox: ImapMailbox, post: SmtpPost, facts: Documents, rules: EmailRules
    ) -> None:
        self.mailbox = mailbox
        self.rules = rules
        self._post = post
        self._facts = facts

    def name_of_user(self, room: ChatRoom, user_id: str) -> str | None:  # noqa: ARG002
        """Return None: the mail itself names its sender."""
        return None

    def answer_event(self, event: ChatEvent, text: str) -> None:
        letter = letter_of_email_event(self._facts, event.id)
        message_id = own_message_id(event.room.id, f"{event.id} at once", letter.alias)
        content = compose_email_reply(letter, text, message_id, event.at)
        self._post.send(letter.alias, letter.address, content)

    def checks(self) -> tuple[ChatCheck, ...]:
        return tuple(self._checks())

    def _checks(self) -> Iterator[ChatCheck]:
        seen = ""
        try:
            with self.mailbox.opened(CHECK_SECONDS, CHECK_SECONDS) as opened:
                key = "mailbox" if opened.has_idle else "mailbox_polled"
                facts = {"folder": opened.folder, "mails": max(opened.next_uid - 1, 0)}
                yield ChatCheck(name="mailbox", state="ok", key=key, facts=facts)
                seen = _server_name(opened)
        except OpenCrabError as error:
            yield _problem("mailbox", "mailbox_fails", why=error.message)
        yield self._of_server_name(seen)
        try:
            facts = {"server": self._post.check(), "addresses": ", ".join(self.rules.aliases)}
            yield ChatCheck(name="sending", state="ok", key="sending", facts=facts)
        except OpenCrabError as error:
            yield _problem("sending", "sending_fails", why=error.message)

    def _of_server_name(self, seen: str) -> ChatCheck:
        """Say whether senders can be verified: by the name in the verdicts of newest mails."""
        wanted = self.rules.authserv_id
        facts = {"wanted": wanted, "seen": seen}
        if wanted and seen and wanted.casefold() != seen.casefold():
            return ChatCheck(name="senders", state="warning", key="senders_other", facts=facts)
        if wanted:
            return ChatCheck(name="senders", state="ok", key="senders", facts=facts)
        if self.rules.answers_unverified:
            return ChatCheck(name="senders", state="warning", key="senders_any", facts=facts)
        return _problem("senders", "senders_seen" if seen else "senders_none", **facts)


def _server_name(opened: OpenMailbox) -> str:
    """Return the name of the server in the topmost verdict of the newest mail that has one."""
    try:
        for uid in reversed(opened.uids_from(max(opened.next_uid - NEWEST, 1))[-NEWEST:]):
            found = opened.fetch(uid)
            name = "" if found is None else _name_in(found.content)
            if name:
                return name
    except (imaplib.IMAP4.error, Conflict):
        pass
    return ""


def _name_in(content: bytes) -> str:
    try:
        return authserv_id_of_headers(parse_incoming_email(content).headers)
    except UnreadableEmail:
        return ""


def _problem(name: str, key: str, **facts: object) -> ChatCheck:
    return ChatCheck(name=name, state="problem", key=key, facts=facts)
