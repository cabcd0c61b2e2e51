"""Due items: work that starts later, admitted by the sweep when its time has come."""

from datetime import datetime

from opencrab.domain.conversation.message import Message
from opencrab.domain.conversation.session import Session
from opencrab.domain.turn.turn import Trigger
from opencrab.domain.value import Identifier, Value

CLIENT_WAIT_ITEM = "client-wait-"
"""How ids of items begin that end a turn's wait for its client; the id of its calls follows."""


class DueItem(Value):
    """A message to a session that is to be admitted at a time, once per id.

    `session` is created first if it does not exist yet. `only` are the agents to ask, `floor` the
    number of the discussion's turn: then the agent is chosen at admission. `task` is the goal or
    task that the turn serves, `taint` is inherited from what it continues, `payer` is the public
    person whose message caused it.
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
