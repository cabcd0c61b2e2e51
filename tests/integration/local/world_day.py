"""Eight founders in the demo world for a simulated day: two real processes, killed at any time.

`make worlds` runs it at length and prints what came of it. What both sides say of each account is
compared to the unit, and so is what was sent and what was handled.
"""

import argparse
import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from opencrab.domain.world.demo.state import CURRENCY, DemoState
from opencrab.domain.world.outgoing import ACKNOWLEDGED, OUTGOING
from tests.integration.local.vendor import vendor_at
from tests.running import KEY, OPENCRAB, Server, free_port
from tests.world.trader import Trader

MODEL = "gpt-5-mini"
_PATIENCE = 120.0


@dataclass
class Outcome:
    """What came of a day."""

    kills: dict[str, int]
    messages: int
    entries: int
    cycle: int
    balances: dict[str, int]
    prompts: int
    seconds: float
    trades: dict[str, int] = field(default_factory=dict)


@dataclass
class Show:
    """An installation and a demo world, each a process of its own."""

    folder: Path
    seconds_per_hour: float
    seed: int = 1
    language: str = "en"
    port: int = field(default_factory=free_port)
    trader: Trader = field(default_factory=Trader)

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def store(self) -> Path:
        return self.folder / "world"

    def _up(self, model_url: str) -> subprocess.Popen[str]:
        settings = {
            "OPENCRAB_OWNER_KEY": KEY,
            "OPENAI_API_KEY": "none",
            "OPENCRAB_LLM__PROVIDERS__OPENAI__BASE_URL": model_url,
            "OPENCRAB_LLM__PROVIDERS__OPENAI__STREAM": "false",
            "OPENCRAB_LLM__PRICES_URL": "https://127.0.0.1:9/there-are-none",
        }
        command = [str(OPENCRAB), "up", "--port", str(self.port), "--data", str(self.data)]
        command += ["--provider", f"openai:{MODEL}"]
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, **settings},
        )
        assert process.stdout is not None
        for row in process.stdout:
            if row.strip() == "ready":
                return process
        raise AssertionError("opencrab up ended before it was ready")

    def world(self, hours: float | None) -> subprocess.Popen[bytes]:
        """`opencrab world demo`, started; it ends after so many hours, or never."""
        command = [str(OPENCRAB), "world", "demo", "--url", f"http://127.0.0.1:{self.port}"]
        command += ["--key", KEY, "--folder", str(self.store), "--seed", str(self.seed)]
        command += ["--speed", f"{3_600 / self.seconds_per_hour:g}", "--trust", "1000000"]
        command += ["--json", "--quiet", "--language", self.language]
        if hours is not None:
            command += ["--days", f"{hours / 24:.6f}"]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def live(self, kills: int, *, hours: int | None = None, messages: int = 0) -> Outcome:
        """Live some hours, or until so many messages, with kills, and compare both sides' books."""
        began, chance = time.perf_counter(), Random(self.seed)  # noqa: S311  - kills need no secret
        killed = {"installation": 0, "world": 0}
        with vendor_at(self.trader) as url:  # type: ignore[arg-type]  # it answers as a vendor does
            up = self._up(url)
            world = self.world(hours)
            try:
                for number in range(1, kills + 1):
                    if hours is None:
                        self._wait_for(number * messages // (kills + 1))
                    else:
                        time.sleep(chance.uniform(0.5, 1) * hours * self.seconds_per_hour / kills)
                    if number % 2 == 0 and world.poll() is None:
                        _kill(world)
                        killed["world"] += 1
                        world = self.world(hours)
                    else:
                        _kill(up)
                        killed["installation"] += 1
                        up = self._up(url)
                        world = world if world.poll() in {None, 0} else self.world(hours)
                if hours is None:
                    self._wait_for(messages)
                    _kill(world)
                else:
                    assert world.wait(_PATIENCE + hours * self.seconds_per_hour) == 0
                self._settle()
                return self._compare(Server(up, self.port, began), killed, began)
            finally:
                _end(world)
                _end(up)

    def _wait_for(self, messages: int) -> None:
        """Wait until the world has handled so many messages."""
        until = time.monotonic() + _PATIENCE
        while self._handled() < messages:
            assert time.monotonic() < until, f"{self._handled()} of {messages} messages"
            time.sleep(0.1)

    def _handled(self) -> int:
        with suppress(sqlite3.OperationalError), closing(self._world_file()) as database:
            (count,) = database.execute("SELECT count(*) FROM handled").fetchone()
            return int(count)
        return 0

    def _world_file(self) -> sqlite3.Connection:
        return sqlite3.connect(f"file:{self.store / 'world.db'}?mode=ro", uri=True)

    def _settle(self) -> None:
        """Let what agents sent last arrive, and what the world answers to it."""
        until = time.monotonic() + _PATIENCE
        while True:
            with closing(self._world_file()) as database:
                body = database.execute("SELECT body FROM state").fetchone()[0]
            world = self.world(DemoState.model_validate_json(body).cycle)
            assert world.wait(_PATIENCE) == 0
            if not self._open_messages():
                return
            assert time.monotonic() < until, "messages are left"

    def _open_messages(self) -> int:
        return len(self._facts(OUTGOING))

    def _facts(self, kind: str) -> list[str]:
        """The ids of the installation's documents of a kind."""
        with closing(sqlite3.connect(self.data / "opencrab.db")) as database:
            rows = database.execute(
                "SELECT sk FROM item WHERE sk LIKE ?", (f"%{kind}%",)
            ).fetchall()
        return [str(row[0]) for row in rows]

    def _compare(self, server: Server, kills: dict[str, int], began: float) -> Outcome:
        """Compare both sides; what differs is an error."""
        with closing(self._world_file()) as database:
            state = DemoState.model_validate_json(
                database.execute("SELECT body FROM state").fetchone()[0]
            )
            handled = {row[0] for row in database.execute("SELECT nonce FROM handled")}
            (open_mail,) = database.execute("SELECT count(*) FROM mail WHERE done=0").fetchone()
            ledger = database.execute(
                "SELECT key_id, entry, change, balance FROM ledger ORDER BY key_id, entry"
            ).fetchall()
            trades = dict(
                database.execute(
                    "SELECT json_extract(body,'$.name'), count(*) FROM mail"
                    " WHERE json_extract(body,'$.reply_to') IS NOT NULL GROUP BY 1"
                ).fetchall()
            )
        assert open_mail == 0
        assert state.total == CURRENCY
        _require_continuous(ledger)
        acknowledged = {name.rpartition(".")[2] for name in self._facts(ACKNOWLEDGED)}
        assert acknowledged == handled, (len(acknowledged), len(handled))
        balances = self._books(server, state)
        return Outcome(
            kills=kills,
            messages=len(handled),
            entries=len(ledger),
            cycle=state.cycle,
            balances=balances,
            prompts=len(self.trader.seen),
            seconds=time.perf_counter() - began,
            trades=trades,
        )

    def _books(self, server: Server, state: DemoState) -> dict[str, int]:
        """What the installation says of each account, which must be what the world says."""
        balances = dict[str, int]()
        for agent in server.call("GET", "/agents")["items"]:
            seen = server.call("GET", f"/agents/{agent['id']}/world")
            citizen = state.citizens[seen["key_id"]]
            account = {"entry": citizen.entry, "balance": citizen.balance, "missing": 0}
            assert seen["account"] == account, (agent["name"], seen["account"], account)
            assert (seen["balance"], seen["doubt"]) == (citizen.balance, None), agent["name"]
            assert seen["cycle"] == state.cycle
            assert 0 <= (seen["units"] or 0) <= 5
            balances[agent["name"]] = citizen.balance
        assert len(balances) == len(state.citizens) == 8
        return balances


def _require_continuous(ledger: list[tuple[str, int, int, int]]) -> None:
    """Check that each account has every entry once, and that its changes add up."""
    books = dict[str, tuple[int, int]]()
    for key, entry, change, balance in ledger:
        before, held = books.get(key, (0, 0))
        assert (entry, balance) == (before + 1, held + change), (key, entry)
        assert balance >= 0
        books[key] = (entry, balance)


def _kill(process: subprocess.Popen[Any]) -> None:
    process.send_signal(signal.SIGKILL)
    process.wait()
    if process.stdout is not None:
        process.stdout.close()


def _end(process: subprocess.Popen[Any]) -> None:
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
    process.wait()
    if process.stdout is not None and not process.stdout.closed:
        process.stdout.close()


def main(given: list[str]) -> None:
    """Live a day at length, and say what came of it."""
    parser = argparse.ArgumentParser(description="Eight founders in the demo world")
    parser.add_argument("--hour", type=float, default=10.0, help="seconds of a simulated hour")
    parser.add_argument("--days", type=float, default=1.0)
    parser.add_argument("--kills", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--language", default="ja")
    asked = parser.parse_args(given)
    with tempfile.TemporaryDirectory() as folder:
        show = Show(Path(folder), asked.hour, asked.seed, asked.language)
        found = show.live(asked.kills, hours=round(asked.days * 24))
    sys.stdout.write(json.dumps(vars(found), ensure_ascii=False, indent=2) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
