"""A whole turn with a real model, from the message to the ledger, on the local home."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from opencrab.actions import GROUPS, Registry, speech
from opencrab.actions.workspace import write
from opencrab.adapters.local_files import LocalBlobs, LocalFiles
from opencrab.adapters.sqlite.home import open_sqlite_home
from opencrab.adapters.system_clock import SystemClock
from opencrab.bootstrap.consequences import CONSEQUENCES
from opencrab.bootstrap.jobs import JOBS
from opencrab.domain.agents.agent import Agent, Identity, Profile
from opencrab.domain.agents.soul import Soul
from opencrab.domain.conversation.message import LineKind
from opencrab.domain.conversation.session import Participant, Session
from opencrab.domain.turn.record import CallState
from opencrab.domain.turn.transcript import Transcript
from opencrab.domain.turn.turn import TurnStatus
from opencrab.domain.value import Language
from opencrab.engine.runtime import Runtime
from opencrab.engine.turn.admission import admit_turns_of_message
from opencrab.engine.turn.run import Pace, run_turn
from opencrab.ports.home import Home
from opencrab.ports.turn.queue import MessageOutcome
from tests.crash.scenarios import message
from tests.live.conftest import Live

pytestmark = [pytest.mark.live, pytest.mark.timeout(400)]

WISH = (
    "Write the one word 蟹 into the file note.txt in your workspace, with an action. "
    "Then tell me in one short sentence that you did."
)


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    """The local home, as `opencrab up` has it."""
    files, blobs = LocalFiles(tmp_path / "agents"), LocalBlobs(tmp_path)
    home, database = open_sqlite_home(tmp_path, SystemClock(), files=files, blobs=blobs)
    try:
        yield home
    finally:
        database.close()


def _settle_in(home: Home) -> None:
    now = SystemClock().now()
    agent = Agent(id="crab", name="蟹", language=Language.EN, created_at=now, updated_at=now)
    soul, identity = Soul(persona_name="蟹"), Identity(name="蟹")
    home.agents.create(Profile(agent=agent, soul=soul, identity=identity))
    people = (Participant(agent_id="crab"),)
    home.sessions.create(
        Session(id="s", participants=people, created_by="owner", created_at=now, updated_at=now)
    )


def test_a_wish_becomes_an_action_an_answer_and_rows_of_the_ledger(live: Live, home: Home) -> None:
    if live.info.price is None:
        pytest.skip(f"the price of {live.name} is unknown: set it in config/pricing.toml")
    # The model that only stands in for one has no room for all actions.
    actions = Registry((speech.group, write.group) if live.is_random else GROUPS)
    runtime = Runtime(
        home=home,
        clock=SystemClock(),
        models=live.models(),
        actions=actions,
        consequences=CONSEQUENCES,
        jobs=JOBS,
    )
    _settle_in(home)
    (turn,) = admit_turns_of_message(runtime, "s", message(WISH, "m1"))
    delivery = home.turns.receive(visibility_seconds=600, wait_seconds=0)
    assert delivery is not None
    assert run_turn(runtime, delivery, Pace()) is MessageOutcome.FINISHED

    loaded = home.journal.load(turn.id)
    turn, steps = loaded.turn, Transcript.of(loaded.records).steps
    rows = home.usage.rows("crab")
    assert rows
    assert {row.state for row in rows} == {CallState.COMPLETED}, loaded.records
    assert all(0 <= row.cost <= row.reserved for row in rows)
    assert all(row.usage.is_counted and row.provider == live.provider.name for row in rows)
    assert turn.spent == sum(row.cost for row in rows)
    assert turn.status.is_end
    if not live.is_random:
        assert turn.status is TurnStatus.COMPLETED
        assert any(step.answer.calls for step in steps)
        assert [line for line in home.journal.lines("s", after=1, limit=99) if line.text]
        assert LineKind.SPEECH in {x.kind for x in home.journal.lines("s", after=1, limit=99)}
