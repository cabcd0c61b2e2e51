"""The WebSocket's frame: who takes nothing is cut, and nobody waits for a client that left."""

import asyncio
import json
import logging
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import uvicorn
from fastapi import FastAPI, WebSocketDisconnect
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from opencrab.domain.errors import Exhausted, OpenCrabError, Unauthenticated, Unavailable
from opencrab.domain.value import Language
from opencrab.gateways.rest.conversation.websocket import (
    FRAME_BYTES,
    OpenSocket,
    router,
)
from opencrab.gateways.rest.http.polling import NextChange, PollingWatch, Watch
from opencrab.gateways.rest.local_parts import offer_conversation_websocket


class Socket:
    """A client's side: what it says, and how it takes what it is told."""

    def __init__(
        self,
        *frames: dict[str, Any],
        takes: bool = True,
        leaves: bool = False,
        takes_seconds: float = 0.0,
    ) -> None:
        self._frames = list(frames)
        self._takes_seconds = takes_seconds
        self._takes, self._leaves = takes, leaves
        self.sent: list[str] = []
        self.closed: tuple[int, str] | None = None

    async def receive(self) -> dict[str, Any]:
        if self._frames:
            return self._frames.pop(0)
        await asyncio.Event().wait()
        return {}

    async def send_text(self, text: str) -> None:
        if self._leaves:
            raise WebSocketDisconnect(1006)
        if not self._takes:
            await asyncio.Event().wait()
        await asyncio.sleep(self._takes_seconds)
        self.sent.append(text)

    async def close(self, code: int, reason: str) -> None:
        if not self._takes:
            await asyncio.Event().wait()
        self.closed = (code, reason)


class Words:
    """A conversation that says the same to everything."""

    def __init__(
        self,
        *news: dict[str, Any],
        fails: OpenCrabError | None = None,
        language: Language = Language.EN,
    ) -> None:
        self._news, self._fails, self.language = list(news), fails, language
        self.heard: list[str] = []

    def handle_frame(self, text: str) -> Iterator[dict[str, Any]]:
        if self._fails is not None:
            raise self._fails
        self.heard.append(text)
        return iter(({"echo": text},))

    def new_events(self) -> Iterator[dict[str, Any]]:
        news, self._news = self._news, []
        return iter(news)

    def check_access(self) -> None:
        """Nobody is refused."""


class Revoked(Words):
    """A conversation whose key is revoked once it has said something."""

    def check_access(self) -> None:
        raise Unauthenticated("this API key is unknown or revoked")


def text(said: str) -> dict[str, Any]:
    return {"type": "websocket.receive", "text": said}


LEAVES = {"type": "websocket.disconnect", "code": 1000}


class Ending(PollingWatch):
    """A watch of a server that is about to end."""

    @asynccontextmanager
    async def watching(
        self, session_id: str, *, settled: bool = False
    ) -> AsyncIterator[NextChange]:
        async def next_change(seconds: float) -> bool:
            return True

        yield next_change


def held(
    socket: Socket, words: Words, watch: Watch | None = None, *, take_seconds: float = 0.05
) -> None:
    """Hold the connection until it is over."""

    async def hold() -> None:
        async with asyncio.timeout(10):
            seconds = {"take_seconds": take_seconds, "close_seconds": 0.05, "check_seconds": 0.05}
            made = OpenSocket(socket, words, **seconds)  # type: ignore[arg-type]
            await made.serve(watch or PollingWatch(0.01))

    asyncio.run(hold())


def test_what_is_said_is_answered_until_the_client_leaves() -> None:
    socket, words = Socket(text("海"), text("sea"), LEAVES), Words()
    held(socket, words)
    assert socket.sent == ['{"echo":"海"}', '{"echo":"sea"}']
    assert socket.closed is None


def test_a_server_that_ends_says_that_it_may_come_again() -> None:
    socket = Socket()
    held(socket, Words(), Ending())
    assert socket.closed == (1012, "the server ends")


def test_a_client_that_takes_nothing_is_cut() -> None:
    socket = Socket(takes=False)
    held(socket, Words({"delta": "一"}))
    assert socket.sent == []


def test_a_client_that_left_while_it_was_told_something_is_let_go() -> None:
    socket = Socket(leaves=True)
    held(socket, Words({"delta": "一"}))
    assert socket.closed is None


def test_a_client_that_takes_slowly_loses_what_its_key_may_no_longer_read() -> None:
    socket = Socket(takes_seconds=0.02)
    # A busy machine may sleep longer than asked for; that alone is no reason to cut the client.
    held(socket, Revoked(*({"delta": str(number)} for number in range(40))), take_seconds=5)
    assert 0 < len(socket.sent) < 10, "a batch is not sent to its end after the revocation"
    assert socket.closed is not None
    assert socket.closed[0] == 1008


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        ({"type": "websocket.receive", "bytes": b"\x00"}, 1003),
        (text("x" * (FRAME_BYTES + 1)), 1009),
        (text("海" * FRAME_BYTES), 1009),
    ],
)
def test_frames_of_the_wrong_kind_end_it_unheard(frame: dict[str, Any], code: int) -> None:
    socket, words = Socket(frame), Words()
    held(socket, words)
    assert socket.closed is not None
    assert socket.closed[0] == code
    assert not words.heard


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (Exhausted("多すぎます" * 30), 1008),
        (Unauthenticated("revoked"), 1008),
        (Unavailable("too slow"), 1013),
    ],
)
def test_whoever_may_not_stay_is_told_why(error: OpenCrabError, code: int) -> None:
    socket = Socket(text("x"))
    held(socket, Words(fails=error))
    assert socket.closed is not None
    assert socket.closed[0] == code
    assert socket.closed[1].startswith(error.code)
    assert len(socket.closed[1].encode()) <= 123, "a close frame holds no more"


def test_whoever_may_not_stay_is_told_why_in_its_language() -> None:
    revoked = Unauthenticated("this API key is unknown or revoked")
    for language, told in (
        (Language.EN, "unauthenticated: this API key is unknown or revoked"),
        (Language.JA, "unauthenticated: この API キーは登録されていないか、失効しています"),
    ):
        socket = Socket(text("x"))
        held(socket, Words(fails=revoked, language=language))
        assert socket.closed == (1008, told)
    socket = Socket()
    held(socket, Words(language=Language.JA), Ending())
    assert socket.closed == (1012, "サーバーが終了します")


class Listens(uvicorn.Server):
    """A server in a thread, which says when it listens."""

    ready = threading.Event()

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        self.ready.set()


def test_a_refusal_is_no_error_of_the_server(caplog: pytest.LogCaptureFixture) -> None:
    app = FastAPI()
    app.include_router(router)
    offer_conversation_websocket(app, None)
    server = Listens(uvicorn.Config(app, port=0, log_config=None, lifespan="off"))
    thread = threading.Thread(target=server.run, daemon=True)
    with caplog.at_level(logging.WARNING):
        thread.start()
        assert server.ready.wait(60)
        port = server.servers[0].sockets[0].getsockname()[1]
        for _ in range(2):
            with pytest.raises(InvalidStatus) as refused:
                connect(f"ws://127.0.0.1:{port}/ws", proxy=None)
            assert refused.value.response.status_code == 404
        japanese = {"Accept-Language": "ja"}
        with pytest.raises(InvalidStatus) as refused:
            connect(f"ws://127.0.0.1:{port}/ws", proxy=None, additional_headers=japanese)
        assert refused.value.response.headers["Content-Language"] == "ja"
        assert json.loads(refused.value.response.body or b"")["title"] == "見つかりません"
        server.should_exit = True
        thread.join(60)
    assert not thread.is_alive()
    assert [record.getMessage() for record in caplog.records] == []
