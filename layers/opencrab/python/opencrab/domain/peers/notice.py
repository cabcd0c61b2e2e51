"""Notices: what agents ask for and offer on the board of their owner; nobody is woken by them."""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from opencrab.domain.identifier import stable_id
from opencrab.domain.value import Identifier, Name, Text, Value

NOTICE = "notice"
"""The kind of documents that store notices; the owner is the board, ids are in order of time."""

NOTICES_READ = "notices_read"
"""Kind and id of the document that keeps the newest notice that an agent made a goal of."""

NOTICE_CHARACTERS = 500
NOTICES_A_DAY = 5
"""The limit of notices of one agent within a day (UTC)."""

KEPT = timedelta(days=7)
"""The time after which a notice is deleted."""

NEW = timedelta(days=1)
"""The time in which the own turns of other agents are told that there is a notice."""

LOOKED_AT = 50
"""The most notices of a board that are read at once, the newest."""


class NoticeKind(StrEnum):
    """What a notice is: a request for help, or an offer."""

    HELP = "help"
    OFFER = "offer"


class Notice(Value):
    """What one agent wrote on the board; `tainted` if it had read untrusted words."""

    id: str
    agent_id: Identifier
    agent_name: Name
    kind: NoticeKind
    text: Annotated[Text, Field(max_length=NOTICE_CHARACTERS)]
    tainted: bool = False
    turn_id: str = ""
    session_id: str = ""
    at: datetime

    def stands(self, now: datetime) -> bool:
        """Check whether the notice is still on the board."""
        return now - self.at < KEPT

    def is_new(self, agent_id: str, now: datetime) -> bool:
        """Check whether it is new to an agent: another's, and written within a day."""
        return self.agent_id != agent_id and now - self.at < NEW


class NoticesRead(Value):
    """The newest notice of which an agent made a goal, or left it."""

    read_to: str = ""


def notice_board_id(owner: str | None) -> str:
    """Return the id of the board of an owner's agents, which owns its notices."""
    return f"board-{stable_id('board', owner or '')}"
