"""A night in a made-up world comes to the same as the real one of an agent that lived the same."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

from opencrab.domain.agents.agent import Identity, Profile
from opencrab.domain.agents.agent_state import MIND
from opencrab.domain.agents.soul import Soul
from opencrab.domain.document import Document, new_fact
from opencrab.domain.identifier import new_ulid
from opencrab.domain.learning.change import (
    Adjustment,
    AdjustmentState,
    describe_mix,
    heaviest_learned_alias,
    mix_of,
)
from opencrab.domain.learning.evidence import (
    EVIDENCE,
    STANDING,
    ClosedEvidence,
    Evidence,
)
from opencrab.domain.learning.model_selection import HELD
from opencrab.domain.learning.reward import TurnOpinion
from opencrab.domain.learning.signals import SIGNALS, TurnSignals
from opencrab.domain.memory.memory import EXPERIENCE, Experience
from opencrab.domain.money.budget import Price, Usage
from opencrab.domain.outcome import Outcome
from opencrab.domain.skills.skill import SKILL, AcquiredSkill
from opencrab.domain.usage.ledger import UsageRow
from opencrab.domain.value import Value
from opencrab.engine.learning import changes as learned
from opencrab.engine.simulation.learning.policies import SimulatedDay, simulated_row_id
from opencrab.engine.simulation.learning.product import AIM, TRIALS, ProductPolicy
from opencrab.engine.simulation.learning.trial import PolicyRun, optimal_mix_in_simulation
from opencrab.engine.simulation.learning.world import START, simulated_learning_environment
from opencrab.ports.skills import load_skill_holdouts
from tests.contract.example import usage_row
from tests.contract.homes import sqlite
from tests.e2e.house import House
from tests.e2e.nights import count, sleep

SEED, TURNS, NIGHTS = 34, 40, 18
WORSE_SINCE, LOSS = 8, 0.5
TOKENS = 1_000
EVER = START - timedelta(days=1)
_AT_ONCE = 20
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T")


class Seeing(ProductPolicy):
    """Ours, with what its last day let be seen."""

    seen = SimulatedDay()

    def learn_from_day(self, day: int, seen: SimulatedDay) -> None:
        self.seen = seen
        super().learn_from_day(day, seen)


@dataclass(frozen=True)
class Beside:
    """The same agent in a made-up world and in a real home."""

    rule: Seeing
    house: House

    def evidence(self) -> tuple[Any, Any]:
        """What closed days tell together, and each open one."""
        facts = self.house.home.facts.page("pupil", EVIDENCE, limit=100)
        kept = {fact.id: fact for fact in facts}
        standing = kept.pop(STANDING).read(ClosedEvidence) if STANDING in kept else ClosedEvidence()
        return (
            (self.rule.standing, {day.isoformat(): e for day, e in self.rule.folded.open.items()}),
            (standing, {day: fact.read(Evidence) for day, fact in kept.items()}),
        )

    def mind(self) -> tuple[Any, Any]:
        """What mixes hold and which skills are told."""
        return self.rule.mind, learned.learned_mind(self.house.home.facts, "pupil")

    def skills(self) -> tuple[Any, Any]:
        """Where every skill stands, and what is measured of it."""
        facts = self.house.home.facts.page("pupil", SKILL, limit=100)
        real = (fact.read(AcquiredSkill) for fact in facts)
        return (
            {name: _dated(each) for name, each in self.rule.skills_kept.items()},
            {each.name: _dated(each) for each in real},
        )

    def holdouts(self) -> tuple[Any, Any]:
        """How often each skill is withheld from now on."""
        real = load_skill_holdouts(self.house.home.facts, "pupil")
        ours = self.rule.holdouts
        return (
            None if ours is None else (ours.shares, ours.only),
            None if real is None else (real.shares, real.only),
        )

    def changes(self) -> tuple[Any, Any]:
        """What was changed, night by night; what was proposed besides is for owners."""
        real = reversed(learned.recent_adjustments(self.house.home.facts, "pupil", EVER))
        done = [each for each in real if "remark" not in each.after]
        return _told(self.rule.adjustments), _told(done)


def test_a_made_up_night_comes_to_the_same_as_a_real_one(tmp_path: Path) -> None:
    """Every night anew: the same is known, and the same follows from it."""
    rule = Seeing(simulated_learning_environment(SEED, turns=TURNS))
    pupil = PolicyRun(rule.world, rule, optimal_mix_in_simulation(rule.world))
    house = _house(tmp_path, rule)
    beside = Beside(rule, house)
    try:
        for day in range(NIGHTS):
            pupil.run_day(day, tuple(rule.world.day(day)))
            _store(house, rule.seen)
            _until(house, START + timedelta(days=day + 1, hours=18))
            assert sleep(house, hours=0) == 1 + (day % 7 == 6)
            for what in (
                beside.evidence,
                beside.mind,
                beside.skills,
                beside.changes,
                beside.holdouts,
            ):
                ours, real = what()
                assert _same(ours, real), f"{what.__name__} after night {day}"
            assert _is_full(rule)
            if day >= WORSE_SINCE and not pupil.worse:
                pupil.worse = dict.fromkeys(_chosen_now(rule), LOSS)
    finally:
        house.close()
    _is_rich(rule)
    _is_lawful(pupil, rule)


def _is_rich(rule: ProductPolicy) -> None:
    """The world was one in which everything happens that a night may do."""
    models = [each.state for each in rule.adjustments if "weights" in each.after]
    assert models.count(AdjustmentState.SUPERSEDED) > 1
    assert {each.verdict.value for each in rule.decisions} == {"promote", "retire"}
    reasons = {each.reason for each in rule.adjustments}
    assert {"helps", "harms"} <= reasons
    assert rule.holdouts is not None
    assert len({share for of in rule.holdouts.shares.values() for share in of.values()}) > 5


def _is_lawful(pupil: PolicyRun, rule: Seeing) -> None:
    """What is true of any such life, so that both cannot be wrong in the same way."""
    days = [(START + timedelta(days=day)).date() for day in range(NIGHTS)]
    assert (rule.standing.closed_to, [*rule.folded.open]) == (days[-4].isoformat(), days[-3:])
    assert rule.evidence.turns == NIGHTS * TURNS - pupil.unanswered
    for name, made in {each.subject: each for each in rule.adjustments}.items():
        skill = rule.skills_kept.get(name)
        assert skill is None or skill.status == made.after["status"]
        if skill is not None and skill.effectiveness is not None:
            assert skill.effectiveness.turns == made.evidence["turns"]
    assert any(each.effectiveness for each in rule.skills_kept.values())
    begun = [each.subject for each in rule.adjustments if each.reason == "room"]
    assert begun == sorted(begun)
    measured = [each.evidence for each in rule.adjustments if each.reason.startswith("h")]
    assert all(each["turns"] >= TRIALS.least_turns for each in measured)
    for subject in {each.subject for each in rule.adjustments if "weights" in each.after}:
        _is_lawful_mix(rule, [each for each in rule.adjustments if each.subject == subject])


def _is_full(rule: ProductPolicy) -> bool:
    """As many skills are on trial as may be, unless none waits."""
    on_trial = sum(each.status == "candidate" for each in rule.skills_kept.values())
    waits = any(each.waits for each in rule.skills_kept.values())
    return on_trial == TRIALS.candidates or (on_trial < TRIALS.candidates and not waits)


def _is_lawful_mix(rule: Seeing, made: list[Adjustment]) -> None:
    """One mix holds, and no share is drawn anew too soon."""
    held = [each for each in made if each.state is AdjustmentState.APPLIED]
    assert len(held) == 1
    assert describe_mix(mix_of(rule.mind, made[0].subject)) == held[0].after
    for earlier, later in pairwise(made):
        best, asked = heaviest_learned_alias(later.after), earlier.after["weights"]
        tries_little = (
            best == heaviest_learned_alias(earlier.after) and asked[best] >= 1 - AIM.explore
        )
        if tries_little and earlier.state is AdjustmentState.SUPERSEDED:
            fresh = later.after["weights"].keys() - earlier.after["weights"].keys()
            assert fresh or later.at - earlier.at >= HELD


def _house(folder: Path, rule: ProductPolicy) -> House:
    """A home with the same agent, models and skills."""
    house = House(sqlite, folder)
    house.provider.routing = rule.routing
    house.provider.prices = {
        each.name: Price(input_per_million=each.cost * 1_000_000 // TOKENS, output_per_million=0)
        for each in rule.world.models
    }
    agent = rule.agent.replaced(day_limit_micro_usd=rule.world.day_micro_usd)
    house.home.agents.create(
        Profile(agent=agent, soul=Soul(persona_name="P"), identity=Identity(name="P"))
    )
    _commit(house, [new_fact("pupil", MIND, MIND, rule.mind)])
    _commit(house, [new_fact("pupil", SKILL, *each) for each in rule.skills_kept.items()])
    return house


def _store(house: House, seen: SimulatedDay) -> None:
    """What turns of a day leave behind: signals, the usage of their calls, and what people say."""
    turns = {each.turn_id: TurnSignals.model_validate(each.model_dump()) for each in seen.signals}
    said = [
        _said(turns[opinion.turn_id].at, opinion, number)
        for number, opinion in enumerate(seen.opinions, start=1)
    ]
    facts = [new_fact("pupil", SIGNALS, each.id, each) for each in turns.values()]
    _commit(house, [*facts, *(new_fact("pupil", EXPERIENCE, each.id, each) for each in said)])
    count(house, *(row for turn in turns.values() for row in _rows(turn, seen)), kept=True)


def _said(ended_at: datetime, opinion: TurnOpinion, number: int) -> Experience:
    return Experience(
        id=new_ulid(int(ended_at.timestamp() * 1_000), number.to_bytes(10)),
        experience="They said so.",
        outcome=Outcome.SUCCESS if opinion.up else Outcome.FAILURE,
        lesson="Do it like this.",
        about_turn=opinion.turn_id,
        from_person="owner",
        at=opinion.at,
    )


def _rows(turn: TurnSignals, seen: SimulatedDay) -> Iterator[UsageRow]:
    for number, each in enumerate(turn.served, start=1):
        provider, _, model = each.model.partition(":")
        yield usage_row(
            number,
            agent_id="pupil",
            session_id=turn.session_id,
            turn_id=turn.turn_id,
            at=turn.at,
            provider=provider,
            model=model,
            purpose=each.purpose,
            task_type=each.task_type,
            cost=each.cost,
            latency_ms=each.latency_ms,
            usage=Usage(input_tokens=TOKENS, output_tokens=0),
            quality_score=seen.grades.get(simulated_row_id(turn)) if number == 1 else None,
        )


def _commit(house: House, facts: list[Document]) -> None:
    for place in range(0, len(facts), _AT_ONCE):
        house.home.facts.commit(*facts[place : place + _AT_ONCE])


def _until(house: House, at: datetime) -> None:
    house.clock.advance((at - house.clock.now()).total_seconds())


def _chosen_now(rule: ProductPolicy) -> Iterator[str]:
    """The best model of a mix that was made last night."""
    newest = max(each.at for each in rule.adjustments)
    made = (each for each in rule.adjustments if each.at == newest and "weights" in each.after)
    yield from (rule.routing.aliases[heaviest_learned_alias(each.after)] for each in list(made)[:1])


def _told(made: list[Adjustment]) -> list[dict[str, Any]]:
    """Changes by night and subject, with days for times, and no ids: those tell the time too."""
    names = {each.id: f"{each.at:%Y-%m-%d} {each.subject}" for each in made}
    told = (
        _dated(each) | {"id": names[each.id], "ended_by": names.get(each.ended_by, each.ended_by)}
        for each in made
    )
    return sorted(told, key=lambda each: str(each["id"]))


def _dated(each: Value) -> dict[str, Any]:
    """A value as it is stored, with days for times."""
    told: dict[str, Any] = _days(each.model_dump(mode="json"))
    return told


def _days(told: Any) -> Any:
    if isinstance(told, dict):
        return {name: _days(each) for name, each in told.items()}
    return told[:10] if isinstance(told, str) and _TIME.match(told) else told


def _same(one: Any, other: Any) -> bool:
    """Whether two values are equal but for rounding: a week looks again at days that were closed.

    Numbers are rounded when days are closed, to six places.
    """
    if isinstance(one, dict) and isinstance(other, dict):
        named = one.keys() == other.keys()
        return named and all(_same(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return abs(one - other) < 1e-5
    return bool(one == other)
