"""Due items: work that starts later, admitted by the sweep when its time has come."""

from datetime import datetime

from opencrab.domain.conversation.message import Message
from opencrab.domain.conversation.session import Session
from opencrab.domain.turn.turn import Trigger
from opencrab.domain.value import Identifier, Value


class DueItem(Value):
    """A message to a session that is to be admitted at a time; its id makes it happen once.

    `session` is made first if it is not there yet. `only` names whom it asks, `floor` the turn of
    a discussion that it is to be: then whom it asks is found out when it is admitted. `task` is
    what the turn serves, `taint` what it inherits from whatever it continues, `payer` the public
    person whose words it goes back to.
    """

    id: str
    at: datetime
    session_id: str
    message: Message
    hops: int = 0
    trigger: Trigger = Trigger.MESSAGE
    task: str | None = None
    taint: bool = False
    payer: Identifier | None = None
    session: Session | None = None
    only: tuple[str, ...] | None = None
    floor: int | None = None
