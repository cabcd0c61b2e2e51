"""Requests of programs with keys, in this process; while one waits, the world goes on."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from opencrab.engine.runtime import Runtime
from opencrab.gateways.rest.app import create_rest_app, offer_a2a_to_rest_app

ON_LAMBDA = 20
"""The seconds after which a request ends there, and its stream comes as a whole."""


class _Loop(asyncio.SelectorEventLoop):
    """A loop in which time passes when a test says so, beside the time that it takes."""

    ahead = 0.0

    def time(self) -> float:
        return super().time() + self.ahead


@dataclass(frozen=True)
class Heard:
    """What a client heard; `late` is what came after it had been cut off."""

    status: int
    headers: Mapping[str, str]
    text: str
    late: str = ""

    def json(self) -> Any:
        """The answer as JSON; {} for what is none, as a stream."""
        try:
            return json.loads(self.text)
        except ValueError:
            return {}


class Requests:
    """The application, asked by one client at a time; `meanwhile` happens while it waits."""

    def __init__(self, runtime: Runtime) -> None:
        self._apps = {limit: _application(self, runtime, limit) for limit in (None, ON_LAMBDA)}
        self._loop = _Loop()
        self._meanwhile: list[Callable[[], object]] = []
        self._said, self._cut_at = bytearray(), 0

    def close(self) -> None:
        """Leave nothing open."""
        self._loop.close()

    def cut_off(self, seconds: float) -> None:
        """Note that the client may hear no more, and let time pass for its connection."""
        self._cut_at = len(self._said)
        self._loop.ahead += seconds

    def send(
        self, method: str, path: str, headers: Mapping[str, str], body: Any = None, *,
        meanwhile: tuple[Callable[[], object], ...] = (), on_lambda: bool = False,
    ) -> Heard:  # fmt: skip
        """Send one request; each of `meanwhile` happens when it sleeps, then its server ends."""
        self._meanwhile, self._said, self._cut_at = list(meanwhile), bytearray(), -1
        app = self._apps[ON_LAMBDA if on_lambda else None]
        content = b"" if body is None else json.dumps(body).encode()
        start = self._loop.run_until_complete(
            _exchange(app, method, path, headers, content=content, said=self._said)
        )
        told = {name.decode(): text.decode() for name, text in start["headers"]}
        late = b"" if self._cut_at < 0 else self._said[self._cut_at :]
        return Heard(start["status"], told, self._said.decode(), late.decode())

    @asynccontextmanager
    async def watching(self, _session_id: str, *, settled: bool = False) -> AsyncIterator[Any]:
        """Implement Watch: a sleep is the time in which the next thing happens."""

        async def next_change(_seconds: float) -> bool:
            if not self._meanwhile:
                return True
            self._meanwhile.pop(0)()
            return False

        yield next_change


def _application(watch: Requests, runtime: Runtime, limit: int | None) -> Any:
    app = create_rest_app(runtime, watch=watch, setup=lambda _: {}, longest_seconds=limit)
    offer_a2a_to_rest_app(app, "")
    return app


async def _exchange(
    app: Any, method: str, path: str, headers: Mapping[str, str], *, content: bytes, said: bytearray
) -> dict[str, Any]:
    place, _, query = path.partition("?")
    sent = {"host": "house", "content-type": "application/json", **headers}
    scope = {
        "type": "http", "asgi": {"version": "3.0", "spec_version": "2.3"}, "http_version": "1.1",
        "method": method, "scheme": "http", "path": place, "raw_path": place.encode(),
        "query_string": query.encode(), "root_path": "", "client": None, "server": ("house", 80),
        "headers": [(name.lower().encode(), text.encode()) for name, text in sent.items()],
    }  # fmt: skip
    bodies = [{"type": "http.request", "body": content, "more_body": False}]
    start: dict[str, Any] = {}

    async def receive() -> dict[str, Any]:
        if bodies:
            return bodies.pop()
        await asyncio.Event().wait()
        raise AssertionError

    async def send(message: Mapping[str, Any]) -> None:
        start.update(message if message["type"] == "http.response.start" else {})
        said.extend(message.get("body", b""))

    await app(scope, receive, send)
    return start
