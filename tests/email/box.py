"""The fake mailbox without sockets, as a reader sees it while a connection is open."""

from contextlib import AbstractContextManager, nullcontext
from datetime import date
from typing import ClassVar

from opencrab.domain.email.incoming import FetchedEmail
from opencrab.domain.errors import Conflict
from tests.email.fake import FakeMail, Kept


class Box:
    """An open mailbox; `waited` are the seconds for which it was listened to."""

    broken: ClassVar[frozenset[int]] = frozenset({99})

    def __init__(self, mail: FakeMail) -> None:
        self.mail = mail
        self.uidvalidity, self.next_uid = mail.uidvalidity, mail.next_uid
        self.has_idle = mail.has_idle
        self.waited: list[float] = []

    def within(self, _seconds: float) -> AbstractContextManager[None]:
        return nullcontext()

    def uids_from(self, first: int) -> tuple[int, ...]:
        return tuple(each.uid for each in self.mail.kept if each.uid >= first)

    def uids_since(self, day: date) -> tuple[int, ...]:
        return tuple(each.uid for each in self.mail.kept if each.day >= day)

    def _kept(self, uid: int) -> Kept | None:
        return next((each for each in self.mail.kept if each.uid == uid), None)

    def fetch(self, uid: int) -> FetchedEmail | None:
        if uid in self.broken:
            raise Conflict(f"the server does not give mail {uid}")
        found = self._kept(uid)
        return None if found is None else FetchedEmail(found.content, found.arrived)

    def mark_read(self, uid: int) -> None:
        found = self._kept(uid)
        assert found is not None
        found.is_read = True

    def wait(self, seconds: float) -> bool:
        self.waited.append(seconds)
        return True
