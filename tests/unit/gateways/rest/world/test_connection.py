"""The WebSocket of worlds: bounded frames, no web pages, and nobody who does not prove himself."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import pytest
import uvicorn
from fastapi import FastAPI
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.frames import Close
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin

from opencrab.domain.errors import OpenCrabError, Refused, Unavailable
from opencrab.domain.world.binding import ENVELOPE_BYTES
from opencrab.gateways.rest.http.polling import NextChange, PollingWatch
from opencrab.gateways.rest.local_parts import offer_world_connections
from opencrab.gateways.rest.world import connection
from opencrab.gateways.rest.world.connection import CONNECTIONS, PATH


class Echo:
    """A connection that answers each envelope with its length, and has frames to send."""

    def __init__(self, *due: bytes, fails: OpenCrabError | None = None) -> None:
        self._due, self._fails = [list(due)], fails
        self.heard: list[str] = []

    def hello(self) -> str:
        return "hello"

    def watch(self, wake: Callable[[], None]) -> Callable[[], None]:
        return lambda: None

    def receive_envelope(self, raw: bytes) -> str:
        if self._fails is not None:
            raise self._fails
        return str(len(raw))

    def receive_text(self, text: str) -> None:
        self.heard.append(text)

    def due_envelopes(self) -> list[bytes]:
        return self._due.pop() if self._due else []


class Gate:
    def __init__(self, made: Echo) -> None:
        self.made = made

    def open(self) -> Echo:
        return self.made


class State:
    """What the application knows of its own."""

    def __init__(self, watch: Any) -> None:
        self.watch = watch


class Ending(PollingWatch):
    """A watch of a server that is about to end."""

    @asynccontextmanager
    async def watching(
        self, session_id: str, *, settled: bool = False
    ) -> AsyncIterator[NextChange]:
        async def next_change(seconds: float) -> bool:
            await asyncio.sleep(0.05)
            return True

        yield next_change


class Listens(uvicorn.Server):
    """A server in a thread, which says when it listens."""

    def __init__(self, app: FastAPI) -> None:
        super().__init__(uvicorn.Config(app, port=0, log_config=None, lifespan="off"))
        self.ready = threading.Event()

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        self.ready.set()


@contextmanager
def serving(
    made: Echo | None, watch: Any = None, connections: int = 0
) -> Iterator[Callable[..., ClientConnection]]:
    """A function that connects to a server with this connection behind its door."""
    app = FastAPI()
    app.include_router(connection.router)
    app.state.rest = State(watch or PollingWatch(0.01))
    if made is not None:
        offer_world_connections(app, Gate(made))
        app.state.world_connections = connections
    server = Listens(app)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    assert server.ready.wait(60)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield lambda **more: connect(f"ws://127.0.0.1:{port}{PATH}", proxy=None, **more)
    finally:
        server.should_exit = True
        thread.join(60)


def ending(world: ClientConnection) -> tuple[int, str]:
    """How the connection ends, whatever is sent before."""
    ended = None
    while ended is None:
        try:
            world.recv(timeout=30)
        except ConnectionClosed as closed:
            ended = closed.rcvd or Close(0, "")
    return ended.code, ended.reason


def test_envelopes_go_both_ways_and_the_largest_fits() -> None:
    echo = Echo(b"first", b"second")
    with serving(echo) as door, door() as world:
        assert world.recv(timeout=30) == "hello"
        world.send(b"x" * ENVELOPE_BYTES)
        told = {world.recv(timeout=30) for _ in range(3)}
        assert told == {str(ENVELOPE_BYTES), b"first", b"second"}
        world.send('{"type":"ack"}')
        world.send(b"12")
        assert world.recv(timeout=30) == "2"
    assert echo.heard == ['{"type":"ack"}']


@pytest.mark.parametrize("frame", [b"x" * (ENVELOPE_BYTES + 1), b"x" * 1_000_000, "海" * 5_000])
def test_a_frame_that_is_too_large_ends_the_connection(frame: bytes | str) -> None:
    with serving(Echo()) as door, door() as world:
        world.send(frame)
        assert ending(world)[0] == 1009


@pytest.mark.parametrize(
    ("error", "code"), [(Refused("wrong key"), 1008), (Unavailable("busy"), 1013)]
)
def test_who_is_refused_is_told_why(error: OpenCrabError, code: int) -> None:
    with serving(Echo(b"secret", fails=error)) as door, door() as world:
        world.send(b"join")
        assert ending(world) == (code, f"{error.code}: {error.message}")


def test_web_pages_and_too_many_worlds_are_turned_away() -> None:
    with serving(Echo()) as door, pytest.raises(InvalidStatus) as denied:
        door(origin=Origin("https://evil.example"))
    assert denied.value.response.status_code == 403
    with serving(Echo(), connections=CONNECTIONS) as door, pytest.raises(InvalidStatus) as denied:
        door()
    assert denied.value.response.status_code == 503


def test_without_worlds_there_is_no_way_in() -> None:
    with serving(None) as door, pytest.raises(InvalidStatus) as denied:
        door()
    assert denied.value.response.status_code == 404


def test_a_server_that_ends_says_so() -> None:
    with serving(Echo(), Ending()) as door, door() as world:
        assert ending(world)[0] == 1012
