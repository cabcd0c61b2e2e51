"""The local runner's watch: waiters wake."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from opencrab.adapters.local_files import LocalBlobs, LocalFiles
from opencrab.adapters.sqlite.home import open_sqlite_home
from opencrab.adapters.system_clock import SystemClock
from opencrab.domain.access.authority import Authority
from opencrab.domain.conversation.message import Line, LineKind
from opencrab.domain.conversation.session import Participant, Session
from opencrab.gateways.local.runner import FeedWatch
from opencrab.ports.home import Home
from opencrab.ports.turn.journal import AdmittedMessage
from tests.contract.following import feed_of

PATIENCE = 50.0


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    files, blobs = LocalFiles(tmp_path), LocalBlobs(tmp_path)
    opened, database = open_sqlite_home(
        tmp_path, SystemClock(), files=files, blobs=blobs, durable=False
    )
    yield opened
    database.close()


def _speak(home: Home) -> None:
    now = SystemClock().now()
    line = Line(
        session_id="s",
        group="m",
        kind=LineKind.SPEECH,
        speaker_id="owner",
        speaker_name="花子",
        authority=Authority.OWNER,
        text="こんにちは",
        at=now,
    )
    home.journal.admit(AdmittedMessage("m", "hash", (), line))


def test_a_waiter_wakes_when_its_session_changes_and_leaves_when_the_process_ends(
    home: Home,
) -> None:
    now = SystemClock().now()
    home.sessions.create(
        Session(
            id="s",
            participants=(Participant(agent_id="crab"),),
            created_by="owner",
            created_at=now,
            updated_at=now,
        )
    )
    watch = FeedWatch(feed_of(home))

    async def wait() -> tuple[bool, bool]:
        watch.start(asyncio.get_running_loop())
        async with watch.watching("s") as next_change:
            speaking = asyncio.create_task(asyncio.to_thread(_speak, home))
            changed = await asyncio.wait_for(next_change(PATIENCE * 2), PATIENCE)
            await speaking
            watch.stop()
            ended = await asyncio.wait_for(next_change(PATIENCE * 2), PATIENCE)
            return changed, ended

    assert asyncio.run(wait()) == (False, True)
