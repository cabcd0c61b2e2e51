"""What living on its own costs an agent beside model and network: weighing, loading, keeping."""

import statistics
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.agents.agent_state import MIND, Agenda, AgentState
from opencrab.domain.agents.event import HAPPENING, AgentEvent
from opencrab.domain.agents.soul import Drives
from opencrab.domain.autonomy.heartbeat_gate import heartbeat_gate
from opencrab.domain.autonomy.settings import Autonomy
from opencrab.domain.autonomy.vital_signs import VITALS, VitalSigns, heartbeat_signs_document
from opencrab.domain.conversation.message import Message, TextPart
from opencrab.domain.document import Document, new_fact
from opencrab.domain.goals.goal import GOAL, Goal, GoalSource, goal_document_id
from opencrab.domain.goals.selection import rank_goals
from opencrab.domain.goals.value_estimate import ValueEstimate
from opencrab.domain.memory.belief import Belief
from opencrab.domain.memory.peer import Peer
from opencrab.domain.memory.salient_beliefs import (
    OUTLOOK,
    SalientBeliefs,
    remember_belief,
    remember_peer_in_memory,
)
from opencrab.domain.memory.working_memory import (
    WORKING,
    WORKING_BYTES,
    WorkingMemory,
    clear_stale_working_memory,
)
from opencrab.domain.turn.transcript import Transcript
from opencrab.domain.turn.turn import Trigger, Turn
from opencrab.domain.value import Language
from opencrab.engine.agents.agent_session import agents_own_session
from opencrab.engine.goals.queue import OPENCRAB
from opencrab.engine.turn.admission import admit_turns_of_message
from opencrab.engine.turn.observe import load_turn_work
from opencrab.engine.turn.prompt.surroundings_text import WakingMoment, render_prompt_surroundings
from opencrab.engine.turn.prompt_cache import Surroundings
from tests.bench.turns import cpu_ms
from tests.bench.world import World

GOALS, BELIEFS, PEERS, EVENTS = 100, 1_000, 50, 10
OPEN_GOALS = 20
NOW = datetime(2026, 7, 1, 9, 0, tzinfo=UTC)


def goals(agent_id: str, count: int) -> list[Goal]:
    """So many goals, no two of the same worth."""
    return [
        Goal(
            id=f"G{number}",
            agent_id=agent_id,
            session_id="own",
            name=f"海の地図の{number}枚目を描く",
            source=list(GoalSource)[number % 6],
            worth=ValueEstimate(expected_reward=number % 11 / 10, novelty=number % 7 / 6),
            deadline=NOW + timedelta(hours=number) if number % 2 else None,
            principal_id=agent_id,
            created_at=NOW - timedelta(days=1),
        )
        for number in range(1, count + 1)
    ]


def outlook() -> SalientBeliefs:
    """What is in view of 1,000 beliefs and 50 peers."""
    seen = SalientBeliefs()
    for number in range(BELIEFS):
        claim = f"潮の{number}番目の癖は月の満ち欠けと共に変わり、風の強い日には遅れる"
        sure = number % 100 / 100
        seen = remember_belief(
            seen, Belief(id=f"b{number:04d}", claim=claim, confidence=sure, formed_at=NOW)
        )
    for number in range(PEERS):
        met = NOW - timedelta(hours=number)
        seen = remember_peer_in_memory(
            seen,
            Peer(agent_id=f"peer-{number}", interactions=9, successes=number % 9, last_at=met),
        )
    return seen


def events() -> list[AgentEvent]:
    """What an agent has not looked at yet."""
    return [
        AgentEvent(id=f"{n:04d}", type="speech", source="ken", text="灯台の話 " * 40, at=NOW)
        for n in range(EVENTS)
    ]


def signs(agent_id: str) -> VitalSigns:
    """The vital signs of an agent with something to do."""
    return VitalSigns(
        agent_id=agent_id,
        next_beat_at=NOW,
        unread=EVENTS,
        goal_at=NOW,
        lived_at=NOW - timedelta(days=2),
        reviewed_at=NOW,
    )


def decide_ms() -> float:
    """CPU of reading what was loaded, the gate, the order of goals, and all that is told of it."""
    autonomy, agent_id = Autonomy(), "mika"
    stored = [
        new_fact(agent_id, GOAL, goal_document_id(goal.id), goal) for goal in goals(agent_id, GOALS)
    ]
    seen = new_fact(agent_id, OUTLOOK, OUTLOOK, outlook())
    vitals = heartbeat_signs_document(signs(agent_id), None)
    unread = [new_fact(agent_id, HAPPENING, event.id, event) for event in events()]
    notes = WorkingMemory(text="あとで調べること\n" * 200, at=NOW)
    moment = WakingMoment(Language.JA, NOW, "Asia/Tokyo", Drives(), tainted=True)

    def decide() -> None:
        around = Surroundings(
            signs=vitals.read(VitalSigns),
            goals=tuple(fact.read(Goal) for fact in stored),
            working=notes,
            outlook=seen.read(SalientBeliefs),
            events=tuple(fact.read(AgentEvent) for fact in unread),
        )
        assert around.signs is not None
        heartbeat_gate(around.signs, NOW, autonomy)
        render_prompt_surroundings(around, moment, autonomy)

    return cpu_ms(decide, 100)


def ranking_ms() -> float:
    """CPU of ordering 100 goals by their priority."""
    listed = goals("mika", GOALS)
    return cpu_ms(lambda: rank_goals(listed, 0.5, Drives(), NOW), 500)


class Counted:
    """A port of which every call is counted."""

    def __init__(self, port: Any, calls: list[str]) -> None:
        self._port, self._calls = port, calls

    def __getattr__(self, name: str) -> Any:
        self._calls.append(name)
        return getattr(self._port, name)


def living(world: World) -> Turn:
    """The turn of an agent that a beat woke for an event, with as many goals as it may have."""
    agent_id, facts = world.agent("蟹"), world.runtime.home.facts
    listed = goals(agent_id, OPEN_GOALS)
    mind = AgentState(agenda=Agenda(last_number=OPEN_GOALS, open=tuple(goal.id for goal in listed)))
    facts.commit(heartbeat_signs_document(signs(agent_id), None))
    for event in events():
        facts.commit(new_fact(agent_id, HAPPENING, event.id, event))
    facts.commit(new_fact(agent_id, MIND, MIND, mind))
    facts.commit(new_fact(agent_id, OUTLOOK, OUTLOOK, outlook()))
    facts.commit(new_fact(agent_id, WORKING, WORKING, working(agent_id)))
    for goal in listed:
        facts.commit(new_fact(agent_id, GOAL, goal_document_id(goal.id), goal))
    session = agents_own_session(agent_id, NOW)
    world.runtime.home.sessions.create(session)
    woken = Message(
        source=Source.HEARTBEAT,
        source_id="beat",
        principal_id=agent_id,
        sender=OPENCRAB,
        authority=Authority.SELF,
        parts=(TextPart(text="心拍: unread"),),
    )
    (turn,) = admit_turns_of_message(world.runtime, session.id, woken, trigger=Trigger.HEARTBEAT)
    return turn


def working(turn_id: str) -> WorkingMemory:
    """A working memory that is full."""
    return WorkingMemory(text="x" * WORKING_BYTES, turn_id=turn_id, at=NOW)


def load(world: World) -> tuple[float, int]:
    """CPU of loading an agent with all that it needs to decide, and how many reads that takes."""
    turn, calls = living(world), list[str]()
    home = world.runtime.home
    counted = replace(
        home,
        agents=Counted(home.agents, calls),
        facts=Counted(home.facts, calls),
        journal=Counted(home.journal, calls),
        sessions=Counted(home.sessions, calls),
    )

    def loaded(runtime: Any) -> None:
        around = load_turn_work(runtime, turn, Transcript()).prompt.around
        assert around is not None
        assert (len(around.goals), len(around.events)) == (OPEN_GOALS, EVENTS)

    loaded(replace(world.runtime, home=counted))
    return cpu_ms(lambda: loaded(world.runtime), 200), len(calls)


def flush_ms(world: World) -> float:
    """Wall milliseconds of keeping what a waking changed, in one durable transaction."""
    agent_id, facts, taken = living(world).agent_id, world.runtime.home.facts, []
    for _ in range(30):
        names = ((VITALS, VITALS), (WORKING, WORKING), (OUTLOOK, OUTLOOK), (GOAL, "000001"))
        changed = [
            fact.replaced(version=fact.version + 1) for fact in facts.get_many(agent_id, *names)
        ]
        started = time.perf_counter()
        facts.commit(*changed)
        taken.append((time.perf_counter() - started) * 1_000)
    return statistics.median(taken)


def clear_ms() -> float:
    """CPU of clearing a working memory of 64 KB."""
    full: Document = new_fact("mika", WORKING, WORKING, working("before"))
    return cpu_ms(lambda: clear_stale_working_memory(full, "now"), 1_000)
