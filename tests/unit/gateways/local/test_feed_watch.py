"""Waiters wake, and whoever closes the database is not read behind."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any, cast

import pytest

from opencrab.adapters.system_clock import SystemClock
from opencrab.domain.access.authority import Authority
from opencrab.domain.conversation.message import Line, LineKind
from opencrab.domain.conversation.session import Participant, Session
from opencrab.gateways.local.feed_watch import FeedWatch
from opencrab.ports.home import Home
from opencrab.ports.turn.journal import AdmittedMessage
from tests.contract.example import ending, running
from tests.contract.following import feed_of

PATIENCE = 50.0


def _open_session(home: Home) -> None:
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
    _open_session(home)
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
    watch.join()


def test_who_waits_for_the_end_of_turns_sleeps_through_their_steps(home: Home) -> None:
    watch = FeedWatch(feed_of(home))

    async def wait() -> tuple[bool, bool]:
        watch.start(asyncio.get_running_loop())
        async with (
            watch.watching("s1") as next_change,
            watch.watching("s1", settled=True) as next_end,
        ):
            end = asyncio.ensure_future(next_end(PATIENCE * 2))
            turn = await asyncio.to_thread(running, home)
            await asyncio.wait_for(next_change(PATIENCE * 2), PATIENCE)
            # Whatever woke the one has run, and so has a task that it might have woken.
            await asyncio.sleep(0)
            early = end.done()
            await asyncio.to_thread(home.journal.commit, ending(turn))
            ended = await asyncio.wait_for(end, PATIENCE)
            watch.stop()
            return early, ended

    assert asyncio.run(wait()) == (False, False)
    watch.join()


class Moments:
    """A loop's clock, and for how long what was asked of it has to wait."""

    def __init__(self) -> None:
        self.now = 100.0
        self.waiting: list[tuple[float, Callable[[], None]]] = []

    def time(self) -> float:
        return self.now

    def call_later(self, seconds: float, call: Callable[..., None], *given: Any) -> None:
        self.waiting.append((seconds, lambda: call(*given)))

    def pass_by(self) -> float:
        """Let the next thing happen; returns after how long."""
        seconds, call = self.waiting.pop()
        self.now += seconds
        call()
        return seconds


def test_who_begins_to_wait_when_the_process_ends_is_not_kept(home: Home) -> None:
    watch = FeedWatch(feed_of(home))

    async def wait_late() -> bool:
        watch.start(asyncio.get_running_loop())
        watch.stop()
        await asyncio.sleep(0)
        async with watch.watching("s", settled=True) as next_change:
            return await asyncio.wait_for(next_change(10 * PATIENCE), PATIENCE)

    assert asyncio.run(wait_late())
    watch.join()


def test_first_words_wake_everybody_at_once_and_more_of_them_only_now_and_then(home: Home) -> None:
    watch, loop = FeedWatch(feed_of(home)), Moments()

    def words() -> None:
        watch._wake_for_words(cast("asyncio.AbstractEventLoop", loop), "s")

    words()
    assert loop.pass_by() == 0
    for _ in range(1_000):
        words()
    assert len(loop.waiting) == 1
    assert loop.pass_by() == pytest.approx(0.04)
    loop.now += 1
    words()
    assert loop.pass_by() == 0


def test_who_has_joined_the_watch_may_close_its_database(home: Home) -> None:
    _open_session(home)
    watch = FeedWatch(feed_of(home))
    watch.join()

    async def follow() -> list[threading.Thread]:
        watch.start(asyncio.get_running_loop())
        return _following()

    assert len(asyncio.run(follow())) == 1
    # Its loop is gone: what happens now wakes nobody, and is no error.
    _speak(home)
    watch.stop()
    watch.join()
    assert _following() == []


def _following() -> list[threading.Thread]:
    return [each for each in threading.enumerate() if each.name == "feed"]
