"""Due items: work that starts later, admitted by the sweep when its time has come."""

from datetime import datetime

from opencrab.domain.message import Message
from opencrab.domain.session import Session
from opencrab.domain.turn import Trigger
from opencrab.domain.value import Value


class DueItem(Value):
    """A message to a session that is to be admitted at a time; its id makes it happen once.

    `session` is made first if it is not there yet. `task` is what the turn serves, `taint` what it
    inherits from whatever it continues.
    """

    id: str
    at: datetime
    session_id: str
    message: Message
    hops: int = 0
    trigger: Trigger = Trigger.MESSAGE
    task: str | None = None
    taint: bool = False
    session: Session | None = None
