"""Line visibility: which lines of a session an agent may see, and which taint their reader."""

from opencrab.domain.access.authority import taints
from opencrab.domain.conversation.line import Audience, Line


def taints_reader(line: Line, agent_id: str) -> bool:
    """Whether a line's words come from outside: from another agent, or from a public sender.

    An agent's own line does so when it was written after such words had been read.
    """
    if line.taint or line.speaker_id == agent_id:
        return line.taint
    return line.from_agent or taints(line.authority)


def visible(line: Line, agent_id: str) -> bool:
    """Whether an agent may see a line: everybody's, the agents', and its own private ones."""
    return line.audience is not Audience.SELF or line.speaker_id == agent_id
