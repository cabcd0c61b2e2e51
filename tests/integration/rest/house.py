"""The real application on a real home in a folder; its turns run when the test says so."""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import httpx

from opencrab.actions import GROUPS, Registry
from opencrab.adapters.local_files import LocalBlobs, LocalFiles
from opencrab.adapters.providers.scripted.model import Scripted
from opencrab.adapters.providers.scripted.script import ScriptedAnswer
from opencrab.adapters.sqlite.home import open_sqlite_home
from opencrab.adapters.system_clock import SystemClock
from opencrab.bootstrap.consequences import CONSEQUENCES
from opencrab.bootstrap.jobs import JOBS
from opencrab.domain.access.authority import Scope
from opencrab.domain.access.principal import ApiKey
from opencrab.engine.access.api_keys import create_api_key, principal_of_api_key
from opencrab.engine.access.membership import let_principal_access_session
from opencrab.engine.runtime import Runtime
from opencrab.engine.turn.run import Pace, run_turn
from opencrab.gateways.rest.app import create_rest_app
from opencrab.gateways.rest.http.polling import PollingWatch
from opencrab.ports.turn.queue import MessageOutcome
from tests.conftest import ROOT
from tests.contract.homes import HASTY
from tests.integration.rest.thinking import Thinking


@cache
def documented() -> dict[str, Any]:
    """The OpenAPI document of all routes as it is kept: `test_openapi` says that it is theirs."""
    document: dict[str, Any] = json.loads((ROOT / "infra" / "openapi.json").read_bytes())
    return document


SETUP = {"model": {"default": "scripted:rules"}, "missing": []}
PATIENCE = 60.0


class House:
    """One installation with a key of each scope, and short ways to what tests begin with."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        clock = SystemClock()
        files, blobs = LocalFiles(folder, disk=HASTY), LocalBlobs(folder, disk=HASTY)
        home, self._database = open_sqlite_home(
            folder, clock, files=files, blobs=blobs, durable=False
        )
        self.thinking = Thinking(home.preferences)
        self.runtime = Runtime(
            home,
            clock,
            self.thinking,
            Registry(GROUPS),
            directory=self.thinking,
            secrets=self.thinking.vault,
            consequences=CONSEQUENCES,
            jobs=JOBS,
        )
        self.furnish()
        self.owner, self.chat, self.read = (self.key(scope)[0] for scope in reversed(Scope))

    def furnish(self, **changes: Any) -> None:
        """Another runtime in some of its parts, behind the same routes."""
        self.runtime = replace(self.runtime, **changes)
        self.app = create_rest_app(self.runtime, watch=PollingWatch(0.02), setup=lambda _: SETUP)

    def close(self) -> None:
        """Leave nothing open."""
        self._database.close()

    def key(self, scope: Scope) -> tuple[str, ApiKey]:
        """A new key."""
        return self.granted(*(("all",) if scope is Scope.READ else ()), scope=scope)

    def granted(
        self, *grants: str, scope: Scope = Scope.READ, principal_id: str | None = None
    ) -> tuple[str, ApiKey]:
        """A new key with these grants, or of a principal who has one."""
        return create_api_key(
            self.runtime,
            name=f"{scope.value} 鍵",
            scope=scope,
            principal_id=principal_id,
            grants=grants,
        )

    def call(self, method: str, path: str, body: Any = None, **sent: Any) -> httpx.Response:
        """One request under /api; see `ask`."""
        return asyncio.run(self._alone(method, path, body, **sent))

    def many(self, *asks: Callable[[httpx.AsyncClient], Any]) -> list[Any]:
        """Several requests at once; the answers in their order."""

        async def all_of_them() -> list[Any]:
            async with self.client() as client:
                return await asyncio.gather(*(ask(client) for ask in asks))

        return asyncio.run(all_of_them())

    def client(self) -> httpx.AsyncClient:
        """A client of the application in this process."""
        return httpx.AsyncClient(
            transport=httpx.ASGITransport(self.app), base_url="http://house", trust_env=False
        )

    async def ask(
        self,
        client: httpx.AsyncClient,
        method: str,
        path: str,
        body: Any = None,
        *,
        key: str | None = None,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> httpx.Response:
        """One request: `body` as JSON or `content` as it is, with the owner's key or another."""
        sent = self._headers(key, headers)
        if body is not None:
            content = json.dumps(body).encode()
            sent.setdefault("Content-Type", "application/json")
        raw = [(name.encode(), text.encode()) for name, text in sent.items()]
        return await client.request(method, f"/api{path}", content=content, headers=raw)

    def made(self, path: str, body: Any, **sent: Any) -> Any:
        """What a POST created."""
        answer = self.call("POST", path, body, **sent)
        assert answer.status_code in {200, 201, 202}, answer.text
        return answer.json()

    def got(self, path: str, **sent: Any) -> Any:
        """What a GET finds."""
        answer = self.call("GET", path, **sent)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def agent(self, name: str = "Mika", **fields: Any) -> str:
        """A new agent's id."""
        return str(self.made("/agents", {"name": name, **fields})["id"])

    def session(self, *agents: str, **sent: Any) -> str:
        """A new session's id; with one new agent unless some are given.

        It is shared with the holder of the chat key.
        """
        participants = agents or (self.agent(),)
        session_id = str(self.made("/sessions", {"participants": participants}, **sent)["id"])
        self.invite(session_id, self.chat)
        return session_id

    def invite(self, session_id: str, key: str) -> None:
        """Share a session with the holder of a key."""
        home = self.runtime.home
        principal = principal_of_api_key(home.keys, key)
        let_principal_access_session(home.facts, home.keys, session_id, principal.id)

    def say(self, session_id: str, text: str, **sent: Any) -> list[str]:
        """The turns that a message starts."""
        turn_ids: list[str] = self.made(f"/sessions/{session_id}/messages", {"text": text}, **sent)[
            "turn_ids"
        ]
        return turn_ids

    def lines(self, session_id: str, query: str = "", **sent: Any) -> list[str]:
        """The words of a session's lines."""
        items = self.got(f"/sessions/{session_id}/messages{query}", **sent)["items"]
        return [line["text"] for line in items]

    def script(self, *answers: ScriptedAnswer) -> None:
        """What the model answers from now on."""
        self.thinking.model = Scripted(answers)

    def work(self, wait_seconds: float = 0) -> None:
        """Run every turn that is queued, one after the other."""
        queue = self.runtime.home.turns
        while delivery := queue.receive(visibility_seconds=600, wait_seconds=wait_seconds):
            if run_turn(self.runtime, delivery, Pace()) is MessageOutcome.FINISHED:
                queue.acknowledge(delivery.receipt)

    @contextmanager
    def revoking(self, key: ApiKey, agent_id: str) -> Iterator[None]:
        """Let a key be revoked as soon as it has begun a turn, which then runs."""
        over = threading.Event()

        def revoke_and_work() -> None:
            while not over.is_set() and not self.got(f"/turns?agent_id={agent_id}")["items"]:
                over.wait(0.02)
            assert self.call("DELETE", f"/keys/{key.id}").status_code < 300
            self.work()

        revoker = threading.Thread(target=revoke_and_work)
        revoker.start()
        try:
            yield
        finally:
            over.set()
            revoker.join(30)

    @contextmanager
    def worker(self) -> Iterator[None]:
        """Let somebody run turns while the test waits for them."""
        over = threading.Event()

        def run() -> None:
            while not over.is_set():
                self.work(wait_seconds=0.05)

        thread = threading.Thread(target=run, name="worker")
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join(PATIENCE)

    def follow(
        self,
        path: str,
        count: int,
        *,
        until: str = "data: ",
        meanwhile: Callable[[], object] | None = None,
        key: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> list[dict[str, Any]]:
        """The events of a stream until some word came so often; then the client leaves."""
        sent = self._headers(key, headers)
        exchange = Exchange("GET", f"/api{path}", sent, until=until.encode(), count=count)
        asyncio.run(exchange.run(self.app, meanwhile))
        blocks = exchange.content.decode().split("\n\n")
        return [event(block) for block in blocks if "data: " in block]

    def raw(self, method: str, path: str, content: bytes = b"", **sent: Any) -> httpx.Response:
        """One request whose address arrives just as it is written: httpx would tidy it up."""
        headers = self._headers(sent.get("key"), sent.get("headers"))
        exchange = Exchange(method, f"/api{path}", headers, body=content)
        asyncio.run(exchange.run(self.app))
        return httpx.Response(exchange.status, headers=exchange.headers, content=exchange.content)

    def _headers(self, key: str | None, more: Mapping[str, str] | None) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.owner if key is None else key}", **(more or {})}

    async def _alone(self, method: str, path: str, body: Any, **sent: Any) -> httpx.Response:
        async with self.client() as client:
            return await self.ask(client, method, path, body, **sent)


class Exchange:
    """One request as a server hands it to the application; the client leaves when it has enough.

    httpx would wait for the end of a stream.
    """

    def __init__(
        self,
        method: str,
        address: str,
        headers: Mapping[str, str],
        *,
        body: bytes = b"",
        until: bytes = b"",
        count: int = 0,
    ) -> None:
        path, _, query = address.partition("?")
        self._scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": unquote(path),
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [(name.lower().encode(), text.encode()) for name, text in headers.items()],
            "client": None,
            "server": ("house", 80),
        }
        self._sending = [{"type": "http.request", "body": body, "more_body": False}]
        self._until, self._count = until, count
        self._begun = asyncio.Event()
        self._enough = asyncio.Event()
        self.status = 0
        self.headers: list[tuple[bytes, bytes]] = []
        self.content = b""

    async def run(self, app: Any, meanwhile: Callable[[], object] | None = None) -> None:
        """Answer it, while something happens as soon as the answer has begun."""
        async with asyncio.timeout(PATIENCE):
            answering = app(self._scope, self._receive, self._send)
            await asyncio.gather(answering, self._happens(meanwhile))

    async def _receive(self) -> dict[str, Any]:
        if self._sending:
            return self._sending.pop()
        await self._enough.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Mapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self.status, self.headers = message["status"], list(message["headers"])
            return
        self.content += message.get("body", b"")
        self._begun.set()
        whole = not message.get("more_body", False)
        if whole or (self._until and self.content.count(self._until) >= self._count):
            self._enough.set()

    async def _happens(self, meanwhile: Callable[[], object] | None) -> None:
        await self._begun.wait()
        if meanwhile is not None:
            await asyncio.to_thread(meanwhile)


def event(block: str) -> dict[str, Any]:
    """One server-sent event, its data read as JSON."""
    fields = dict(row.split(": ", 1) for row in block.splitlines())
    return {**fields, "data": json.loads(fields["data"])}


def problem(answer: httpx.Response, status: int, field: str | None = None) -> dict[str, Any]:
    """The problem document of an answer, which must be a whole one of this status."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    found: dict[str, Any] = answer.json()
    assert found["status"] == status
    assert found["detail"]
    assert found["title"]
    assert found["type"] == f"urn:opencrab:problem:{found['code']}"
    if field is not None:
        assert found["field"] == field, found
    return found
