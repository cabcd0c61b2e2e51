"""The queue of heartbeats: each message names an agent and the time of its next heartbeat."""

import math
from datetime import datetime, timedelta
from typing import Annotated

from pydantic import Field

from opencrab.domain.autonomy.vital_signs import VitalSigns, heartbeat_slot
from opencrab.domain.errors import OpenCrabError
from opencrab.domain.value import Identifier, Value
from opencrab.engine.agents.vital_signs import change_agent_vital_signs
from opencrab.engine.runtime import Runtime
from opencrab.ports.turn.queue import BatchedMessage, Queue

_SOON = timedelta(seconds=1)


class HeartbeatMessage(Value):
    """The body of a message in the heartbeat queue."""

    v: Annotated[int, Field(ge=1, le=1, strict=True)] = 1
    agent: Identifier
    slot: Annotated[int, Field(ge=0, strict=True)]


def queue_agent_heartbeat(beats: Queue, agent_id: str, moment: datetime, now: datetime) -> None:
    """Queue one heartbeat until its time."""
    beats.send_batch((heartbeat_queue_message(agent_id, moment, now),))


def heartbeat_queue_message(agent_id: str, moment: datetime, now: datetime) -> BatchedMessage:
    """Return the message that delays one heartbeat until its time."""
    told = HeartbeatMessage(agent=agent_id, slot=heartbeat_slot(moment))
    return BatchedMessage(
        told.model_dump_json(),
        group=agent_id,
        deduplication=f"{agent_id}#{told.slot}",
        delay_seconds=max(math.ceil((moment - now).total_seconds()), 0),
    )


def hasten_agent_heartbeat(runtime: Runtime, agent_id: str) -> None:
    """Let an agent's next heartbeat come in a second, if it would come later.

    A failure is no harm: the heartbeat then comes at its usual time.
    """
    now = runtime.clock.now()
    soon = now.replace(microsecond=0) + _SOON

    def sooner(signs: VitalSigns) -> VitalSigns:
        later = signs.has_next_heartbeat and signs.next_beat_at > soon
        return signs.replaced(next_beat_at=soon) if later else signs

    try:
        changed = change_agent_vital_signs(runtime, agent_id, sooner)
        if changed is not None and changed.next_beat_at == soon and changed.has_next_heartbeat:
            queue_agent_heartbeat(runtime.home.beats, agent_id, soon, now)
    except OpenCrabError:
        return
