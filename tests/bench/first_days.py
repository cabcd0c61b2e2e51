"""What a new installation learns about two models: `python -m tests.bench.first_days [SEEDS]`.

A real home, REST, the settings that ship, and two models behind real HTTP: the default one, and one
that is better at two of three types of task. People talk to one agent 20 times a day; some say what
they think. Days and nights pass by a clock that is moved. Printed are the share of turns that the
better model answers, what turns are worth, and what the trying costs.
"""

import json
import os
import random
import re
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

from opencrab.adapters.providers.catalogue.configuration import provider_catalogue_settings
from opencrab.adapters.providers.catalogue.usable_default import (
    provider_settings_with_usable_default,
)
from opencrab.adapters.providers.registry import ProviderModels
from opencrab.adapters.providers.transport.http_connections import HttpConnections
from opencrab.adapters.providers.transport.http_transport import HttpTransport
from opencrab.adapters.system_clock import FakeClock
from opencrab.bootstrap.llm import configured_llm_table
from opencrab.bootstrap.rules import configured_engine_rules
from opencrab.domain.access.authority import Scope
from opencrab.engine.learning.nightly.run import run_nightly_review
from opencrab.engine.learning.nightly.schedule import send_nightly_learning_reviews
from opencrab.engine.turn.run import Pace
from opencrab.settings import load_settings
from tests.integration.rest.house import House

START = datetime(2026, 11, 2, 9, tzinfo=UTC)
DAYS, A_DAY = 50, 20
SHOWN = (50, 200, 1_000)
OPINIONS, COMPLAINTS, THANKS = 0.3, 0.3, 0.2
"""How often somebody says what they think by a thumb; else, how often a bad answer is called wrong
and a good one thanked for in the next message."""

PRICES = {"dearer": ("0.5/2", "2/8"), "cheaper": ("2/8", "0.5/2"), "same": ("1/4", "1/4")}
"""Prices of the default model and of the other one, in dollars per million tokens."""

TASKS = {
    "conversation/conversation": "Hello there, tell me something nice about {topic}.",
    "creative/creative": "Write a short poem about {topic}.",
    "analysis/analysis": "Compare {topic} with {other} and summarise the differences.",
}
WORTH = {
    "conversation/conversation": {"plain": 0.55, "keen": 0.8},
    "creative/creative": {"plain": 0.75, "keen": 0.6},
    "analysis/analysis": {"plain": 0.5, "keen": 0.7},
}
SHARES = {
    "conversation/conversation": 0.6,
    "creative/creative": 0.2,
    "analysis/analysis": 0.2,
}
TOPICS = (
    "harbours",
    "gardens",
    "clocks",
    "trains",
    "rivers",
    "lanterns",
    "maps",
    "kettles",
    "owls",
)


class Vendor(BaseHTTPRequestHandler):
    """Answers in plain words, and remembers which model was asked."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True
    asked_for: str = ""
    failing: frozenset[str] = frozenset()

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        type(self).asked_for = body["model"]
        if body["model"] in self.failing:
            self.close_connection = True
            self.send_error(404)
            return
        text = f"Here is what I think, {len(body['messages'])} messages in."
        choice = {
            "index": 0,
            "message": {"role": "assistant", "content": text},
            "finish_reason": "stop",
        }
        usage = {"prompt_tokens": 3_000, "completion_tokens": 200, "total_tokens": 3_200}
        answer = {"id": "a", "object": "chat.completion", "model": body["model"]}
        reply = json.dumps(answer | {"choices": [choice], "usage": usage}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is given
        """Say nothing."""


@contextmanager
def vendor() -> Iterator[tuple[str, type[Vendor]]]:
    """A model server of its own on loopback."""
    own = type("OwnVendor", (Vendor,), {})
    server = ThreadingHTTPServer(("127.0.0.1", 0), own)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1", own
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def settings_with_two_models(url: str, prices: tuple[str, str], *, one: bool) -> dict[str, str]:
    """What an owner sets: two vendors, one of them the default, and an alias for each."""
    said = {"OPENCRAB_LLM__DEFAULT_PROVIDER": "plain", "OPENCRAB_LLM__DEFAULT_MODEL": "plain"}
    for alias, name, price in zip(("fast", "smart"), ("plain", "keen"), prices, strict=True):
        below = f"OPENCRAB_LLM__PROVIDERS__{name.upper()}__"
        said |= {
            f"{below}KIND": "openai",
            f"{below}BASE_URL": url,
            f"{below}DEFAULT_MODEL": name,
            f"{below}USD_PER_MILLION": price,
            f"{below}PRIVATE": "false",
        }
        if not (one and name == "keen"):
            said |= {
                f"OPENCRAB_LLM__ALIASES__{alias.upper()}__PROVIDER": name,
                f"OPENCRAB_LLM__ALIASES__{alias.upper()}__MODEL": name,
            }
    return said


class NewInstallation(House):
    """A house with the settings that ship and two models behind HTTP, whose clock is moved."""

    def __init__(
        self, folder: Path, url: str, prices: tuple[str, str], *, one: bool = False
    ) -> None:
        super().__init__(folder)
        self.clock = FakeClock(START)
        configured = load_settings({}, settings_with_two_models(url, prices, one=one))
        known = provider_catalogue_settings(
            configured_llm_table(configured),
            configured.pricing,
            configured.absent_below("llm.providers"),
        )
        usable = provider_settings_with_usable_default(known, None)
        self.client_of_models = HttpConnections()
        models = ProviderModels(lambda: usable, lambda: HttpTransport(self.client_of_models))
        self.furnish(
            clock=self.clock,
            models=models,
            directory=models,
            rules=configured_engine_rules(configured),
        )
        self.owner = self.key(Scope.OWNER)[0]

    def close(self) -> None:
        self.client_of_models.close()
        super().close()

    def sleep(self) -> None:
        """Let the night pass, and go on the next morning."""
        now = self.clock.now()
        night = now.replace(hour=18, minute=0, second=0) + timedelta(seconds=1)
        self.clock.advance(max((night - now).total_seconds(), 0))
        send_nightly_learning_reviews(self.runtime)
        queue = self.runtime.home.nights
        while (delivery := queue.receive(visibility_seconds=600, wait_seconds=0)) is not None:
            run_nightly_review(self.runtime, delivery, Pace())
            queue.acknowledge(delivery.receipt)
        now = self.clock.now()
        morning = (now + timedelta(days=1)).replace(hour=9, minute=0, second=0)
        self.clock.advance((morning - now).total_seconds())


@dataclass
class Person:
    """Somebody who talks and sometimes says what the answer was worth."""

    chance: random.Random
    owed: str = ""

    def message(self, task: str) -> str:
        """What is said next, after what is still to be said of the answer before."""
        topic, other = self.chance.sample(TOPICS, 2)
        said = TASKS[task].format(topic=topic, other=other)
        before, self.owed = self.owed, ""
        return f"{before} {said}".strip()

    def hears(self, *, good: bool) -> str | None:
        """Hear an answer: returns a thumb, or remembers what the next message begins with."""
        drawn = self.chance.random()
        if drawn < OPINIONS:
            return "up" if good else "down"
        if drawn < OPINIONS + (THANKS if good else COMPLAINTS):
            self.owed = "Thank you, that helped a lot." if good else "No, that is wrong."
        return None


@dataclass
class Told:
    """One life: what each turn's task was, who answered it, and what it cost and was worth."""

    turns: list[tuple[str, str]] = field(default_factory=list)
    greedy: list[float] = field(default_factory=list)
    spent: float = 0.0
    day_most: float = 0.0
    views: dict[int, Any] = field(default_factory=dict)

    def worth(self, first: int, last: int) -> float:
        """The mean worth of some turns."""
        return _mean([WORTH[task][model] for task, model in self.turns[first:last]])


@dataclass
class Greedy:
    """The rule to beat: each model once per task, then always the best so far."""

    seen: dict[tuple[str, str], list[float]] = field(default_factory=lambda: defaultdict(list))

    def choose(self, task: str) -> str:
        """The model for the next turn of a task."""
        for model in ("plain", "keen"):
            if not self.seen[task, model]:
                return model
        return max(("plain", "keen"), key=lambda model: _mean(self.seen[task, model]))


def live(seed: int, prices: str, *, days: int = DAYS, one: bool = False) -> Told:
    """One agent's first days in a new installation."""
    with tempfile.TemporaryDirectory() as folder, vendor() as (url, asked):
        house = NewInstallation(Path(folder), url, PRICES[prices], one=one)
        try:
            return _live(house, asked, seed, days)
        finally:
            house.close()


def _live(house: NewInstallation, asked: type[Vendor], seed: int, days: int) -> Told:
    chance = random.Random(seed)  # noqa: S311 - the same life each time
    told, greedy = Told(), Greedy()
    person = Person(random.Random(seed + 1))  # noqa: S311 - the same life each time
    agent = house.agent("Mika", language="en")
    for _day in range(days):
        session = house.session(agent)
        for _ in range(A_DAY):
            task = chance.choices(list(SHARES), list(SHARES.values()))[0]
            (turn,) = house.say(session, person.message(task))
            house.work()
            model = asked.asked_for
            good = chance.random() < WORTH[task][model]
            thumbs = person.hears(good=good)
            if thumbs is not None:
                house.made(f"/turns/{turn}/feedback", {"thumbs": thumbs})
            told.turns.append((task, model))
            _greedy_turn(greedy, told, task, chance.random())
            house.clock.advance(900)
            if len(told.turns) in SHOWN:
                told.views[len(told.turns)] = house.got(f"/agents/{agent}/experiments")
        spent = _spent_today(house, agent)
        told.day_most = max(told.day_most, spent)
        told.spent += spent
        house.sleep()
    return told


def _greedy_turn(greedy: Greedy, told: Told, task: str, drawn: float) -> None:
    """The same turn by the other rule, which sees an opinion as often as ours sees anything."""
    model = greedy.choose(task)
    told.greedy.append(WORTH[task][model])
    if drawn < OPINIONS + (1 - OPINIONS) * 0.25 or not greedy.seen[task, model]:
        greedy.seen[task, model].append(float(drawn * 1e6 % 1 < WORTH[task][model]))


def _spent_today(house: NewInstallation, agent: str) -> float:
    today = house.clock.now().date().isoformat()
    tallies = house.runtime.home.tallies.between(agent, today, today)
    return sum(tally.counts.get("cost", 0) for tally in tallies) / 1e6


def _mean(numbers: list[float]) -> float:
    return sum(numbers) / len(numbers) if numbers else 0.0


def better(task: str) -> str:
    """The model that is better at a task."""
    return max(WORTH[task], key=lambda model: WORTH[task][model])


def tables(lives: Mapping[str, list[Told]]) -> str:
    """Shares and worths after so many turns, for each relation of prices."""
    rows = [
        "| the other model is | after turns | better model: conversation | creative | analysis | "
        "worth, last 50 | always default | greedy | best | dollars a day | most in a day |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for prices, each in lives.items():
        rows += [_row(prices, shown, each) for shown in SHOWN if len(each[0].turns) >= shown]
    return "\n".join(rows)


def _row(prices: str, shown: int, lives: list[Told]) -> str:
    last = [turn for told in lives for turn in told.turns[shown - 50 : shown]]
    shares = []
    for task in TASKS:
        of_task = [model for name, model in last if name == task]
        shares.append(f"{_mean([float(model == better(task)) for model in of_task]):.0%}")
    worths = (
        _mean([WORTH[task][model] for task, model in last]),
        _mean([WORTH[task]["plain"] for task, _ in last]),
        _mean([worth for told in lives for worth in told.greedy[shown - 50 : shown]]),
        _mean([max(WORTH[task].values()) for task, _ in last]),
    )
    days = len(lives[0].turns) / A_DAY
    money = (_mean([told.spent for told in lives]) / days, max(told.day_most for told in lives))
    numbers = (f"{worth:.3f}" for worth in worths)
    cost = (f"${dollars:.3f}" for dollars in money)
    return f"| {' | '.join((prices, str(shown), *shares, *numbers, *cost))} |"


def main(seeds: int, days: int) -> None:
    """Live so many lives for each relation of prices, and print the tables."""
    found = dict[str, list[Told]]()
    with ProcessPoolExecutor(int(os.environ.get("JOBS", "1"))) as pool:
        for prices in PRICES:
            found[prices] = list(pool.map(partial(live, prices=prices, days=days), range(seeds)))
            sys.stdout.write(f"{tables({prices: found[prices]})}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    numbers = [int(each) for each in sys.argv[1:] if re.fullmatch(r"[0-9]+", each)]
    main(*(numbers or [3]), *([DAYS] if len(numbers) < 2 else []))
