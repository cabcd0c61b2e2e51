"""An agent's inner life over REST: what it believes, whom it trusts, what it noted for itself."""

import math
import re
from datetime import datetime

from opencrab.domain.memory.belief import Belief
from opencrab.domain.turn.declared_test import DeclaredTest
from opencrab.engine.memory import beliefs_and_peers, reading, working_memory
from opencrab.gateways.rest.http.access import Owner
from opencrab.gateways.rest.http.body import http_routes_below
from opencrab.gateways.rest.http.dependencies import Api, Id
from opencrab.gateways.rest.http.page import (
    Page,
    Paged,
    http_page_of,
    id_in_http_cursor,
    place_in_http_cursor,
    unknown_http_cursor_error,
)
from opencrab.gateways.rest.http.view import View
from opencrab.gateways.rest.memory.views import EXPERIENCES, ExperienceView, ImpressionSummary

BELIEFS, PEERS = "beliefs", "peers"

router = http_routes_below("/api/agents/{agent_id}", "memory")

_PLACE = re.compile(r"([0-9.e\-]{1,30})/([A-Za-z0-9_\-.]{1,200})")


class BeliefView(View):
    """A belief of the agent with its confidence: 0 is certainly false, 1 certainly true.

    `evidence` is the newest evidence for or against it, with the turns in which it was found.
    `tainted`: it rests on untrusted text. `test` are the conditions by which code tests it, and
    `test_holds` is what they showed last, null if they showed nothing yet.
    """

    id: str
    claim: str
    confidence: float
    confirmed: float
    refuted: float
    evidence: tuple[str, ...]
    formed_at: datetime
    tested_at: datetime | None
    tainted: bool
    turn_id: str
    session_id: str
    person_id: str
    test: str = ""
    test_holds: bool | None = None


class PeerSummary(View):
    """Figures about another agent.

    `trust` is the current trust: it fades with the time since `last_at`, and influences whose
    messages the agent pays attention to, never anybody's permissions.
    """

    agent_id: str
    trust: float
    competence: float
    reliability: float
    interests: tuple[str, ...]
    interactions: int
    successes: int
    last_at: datetime | None
    last_session: str
    tainted: bool


class PeerView(PeerSummary):
    """Figures about another agent, with the impression of it if there is one."""

    impression: ImpressionSummary | None = None


class WorkingMemoryView(View):
    """The agent's working memory, and the turn that wrote it last; `at` is null if it is empty.

    It is deleted if the agent wakes and does not use it.
    """

    text: str = ""
    size: int = 0
    turn_id: str = ""
    session_id: str = ""
    tainted: bool = False
    at: datetime | None = None


@router.get("/beliefs")
def list_beliefs(api: Api, _caller: Owner, agent_id: Id, query: Paged) -> Page[BeliefView]:
    """List an agent's beliefs, most confident first."""
    after = _place(query.cursor)
    found = beliefs_and_peers.beliefs_in_agent_memory(
        api.runtime.home, agent_id, after=after, limit=query.limit + 1
    )
    items, cursor = http_page_of(
        BELIEFS, found, query.limit, lambda each: f"{each.confidence}/{each.id}"
    )
    tests = beliefs_and_peers.declared_tests_of_beliefs(api.runtime.home, agent_id)
    shown = (_belief_view(each, tests.get(each.id)) for each in items)
    return Page(items=tuple(shown), next_cursor=cursor)


@router.delete("/beliefs/{belief_id}", status_code=204)
def delete_belief(api: Api, _caller: Owner, agent_id: Id, belief_id: Id) -> None:
    """Delete a belief.

    The agent may form it again.
    """
    beliefs_and_peers.remove_belief_from_agent_memory(api.runtime.home, agent_id, belief_id)


@router.get("/peers", operation_id="list_peers")
def list_peers_in_memory(api: Api, _caller: Owner, agent_id: Id, query: Paged) -> Page[PeerSummary]:
    """List an agent's peers with its current trust in them.

    A peer is another agent with which it has worked.
    """
    after = id_in_http_cursor(PEERS, query.cursor)
    found = beliefs_and_peers.peers_in_agent_memory(
        api.runtime, agent_id, after=after, limit=query.limit + 1
    )
    items, cursor = http_page_of(PEERS, found, query.limit, lambda each: each.peer.agent_id)
    shown = (PeerSummary.of(known.peer, trust=known.trust) for known in items)
    return Page(items=tuple(shown), next_cursor=cursor)


@router.get("/peers/{peer_id}", operation_id="get_peer")
def get_peer_in_memory(api: Api, _caller: Owner, agent_id: Id, peer_id: Id) -> PeerView:
    """Get one peer with its figures and the agent's impression of it.

    If there is only an impression, the figures are those of a peer without collaborations.
    """
    known = beliefs_and_peers.find_peer_in_memory(api.runtime, agent_id, peer_id)
    words = None if known.impression is None else ImpressionSummary.of(known.impression)
    return PeerView.of(known.peer, trust=known.trust, impression=words)


@router.delete("/peers/{peer_id}", status_code=204, operation_id="delete_peer")
def delete_peer_in_memory(api: Api, _caller: Owner, agent_id: Id, peer_id: Id) -> None:
    """Delete an agent's figures about a peer.

    The impression stays.
    """
    beliefs_and_peers.remove_peer_from_agent_memory(api.runtime.home, agent_id, peer_id)


@router.get("/experiences", operation_id="list_lived_experiences")
def list_lived_experiences_in_memory(
    api: Api, _caller: Owner, agent_id: Id, query: Paged
) -> Page[ExperienceView]:
    """List experiences; the same as `GET .../memory/experiences`."""
    after = id_in_http_cursor(EXPERIENCES, query.cursor)
    found = reading.experiences_in_memory(
        api.runtime.home, agent_id, after=after, limit=query.limit + 1
    )
    items, cursor = http_page_of(EXPERIENCES, found, query.limit, lambda each: each.id)
    return Page(items=tuple(map(ExperienceView.of, items)), next_cursor=cursor)


@router.get("/working-memory")
def get_working_memory(api: Api, _caller: Owner, agent_id: Id) -> WorkingMemoryView:
    """Get an agent's working memory."""
    noted = working_memory.working_memory(api.runtime.home, agent_id)
    if noted is None:
        return WorkingMemoryView()
    return WorkingMemoryView.of(noted, size=len(noted.text.encode()))


@router.delete("/working-memory", status_code=204)
def clear_working_memory(api: Api, _caller: Owner, agent_id: Id) -> None:
    """Clear an agent's working memory."""
    working_memory.clear_working_memory(api.runtime.home, agent_id)


def _belief_view(belief: Belief, test: DeclaredTest | None) -> BeliefView:
    if test is None:
        return BeliefView.of(belief, test="", test_holds=None)
    return BeliefView.of(belief, test=test.test, test_holds=test.holds)


def _place(cursor: str | None) -> tuple[float, str] | None:
    """Return the confidence and the id of a cursor."""
    place = place_in_http_cursor(BELIEFS, cursor)
    if place is None:
        return None
    found = _PLACE.fullmatch(place)
    try:
        confidence = float(found[1]) if found else math.nan
    except ValueError:
        confidence = math.nan
    if found is None or not 0 <= confidence <= 1:
        raise unknown_http_cursor_error()
    return confidence, found[2]
