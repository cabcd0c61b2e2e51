"""The names of all agents that a prompt mentions are asked for at once."""

from collections.abc import Iterable
from typing import Any

from opencrab.domain.agents.event import AgentEvent
from opencrab.domain.memory.peer import Peer
from opencrab.engine.turn.prompt.peer_surroundings import prompt_names_of_peers
from tests.unit.engine.known_world import NOW


class Names:
    """A store of agents of which only names are read; it remembers for which ids."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def names(self, agent_ids: Iterable[str]) -> dict[str, str]:
        self.asked.append(list(agent_ids))
        return {each: each.title() for each in self.asked[-1] if each != "gone"}


def _names(agents: Any, peers: list[Peer], events: list[AgentEvent]) -> dict[str, str]:
    return prompt_names_of_peers(agents, peers, events)


def test_peers_and_sources_of_events_are_asked_for_once() -> None:
    agents = Names()
    peers = [Peer(agent_id=each) for each in ("ken", "gone", "hana")]
    events = [
        AgentEvent(id="1", type="speech", source="ken", session_id="s1", text="海", at=NOW),
        AgentEvent(id="2", type="speech", source="mio", session_id="s1", text="浜", at=NOW),
        AgentEvent(id="3", type="weather", source="tower", text="雨", at=NOW),
    ]
    assert _names(agents, peers, events) == {"ken": "Ken", "hana": "Hana", "mio": "Mio"}
    assert agents.asked == [["ken", "gone", "hana", "mio"]]


def test_who_knows_nobody_asks_for_nobody() -> None:
    agents = Names()
    assert _names(agents, [], []) == {}
    assert agents.asked == []
