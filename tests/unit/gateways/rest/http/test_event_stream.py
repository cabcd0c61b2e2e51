"""Event streams: a client that may no longer read is asked about, and its stream ends."""

import asyncio
import json
from collections.abc import AsyncGenerator, MutableMapping
from types import SimpleNamespace
from typing import Any, cast

import pytest

from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.errors import NotFound
from opencrab.domain.value import Language
from opencrab.gateways.rest.http import event_stream
from opencrab.gateways.rest.http.dependencies import RestContext
from opencrab.gateways.rest.http.event_stream import (
    CHECK_SECONDS,
    CheckedFollower,
    EventStreamResponse,
)
from opencrab.gateways.rest.http.polling import PollingWatch
from tests.unit.engine.known_world import NOW


class Told:
    """A follower with something new each time."""

    is_over = is_busy = False

    def new_events(self) -> list[str]:
        """`Follower.new_events`."""
        return ["news"]


def test_a_stream_ends_soon_after_its_client_may_no_longer_read() -> None:
    clock, allowed = FakeClock(NOW), [True]

    def check() -> None:
        if not allowed[0]:
            raise NotFound("there is no session 's1'")

    follower = CheckedFollower(Told(), check, clock)
    assert follower.new_events() == ["news"]
    allowed[0] = False
    assert not follower.is_over
    clock.advance(CHECK_SECONDS)
    with pytest.raises(NotFound):
        follower.new_events()


class Refusing:
    """A follower with three events at once, whose client may soon no longer read."""

    is_over = is_busy = False

    def new_events(self) -> list[str]:
        """`Follower.new_events`."""
        return ["first", "second", "third"]

    def check_access(self) -> None:
        """`Follower.check_access`."""
        raise NotFound("there is no session 's1'")


@pytest.mark.parametrize(
    ("language", "told"),
    [
        (Language.EN, "there is no session 's1'"),
        (Language.JA, "セッション 's1' はありません"),
    ],
)
def test_a_batch_that_is_taken_slowly_is_not_sent_to_its_end(language: Language, told: str) -> None:
    async def take() -> list[str]:
        api, taken = (
            cast("RestContext", SimpleNamespace(longest_seconds=None, watch=PollingWatch(0.01))),
            list[str](),
        )
        stream = event_stream.stream_http_events(
            api, "s1", Refusing(), None, language=language, check_seconds=0.05
        )
        async for event in stream:
            taken.append(event)
            await asyncio.sleep(0.03)
        return taken

    _, first, second, problem = asyncio.run(take())
    assert (first, second) == ("first", "second")
    assert problem.startswith("event: problem")
    problem = json.loads(problem.partition("data: ")[2])
    assert (problem["code"], problem["detail"]) == ("not-found", told)


def test_a_client_that_takes_nothing_loses_its_stream() -> None:
    ended, sent = list[bool](), list[str]()

    async def endless() -> AsyncGenerator[str, None]:
        try:
            while True:
                yield "news"
        finally:
            ended.append(True)

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message["type"])
        if len(sent) > 2:
            await asyncio.Event().wait()

    async def serve() -> None:
        async with asyncio.timeout(10):
            await EventStreamResponse(endless(), take_seconds=0.05).stream_response(send)

    asyncio.run(serve())
    assert ended == [True]
    assert len(sent) == 3
