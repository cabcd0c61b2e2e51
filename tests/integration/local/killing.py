"""People who talk to `opencrab up` while it is killed, and what it was doing when it died.

It is the real command with the real adapters; the vendor of its models and its Discord are servers
of this process, so that a kill can fall where either has just been asked. Ten lives are a day of
its clock: then it comes to rest, and wakes up on the evening after, when there is a night to do.
"""

import http.client
import json
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any, cast

from opencrab.adapters.sqlite.home import FILE
from opencrab.adapters.system_clock import FakeClock, SystemClock
from tests.discord.fake import GUILD_ID, OTHER_CHANNEL, OWNER, SERVER_CHANNEL, FakeDiscord
from tests.discord.limits import Rate
from tests.discord.state import Place
from tests.integration.local.vendor import Ambush, Vendor, vendor_at
from tests.running import Server, server

KINDS = ("turn", "summary", "delivery", "night", "words")
ANYTIME = "anytime"
MODEL = "gpt-5-mini"
MODEL_SECONDS = 0.04
COMPACT_EVERY = 8
PEOPLE = 4
TEXT = "{key} を買い物メモに書いて。牛乳と卵。Put milk and eggs on the shopping list."
EVENING = timedelta(hours=18, minutes=40)
DAYS_BACK = 60
"""Where its days begin: never after the machine's own, by which its files are dated."""

GONE = (OSError, http.client.HTTPException, ValueError)
PLACES = (SERVER_CHANNEL, OTHER_CHANNEL)
_PATIENCE_SECONDS = 60.0
_REST_SECONDS = 600.0
_BUSY = (
    "SELECT (SELECT count(*) FROM queue"
    " WHERE queue IN ('turns','deliveries','compactions','nights'))"
    " + (SELECT count(*) FROM item WHERE due_list='outbox')"
)
"""What a worker that died before it queued an answer has left is queued by the sweep."""

_NIGHT = "SELECT count(*) FROM queue WHERE queue='nights' AND receipt IS NOT NULL"
_HELD = (
    "SELECT queue.queue, item.body FROM queue LEFT JOIN item"
    " ON item.pk='TURN#'||json_extract(queue.body,'$.turn') AND item.sk='H'"
    " WHERE queue.receipt IS NOT NULL AND (queue.queue IN ('turns','compactions'))"
    " UNION ALL SELECT queue.queue, NULL FROM queue"
    " WHERE queue.receipt IS NOT NULL AND queue.queue IN ('deliveries','nights')"
)


class WallClock(SystemClock):
    """The machine's clock for a Discord that is told when to wait."""

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        time.sleep(seconds)


@dataclass
class Person:
    """One who says one thing after another, and each of them again until it is acknowledged.

    After `most` things there is nothing more to say.
    """

    prefix: str
    say: Callable[[Server, str], Any]
    pause_seconds: float
    acknowledged: dict[str, str] = field(default_factory=dict)
    refusals: list[str] = field(default_factory=list)
    most: int | None = None
    _said: int = 0

    def speak(self, running: Server, resting: threading.Event) -> None:
        """Talk until the server is gone, until it is time to rest, or until all is said."""
        while not resting.is_set() and self._said != self.most:
            key = f"{self.prefix}-{self._said}"
            try:
                answer = self.say(running, key)
            except GONE:
                if running.process.poll() is not None:
                    return
                resting.wait(0.2)
                continue
            except AssertionError as refusal:
                self.refusals.append(str(refusal))
                resting.wait(0.2)
                continue
            (self.acknowledged[key],) = answer["turn_ids"]
            self._said += 1
            resting.wait(self.pause_seconds)


@dataclass(frozen=True)
class Kill:
    """One `kill -9`: what it was meant to strike, what was going on, and how many calls ran."""

    aim: str
    struck: frozenset[str]
    running: int


class Installation:
    """One data folder, those who talk to it, and the lives of its process.

    Four people talk over REST, and one in each of the `places` on Discord.
    """

    def __init__(self, data: Path, seed: int, places: Sequence[Place] = PLACES) -> None:
        self.data, self.kills, self.day = data, list[Kill](), 0
        self._places = places
        self.ambush = Ambush()
        self.vendor = Vendor(self.ambush, MODEL_SECONDS)
        self.discord = FakeDiscord(cast(FakeClock, WallClock()))
        self.discord.api.limits.rates = {"": Rate(1_000, 1)}
        self.discord.api.on_answer = self._on_discord
        self.people: list[Person] = []
        self.agents: list[str] = []
        self._chance = Random(seed)  # noqa: S311 - the same moments each time
        midnight = SystemClock().now().replace(hour=0, minute=0, second=0, microsecond=0)
        self._first_evening = midnight - timedelta(days=DAYS_BACK) + EVENING
        self._model_url = ""
        self._new_day()

    @contextmanager
    def outside(self) -> Iterator[None]:
        """The vendor and Discord, which outlive every process."""
        with vendor_at(self.vendor) as self._model_url, self.discord:
            yield

    @contextmanager
    def life(self) -> Iterator[Server]:
        """One process, ready."""
        shift, more = self._shift, self._environment()
        with server(self.data, ahead_seconds=shift, more=more) as running:
            if not self.people:
                self._introduce(running)
            yield running

    def die(self, aim: str) -> Kill:
        """One life among people who talk, until a kill strikes work of this kind, or anything."""
        if aim in KINDS:
            self.ambush.lay(aim, skip=self._chance.randrange(4) if aim == "turn" else 0)
        with self.life() as running, self.everybody_talks(running):
            self._lie_in_wait(aim)
            running.process.kill()
            running.process.wait()
            self.ambush.lift()
        self.kills.append(Kill(aim, *self._work_in_progress()))
        return self.kills[-1]

    def rest(self) -> None:
        """A life in which nobody talks and everything comes to its end; then a new day."""
        with self.life() as running:
            self.await_rest()
            running.process.kill()
        self._new_day()

    def await_rest(self) -> None:
        """Wait until nothing is left to do."""
        rests = self._until(_BUSY, lambda busy: busy == 0, _REST_SECONDS)
        assert rests, f"there is still work to do after {_REST_SECONDS:g} s"

    @contextmanager
    def everybody_talks(self, running: Server) -> Iterator[None]:
        """Within the block all people talk, as long as there is somebody to talk to."""
        resting = threading.Event()
        threads = [
            threading.Thread(target=person.speak, args=(running, resting)) for person in self.people
        ]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            resting.set()
            for thread in threads:
                thread.join(_PATIENCE_SECONDS)

    def _new_day(self) -> None:
        there = self._first_evening + timedelta(days=self.day)
        self._shift = (there - SystemClock().now()).total_seconds()
        self.day += 1

    def _lie_in_wait(self, aim: str) -> None:
        if aim == ANYTIME:
            time.sleep(self._chance.uniform(0.0, 3.0))
        elif aim == "night":
            self._until(_NIGHT, bool, _PATIENCE_SECONDS)
        else:
            self.ambush.seen.wait(_PATIENCE_SECONDS)
            # The first of each kind is struck for certain, while it is held.
            if self._chance.random() < 0.5 and aim in tally(self.kills):
                self.ambush.lift()
                time.sleep(self._chance.uniform(0.0, 2 * MODEL_SECONDS))

    def _until(self, query: str, holds: Callable[[int], bool], seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        with closing(self._database()) as database:
            while not holds(database.execute(query).fetchone()[0]):
                if time.monotonic() > deadline:
                    return False
                time.sleep(0.002)
        return True

    def _database(self) -> sqlite3.Connection:
        return sqlite3.connect(f"file:{self.data / FILE}?mode=ro", uri=True, timeout=10)

    def _work_in_progress(self) -> tuple[frozenset[str], int]:
        """What the dead process held in its hands, by what it left on the disk."""
        with closing(self._database()) as database:
            held = database.execute(_HELD).fetchall()
        kinds = [kind for queue, body in held if (kind := _kind(queue, body))]
        return frozenset(kinds), sum(kind in {"turn", "summary", "words"} for kind in kinds)

    def _introduce(self, running: Server) -> None:
        """Agents whose nightly reports are put into words, and somebody for each to talk to."""
        for number in range(PEOPLE):
            agent_id = self._agent(running, f"蟹{number}")
            session = running.call("POST", "/sessions", {"participants": [agent_id]})
            # Half of them wait for the answer: a kill cuts them off, and they ask again.
            say = _Rest(session["id"], wait=2.0 if number % 2 else None)
            self.people.append(Person(f"R{number}", say, 0.3))
        for number, place in enumerate(self._places):
            agent_id = self._agent(running, f"海老{number}")
            spot = {"channel_id": place.channel_id, "mentions_only": False}
            running.call("PUT", f"/agents/{agent_id}/discord", {"spots": [spot]})
            self.people.append(Person(f"D{number}", _OnDiscord(self.discord, place), 0.5))

    def _agent(self, running: Server, name: str) -> str:
        # Each message is to have an answer of its own, also where the next one comes before it.
        new = {"name": name, "language": "ja", "interrupt": "queue"}
        agent_id: str = running.call("POST", "/agents", new)["id"]
        wanted = {"model": f"openai:{MODEL}", "aim": {"worded": True}}
        running.call("PUT", f"/agents/{agent_id}/llm/config", wanted)
        self.agents.append(agent_id)
        return agent_id

    def _on_discord(self, line: str) -> None:
        if line.startswith("POST /channels/"):
            self.ambush.passed("delivery")

    def _environment(self) -> dict[str, str]:
        return {
            "OPENAI_API_KEY": "sk-made-up",
            "OPENCRAB_LLM__PROVIDERS__OPENAI__BASE_URL": self._model_url,
            "OPENCRAB_LLM__PROVIDERS__OPENAI__STREAM": "false",
            "OPENCRAB_LLM__PRICES_URL": "https://127.0.0.1:9/there-are-none",
            "OPENCRAB_MEMORY__COMPACT_EVERY_LINES": str(COMPACT_EVERY),
            "OPENCRAB_GATEWAY__DISCORD__ENABLED": "true",
            "OPENCRAB_GATEWAY__DISCORD__API": self.discord.url,
            "OPENCRAB_GATEWAY__DISCORD__APPLICATION_ID": self.discord.application_id,
            "OPENCRAB_GATEWAY__DISCORD__PUBLIC_KEY": self.discord.public_key,
            "OPENCRAB_GATEWAY__DISCORD__OWNER_IDS": OWNER.id,
            "OPENCRAB_GATEWAY__DISCORD__GUILD_IDS": GUILD_ID,
            "DISCORD_TOKEN": self.discord.token,
        }


@dataclass(frozen=True)
class _Rest:
    """Talks in a session over REST; with `wait` until there is an answer, or for so long."""

    session_id: str
    wait: float | None

    def __call__(self, running: Server, key: str) -> Any:
        path = f"/sessions/{self.session_id}/messages"
        return running.call("POST", path, {"text": TEXT.format(key=key)}, self.wait, key=key)


@dataclass
class _OnDiscord:
    """Talks in a channel, from which a relay brings every message until it is taken."""

    discord: FakeDiscord
    place: Place
    said: dict[str, str] = field(default_factory=dict)

    def __call__(self, running: Server, key: str) -> Any:
        text = TEXT.format(key=key)
        if key not in self.said:
            self.said[key] = self.discord.say(text, OWNER, self.place).id
        body = {
            "id": self.said[key],
            "channel_id": self.place.channel_id,
            "guild_id": GUILD_ID,
            "author": {"id": OWNER.id, "name": OWNER.name},
            "content": text,
        }
        return running.call("POST", "/discord/messages", body)


def _kind(queue: str, body: str | None) -> str:
    """Which kind of work a message that a worker held was; "" for a request to begin some."""
    if queue in {"deliveries", "nights"}:
        return {"deliveries": "delivery", "nights": "night"}[queue]
    turn = json.loads(body) if body else {"status": "", "group": ""}
    if turn.get("status") != "running":
        return ""
    if queue == "turns":
        return "turn"
    return "words" if turn["group"].startswith("words:") else "summary"


def tally(kills: list[Kill]) -> Counter[str]:
    """How many kills struck each kind of work."""
    return Counter(kind for kill in kills for kind in kill.struck)
