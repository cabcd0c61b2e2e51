"""Due items: work that starts later, admitted by the sweep when its time has come."""

from datetime import datetime

from opencrab.domain.message import Message
from opencrab.domain.value import Value


class DueItem(Value):
    """A message to a session that is to be admitted at a time; its id makes it happen once."""

    id: str
    at: datetime
    session_id: str
    message: Message
    hops: int = 0
