"""The demo world's file: one transaction for what a message does, and nothing twice."""

import sqlite3
import stat
from pathlib import Path

import pytest

from opencrab.adapters.demo_world.store import FILE, DemoStore
from opencrab.domain.errors import Unavailable
from opencrab.domain.world.demo.state import DemoMessage, DemoState

A = "a" * 64
STATE = DemoState(world_id="demo", seed=1)


def paid(entry: int) -> DemoMessage:
    account = {"entry": entry, "change": 1, "balance": entry}
    return DemoMessage(to=A, name="EVENT", body={"kind": "支払い", "account": account})


def test_what_is_stored_is_there_again(tmp_path: Path) -> None:
    store = DemoStore(tmp_path / "world")
    assert (store.identity(), store.state()) == (None, None)
    store.keep_identity("private", "public")
    store.commit(STATE.replaced(cycle=3), [paid(1), paid(2)], ("n1", "digest"))
    store.close()
    again = DemoStore(tmp_path / "world")
    assert again.identity() == ("private", "public")
    assert again.state() == STATE.replaced(cycle=3)
    assert (again.digest_of_handled("n1"), again.digest_of_handled("n2")) == ("digest", None)
    assert [each.message for each in again.open_mail(9)] == [paid(1), paid(2)]
    assert again.ledger(A) == [(1, 1, 1), (2, 1, 2)]
    assert stat.S_IMODE((tmp_path / "world" / FILE).stat().st_mode) == 0o600
    again.close()


def test_a_world_runs_in_one_process_only(tmp_path: Path) -> None:
    first = DemoStore(tmp_path)
    with pytest.raises(Unavailable, match="another process"):
        DemoStore(tmp_path)
    first.close()
    DemoStore(tmp_path).close()


def test_a_message_is_handled_once_or_not_at_all(tmp_path: Path) -> None:
    store = DemoStore(tmp_path)
    store.commit(STATE, [paid(1)], ("n1", "digest"))
    for messages, handled in (([paid(2)], ("n1", "digest")), ([paid(1)], ("n2", "digest"))):
        with pytest.raises(sqlite3.IntegrityError):
            store.commit(STATE.replaced(cycle=9), messages, handled)
    assert store.state() == STATE
    assert len(store.open_mail(9)) == 1
    assert store.digest_of_handled("n2") is None
    store.close()


def test_mail_keeps_its_bytes_until_it_is_acknowledged(tmp_path: Path) -> None:
    store = DemoStore(tmp_path)
    store.commit(STATE, [paid(1), paid(2)])
    first, second = store.open_mail(9)
    assert first.raw is None
    store.keep_sealed(first.number, b"raw", "d1")
    assert [each.raw for each in store.open_mail(9)] == [b"raw", None]
    store.mark_done("unknown")
    store.mark_done("d1")
    store.mark_done("d1")
    assert [each.number for each in store.open_mail(9)] == [second.number]
    store.close()
