"""What DynamoDB charges for a turn of the standard shape, and for what surrounds it."""

from collections.abc import Iterator
from dataclasses import dataclass

from opencrab.domain.access.authority import Scope
from opencrab.domain.access.principal import ApiKey
from opencrab.domain.agents.agent import Profile
from opencrab.domain.agents.heartbeat import DEFAULT_SECONDS
from opencrab.domain.autonomy.instruction_plan import (
    INSTRUCTION_PLAN,
    InstructionPlan,
    PlannedGoal,
    autonomy_instruction_plan_key,
)
from opencrab.domain.autonomy.vital_signs import VitalSigns
from opencrab.domain.document import new_fact
from opencrab.domain.goals.expectation import Expectations, Expected
from opencrab.domain.goals.goal import GoalSource
from opencrab.domain.turn.turn import Turn
from opencrab.domain.value import Language
from opencrab.engine.agents.vital_signs import agent_vital_signs_document, create_agent_vital_signs
from opencrab.engine.autonomy.heartbeat import decide_queued_heartbeat, sweep_heartbeats
from opencrab.engine.autonomy.instruction_plan import schedule_place
from opencrab.engine.autonomy.sweep import run_autonomy_sweep
from opencrab.engine.goals.generation import generate_aspirations
from opencrab.engine.goals.queue import GoalBoard
from opencrab.engine.learning.nightly.schedule import (
    send_learning_reviews_by_sessions,
    send_nightly_learning_reviews,
)
from opencrab.engine.runtime import Runtime
from opencrab.gateways.rest.conversation.replies import Replies
from opencrab.ports.turn.action import one_line
from opencrab.ports.turn.queue import MessageOutcome
from tests.bench.standard import SAID, Installation, installation
from tests.bench.units import Charge

WRITE_UNITS = 51
MEASURING = 6
"""Write units that measuring adds to a turn: a count for each of two calls, and its signals."""

ACTIVE = 2
"""Write units of a day's first call of an agent in a worker, which says that it was active."""

READ_UNITS = 9
"""Six; who a session is shared with (ADR 0033); whether a replaced file is to be forgotten; and one
to look for a freeze before the tool calls of an answer that took long."""

HISTORIES = (10, 1_000, 10_000)
BEAT_SECONDS = 60 * DEFAULT_SECONDS
"""An idle agent's goals are reviewed each hour; heartbeats in between are skipped."""

LEASE = 3
"""Write units of a worker's first turn: its budget leases are filled, and listed for the sweep."""

AHEAD_SECONDS = 30
INSTRUCTIONS = "庭の花と家族の予定に気をくばり、知らせることがあるときだけ話す。"


@dataclass(frozen=True)
class Bill:
    """The calls of a turn: those of its admission, and those of its worker."""

    admission: tuple[Charge, ...]
    turn: tuple[Charge, ...]

    @property
    def charges(self) -> tuple[Charge, ...]:
        """All of them."""
        return self.admission + self.turn

    @property
    def writes(self) -> int:
        """Write units."""
        return sum(charge.writes for charge in self.charges)

    @property
    def reads(self) -> float:
        """Read units."""
        return sum(charge.reads for charge in self.charges)


@dataclass(frozen=True)
class Bills:
    """The first turn of a session in a worker, which reads the history, and a later one."""

    first: Bill
    later: Bill


@dataclass(frozen=True)
class Around:
    """Read units of what REST and the heartbeat do beside a turn."""

    key_check: float
    look: float
    replies: float
    sweep: float


@dataclass(frozen=True)
class Beat:
    """What one beat needs beyond a sweep that finds nothing: units, and messages sent."""

    writes: int
    reads: float
    sent: int


def bills(language: Language, lines: int) -> Bills:
    """Turns that overwrite a file, in a session with so much history."""
    with installation() as home:
        agent_id = home.agent(language)
        _one(home, home.worker(), home.session(agent_id, 0), language)
        session_id, worker = home.session(agent_id, lines), home.worker()
        first = _one(home, worker, session_id, language)
        return Bills(first, _one(home, worker, session_id, language))


def new_file(language: Language) -> Bill:
    """An agent's very first turn, which makes a file in a folder that was not there."""
    with installation() as home:
        session_id = home.session(home.agent(language), 10)
        return _one(home, home.worker(), session_id, language)


def around() -> Around:
    """What else is read while a client waits, and each minute without any."""
    with installation() as home:
        runtime = home.rest.runtime
        (turn,) = home.rest.say(home.session(home.agent(Language.JA), 10), SAID[Language.JA])
        home.run(home.worker(), turn)
        return Around(*_read(home, runtime, turn))


def beating() -> Beat:
    """A beat of an agent that may want something, and does not, with the sweep's part in it."""
    with installation() as home:
        worker = home.worker()
        agent = home.home.agents.get(home.agent(Language.JA)).agent
        told = agent.heartbeat.replaced(instructions=INSTRUCTIONS)
        saved = home.home.agents.save(agent.replaced(heartbeat=told, purpose=""))
        profile = home.home.agents.get(saved.id)
        create_agent_vital_signs(worker, profile)
        _has_done_what_it_was_asked(home, worker, profile)
        home.meter.taken()
        sweep_heartbeats(worker)
        standing = home.meter.reads
        beats = [_beat(home, worker, saved.id, standing) for _ in range(4)]
        assert beats[-1] == beats[-2], "each reviews the agent's goals"
        return beats[-1]


def _has_done_what_it_was_asked(home: Installation, worker: Runtime, profile: Profile) -> None:
    """Let the first step of what its owner asks for be over, so that the next one is not due."""
    now = home.clock.now()
    goal = PlannedGoal(name=one_line(INSTRUCTIONS, 120), words=INSTRUCTIONS, begun=1)
    plan = InstructionPlan(
        key=autonomy_instruction_plan_key(profile.agent),
        asked_at=now,
        planned=True,
        goals=(goal,),
        place=schedule_place(worker, profile.agent),
    )
    home.home.facts.commit(new_fact(profile.agent.id, INSTRUCTION_PLAN, INSTRUCTION_PLAN, plan))
    board = GoalBoard.of(home.home.facts, profile, now)
    generate_aspirations(board, now)
    step = Expected(reward=0.5, goals=1, ended_at=now)
    board.put_expectations(Expectations(rewards={GoalSource.ROLE: step}))
    home.home.facts.commit(*board.facts)


def night_look() -> float:
    """Read units of an hour that finds that all nights were sent, and that nobody was active."""
    with installation() as home:
        worker = home.worker()
        send_nightly_learning_reviews(worker)
        home.clock.advance(3_600)
        home.meter.taken()
        assert (
            send_nightly_learning_reviews(worker)
            == send_learning_reviews_by_sessions(worker)
            == home.meter.writes
            == 0
        )
        return home.meter.reads


def _beat(home: Installation, worker: Runtime, agent_id: str, standing: float) -> Beat:
    signs = agent_vital_signs_document(worker.home.facts, agent_id)
    assert signs is not None
    moment = signs.read(VitalSigns).next_beat_at
    home.clock.advance((moment - home.clock.now()).total_seconds() - AHEAD_SECONDS)
    home.meter.taken()
    sent = sweep_heartbeats(worker).queued
    home.clock.advance(AHEAD_SECONDS + 0.1)
    delivery = worker.home.beats.receive(visibility_seconds=30, wait_seconds=0)
    assert delivery is not None
    assert decide_queued_heartbeat(worker, delivery) is MessageOutcome.FINISHED
    worker.home.beats.acknowledge(delivery.receipt)
    return Beat(home.meter.writes, home.meter.reads - standing, sent)


def _read(home: Installation, runtime: Runtime, turn: Turn) -> Iterator[float]:
    key = ApiKey(id="k", name="k", scope=Scope.CHAT, hash="a" * 64, created_at=home.clock.now())
    runtime.home.keys.put(key)
    replies = Replies(runtime.home.journal, (turn,))
    for read in (lambda: runtime.home.keys.find(key.hash), replies.look, replies.read):
        home.meter.taken()
        read()
        yield home.meter.reads
    home.meter.taken()
    run_autonomy_sweep(runtime)
    yield home.meter.reads


def _one(home: Installation, worker: Runtime, session_id: str, language: Language) -> Bill:
    home.meter.taken()
    (turn,) = home.rest.say(session_id, SAID[language])
    admission = home.meter.taken()
    home.run(worker, turn)
    home.clock.advance(60)
    return Bill(admission, home.meter.taken())


def table(bill: Bill) -> str:
    """Call by call: `what=bytes:units`, `+` what the indexes cost."""
    rows = ["| call | write units | read units | items |", "|---|---|---|---|"]
    for charge in bill.charges:
        items = ", ".join(
            f"{part.kind} {part.bytes} B" + (f" (+{part.index_writes})" * bool(part.index_writes))
            for part in charge.parts
        )
        rows.append(f"| {charge.operation} | {charge.writes} | {charge.reads:g} | {items} |")
    rows.append(f"| all | {bill.writes} | {bill.reads:g} | |")
    return "\n".join(rows)
