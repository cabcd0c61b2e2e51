"""Letters: what is kept of a mail in order to answer it, and how far a mailbox was read."""

import re
from datetime import datetime, timedelta
from typing import Annotated

from pydantic import Field, StringConstraints

from opencrab.domain.email.address import MOST_ADDRESS, email_domain
from opencrab.domain.identifier import content_hash
from opencrab.domain.value import ShortText, Value

LETTER, MAILBOX = "email_letter", "email_mailbox"
"""The kinds of the installation's documents; a letter's id is its event's."""

LETTER_KEPT = timedelta(days=30)
"""How long a mail can be answered."""

Address = Annotated[str, StringConstraints(pattern=r"^[!-~]+@[!-~]+$", max_length=MOST_ADDRESS)]
MailId = Annotated[str, StringConstraints(pattern=r"^<[!-;=?-~]{3,240}>$")]

_OWN = re.compile(r"<oc\.([0-9a-f]{16})\.[0-9a-f]{16}@", re.ASCII)


class Letter(Value):
    """A mail that is to be answered: from `address`, to our address `alias`.

    `shows_calls` says that its sender may read the calls that wait for an approval.
    """

    address: Address = Field(repr=False)
    alias: Address
    agent_name: str = ""
    subject: ShortText = Field(default="", repr=False)
    message_id: MailId | None = None
    references: tuple[MailId, ...] = ()
    shows_calls: bool = False


class MailboxPosition(Value):
    """How far a mailbox was read: `uidvalidity` changes when a server numbers its mails anew."""

    uidvalidity: int
    next_uid: int
    at: datetime


def own_message_id(room_id: str, utterance_key: str, alias: str) -> str:
    """Return the Message-ID of an answer: always the same for the same answer.

    It names its thread, and is short enough for a line of 78 characters.
    """
    number = content_hash(utterance_key.encode())[:16]
    return f"<oc.{room_id.rpartition('.')[2]}.{number}@{email_domain(alias)}>"


def thread_of_own_message_ids(references: tuple[str, ...]) -> str | None:
    """Return the thread of the newest of those mails that we sent, None if there is none."""
    found = (_OWN.match(each) for each in reversed(references))
    return next((each[1] for each in found if each is not None), None)
