"""Notices: how long they stand, to whom they are new, and on whose board."""

from datetime import UTC, datetime, timedelta

from opencrab.domain.document import Document
from opencrab.domain.peers.notice import KEPT, NEW, NOTICE, Notice, NoticeKind, notice_board_id

NOW = datetime(2026, 2, 17, 9, 0, tzinfo=UTC)
WRITTEN = Notice(
    id="n1", agent_id="bo", agent_name="Bo", kind=NoticeKind.HELP, text="助けて", at=NOW
)


def test_a_notice_is_new_to_others_for_a_day_and_stands_for_a_week() -> None:
    assert WRITTEN.is_new("aki", NOW + NEW - timedelta(seconds=1))
    assert not WRITTEN.is_new("aki", NOW + NEW)
    assert not WRITTEN.is_new("bo", NOW)
    assert WRITTEN.stands(NOW + KEPT - timedelta(seconds=1))
    assert not WRITTEN.stands(NOW + KEPT)


def test_each_owner_has_a_board_whose_id_can_own_documents() -> None:
    boards = {notice_board_id(owner) for owner in ("kei", "somebody", None, "x" * 64)}
    assert len(boards) == 4
    for board in boards:
        assert Document(owner=board, kind=NOTICE, id="n1", body={}).owner == board
