"""Files: what is attached to a mail, read once more from the mailbox, where it stays.

So a mail lies in no queue and in no store of ours, but for those of its files that are taken.
"""

import re
from collections.abc import Callable
from time import monotonic

from opencrab.adapters.email.mailbox import ImapMailbox
from opencrab.adapters.email.server import SECONDS
from opencrab.domain.email.incoming import (
    FetchedEmail,
    UnreadableEmail,
    files_of_incoming_email,
    has_email_too_many_lines,
)
from opencrab.domain.errors import (
    Conflict,
    NotFound,
    Refused,
    TooLarge,
    Unauthenticated,
    Unavailable,
)

_ID = re.compile(r"([0-9a-z]{1,32})\.([0-9]{1,20})\.([0-9]{1,20})\.([0-9]{1,4})", re.ASCII)

_Files = tuple[bytes | None, ...]


class EmailFiles:
    """`ports.conversation.file_source.FileSource` for files of mails.

    The id of a file is the mailbox's name and validity, the mail's UID, and the file's place in it.
    In another mailbox the same numbers are somebody else's mail.

    Args:
        mailbox: Where the mails are.
        name: The mailbox's name in ids.
        seconds: Monotonic seconds.
    """

    def __init__(
        self, mailbox: ImapMailbox, name: str, seconds: Callable[[], float] = monotonic
    ) -> None:
        self._mailbox = mailbox
        self._name = name
        self._seconds = seconds
        self._latest: tuple[tuple[int, int], _Files, bool] | None = None

    def fetch(self, url: str, *, most: int, seconds: float) -> bytes:
        told = _ID.fullmatch(url)
        if told is None:
            raise Refused("this is no file of a mail")
        if told[1] != self._name:
            raise NotFound("the mail is in another mailbox")
        uidvalidity, uid, place = map(int, told.groups()[1:])
        files, is_cut = self._files((uidvalidity, uid), seconds)
        if place >= len(files):
            raise NotFound("the mailbox no longer has the mail")
        content, is_last = files[place], place == len(files) - 1
        if is_last:
            self._latest = None
        if is_last and is_cut:
            raise TooLarge("the mail is longer than what is read of one")
        if content is None:
            raise Conflict("what is attached is no file")
        if len(content) > most:
            raise TooLarge(f"the file is larger than {most:,} bytes")
        return content

    def _files(self, mail: tuple[int, int], seconds: float) -> tuple[_Files, bool]:
        """Return the files of a mail, and whether it is cut; its files are asked for in order.

        One that is gone, or that no program reads, has none.
        """
        latest = self._latest
        if latest is not None and latest[0] == mail:
            return latest[1], latest[2]
        until = self._seconds() + seconds
        fetched: FetchedEmail | None = None
        try:
            with (
                self._mailbox.opened(min(seconds, SECONDS), seconds) as opened,
                opened.within(until - self._seconds()),
            ):
                fetched = opened.fetch(mail[1]) if opened.uidvalidity == mail[0] else None
            files = () if fetched is None else files_of_incoming_email(fetched.content)
        except Refused as error:
            raise Unauthenticated(error.message, cure=error.cure) from None
        except Conflict as error:
            raise Unavailable(error.message) from None
        except UnreadableEmail:
            files = ()
        is_cut = fetched is not None and (
            fetched.is_cut or has_email_too_many_lines(fetched.content)
        )
        self._latest = (mail, files, is_cut)
        return files, is_cut
