"""A power failure: whatever was not waited for is gone, and no promise with it (ADR 0039).

A kill leaves every commit; the explorer looks after those. Here the newest ones are lost, down to
the last that waited for the disk, at each moment at which somebody outside may rely on them.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from opencrab.adapters.local_files import LocalBlobs, LocalFiles
from opencrab.adapters.local_files.disk import REAL_DISK, Disk
from opencrab.adapters.providers.registry import ProviderModels
from opencrab.adapters.providers.transport.exchange import Reply
from opencrab.adapters.sqlite.database import Database
from opencrab.adapters.sqlite.home import open_sqlite_home
from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.conversation.message import Line, LineKind
from opencrab.domain.identifier import content_hash
from opencrab.domain.turn.record import ActionIntent, ModelIntent
from opencrab.domain.turn.turn import Turn, TurnStatus
from opencrab.domain.value import Language
from tests.bench.standard import NOWHERE, SAID, START, Thinking, profile_of
from tests.bench.world import World, models_at, runtime_with
from tests.crash.power import Power

PATH = "notes/memo.txt"


class Heard(Thinking):
    """A model server that says when it was asked, before it answers."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__(clock)
        self.asked: list[bytes] = []
        self.on_call: Callable[[bytes], None] = lambda _body: None

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
        self.asked.append(body)
        self.on_call(body)
        return super().send(url, headers=headers, body=body, timeout_seconds=timeout_seconds)


@dataclass
class Place:
    """An installation in a folder, with its model and its disk."""

    world: World
    model: Heard
    database: Database
    on_rename: list[Callable[[Path], None]] = field(default_factory=list)


@contextmanager
def place(folder: Path, *, durable: bool) -> Iterator[Place]:
    clock = FakeClock(START)
    model, renamed = Heard(clock), list[Callable[[Path], None]]()

    def replace(source: Path, target: Path) -> None:
        REAL_DISK.replace(source, target)
        for each in renamed:
            each(target)

    disk = Disk(replace=replace)
    files, blobs = LocalFiles(folder, disk=disk), LocalBlobs(folder, disk=disk)
    home, database = open_sqlite_home(folder, clock, files=files, blobs=blobs, durable=durable)
    models = ProviderModels(lambda: models_at(NOWHERE), lambda: model)
    try:
        yield Place(World(runtime_with(home, clock, models)), model, database, renamed)
    finally:
        database.close()


@dataclass
class Loss:
    """A power failure at one moment: what it left, and how often the model was asked until then."""

    moment: str
    left: Path
    asked: int
    promised: Callable[[Place], bool]


def turn_with_losses(folder: Path, kept: Path, text: str) -> tuple[Turn, list[Loss], int]:
    """A standard turn, with what a failure would leave wherever somebody outside relies on it."""
    losses: list[Loss] = []
    with place(folder, durable=True) as here:
        home = here.world.runtime.home
        agent_id = home.agents.create(profile_of(here.model._clock, Language.JA)).agent.id
        session_id = here.world.session(agent_id, 2)
        power = Power(here.database, folder, kept)

        def note(moment: str, promised: Callable[[Place], bool]) -> None:
            losses.append(Loss(moment, power.fail(), len(here.model.asked), promised))

        (turn,) = here.world.say(session_id, text)
        note("the message is acknowledged", lambda left: is_admitted(left, turn, text))
        here.model.on_call = lambda body: note(
            "a model that is billed is asked", lambda left: is_reserved(left, turn, body)
        )
        here.on_rename.append(
            lambda target: (
                note("a file is written", lambda left: is_intended(left, turn))
                if target.name == "memo.txt"
                else None
            )
        )
        here.world.work()
        note("the answer is shown", lambda left: len(answers(left, turn)) == 1)
        power.fail()
        return turn, losses, power.waits


def records(left: Place, turn: Turn) -> tuple[Any, ...]:
    return left.world.runtime.home.journal.load(turn.id).records


def is_admitted(left: Place, turn: Turn, text: str) -> bool:
    home = left.world.runtime.home
    said = [line.text for line in home.journal.lines(turn.session_id)]
    delivery = home.turns.receive(visibility_seconds=0, wait_seconds=0)
    return text in said and delivery is not None and turn.id in delivery.body


def is_reserved(left: Place, turn: Turn, body: bytes) -> bool:
    last = records(left, turn)[-1]
    is_asked = isinstance(last, ModelIntent) and last.request_hash == content_hash(body)
    return is_asked and last.reserved > 0


def is_intended(left: Place, turn: Turn) -> bool:
    return isinstance(records(left, turn)[-1], ActionIntent)


def answers(left: Place, turn: Turn) -> list[Line]:
    lines = left.world.runtime.home.journal.lines(turn.session_id)
    return [line for line in lines if line.kind is LineKind.SPEECH and line.turn_id == turn.id]


def cost(left: Place, turn: Turn) -> int:
    rows = left.world.runtime.home.usage.rows(turn.agent_id)
    return sum(row.cost for row in rows if row.turn_id == turn.id)


@pytest.mark.parametrize("language", Language)
def test_what_somebody_relies_on_is_on_the_disk_before(tmp_path: Path, language: Language) -> None:
    _, losses, _ = turn_with_losses(tmp_path / "a", tmp_path / "lost", SAID[language])
    assert [loss.moment for loss in losses] == [
        "the message is acknowledged",
        "a model that is billed is asked",
        "a file is written",
        "a model that is billed is asked",
        "the answer is shown",
    ]
    for loss in losses:
        with place(loss.left, durable=False) as left:
            assert loss.promised(left), loss.moment


@pytest.mark.parametrize("language", Language)
def test_after_a_power_failure_a_turn_goes_on_and_nothing_is_free_or_twice(
    tmp_path: Path, language: Language
) -> None:
    turn, losses, _ = turn_with_losses(tmp_path / "a", tmp_path / "lost", SAID[language])
    with place(losses[-1].left, durable=False) as whole:
        a_call = cost(whole, turn) // 2
    for loss in losses:
        with place(loss.left, durable=False) as left:
            left.model._clock.advance(86_400)
            home = left.world.runtime.home
            written = None
            if home.files.info(turn.agent_id, PATH) is not None:
                written = home.files.read(turn.agent_id, PATH)[1]
            if not home.journal.header(turn.id).status.is_end:
                left.world.work()
            assert home.journal.header(turn.id).status is TurnStatus.COMPLETED, loss.moment
            assert len(answers(left, turn)) == 1, loss.moment
            assert home.turns.receive(visibility_seconds=1, wait_seconds=0) is None, loss.moment
            # Every call that the provider got is paid for, whether its answer was lost or not.
            calls = loss.asked + len(left.model.asked)
            assert cost(left, turn) >= calls * a_call > 0, loss.moment
            assert written in {None, home.files.read(turn.agent_id, PATH)[1]}, loss.moment


def test_a_turn_waits_for_the_disk_once_for_each_thing_that_somebody_relies_on(
    tmp_path: Path,
) -> None:
    _, losses, waits = turn_with_losses(tmp_path / "a", tmp_path / "lost", SAID[Language.EN])
    assert waits == len(losses)
