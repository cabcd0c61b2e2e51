"""Derived talks and notices: finds those of an agent that came from erased data."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Protocol

from opencrab.domain.document import Document
from opencrab.domain.errors import NotFound
from opencrab.domain.peers.notice import NOTICE, Notice, notice_board_id
from opencrab.domain.peers.talk import PEER_TALK, PeerTalk
from opencrab.ports.home import Home
from opencrab.ports.paging import all_pages


class IsAffected(Protocol):
    """A check whether something derives from the erased data."""

    def __call__(
        self,
        *texts: str,
        turns: Iterable[str] = (),
        session_id: str = "",
        line: int = 0,
        people: Iterable[str] = (),
        times: Iterable[datetime] = (),
    ) -> bool:
        """Check texts, source turns, source line, people that it is from or about, and times."""


def talks_and_notices_to_erase(home: Home, agent_id: str, means: IsAffected) -> Iterator[Document]:
    """Yield an agent's talks and notices that the erased data led to.

    What other agents answered is in the direct session, which has its own erasure.
    """
    for fact in all_pages(home.facts, agent_id, PEER_TALK):
        talk = fact.read(PeerTalk)
        turns = (talk.turn_id, talk.answer_turn)
        if means(turns=turns, session_id=talk.session_id, times=(talk.asked_at,)):
            yield fact
    for fact in _own_notices(home, agent_id):
        notice = fact.read(Notice)
        if means(
            notice.text,
            turns=(notice.turn_id,),
            session_id=notice.session_id,
            times=(notice.at,),
        ):
            yield fact


def _own_notices(home: Home, agent_id: str) -> Iterator[Document]:
    """Yield the notices that an agent wrote; none for an agent that is gone."""
    try:
        owner = home.agents.get(agent_id).agent.owner
    except NotFound:
        return
    for fact in all_pages(home.facts, notice_board_id(owner), NOTICE):
        if fact.read(Notice).agent_id == agent_id:
            yield fact
