"""Canaries: nobody finds over REST what they may not hear of, however they ask."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from opencrab.domain.access.authority import Scope
from opencrab.domain.conversation.session import Hearing, Participant, Session
from opencrab.domain.document import new_fact
from opencrab.domain.memory.memory import EXPERIENCE, MEMORY, Experience, Memory
from opencrab.domain.outcome import Outcome
from tests.integration.rest.house import House
from tests.integration.rest.remembering import remembering

QUERIES = 150
SUBJECT = "金庫 の 合言葉 vault password"
WORDS = (
    *("金庫", "合言葉", "vault", "password", "canary", "カナリア", "*", '"', "OR", "NEAR("),
    *("agent_id:", "-x", "session_id:*", "')", "🦀", "ｶﾅﾘｱ", "どこ", "what is the"),
)
KINDS = ("speech", "instruction", "inner_voice", "memory", "experience", "summary")


@dataclass
class Town:
    """Two agents, the keys of some people, and who may find which canary."""

    house: House
    agents: list[str] = field(default_factory=list)
    keys: dict[str, str] = field(default_factory=dict)
    people: dict[str, str] = field(default_factory=dict)
    sessions: list[str] = field(default_factory=list)
    allowed: dict[str, set[tuple[str, str]]] = field(default_factory=dict)

    def sing(self, agent: str, *who: str) -> str:
        """A new canary of an agent that these people may find."""
        canary = f"カナリア{len(self.allowed):03}canary"
        self.allowed[canary] = {(agent, name) for name in (*who, "owner")}
        return f"{SUBJECT} {canary}"

    def found(self, agent: str, name: str, **query: Any) -> set[str]:
        """The canaries that somebody finds, anywhere in the answer."""
        path = f"/agents/{agent}/memory/search"
        answer = self.house.call("POST", path, {"limit": 50, **query}, key=self.keys[name])
        assert answer.status_code in {200, 404}, answer.text
        return {canary for canary in self.allowed if canary in answer.text}


def _session(town: Town, agent: str, hearing: Hearing, *speakers: str) -> None:
    house, now = town.house, town.house.runtime.clock.now()
    session = Session(
        id=house.runtime.clock.new_id(),
        participants=(Participant(agent_id=agent),),
        hearing=hearing,
        guild_id="guild" if hearing is Hearing.GUILD else None,
        created_by=town.people["owner"],
        created_at=now,
        updated_at=now,
    )
    house.runtime.home.sessions.create(session)
    town.sessions.append(session.id)
    for name in speakers:
        house.invite(session.id, town.keys[name])
    heard = {
        Hearing.PRIVATE: (),
        Hearing.SESSION: speakers,
        Hearing.GUILD: speakers,
        Hearing.PUBLIC: tuple(name for name in town.keys if name != "reader"),
    }[hearing]
    for name in speakers:
        text = town.sing(agent, *heard)
        house.made(f"/sessions/{session.id}/messages", {"text": text}, key=town.keys[name])
    if hearing is Hearing.SESSION:
        hidden = town.sing(agent)
        house.made(f"/sessions/{session.id}/mentor", {"text": hidden})


def _kept(town: Town, agent: str) -> None:
    runtime, now = town.house.runtime, town.house.runtime.clock.now()
    everybody = tuple(town.keys)
    for hearing in Hearing:
        text = town.sing(agent, *(everybody if hearing is Hearing.PUBLIC else ()))
        memory = Memory(
            id=runtime.clock.new_id(),
            category="fact",
            content=text,
            hearing=hearing,
            guild_id="guild" if hearing is Hearing.GUILD else None,
            created_at=now,
            updated_at=now,
        )
        runtime.home.facts.commit(new_fact(agent, MEMORY, memory.id, memory))
    lived = Experience(
        id=runtime.clock.new_id(),
        experience=town.sing(agent),
        outcome=Outcome.SUCCESS,
        lesson="黙っている",
        at=now,
    )
    runtime.home.facts.commit(new_fact(agent, EXPERIENCE, lived.id, lived))


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Town]:
    """Two agents who lived through the same, each with canaries of its own."""
    with remembering(tmp_path_factory.mktemp("canary")) as house:
        town = Town(house)
        for name, scope in (("owner", Scope.OWNER), ("美香", Scope.CHAT), ("Ren", Scope.CHAT)):
            secret, key = house.key(scope)
            town.keys[name], town.people[name] = secret, key.id
        town.keys["stranger"] = house.key(Scope.CHAT)[0]
        town.agents = [house.agent("Mika"), house.agent("Ada")]
        for agent in town.agents:
            _session(town, agent, Hearing.PRIVATE, "owner", "美香")
            _session(town, agent, Hearing.SESSION, "美香")
            _session(town, agent, Hearing.SESSION, "美香", "Ren")
            _session(town, agent, Hearing.GUILD, "Ren")
            _session(town, agent, Hearing.PUBLIC, "owner")
            _kept(town, agent)
        yield town


def test_everybody_finds_all_that_they_may_hear_of(town: Town) -> None:
    for agent in town.agents:
        for name in town.keys:
            wanted = {canary for canary, who in town.allowed.items() if (agent, name) in who}
            assert town.found(agent, name, query="金庫の合言葉") == wanted, name


def test_no_question_finds_a_canary_of_somebody_else(town: Town) -> None:
    chance = random.Random(20_260_217)  # noqa: S311 - the same questions each time
    canaries = sorted(town.allowed)
    names = [*town.people.values(), "美香", "Ren", "nobody"]
    for _ in range(QUERIES):
        agent, name = chance.choice(town.agents), chance.choice(sorted(town.keys))
        parts = [chance.choice(WORDS) for _ in range(chance.randint(0, 5))]
        query: dict[str, Any] = {"query": " ".join([chance.choice(canaries), *parts])}
        if chance.random() < 0.3:
            query["session_id"] = chance.choice(town.sessions)
        if chance.random() < 0.3:
            query["kinds"] = chance.sample(KINDS, chance.randint(0, 3))
        if chance.random() < 0.2:
            query["hearings"] = [chance.choice(list(Hearing)).value]
        if chance.random() < 0.2:
            query["speaker"] = chance.choice(names)
        found = town.found(agent, name, **query)
        assert [each for each in found if (agent, name) not in town.allowed[each]] == [], query
