"""Discussion: who of several agents speaks next, and how evenly they spoke."""

import math
import re
import unicodedata
from collections.abc import Iterable
from datetime import datetime, timedelta

from opencrab.domain.agents.heartbeat import SHORTEST_SECONDS, prime_agent_interval
from opencrab.domain.agents.soul import Soul
from opencrab.domain.autonomy.settings import Autonomy
from opencrab.domain.conversation.session import HOPS, Participant, Session
from opencrab.domain.value import Unit, Value

EXTRAVERSION, ASSERTIVENESS, COLLABORATION, NAMED = 0.2, 0.15, 0.15, 0.4
"""The maximum that each adds to the hazard; together less than 1, so that seats always matter."""


class Contender(Value):
    """A participant who may get the floor: seat, likelihood to speak up, and whether it is ready.

    `leads` marks the facilitator, who answers each speech of another participant.
    """

    agent_id: str
    seat: int
    hazard: Unit = 0.0
    ready: bool = True
    leads: bool = False

    @property
    def waits(self) -> float:
        """The delay in which it lets others go first: offset · (1 − hazard)."""
        return discussion_seat_offset(self.seat) * (1 - self.hazard)


def scaled_discussion_hop_limit(limit: int, speakers: int) -> int:
    """Return the hop limit of a discussion of so many agents; `limit` is that of two."""
    return min(max(limit, math.ceil(limit * speakers / 2)), HOPS)


def discussion_seat_offset(seat: int) -> int:
    """Return the prime of a seat, 29 for the first (OpenCrab seed, Heartbeat: 29, 31, 37 …)."""
    prime = SHORTEST_SECONDS
    for _ in range(seat):
        prime = prime_agent_interval(prime + 1)
    return prime


def discussion_speaking_hazard(soul: Soul, *, named: bool) -> float:
    """Compute how likely an agent speaks up, from 0 to 0.9 (Kingdom: a hazard from personality).

    0.2·extraversion + 0.15·(assertiveness + 1)/2 + 0.15·collaboration, and 0.4 if the agent was
    named.
    """
    telling = (soul.social_style.assertiveness + 1) / 2
    drawn = EXTRAVERSION * soul.personality.extraversion + ASSERTIVENESS * telling
    return drawn + COLLABORATION * soul.weights.collaboration + (NAMED if named else 0.0)


def first_discussion_floor_contender(contenders: Iterable[Contender]) -> str | None:
    """Return the id of the agent that gets the floor, None without contenders.

    The facilitator comes first, then who is ready and waits least, then the lower seat.
    """
    found = min(
        contenders,
        key=lambda each: (not each.leads, not each.ready, each.waits, each.seat),
        default=None,
    )
    return None if found is None else found.agent_id


def discussion_floor_ready_at(
    session: Session, participant: Participant, autonomy: Autonomy
) -> datetime | None:
    """Return when a participant may speak again; None for at once.

    At once after two speeches of others, else 30 seconds after its own one (OpenCrab seed, skill
    autonomous; both are settings). A facilitator need not wait.
    """
    spoken_at = participant.last_speech_at
    others = session.speeches - participant.last_speech
    leads = participant.agent_id == session.facilitator_id
    if spoken_at is None or leads or others >= autonomy.others_speeches:
        return None
    return spoken_at + timedelta(seconds=autonomy.own_speech_seconds)


def is_discussion_participant_named(name: str, text: str) -> bool:
    """Check whether a text names an agent; ASCII names as whole words, others anywhere."""
    name, text = _plain(name), _plain(text)
    if not name.isascii():
        return name in text
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.ASCII) is not None


def discussion_fairness_index(amounts: Iterable[int]) -> float:
    """Compute Jain's fairness index: (Σx)² ÷ (n · Σx²), 1 for equal shares, 1/n if one has all.

    R. Jain, D. Chiu, W. Hawe, "A Quantitative Measure of Fairness and Discrimination for Resource
    Allocation in Shared Computer Systems", DEC-TR-301, 1984. It is 1 if all amounts are zero.
    """
    listed = tuple(amounts)
    squares = sum(each * each for each in listed)
    return 1.0 if squares == 0 else sum(listed) ** 2 / (len(listed) * squares)


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()
