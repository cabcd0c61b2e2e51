"""Peers: what an agent has seen of another one in numbers, and how far it trusts it.

Trust weighs attention and priority, never permission.
"""

import math
from datetime import datetime, timedelta
from typing import Annotated

from pydantic import Field

from opencrab.domain.outcome import Outcome
from opencrab.domain.value import Identifier, Name, Unit, Value

PEER = "peer"
"""The kind of documents that store peers; the id is the peer's."""

INTERESTS = 20
FADING_A_MINUTE = 0.001

_MINUTE = timedelta(minutes=1)


class Peer(Value):
    """Another agent as one agent knows it, in numbers; the impression has the words.

    `interactions` counts those with a known outcome, `successes` those that went well. `tainted`
    once any part of it came from untrusted words.
    """

    agent_id: Identifier
    competence: Unit = 0.5
    reliability: Unit = 0.5
    interests: Annotated[tuple[Name, ...], Field(max_length=INTERESTS)] = ()
    interactions: Annotated[int, Field(ge=0)] = 0
    successes: Annotated[int, Field(ge=0)] = 0
    last_at: datetime | None = None
    last_session: str = ""
    tainted: bool = False


def remembered_peer_trust(peer: Peer, now: datetime, prior: float) -> float:
    """Compute the share of collaborations that went well, fading with time since the last one.

    successes ÷ interactions · exp(−0.001 · minutes since) (Kingdom 10.3); `prior` without any
    interaction. A last one in the future counts as now.
    """
    if peer.interactions == 0:
        return prior
    since = 0.0 if peer.last_at is None else max((now - peer.last_at) / _MINUTE, 0.0)
    share = min(peer.successes / peer.interactions, 1.0)
    return share * math.exp(-FADING_A_MINUTE * since)


def memory_of_peer_after_collaboration(
    peer: Peer, outcome: Outcome, session_id: str, now: datetime, *, undoes_success: bool = False
) -> Peer:
    """Return the peer after one more collaboration; only the outcome success counts as success.

    A session counts once: its outcome reported again changes nothing; without a session each one
    counts. An unknown outcome is no interaction and changes only the time. With `undoes_success` an
    earlier one turned out to be none.
    """
    if session_id and session_id == peer.last_session:
        return peer
    last_at = now if peer.last_at is None else max(peer.last_at, now)
    if outcome is Outcome.UNKNOWN:
        return peer.replaced(last_at=last_at)
    return peer.replaced(
        interactions=peer.interactions + 1,
        successes=max(peer.successes + (outcome is Outcome.SUCCESS) - undoes_success, 0),
        last_at=last_at,
        last_session=session_id or peer.last_session,
    )
