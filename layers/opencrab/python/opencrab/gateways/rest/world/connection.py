"""The WebSocket at /worlds, by which a world on this computer or network speaks with its agents.

What its frames mean is `gateways/world`; here they are bounded, and a connection that does not
prove itself, or takes nothing, is cut.
"""

import asyncio
from collections.abc import Callable
from typing import Protocol

from fastapi import WebSocket, WebSocketDisconnect
from fastapi.concurrency import run_in_threadpool

from opencrab.domain.errors import NotFound, OpenCrabError, Refused, Unavailable
from opencrab.domain.world.binding import ENVELOPE_BYTES
from opencrab.gateways.rest.http.body import http_routes_below
from opencrab.gateways.rest.http.polling import EVERY, Watch
from opencrab.gateways.rest.http.problem import http_problem

PATH = "/worlds"
JOIN_SECONDS = 10.0
"""A connection that has not proven itself within so long is cut."""

TAKE_SECONDS = 10.0
LOOK_SECONDS = 5.0
"""Between two looks for messages that were not acknowledged."""

TEXT_BYTES = 8_192
CONNECTIONS = 20

_LARGE, _REFUSED, _RESTART, _LATER = 1009, 1008, 1012, 1013
_REASON = 120

router = http_routes_below("", "world")

Ended = tuple[int | None, str]
"""The code and the reason with which a connection is closed; None if it is closed."""


class OpenWorldConnection(Protocol):
    """One world over one connection; its methods are called by one thread at a time."""

    def hello(self) -> str:
        """Return the first frame."""

    def watch(self, wake: Callable[[], None]) -> Callable[[], None]:
        """Call `wake` when there may be frames to send; return the function that ends this."""

    def receive_envelope(self, raw: bytes) -> str:
        """Return the answer to a binary frame; an OpenCrabError ends the connection."""

    def receive_text(self, text: str) -> None:
        """Handle a text frame; an OpenCrabError ends the connection."""

    def due_envelopes(self) -> list[bytes]:
        """Return the binary frames to send now."""


class WorldEntrance(Protocol):
    """The factory of connections with worlds."""

    def open(self) -> OpenWorldConnection:
        """Begin a connection with a world that has yet to prove itself."""


@router.websocket(PATH)
async def connect_world(websocket: WebSocket) -> None:
    """Exchange messages with a world until the connection ends."""
    state = websocket.app.state
    gate: WorldEntrance | None = getattr(state, "worlds", None)
    refused = _refusal(websocket, gate)
    if gate is None or refused is not None:
        await websocket.send_denial_response(http_problem(refused or NotFound("no worlds")))
        return
    state.world_connections += 1
    try:
        await websocket.accept()
        await _WorldSocket(websocket, gate.open()).serve(state.rest.watch)
    finally:
        state.world_connections -= 1


def _refusal(websocket: WebSocket, gate: WorldEntrance | None) -> OpenCrabError | None:
    if gate is None:
        return NotFound("worlds cannot connect here", cure="on AWS they use the event bus")
    if "origin" in websocket.headers:
        return Refused("web pages cannot be worlds", field="Origin")
    if websocket.app.state.world_connections >= CONNECTIONS:
        return Unavailable(f"{CONNECTIONS} worlds are connected already", cure="end one")
    return None


class _WorldSocket:
    """A connection, whose frames are handled one after the other."""

    def __init__(self, websocket: WebSocket, connection: OpenWorldConnection) -> None:
        self._websocket = websocket
        self._connection = connection
        self._speaking = asyncio.Lock()
        self._news = asyncio.Event()
        self._joined = asyncio.Event()

    async def serve(self, watch: Watch) -> None:
        loop = asyncio.get_running_loop()

        def wake() -> None:
            loop.call_soon_threadsafe(self._news.set)

        end = self._connection.watch(wake)
        tasks = {
            asyncio.create_task(self._hear()),
            asyncio.create_task(self._tell()),
            asyncio.create_task(self._until_restart(watch)),
        }
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            end()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        for task in done:
            code, reason = task.result()
            if code is not None:
                await self._close(code, reason)

    async def _hear(self) -> Ended:
        """Handle the world's frames until the connection ends."""
        try:
            await self._send(self._connection.hello())
            async with asyncio.timeout(JOIN_SECONDS):
                ended = await self._frame()
            self._joined.set()
            self._news.set()
            while ended is None:
                ended = await self._frame()
        except TimeoutError:
            return _LATER, "the world does not answer"
        except WebSocketDisconnect:
            return None, ""
        return ended

    async def _frame(self) -> Ended | None:
        message = await self._websocket.receive()
        if message["type"] == "websocket.disconnect":
            return None, ""
        raw, text = message.get("bytes"), message.get("text")
        if len(raw or b"") > ENVELOPE_BYTES or len((text or "").encode()) > TEXT_BYTES:
            return _LARGE, f"an envelope has at most {ENVELOPE_BYTES} bytes"
        try:
            async with self._speaking:
                if raw is None:
                    await run_in_threadpool(self._connection.receive_text, text or "")
                    self._news.set()
                    return None
                answer = await run_in_threadpool(self._connection.receive_envelope, raw)
            await self._send(answer)
        except OpenCrabError as error:
            code = _LATER if isinstance(error, Unavailable) else _REFUSED
            return code, f"{error.code}: {error.message}"
        return None

    async def _tell(self) -> Ended:
        """Send messages of agents as they come, and again while they are not acknowledged."""
        await self._joined.wait()
        try:
            while True:
                self._news.clear()
                async with self._speaking:
                    due = await run_in_threadpool(self._connection.due_envelopes)
                for raw in due:
                    await self._send(raw)
                if not due:
                    await self._wait_for_news()
        except OpenCrabError as error:
            return _LATER, f"{error.code}: {error.message}"
        except TimeoutError:
            return _LATER, "the world does not read its messages"
        except WebSocketDisconnect:
            return None, ""

    async def _wait_for_news(self) -> None:
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                await self._news.wait()
        except TimeoutError:
            return

    async def _until_restart(self, watch: Watch) -> Ended:
        async with watch.watching(EVERY) as next_change:
            while not await next_change(LOOK_SECONDS):
                pass
        return _RESTART, "the server ends"

    async def _send(self, frame: str | bytes) -> None:
        async with asyncio.timeout(TAKE_SECONDS):
            if isinstance(frame, bytes):
                await self._websocket.send_bytes(frame)
            else:
                await self._websocket.send_text(frame)

    async def _close(self, code: int, reason: str) -> None:
        cut = reason.encode()[:_REASON].decode(errors="ignore")
        try:
            async with asyncio.timeout(1):
                await self._websocket.close(code, cut)
        except (TimeoutError, RuntimeError, WebSocketDisconnect):
            return
