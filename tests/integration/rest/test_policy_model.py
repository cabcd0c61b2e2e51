"""Two people, ten agents, two Discord channels: nobody reads what is not theirs."""

import asyncio
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from opencrab.adapters.sqlite_search.live import LiveSearch
from opencrab.domain.access.authority import Authority, Scope, Source
from opencrab.domain.conversation.message import Message, Sender, TextPart
from opencrab.domain.conversation.session import Hearing, Participant, Session
from opencrab.engine.access.api_keys import principal_of_api_key
from opencrab.engine.turn.admission import admit_turns_of_message
from tests.integration.rest.house import House
from tests.integration.rest.policy_model import Model, Place
from tests.integration.rest.remembering import remembering
from tests.soak import count

SEEDS = 5
AGENTS = 10
INDEXED = 200
WORD = "カナリア"
_CANARY = re.compile(r"canary\d{6}x")


class Town:
    """People with keys, agents with files, sessions; and the model of who may see what."""

    def __init__(self, house: House, seed: int) -> None:
        self.house, self.model, self.random = house, Model(), random.Random(seed)  # noqa: S311
        self.sung = self.position = 0
        self.agents = [house.agent(f"a{number}") for number in range(AGENTS)]
        self.keys = {"owner": house.owner, "mika": house.key(Scope.CHAT)[0]}
        self.keys["ken"] = house.key(Scope.CHAT)[0]
        self.people = {
            name: principal_of_api_key(house.runtime.home.keys, self.keys[name]).id
            for name in ("mika", "ken")
        }
        for agent in self.agents:
            for path in ("diary.txt", "public/menu.txt"):
                canary = self.sing()
                house.call("PUT", f"/agents/{agent}/workspace/{path}", content=canary.encode())
                self.model.files[agent, path] = canary
        for hearing in (Hearing.PRIVATE, Hearing.SESSION):
            for name in ("mika", "ken"):
                self.open_session(name, self.agents[len(self.model.places)])
            self.discord(hearing)
        first = next(iter(self.model.places))
        for grant in ("all", "metrics", f"sessions:{first}", f"agent:{self.agents[0]}"):
            self.keys[grant] = house.granted(grant)[0]

    def index(self) -> None:
        """Let the search find what was said until now."""
        feed, search = self.house.runtime.home.feed, self.house.runtime.search
        assert feed is not None
        assert isinstance(search, LiveSearch)
        while entries := feed.read(after=self.position, limit=1_000):
            search.index_entries(entries)
            self.position = entries[-1].position

    def sing(self) -> str:
        """A word that nobody else says."""
        self.sung += 1
        return f"canary{self.sung:06d}x"

    def open_session(self, name: str, agent: str) -> None:
        """A session that somebody opened over REST."""
        body = {"participants": [agent]}
        made = self.house.made("/sessions", body, key=self.keys[name])
        self.model.places[made["id"]] = Place(made["id"], name, agent)

    def discord(self, hearing: Hearing) -> None:
        """A channel of a Discord server with somebody's words in it; no key has a part in it."""
        runtime, agent = self.house.runtime, self.agents[-1]
        now, canary = runtime.clock.now(), self.sing()
        session = Session(
            id=runtime.clock.new_id(),
            participants=(Participant(agent_id=agent),),
            hearing=hearing,
            guild_id="guild",
            created_by="discord-1",
            created_at=now,
            updated_at=now,
        )
        runtime.home.sessions.create(session)
        message = Message(
            source=Source.DISCORD,
            source_id=canary,
            principal_id="discord-1",
            sender=Sender(id="discord-1", name="ゆき"),
            authority=Authority.PUBLIC,
            parts=(TextPart(text=canary),),
        )
        admit_turns_of_message(runtime, session.id, message)
        self.model.places[session.id] = Place(session.id, "discord-1", agent, canaries={canary})

    async def act(self, client: httpx.AsyncClient) -> None:
        """One random action by a random key, compared with the model."""
        who = self.random.choice(list(self.keys))
        place = self.random.choice(list(self.model.places.values()))
        await self.random.choice((self.say, self.share, self.read, self.read, self.look))(
            client, who, place
        )

    async def say(self, client: httpx.AsyncClient, who: str, place: Place) -> None:
        canary = self.sing()
        status = self.model.may_say(who, place)
        body = {"text": f"{WORD} {canary}"}
        await self.ask(client, who, "POST", f"/sessions/{place.id}/messages", status, body=body)
        if status == 202:
            place.canaries.add(canary)

    async def share(self, client: httpx.AsyncClient, who: str, place: Place) -> None:
        name, method = self.random.choice(("mika", "ken")), self.random.choice(("PUT", "DELETE"))
        status = self.model.may_share(who, place)
        path = f"/sessions/{place.id}/members/{self.people[name]}"
        await self.ask(client, who, method, path, status)
        if status == 200:
            (place.members.add if method == "PUT" else place.members.discard)(name)

    async def read(self, client: httpx.AsyncClient, who: str, place: Place) -> None:
        what = self.random.choice(("", "/messages?order=newest", "/fairness", "/events?seconds=1"))
        if what.startswith("/events"):
            what = "/messages"
        status = 200 if self.model.sees(who, place) else 404
        await self.ask(client, who, "GET", f"/sessions/{place.id}{what}", status)

    async def look(self, client: httpx.AsyncClient, who: str, place: Place) -> None:
        """Read files, search, list: whatever is answered, no foreign canary is in it."""
        agent = self.random.choice(self.agents)
        path = self.random.choice(("diary.txt", "public/menu.txt"))
        status = 200 if self.model.may_read_file(who, agent, path) else 404
        match self.random.randrange(3):
            case 0:
                await self.ask(client, who, "GET", f"/agents/{agent}/workspace/{path}", status)
            case 1:
                listed = await self.ask(client, who, "GET", "/sessions?limit=200", 200)
                seen = {each["id"] for each in listed.json()["items"]}
                expected = {p.id for p in self.model.places.values() if self.model.sees(who, p)}
                assert seen == expected, who
            case _ if who in {"owner", "mika", "ken"}:
                path, body = f"/agents/{place.agent}/memory/search", {"query": WORD, "limit": 50}
                await self.ask(client, who, "POST", path, 200, body=body)

    async def ask(
        self,
        client: httpx.AsyncClient,
        who: str,
        method: str,
        path: str,
        status: int,
        *,
        body: Any = None,
    ) -> httpx.Response:
        """One request; its status and every canary in it must be as the model says."""
        answer = await self.house.ask(client, method, path, body, key=self.keys[who])
        assert answer.status_code == status, (who, method, path, answer.text)
        found = set(_CANARY.findall(answer.text))
        assert found <= self.model.readable(who), (who, method, path, found)
        return answer


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    with remembering(tmp_path) as house:
        yield house


@pytest.mark.parametrize("seed", range(SEEDS))
def test_nobody_reads_what_is_not_theirs(house: House, seed: int) -> None:
    town = Town(house, seed)

    async def play() -> None:
        async with house.client() as client:
            for number in range(count("random actions with keys") // SEEDS):
                if number % INDEXED == 0:
                    town.index()
                await town.act(client)

    asyncio.run(play())
