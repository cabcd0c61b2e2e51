"""Tools of clients: what a client of OpenAI's API runs itself, and the calls that wait for it.

A turn that calls one waits, as for an approval. The call's record in the journal is that of a
request for an approval, which every release reads; what is the client's lies in documents here.
"""

from typing import Any

from opencrab.domain.identifier import content_hash
from opencrab.domain.turn.record import OUTSIDE_PREFIX
from opencrab.domain.value import Identifier, Value

CLIENT_TOOLS = "client_tools"
"""The kind of documents with what a client offers: their agent owns them, the id is the turn's."""

CLIENT_CALLS = "client_calls"
"""The kind of documents with calls that a client has to run; see `id_of_client_calls`."""

_LONGEST_ACTION = 64
_DIGEST = 8


class ClientTool(Value):
    """A tool of a client: its own name, and that of the action as which agents know it."""

    name: str
    action: str
    description: str = ""
    parameters: dict[str, Any]


class ClientTools(Value):
    """The tools that a turn was offered; with `one_at_a_time` the client gets single calls."""

    tools: tuple[ClientTool, ...]
    one_at_a_time: bool = False

    @property
    def names_hash(self) -> str:
        """The hash of all names: a client that offers the same ones can run the same calls."""
        return content_hash("\n".join(sorted(tool.name for tool in self.tools)).encode())

    def of_action(self, name: str) -> ClientTool | None:
        """Return the tool that is an action of this name, or else has this name itself."""
        by_action = {tool.action: tool for tool in self.tools}
        return by_action.get(name) or next((e for e in self.tools if e.name == name), None)


class ClientCalls(Value):
    """Calls for which a turn waits together, in order, and their results once they are there.

    `n` is the number of the record that asked, `argument_hash` that of its call. `until_line` is
    the newest line of the session when the results came: what the turn says later is behind it.
    """

    turn_id: Identifier
    n: int
    call_ids: tuple[str, ...]
    argument_hash: str
    results: tuple[str, ...] | None = None
    until_line: int = 0


def id_of_client_calls(turn_id: str, n: int) -> str:
    """Return the id of the document of calls that a turn's nth record asked for."""
    return f"{turn_id}-{n}"


def client_action_name(tool: str) -> str:
    """Return the name of a tool's action: at most 64 characters, another one for every tool."""
    name = f"{OUTSIDE_PREFIX}{tool}"
    if len(name) <= _LONGEST_ACTION:
        return name
    digest = content_hash(tool.encode())[:_DIGEST]
    return f"{name[: _LONGEST_ACTION - _DIGEST - 1]}_{digest}"
