"""Fairness: how evenly the agents of a session spoke."""

from datetime import datetime

from opencrab.domain.conversation.session import OBSERVER, Participant, Session, SessionStatus
from opencrab.domain.discussion.turn_taking import discussion_fairness_index
from opencrab.domain.value import Value
from opencrab.engine.access.visibility import require_access_to_session
from opencrab.gateways.rest.http.access import Reader
from opencrab.gateways.rest.http.body import http_routes_below
from opencrab.gateways.rest.http.dependencies import Api, Id
from opencrab.gateways.rest.http.view import View

router = http_routes_below("/api/sessions", "sessions")


class ShareView(View):
    """One agent's share of a session.

    `characters_share` is its share, 0..1, of all characters that agents said, `silent_seconds` the
    time since its last speech, or since the session began, until now or until the session's end.
    """

    agent_id: str
    role: str
    turns: int
    speeches: int
    characters: int
    characters_share: float
    silent_seconds: int


class FairnessView(Value):
    """The shares of a session's agents, and how even they are.

    `index` is Jain's index of fairness of their characters, observers left out: (Σx)² ÷ (n · Σx²),
    1 for equal parts and 1/n where one has said everything (Jain, Chiu, Hawe, DEC-TR-301, 1984).
    """

    session_id: str
    index: float
    turns: int
    speeches: int
    characters: int
    participants: tuple[ShareView, ...]


@router.get("/{session_id}/fairness", operation_id="get_fairness")
def get_discussion_fairness(api: Api, caller: Reader, session_id: Id) -> FairnessView:
    """Get how evenly the agents of a session spoke.

    Returns turns, speeches and characters of each agent, with Jain's fairness index.
    """
    session, _ = require_access_to_session(api.runtime.home, caller.principal, session_id)
    return _session_fairness_statistics(session, api.runtime.clock.now())


def _session_fairness_statistics(session: Session, now: datetime) -> FairnessView:
    """Return the statistics of a session's current participants."""
    until = session.updated_at if session.status is SessionStatus.ENDED else now
    said = sum(each.characters for each in session.participants)

    def share(part: Participant) -> ShareView:
        since = part.last_speech_at or session.created_at
        return ShareView.of(
            part,
            characters_share=part.characters / said if said else 0.0,
            silent_seconds=max(int((until - since).total_seconds()), 0),
        )

    speaking = [each.characters for each in session.participants if each.role != OBSERVER]
    return FairnessView(
        session_id=session.id,
        index=discussion_fairness_index(speaking),
        turns=sum(each.turns for each in session.participants),
        speeches=sum(each.speeches for each in session.participants),
        characters=said,
        participants=tuple(map(share, session.participants)),
    )
