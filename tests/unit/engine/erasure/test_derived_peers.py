"""What is forgotten takes talks and notices with it: those that came of it, and no others."""

from datetime import timedelta
from pathlib import Path
from typing import Any

from opencrab.domain.document import Document, new_fact
from opencrab.domain.peers.notice import NOTICE, Notice, NoticeKind, notice_board_id
from opencrab.domain.peers.talk import PEER_TALK, PeerTalk
from opencrab.engine.erasure.derived_peers import talks_and_notices_to_erase
from tests.contract.homes import sqlite
from tests.e2e.house import START, House

BOARD = notice_board_id("owner")


def talk(peer_id: str, turn_id: str) -> Document:
    asked = PeerTalk(
        peer_id=peer_id, session_id=f"s-{peer_id}", turn_id=turn_id, day="d", asked_at=START
    )
    return new_fact("aki", PEER_TALK, peer_id, asked)


def notice(notice_id: str, agent_id: str, turn_id: str, text: str = "潮") -> Document:
    written = Notice(
        id=notice_id,
        agent_id=agent_id,
        agent_name=agent_id,
        kind=NoticeKind.HELP,
        text=text,
        turn_id=turn_id,
        at=START,
    )
    fact = new_fact(BOARD, NOTICE, notice_id, written)
    return fact.replaced(expires_at=START + timedelta(days=7))


def test_talks_and_own_notices_of_an_erased_turn_go_and_others_stay(tmp_path: Path) -> None:
    home = House(sqlite, tmp_path)
    home.agent("aki", ())
    facts = (talk("bo", "t1"), talk("caro", "t2"), notice("n1", "aki", "t1"))
    others = (
        notice("n2", "aki", "t2"),
        notice("n3", "bo", "t1"),
        notice("n4", "aki", "t3", "夕凪"),
    )
    for fact in (*facts, *others):
        home.home.facts.commit(fact)

    def means(*texts: str, turns: Any = (), **_: Any) -> bool:
        return "t1" in turns or "夕凪" in texts

    gone = talks_and_notices_to_erase(home.home, "aki", means)
    assert [fact.id for fact in gone] == ["bo", "n1", "n4"]
    assert list(talks_and_notices_to_erase(home.home, "nobody", means)) == []
    home.close()
