"""The demo world at work: it proves itself, handles each message once, and refuses forged ones."""

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from opencrab.adapters.demo_world.store import DemoStore
from opencrab.adapters.system_clock import FakeClock
from opencrab.adapters.world_envelope import Ed25519Envelopes
from opencrab.domain.errors import Unavailable
from opencrab.domain.identifier import content_hash
from opencrab.domain.world.binding import WorldEnvelope
from opencrab.domain.world.demo.state import CURRENCY, WELCOME, DemoState
from opencrab.engine.world.connection import GATEWAY, JOIN
from opencrab.gateways.world.demo import RESEND_MS, DemoWorld
from opencrab.ports.world import KeyPair
from tests.world.reference import CODES

START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
Step = Callable[[], "str | bytes | None"]


class Line:
    """The installation's side: what it says, step by step, and what it is sent."""

    def __init__(self, *steps: "str | bytes | Step | None") -> None:
        self.steps = list(steps)
        self.sent: list[str | bytes] = []
        self.closed = False

    def send(self, frame: str | bytes) -> None:
        self.sent.append(frame)

    def receive(self, seconds: float) -> str | bytes | None:
        if not self.steps:
            raise Unavailable("it left")
        step = self.steps.pop(0)
        return step() if callable(step) else step

    def close(self) -> None:
        self.closed = True


class Land:
    """A demo world with one agent, and its clock."""

    def __init__(self, folder: Path) -> None:
        self.envelopes, self.clock = Ed25519Envelopes(), FakeClock(START)
        self.key, self.agent = self.envelopes.new_key(), self.envelopes.new_key()
        self.store = DemoStore(folder)
        self.told: list[str] = []
        self.world = self.opened()

    def opened(self) -> DemoWorld:
        """The world as it is stored, as after a crash."""
        state = self.store.state() or DemoState(world_id="demo", seed=1)
        return DemoWorld(self.store, self.envelopes, self.key, state, self.clock, 60.0, self._tell)

    def _tell(self, key: str, facts: dict[str, Any]) -> None:
        self.told.append(key)

    def joined(self) -> str:
        person = {"key_id": self.agent.key_id, "public_key": self.agent.public_key}
        return json.dumps({"type": "joined", "citizens": [{**person, "role": "LIBRARIAN"}]})

    def live(self, *steps: "str | bytes | Step | None") -> Line:
        """One connection, until the installation leaves."""
        hello = json.dumps({"type": "hello", "v": 1, "challenge": "c" * 32})
        line = Line(hello, self.joined(), *steps)

        def once() -> Line:
            if line.closed:
                self.world.stopping.set()
                raise Unavailable("over")
            return line

        self.world.run(once)
        self.world.stopping.clear()
        return line

    def say(self, name: str, nonce: int = 1, key: KeyPair | None = None, **changes: Any) -> bytes:
        """A message of the agent."""
        other = {"TRANSFER": "Mint", "BALANCE_QUERY": "Mint", "MSG_POST": "Agora"}
        envelope = WorldEnvelope(
            **{
                "world_id": "demo",
                "code": CODES[name],
                "sender": self.agent.key_id,
                "recipient": other[name],
                "nonce": f"{nonce:032x}",
                "at": START,
                "body": {"text": "こんにちは"},
                **changes,
            }
        )
        return self.envelopes.seal(envelope, (key or self.agent).private_key)


@pytest.fixture
def land(tmp_path: Path) -> Iterator[Land]:
    made = Land(tmp_path)
    yield made
    made.store.close()


def answers(line: Line) -> list[tuple[str, str]]:
    told = [json.loads(frame) for frame in line.sent if isinstance(frame, str)]
    return [(each["type"], each["frame"]) for each in told]


def envelopes(land: Land, line: Line) -> list[WorldEnvelope]:
    sent = [land.envelopes.open(frame) for frame in line.sent if isinstance(frame, bytes)]
    assert all(land.envelopes.is_signed_by(each, land.key.public_key) for each in sent)
    return [each.envelope for each in sent]


def test_it_signs_the_challenge_and_welcomes_its_agents(land: Land) -> None:
    join, *told = envelopes(land, land.live(None, None))
    assert (join.code, join.recipient, join.reply_to) == (JOIN, GATEWAY, "c" * 32)
    assert {each.recipient for each in told} == {land.agent.key_id}
    names = [each.code for each in told]
    assert names[:3] == [CODES["AGENT_SPAWN_ACK"], CODES["WORLD_STATE"], CODES["TICK_ALLOC"]]


def test_a_message_is_handled_once_whatever_is_repeated(land: Land) -> None:
    post = land.say("MSG_POST")
    line = land.live(post, post)
    assert answers(line) == [("ack", content_hash(post))] * 2
    assert land.world.state.citizens[land.agent.key_id].balance == WELCOME - 1
    land.world = land.opened()
    assert answers(land.live(post)) == [("ack", content_hash(post))]
    assert land.world.state.citizens[land.agent.key_id].balance == WELCOME - 1
    assert land.world.state.total == CURRENCY


def test_forged_and_foreign_messages_are_refused_and_change_nothing(land: Land) -> None:
    stranger = land.envelopes.new_key()
    land.live(land.say("MSG_POST", 7))
    before = land.world.state
    bad = [
        land.say("MSG_POST", 2, stranger),
        land.say("MSG_POST", 2, stranger, sender=stranger.key_id),
        land.say("MSG_POST", 2, world_id="elsewhere"),
        land.say("MSG_POST", 2, recipient="Mint"),
        land.say("MSG_POST", 2, code=0x0999),
        land.say("MSG_POST", 7, body={"text": "other"}),
        b"\x00",
    ]
    line = land.live(*bad)
    assert answers(line) == [("refused", content_hash(each)) for each in bad]
    # The hours went on, as they do while somebody is connected.
    assert land.world.state.citizens == before.citizens


def test_mail_is_resent_with_the_same_bytes_until_acknowledged(land: Land) -> None:
    first = [frame for frame in land.live(None).sent[1:] if isinstance(frame, bytes)]
    land.world = land.opened()

    def wait() -> None:
        land.clock.advance(RESEND_MS / 1_000)

    again = [frame for frame in land.live(None, wait, None).sent[1:] if isinstance(frame, bytes)]
    assert again[: len(first)] == first
    assert again.count(first[0]) == 2
    acknowledged = [json.dumps({"type": "ack", "frame": content_hash(each)}) for each in again]
    later = json.dumps({"type": "later", "frame": content_hash(b"x")})
    land.live(later, *acknowledged)
    left = [frame for frame in land.live(None).sent[1:] if isinstance(frame, bytes)]
    assert not set(first) & set(left)


def test_time_stands_still_while_nobody_is_connected(land: Land) -> None:
    land.live(None)
    cycle = land.world.state.cycle
    assert cycle == 1
    land.clock.advance(3_600)
    land.live(None)
    assert land.world.state.cycle == cycle

    def hour() -> None:
        land.clock.advance(60)

    land.live(hour, None)
    assert land.world.state.cycle == cycle + 1


def test_another_server_is_left_and_tried_again(land: Land) -> None:
    for wrong in ('{"type": "hi"}', "no json", b"\x00", None):
        line = Line(wrong)

        def once(line: Line = line) -> Line:
            if line.closed:
                land.world.stopping.set()
                raise Unavailable("over")
            return line

        land.world.run(once)
        land.world.stopping.clear()
        assert line.sent == []
    assert "lost" in land.told
