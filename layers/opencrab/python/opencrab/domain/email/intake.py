"""Intake: which mails an agent answers, and why the others are left in the mailbox.

Programs that answer each other would never end: what a program sent is not answered.
"""

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from opencrab.domain.email.address import (
    email_event_id,
    email_person_id,
    email_room_id,
    email_thread_id,
)
from opencrab.domain.email.authentication import EmailVerdict, verdict_of_email_headers
from opencrab.domain.email.incoming import IncomingEmail
from opencrab.domain.email.letter import thread_of_own_message_ids
from opencrab.domain.email.quotation import written_words_of_email
from opencrab.domain.value import Value

_PROGRAMS = re.compile(
    r"(?:mailer-daemon|postmaster|no-?reply|do-?not-?reply|bounces?|abuse|listserv|majordomo)(?:[+-].*)?@.*",
    re.ASCII,
)
_LISTS = re.compile(r"list-(?:id|post|unsubscribe|help|owner)", re.ASCII)
_PRECEDENCE = frozenset({"bulk", "list", "junk", "auto_reply"})


class EmailSilence(StrEnum):
    """The reason why a mail is not answered."""

    UNREADABLE = "unreadable"
    SENDER = "sender"
    OWN = "own"
    NOT_FOR_US = "not_for_us"
    AUTOMATIC = "automatic"
    LIST = "list"
    BOUNCE = "bounce"
    FORGED = "forged"
    UNVERIFIED = "unverified"
    EMPTY = "empty"
    LIMIT = "limit"


class EmailRules(Value):
    """Whose mails are read: `aliases` are our addresses and the agents that answer there.

    Only the server `authserv_id` is believed. Mails that it does not vouch for are answered only
    with `answers_unverified`.
    """

    aliases: Mapping[str, str]
    authserv_id: str = ""
    answers_unverified: bool = False
    most_per_hour: int = 20

    @property
    def answers_anybody(self) -> bool:
        """True if there can be a mail that is answered."""
        return bool(self.authserv_id) or self.answers_unverified


class AcceptedEmail(NamedTuple):
    """A mail that is to be answered, with the ids of its sender, conversation and event.

    `holds_others` says that `text` has words of others in it.
    """

    id: str
    person: str
    room: str
    alias: str
    agent: str
    is_verified: bool
    text: str
    holds_others: bool
    is_new: bool


def judge_incoming_email(email: IncomingEmail, rules: EmailRules) -> AcceptedEmail | EmailSilence:
    """Return the mail as one to answer, else why it is not answered."""
    if email.sender is None:
        return EmailSilence.SENDER
    alias = next((each for each in email.recipients if each in rules.aliases), None)
    silence = _automatic(email, rules)
    if silence is None and alias is None:
        silence = EmailSilence.NOT_FOR_US
    if silence is not None or alias is None:
        return silence or EmailSilence.NOT_FOR_US
    verdict = verdict_of_email_headers(email.headers, rules.authserv_id, email.sender)
    if verdict is EmailVerdict.FAIL:
        return EmailSilence.FORGED
    is_verified = verdict is EmailVerdict.PASS
    if not is_verified and not rules.answers_unverified:
        return EmailSilence.UNVERIFIED
    written = written_words_of_email(email.text, email.subject)
    if not (written.text or email.files or (email.subject and not email.references)):
        return EmailSilence.EMPTY
    person = email_person_id(email.sender, verified=is_verified)
    told = (alias, email.message_id, email.header("date"), email.subject, email.text)
    event_id = email_event_id(person, *told)
    root = next(iter((*email.references, email.message_id, event_id)), "") or event_id
    # Anybody can name any mail in References: the conversation is the sender's own in any case.
    thread = thread_of_own_message_ids(email.references) or email_thread_id(root)
    return AcceptedEmail(
        id=event_id,
        person=person,
        room=email_room_id(person, alias, thread),
        alias=alias,
        agent=rules.aliases[alias],
        is_verified=is_verified,
        text=written.text,
        holds_others=written.holds_others or email.is_of_calendar,
        is_new=not email.references,
    )


def _automatic(email: IncomingEmail, rules: EmailRules) -> EmailSilence | None:
    """Return why a mail is no person's, None if it may be."""
    if email.sender in rules.aliases:
        return EmailSilence.OWN
    kinds = email.values("content-type")
    is_returned = not {"<>", "< >"}.isdisjoint(email.values("return-path"))
    if is_returned or any(each.startswith(("multipart/report", "message/")) for each in kinds):
        return EmailSilence.BOUNCE
    if any(_LISTS.fullmatch(name) for name, _ in email.headers):
        return EmailSilence.LIST
    precedence = _PRECEDENCE.intersection(email.values("precedence"))
    if precedence:
        return EmailSilence.LIST if "list" in precedence else EmailSilence.AUTOMATIC
    return EmailSilence.AUTOMATIC if _is_of_program(email) else None


def _is_of_program(email: IncomingEmail) -> bool:
    submitted = {
        each.partition(";")[0].split("(")[0].strip() for each in email.values("auto-submitted")
    }
    suppressed = re.split(r"[,\s]+", " ".join(email.values("x-auto-response-suppress")))
    return (
        not submitted <= {"", "no"}
        or "all" in suppressed
        or "autoreply" in suppressed
        or any((*email.values("x-autoreply"), *email.values("x-autorespond")))
        or _PROGRAMS.fullmatch(email.sender or "") is not None
    )
