"""Progress notices: queue messages that let a channel show how far an instruction has come.

A message only names the goal, and progress is read when it is shown: a message that comes late or
twice shows the current state.
"""

import json
from contextlib import suppress

from opencrab.domain.conversation.message import Channel
from opencrab.domain.errors import Unavailable
from opencrab.domain.identifier import stable_id
from opencrab.ports.turn.queue import Queue

PANEL = '{"panel":'
"""The beginning of a delivery queue message that asks for a progress panel."""


def queue_goal_progress_panel(
    deliveries: Queue,
    channel: Channel | None,
    agent_id: str,
    goal: str,
    *,
    key: str,
    surely: bool = False,
) -> None:
    """Queue the progress of a goal for its channel; `key` deduplicates the message.

    The progress itself is stored: if the queue is unavailable, the next message shows it. With
    `surely`, for a caller that waits for the panel, raises Unavailable instead.
    """
    if channel is None:
        return
    body = json.dumps({"panel": {"agent": agent_id, "goal": goal}}, separators=(",", ":"))
    group = stable_id("target", channel.target)
    with suppress(*(() if surely else (Unavailable,))):
        deliveries.send(body, group=group, deduplication=f"panel-{key}")
