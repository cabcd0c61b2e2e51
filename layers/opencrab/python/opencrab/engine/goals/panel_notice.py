"""Panel: that an instruction has come further, told to the channel that it was given in.

What is queued only names the goal, and what is shown is read when it is shown: a message that comes
late or twice shows what holds then.
"""

import json
from contextlib import suppress

from opencrab.domain.conversation.message import Channel
from opencrab.domain.errors import Unavailable
from opencrab.domain.identifier import stable_id
from opencrab.ports.turn.queue import Queue

PANEL = '{"panel":'
"""How a message on the queue of deliveries begins that asks for a panel."""


def queue_progress_panel(
    deliveries: Queue,
    channel: Channel | None,
    agent_id: str,
    goal: str,
    *,
    key: str,
    surely: bool = False,
) -> None:
    """Let the channel show where a goal stands; `key` makes this change one message.

    The change itself is stored: when the queue does not answer, the next one shows this one too.
    Where somebody waits for the panel it is told `surely`: that raises Unavailable instead.
    """
    if channel is None:
        return
    body = json.dumps({"panel": {"agent": agent_id, "goal": goal}}, separators=(",", ":"))
    group = stable_id("target", channel.target)
    with suppress(*(() if surely else (Unavailable,))):
        deliveries.send(body, group=group, deduplication=f"panel-{key}")
