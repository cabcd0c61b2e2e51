"""What the standard turn costs, counted: one `ws_write`, two model calls, ten earlier messages.

`python -m tests.budgets.turns` counts in this process and prints JSON; `counted` has that done in a
process of its own, since what other tests loaded and cached before would otherwise be counted, or
not. Turns before the one that is counted fill the caches, as in a worker that has been up a while.
"""

import asyncio
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from opencrab.adapters.local_files import LocalBlobs, LocalFiles
from opencrab.adapters.providers.registry import ProviderModels
from opencrab.adapters.providers.transport.exchange import Reply
from opencrab.adapters.sqlite.database import Database
from opencrab.adapters.sqlite.file import sqlite_write_ahead_log
from opencrab.adapters.sqlite.home import open_sqlite_home
from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.access.authority import Scope
from opencrab.domain.turn.turn import TurnStatus
from opencrab.domain.value import Language
from opencrab.engine.access.api_keys import create_api_key
from opencrab.gateways.rest.app import create_rest_app
from opencrab.gateways.rest.http.polling import PollingWatch
from tests.bench.bill import bills
from tests.bench.standard import NOWHERE, SAID, START, Thinking, profile_of
from tests.bench.world import World, models_at, runtime_with
from tests.budgets.counting import Calls, Durable, calls
from tests.conftest import ROOT

HISTORY = 10
WARM_UP = 3
LANGUAGE = Language.JA

Counts = dict[str, int | float]


class Heard(Thinking):
    """The model server in this process, and what it was asked."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__(clock)
        self.requests: list[dict[str, Any]] = []

    def send(
        self,
        url: str,
        *,
        headers: Mapping[str, str],
        body: bytes | None = None,
        timeout_seconds: float,
    ) -> Reply:
        """`Transport.send`."""
        assert body is not None
        self.requests.append(json.loads(body))
        return super().send(url, headers=headers, body=body, timeout_seconds=timeout_seconds)


@dataclass
class Installation:
    """The durable local home, with everything about it that is counted."""

    world: World
    clock: FakeClock
    model: Heard
    database: Database
    durable: Durable
    agent_id: str = field(init=False)

    def __post_init__(self) -> None:
        agents = self.world.runtime.home.agents
        self.agent_id = agents.create(profile_of(self.clock, LANGUAGE)).agent.id

    def counted(self, turn: Callable[[str], str]) -> Counts:
        """A warm turn in a session that has some history; `turn` answers its id."""
        home = self.world.runtime.home
        for _ in range(WARM_UP):
            turn(self.world.session(self.agent_id, HISTORY))
            self.clock.advance(60)
        session_id = self.world.session(self.agent_id, HISTORY)
        readers = self._watch()
        self.durable.reset()
        log = sqlite_write_ahead_log(self.database.path)
        logged = log.stat().st_size
        self.model.requests.clear()
        with calls() as found:
            turn_id = turn(session_id)
        counts = self._sums(found) | {"log_bytes": log.stat().st_size - logged}
        assert home.journal.header(turn_id).status is TurnStatus.COMPLETED
        assert readers == self._readers(), "a connection that nobody watched was opened"
        assert len(self.model.requests) == 2
        return counts

    def _sums(self, found: Calls) -> Counts:
        durable = self.durable
        return {
            "function_calls": found.entered.total(),
            "sql_statements": durable.statements,
            "write_transactions": durable.transactions,
            "fsyncs": durable.fsyncs,
        }

    def _watch(self) -> int:
        """Watch the writers and all readers; answers how many the readers are."""
        self.durable.watch(self.database._writer)
        self.durable.watch(self.database._relaxed.connection)
        for items in self.database._readers.queue:
            self.durable.watch(items.connection)
        return self._readers()

    def _readers(self) -> int:
        return self.database._readers.qsize()


def in_process() -> Counts:
    """Admission, turn and close, called as a worker calls them; and what the model was asked."""
    with _installation() as here:

        def turn(session_id: str) -> str:
            (admitted,) = here.world.say(session_id, SAID[LANGUAGE])
            here.world.work()
            return admitted.id

        return here.counted(turn) | _request(here.model.requests[0])


def through_rest() -> Counts:
    """The same with the message posted, and the turn and the answer read, by a client of REST."""
    with _installation() as here:
        runtime = here.world.runtime
        key, _ = create_api_key(runtime, name="budgets", scope=Scope.OWNER)
        app = create_rest_app(runtime, watch=PollingWatch(), setup=lambda _: {})

        async def ask(method: str, path: str, body: Any = None) -> Any:
            transport = httpx.ASGITransport(app)
            async with httpx.AsyncClient(transport=transport, trust_env=False) as client:
                headers = {"authorization": f"Bearer {key}"}
                url = f"http://budgets/api{path}"
                answer = await client.request(method, url, json=body, headers=headers)
            assert answer.status_code < 300, answer.text
            return answer.json()

        def turn(session_id: str) -> str:
            messages = f"/sessions/{session_id}/messages"
            admitted = asyncio.run(ask("POST", messages, {"text": SAID[LANGUAGE]}))
            here.world.work()
            (turn_id,) = admitted["turn_ids"]
            assert asyncio.run(ask("GET", f"/turns/{turn_id}"))["status"] == "completed"
            assert asyncio.run(ask("GET", messages))["items"]
            return str(turn_id)

        return here.counted(turn)


def on_dynamodb() -> Counts:
    """What AWS charges for it, as `tests.bench.units` counts."""
    bill = bills(LANGUAGE, HISTORY).later
    return {"write_units": bill.writes, "read_units": bill.reads, "calls": len(bill.charges)}


def counted() -> dict[str, Counts]:
    """All of the above and the way of a command on Discord, each in a process of its own."""
    found: dict[str, Counts] = _told("tests.budgets.turns")
    return found | {"discord_command": _told("tests.bench.trace", "--counts")}


def counted_turn() -> Counts:
    """The standard turn alone, in a process of its own."""
    found: dict[str, Counts] = _told("tests.budgets.turns")
    return found["turn"]


def _told(*program: str) -> Any:
    """What a module that runs in a fresh interpreter prints."""
    run = subprocess.run(
        [sys.executable, "-s", "-m", *program],
        cwd=ROOT,
        env={"LANG": "C.UTF-8", "HOME": str(ROOT / "no-such-home")},
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def _request(request: dict[str, Any]) -> Counts:
    """Bytes of a turn's first request: what it says, and the schemas of its actions."""
    tools = _bytes(request.pop("tools"))
    return {"prompt_bytes": _bytes(request["messages"]), "schema_bytes": tools}


def _bytes(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())


@contextmanager
def _installation() -> Iterator[Installation]:
    clock, durable = FakeClock(START), Durable()
    model = Heard(clock)
    with tempfile.TemporaryDirectory(prefix="opencrab-budgets-") as made:
        folder = Path(made)
        files = LocalFiles(folder, disk=durable.disk)
        blobs = LocalBlobs(folder, disk=durable.disk)
        home, database = open_sqlite_home(folder, clock, files=files, blobs=blobs)
        models = ProviderModels(lambda: models_at(NOWHERE), lambda: model)
        try:
            yield Installation(
                World(runtime_with(home, clock, models)), clock, model, database, durable
            )
        finally:
            database.close()


def main() -> None:
    """Count and print."""
    found = {"turn": in_process(), "rest_turn": through_rest(), "dynamodb": on_dynamodb()}
    sys.stdout.write(f"{json.dumps(found)}\n")


if __name__ == "__main__":
    main()
