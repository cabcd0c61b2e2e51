"""A whole turn with an action call, from the message to the ledger, against a real llama.cpp."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from opencrab.actions.workspace import write
from opencrab.adapters.local_files import LocalBlobs, LocalFiles
from opencrab.adapters.providers.registry import ProviderModels
from opencrab.adapters.providers.transport.exchange import Transport
from opencrab.adapters.sqlite.home import open_sqlite_home
from opencrab.adapters.system_clock import SystemClock
from opencrab.bootstrap.consequences import CONSEQUENCES
from opencrab.bootstrap.jobs import JOBS
from opencrab.domain.agents.agent import Agent, Identity, Profile
from opencrab.domain.agents.soul import Soul
from opencrab.domain.conversation.session import Participant, Session
from opencrab.domain.money.budget import INSTALLATION
from opencrab.domain.turn.record import CallState
from opencrab.domain.turn.transcript import Transcript
from opencrab.domain.turn.turn import Turn, TurnStatus
from opencrab.domain.value import Language
from opencrab.engine.runtime import Rules, Runtime
from opencrab.engine.turn.admission import admit_turns_of_message
from opencrab.engine.turn.run import Pace, run_turn
from opencrab.ports.home import Home
from opencrab.ports.turn.queue import MessageOutcome
from tests.crash.outside import Bell, registry
from tests.crash.scenarios import message
from tests.llama.asking import FORMATS, MODEL, Demanding, Format
from tests.llama.server import LlamaServer

pytest_plugins = ["tests.llama.fixture"]

FEW = (write.group,)
"""To this model a byte is a token, and it has 8,192 of them. None of these actions ends a turn."""

ENDED = {TurnStatus.COMPLETED, TurnStatus.IDLE}
both_formats = pytest.mark.parametrize("spoken", FORMATS, ids=lambda each: each.kind)


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    """The local home, as `opencrab up` has it, but without waiting for the disk."""
    files, blobs = LocalFiles(tmp_path / "agents"), LocalBlobs(tmp_path)
    home, database = open_sqlite_home(
        tmp_path, SystemClock(), files=files, blobs=blobs, durable=False
    )
    try:
        yield home
    finally:
        database.close()


def _agent(home: Home) -> Agent:
    now = SystemClock().now()
    agent = Agent(id="crab", name="蟹", language=Language.JA, created_at=now, updated_at=now)
    soul, identity = Soul(persona_name="蟹"), Identity(name="蟹")
    home.agents.create(Profile(agent=agent, soul=soul, identity=identity))
    people = (Participant(agent_id=agent.id),)
    home.sessions.create(
        Session(id="s", participants=people, created_by="owner", created_at=now, updated_at=now)
    )
    return agent


def _turn(runtime: Runtime, text: str) -> Turn:
    """The turn that a message begins, run to its end."""
    (turn,) = admit_turns_of_message(runtime, "s", message(text, "m1", None))
    delivery = runtime.home.turns.receive(visibility_seconds=600, wait_seconds=0)
    assert delivery is not None
    assert run_turn(runtime, delivery, Pace()) is MessageOutcome.FINISHED
    runtime.home.turns.acknowledge(delivery.receipt)
    return runtime.home.journal.load(turn.id).turn


@both_formats
def test_a_message_becomes_an_action_a_journal_and_rows_of_the_ledger(
    seeded: LlamaServer, home: Home, transport: Transport, spoken: Format
) -> None:
    bell = Bell()
    models = Demanding(ProviderModels(lambda: spoken.settings(seeded), lambda: transport))
    actions = registry(bell, FEW)
    runtime = Runtime(
        home=home,
        clock=SystemClock(),
        models=models,
        actions=actions,
        rules=Rules(),
        consequences=CONSEQUENCES,
        jobs=JOBS,
    )
    agent = _agent(home)
    turn = _turn(runtime, "鐘を鳴らして、皆に話してください。 Ring the bell, then speak.")

    loaded = home.journal.load(turn.id)
    steps = Transcript.of(loaded.records).steps
    assert turn.status in ENDED, loaded
    first, *later = models.answers
    assert first.calls
    assert [call.name for call in steps[0].answer.calls] == [call.name for call in first.calls]
    assert set(steps[0].results) == {call.id for call in steps[0].answer.calls}
    assert CallState.RUNNING not in {result.state for result in steps[0].results.values()}
    assert later

    rows = tuple(reversed(home.usage.rows(agent.id)))
    assert len(rows) == len(models.answers)
    for row, answer in zip(rows, models.answers, strict=True):
        assert (row.provider, row.model) == (spoken.kind, MODEL)
        assert row.state is CallState.COMPLETED
        assert row.usage == answer.usage
        assert min(row.usage.input_tokens, row.usage.output_tokens) > 0
        assert row.usage.input_tokens <= seeded.context_tokens
        assert (row.cost, row.reserved) == (0, 0)
        assert row.first_token_ms == answer.first_token_ms
        assert row.latency_ms is not None
    assert rows[0].first_token_ms is not None
    day = rows[0].at.strftime("%Y-%m-%d")
    assert (turn.spent, home.budgets.drawn_micro_usd(INSTALLATION, day)) == (0, 0)
