"""Due items: one whose time has come is admitted, or dropped with its error.

The next turn of a goal that an agent set itself waits while it may do nothing of its own accord.
"""

import logging

from opencrab.domain.agent import AgentStatus
from opencrab.domain.authority import Authority
from opencrab.domain.due import DueItem
from opencrab.domain.errors import OpenCrabError, Unavailable
from opencrab.engine.runtime import Runtime
from opencrab.engine.tasks import admit_item, agent_of, rest, strand

log = logging.getLogger(__name__)


def admit_or_drop(runtime: Runtime, item: DueItem) -> bool:
    """Admit an item; one that can never be admitted is dropped, and its goal waits and says why.

    A goal of the agent's own rests where the agent is not awake, or wants nothing any more: one of
    its next heartbeats goes on with it. False if it was not admitted: while a store is unavailable
    it stays for the next sweep.
    """
    admitted = True
    try:
        if _is_for_later(runtime, item):
            rest(runtime, item)
            admitted = False
        else:
            admit_item(runtime, item)
    except Unavailable:
        return False
    except OpenCrabError as error:
        log.warning("due item %s cannot be admitted: %s", item.id, error.message)
        strand(runtime, item, error.message)
        admitted = False
    runtime.home.due.done(item.id)
    return admitted


def _is_for_later(runtime: Runtime, item: DueItem) -> bool:
    if item.task is None or item.message.authority is not Authority.SELF:
        return False
    agent = runtime.home.agents.get(agent_of(item)).agent
    return agent.status is not AgentStatus.ACTIVE or not agent.heartbeat.acts_unasked
