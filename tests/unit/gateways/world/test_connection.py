"""A world over a connection: it proves itself, and each side acknowledges what it has stored."""

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from opencrab.adapters.local_files.secrets import FileSecrets
from opencrab.bootstrap.world import local_world_link
from opencrab.domain.errors import Invalid, NotFound, Refused, TooLarge, Unavailable
from opencrab.domain.identifier import content_hash
from opencrab.domain.world import outgoing as limits
from opencrab.domain.world.binding import WorldBinding, WorldEnvelope
from opencrab.engine.world.binding import bind_to_world, world_of_agent
from opencrab.engine.world.connection import GATEWAY, JOIN
from opencrab.engine.world.outgoing import StoredEnvelopes
from opencrab.engine.world_outbox import WorldOutbox
from opencrab.gateways.world.connection import (
    MOST_IN_WINDOW,
    RESEND_MS,
    WorldConnection,
    WorldGate,
)
from tests.contract.homes import sqlite
from tests.crash.outside import Reply
from tests.e2e.house import House
from tests.world.reference import ReferenceWorld


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    """A local installation whose outbox is its own."""
    made = House(sqlite, tmp_path)
    made.agent("crab", (Reply(text="…"),))
    link = local_world_link(FileSecrets(tmp_path / "secrets"), made.home.facts, made.clock)
    made.runtime = replace(made.runtime, world=link)
    yield made
    made.close()


@pytest.fixture
def kingdom(house: House) -> ReferenceWorld:
    return ReferenceWorld(house.clock)


@pytest.fixture
def crab(house: House, kingdom: ReferenceWorld) -> WorldBinding:
    return kingdom.admit(bind_to_world(house.runtime, "crab", kingdom.binding()))


def gate(house: House) -> WorldGate:
    return WorldGate(house.runtime, StoredEnvelopes(house.home.facts, house.clock))


def joining(kingdom: ReferenceWorld, connection: WorldConnection, **changes: Any) -> bytes:
    """The signed challenge."""
    challenge = json.loads(connection.hello())["challenge"]
    told = {"code": JOIN, "reply_to": challenge, **changes}
    return kingdom.say(GATEWAY, "EVENT", {}, **told)


def joined(house: House, kingdom: ReferenceWorld) -> WorldConnection:
    connection = gate(house).open()
    connection.receive_envelope(joining(kingdom, connection))
    return connection


def claim(house: House, nonce: int, at: datetime) -> None:
    """A message of the agent, with the nonce and the time of its call."""
    assert house.runtime.world is not None
    post = WorldOutbox(house.runtime.world, house.home.facts)
    told = {"bounty_id": f"懸賞{nonce}", "claimer": "crab"}
    post.send("crab", "BOUNTY_CLAIM", told, nonce=f"{nonce:032x}", at=at)


def acknowledgement(raw: bytes, kind: str = "ack") -> str:
    return json.dumps({"type": kind, "frame": content_hash(raw), "error": "知らない"})


def test_a_world_that_signs_the_challenge_learns_its_agents(
    house: House, kingdom: ReferenceWorld, crab: WorldBinding
) -> None:
    connection = gate(house).open()
    told = json.loads(connection.receive_envelope(joining(kingdom, connection)))
    assert (told["type"], told["world_id"]) == ("joined", "kingdom")
    assert told["citizens"] == [
        {"key_id": crab.key_id, "public_key": crab.public_key, "role": "EXPLORER"}
    ]


def test_nobody_else_is_let_in(house: House, kingdom: ReferenceWorld, crab: WorldBinding) -> None:
    stranger = kingdom.envelopes.new_key()
    for error, changes in (
        (Refused, {"reply_to": "0" * 32}),
        (Refused, {"key": stranger}),
        (Refused, {"key": stranger, "sender": stranger.key_id}),
        (Invalid, {"recipient": "Nexus"}),
        (Invalid, {"code": 0x0012}),
        (NotFound, {"world_id": "elsewhere"}),
    ):
        connection = gate(house).open()
        with pytest.raises(error):
            connection.receive_envelope(joining(kingdom, connection, **changes))
        assert connection.due_envelopes() == []
        with pytest.raises(Refused):
            connection.receive_text(acknowledgement(b""))
    connection = gate(house).open()
    late = joining(kingdom, connection)
    house.clock.advance(6 * 60)
    with pytest.raises(Refused, match="five minutes"):
        connection.receive_envelope(late)
    with pytest.raises(TooLarge):
        gate(house).open().receive_envelope(b"\x00" * 70_000)


def test_a_message_is_acknowledged_after_it_was_stored_and_taken_once(
    house: House, kingdom: ReferenceWorld, crab: WorldBinding
) -> None:
    connection = joined(house, kingdom)
    raw = kingdom.allocation(crab, 4)
    answers = [json.loads(connection.receive_envelope(raw)) for _ in range(2)]
    assert [(each["type"], each["outcome"]) for each in answers] == [
        ("ack", "taken"),
        ("ack", "again"),
    ]
    assert {each["frame"] for each in answers} == {content_hash(raw)}
    assert world_of_agent(house.home, "crab").units == 4


def test_what_is_refused_is_said_with_its_reason_and_the_connection_stays(
    house: House, kingdom: ReferenceWorld, crab: WorldBinding
) -> None:
    connection = joined(house, kingdom)
    stranger = kingdom.envelopes.new_key()
    forged = kingdom.say(crab.key_id, "EVENT", {"words": "秘密"}, key=stranger)
    unknown = kingdom.say(crab.key_id, "EVENT", {}, code=0x0999)
    other = kingdom.say(
        crab.key_id, "TICK_ALLOC", {"agent_id": b"\x01" * 32, "budget": 9, "cycle": 1}
    )
    for raw in (forged, unknown, other, b"\x00"):
        told = json.loads(connection.receive_envelope(raw))
        assert (told["type"], told["frame"]) == ("refused", content_hash(raw))
        assert told["error"]
    assert json.loads(connection.receive_envelope(kingdom.allocation(crab, 4)))["type"] == "ack"


def test_a_connection_speaks_for_its_own_world_only(
    house: House, kingdom: ReferenceWorld, crab: WorldBinding
) -> None:
    house.agent("other", (Reply(text="…"),))
    empire = ReferenceWorld(house.clock, world_id="empire")
    other = bind_to_world(house.runtime, "other", empire.binding())
    told = json.loads(joined(house, kingdom).receive_envelope(empire.allocation(other, 4)))
    assert (told["type"], told["error"]) == ("refused", "this connection is another world's")


def test_agents_messages_are_resent_until_acknowledged_and_marked_once(
    house: House, kingdom: ReferenceWorld, crab: WorldBinding
) -> None:
    connection = joined(house, kingdom)
    connection.receive_envelope(kingdom.allocation(crab, 4))
    assert house.runtime.world is not None
    at = house.clock.now()
    claim(house, 1, at)
    claim(house, 1, at)
    claim(house, 2, at)
    first, second = connection.due_envelopes()
    assert connection.due_envelopes() == []
    house.clock.advance(RESEND_MS / 1_000)
    assert connection.due_envelopes() == [first, second]
    connection.receive_text(acknowledgement(first))
    connection.receive_text(acknowledgement(first))
    assert joined(house, kingdom).due_envelopes() == [second]
    claim(house, 1, at)
    connection.receive_text(acknowledgement(second, "refused"))
    assert joined(house, kingdom).due_envelopes() == []
    assert world_of_agent(house.home, "crab").units == 2


def test_a_world_hears_only_agents_that_are_bound_with_its_key(
    house: House, kingdom: ReferenceWorld, crab: WorldBinding
) -> None:
    house.agent("squid", (Reply(text="…"),))
    impostor = ReferenceWorld(house.clock, world_id=crab.world_id)
    squid = impostor.admit(bind_to_world(house.runtime, "squid", impostor.binding()))
    joined(house, kingdom).receive_envelope(kingdom.allocation(crab, 4))
    claim(house, 1, house.clock.now())
    connection = joined(house, impostor)
    assert connection.world is not None
    assert [each.key_id for each in connection.world.citizens] == [squid.key_id]
    assert connection.due_envelopes() == []
    assert len(joined(house, kingdom).due_envelopes()) == 1


def test_an_agent_that_says_much_keeps_no_other_from_being_heard(
    house: House, kingdom: ReferenceWorld, crab: WorldBinding
) -> None:
    house.agent("squid", (Reply(text="…"),))
    squid = kingdom.admit(bind_to_world(house.runtime, "squid", kingdom.binding()))
    opened = StoredEnvelopes(house.home.facts, house.clock)
    told = WorldEnvelope(
        world_id="kingdom",
        code=0x0601,
        sender=squid.key_id,
        recipient="Mint",
        nonce="0" * 32,
        at=house.clock.now(),
    )
    for number in range(limits.UNACKNOWLEDGED):
        opened.send(b"much %d" % number, told.replaced(nonce=f"{number:032x}"))
    later = told.replaced(sender=crab.key_id, at=house.clock.now())
    opened.send(b"at last", later)
    assert b"at last" in joined(house, kingdom).due_envelopes()


def test_a_new_message_wakes_the_connection(
    house: House, kingdom: ReferenceWorld, crab: WorldBinding
) -> None:
    opened = StoredEnvelopes(house.home.facts, house.clock)
    woken = list[str]()
    connection = WorldGate(house.runtime, opened).open()
    end = connection.watch(lambda: woken.append("now"))
    told = WorldEnvelope(
        world_id="kingdom",
        code=0x0601,
        sender=crab.key_id,
        recipient="Mint",
        nonce="0" * 32,
        at=house.clock.now(),
    )
    opened.send(b"raw", told)
    end()
    opened.send(b"raw", told.replaced(nonce="1" * 32))
    assert woken == ["now"]


def test_a_silent_world_is_not_written_to_without_end(
    house: House, kingdom: ReferenceWorld, crab: WorldBinding
) -> None:
    opened = StoredEnvelopes(house.home.facts, house.clock)
    told = WorldEnvelope(
        world_id="kingdom",
        code=0x0601,
        sender=crab.key_id,
        recipient="Mint",
        nonce="0" * 32,
        at=house.clock.now(),
    )
    for number in range(limits.UNACKNOWLEDGED):
        opened.send(b"raw", told.replaced(nonce=f"{number:032x}"))
    with pytest.raises(Unavailable, match="not acknowledged"):
        opened.send(b"raw", told.replaced(nonce="f" * 32))
    opened.send(b"raw", told.replaced(sender="a" * 64))


def test_a_world_that_floods_is_told_to_wait(
    house: House, kingdom: ReferenceWorld, crab: WorldBinding
) -> None:
    connection = joined(house, kingdom)
    raw = kingdom.allocation(crab, 4)
    for _ in range(MOST_IN_WINDOW):
        connection.receive_envelope(raw)
    assert json.loads(connection.receive_envelope(raw))["type"] == "later"
    house.clock.advance(60)
    assert json.loads(connection.receive_envelope(raw))["type"] == "ack"


def test_other_text_ends_the_connection(
    house: House, kingdom: ReferenceWorld, crab: WorldBinding
) -> None:
    connection = joined(house, kingdom)
    for text in (
        "",
        "{}",
        "[]",
        '{"type":"ack","frame":1}',
        '{"type":"hi","frame":"a"}',
        "[" * 9999,
    ):
        with pytest.raises(Invalid):
            connection.receive_text(text)
