"""The door for signed requests in the hostile world: what is not signed may not even be queued."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from opencrab.bootstrap.channels.own_door import build_channel_door
from opencrab.domain.access.authority import Authority
from opencrab.domain.turn.turn import Trigger
from opencrab.engine.runtime import Runtime
from opencrab.gateways.door.request import SignedRequest
from opencrab.ports.turn.journal import AdmittedMessage
from tests.hostile import words
from tests.hostile.entry import Entry
from tests.hostile.world import World

KINDS = ("webhook", "line", "slack")
REFUSED = 401
_NEW_PROCESS = 0.2
_NUMBER = re.compile(r"#e(\d+)e")


@dataclass(frozen=True)
class Sent:
    """A request as it was sent, and what somebody with its authority may cause.

    `event` is what the signature covers of its identity: requests that share it are one event.
    """

    kind: str
    name: str
    headers: Mapping[str, str]
    body: bytes
    number: int
    event: str
    authority: Authority
    principal: str
    genuine: bool = True


class DoorEntry(Entry):
    """A kind of signed requests: keeps books of what was sent, and judges what is admitted.

    Each event has a number in its words, such as `#e12e`, whoever wrote it.
    """

    principals: str | tuple[str, ...]
    """How the principals of this entry begin."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._numbers: dict[int, Sent] = {}
        self._turns: dict[tuple[str, str], set[str]] = {}
        self.sent: list[Sent] = []

    def opened(self) -> None:
        self._open(self.world.runtime)

    def new_number(self) -> int:
        """Return the number of one more event."""
        counts = self.world.watcher.counts
        counts["events sent"] += 1
        return counts["events sent"]

    def secret(self, _name: str) -> str | None:
        """Return a secret of the settings."""
        return None

    def post(self, sent: Sent, accepted: tuple[int, ...]) -> int:
        """Send a request; one that is not genuine is refused and leaves nothing behind."""
        world, before = self.world, self.world.queued()
        if world.dice.random() < _NEW_PROCESS:
            self._open(world.runtime)
        if sent.genuine:
            self._numbers[sent.number] = sent
            self.sent.append(sent)
        now = world.clock.now().timestamp()
        answer = self._door.answer(
            SignedRequest(sent.kind, sent.name, sent.headers, sent.body, now)
        )
        world.watcher.counts[f"door {sent.kind} {answer.status}"] += 1
        what = f"a request to {sent.kind} {sent.name}"
        if sent.genuine and answer.status not in accepted:
            world.watcher.problem(f"{what} is genuine and was answered {answer.status}")
        if not sent.genuine and (answer.status != REFUSED or world.queued() != before):
            world.watcher.problem(f"{what} is not genuine and was answered {answer.status}")
        return answer.status

    def admitted(self, admission: AdmittedMessage) -> None:
        for turn in admission.turns:
            by_it = turn.principal_id.startswith(self.principals)
            # A goal goes on in turns of its own, by whoever gave it.
            if not by_it or turn.trigger is not Trigger.MESSAGE:
                continue
            self.world.watcher.counts["turns by the door"] += 1
            number = self.number_of(admission)
            sent = self._numbers.get(number)
            if sent is None:
                self._problem(f"{turn.id} answers a request that nobody signed: {number}")
                continue
            if (turn.authority, turn.principal_id) != (sent.authority, sent.principal):
                self._problem(
                    f"{turn.id} is {turn.authority.value} of {turn.principal_id} "
                    f"by a request of {sent.authority.value} of {sent.principal}"
                )
            same = self._turns.setdefault((sent.name, sent.event), set())
            same.add(turn.id)
            if len(same) > 1:
                self._problem(f"event {sent.event} of {sent.name} became {len(same)} turns")

    def number_of(self, admission: AdmittedMessage) -> int:
        """Return the number of a message's event; 0 without one."""
        found = _NUMBER.search(admission.line.text)
        return 0 if found is None else int(found[1])

    def _problem(self, text: str) -> None:
        self.world.watcher.problem(text)

    def _open(self, runtime: Runtime) -> None:
        """Open the door as a new process does, which remembers nothing."""
        self._door = build_channel_door(runtime, KINDS, self.secret, lambda: None)


def hostile_words(world: World, number: int) -> str:
    """What an outsider sends: the number of the event, a mark, and an injection."""
    said = world.dice.choice((*words.INJECTIONS, *words.PLAIN))
    return f"#e{number}e {world.watcher.mint()} {said}"


def broken(headers: Mapping[str, str], name: str, value: Any) -> dict[str, str]:
    """The headers with another value of one; None takes it away."""
    rest = {key: text for key, text in headers.items() if key != name}
    return rest if value is None else {**rest, name: str(value)}
