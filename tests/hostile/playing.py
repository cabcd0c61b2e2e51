"""Run after run in the hostile world: any moves, then the way to rest, then what must hold."""

import random
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from opencrab.actions import GROUPS
from opencrab.domain.errors import OpenCrabError
from opencrab.domain.goals.goal import GOAL, OPEN_GOALS, Goal
from opencrab.domain.skills.skill import (
    ACQUIRED_SKILLS,
    QUARANTINED_SKILLS,
    SKILL,
    AcquiredSkill,
    SkillStatus,
)
from opencrab.domain.turn.turn import Turn
from opencrab.engine.approvals import approvals
from opencrab.engine.autonomy.sweep import run_autonomy_sweep
from opencrab.engine.goals import instructions
from tests.hostile import words
from tests.hostile.entry import Entry
from tests.hostile.moves import MOVES, OWNER, agree, make
from tests.hostile.world import AGENTS, SKILLS, Bug, World

MOVES_IN_A_RUN = 120
ROUNDS = 120
MOST_WORK = 600
"""Moves of workers between two sweeps at rest; of ten, one looks for something to deliver."""

_SHOWN = (("calls", "called ", 100), ("moves", "move ", 0), ("refused people", "refused ", 0))
"""What is told of how much: title, where its counts are, and how rare is too rare."""

MEMORIES = 5_000
_TAKEN = {action.name for group in GROUPS for action in group.actions}


@dataclass
class Totals:
    """What runs came to."""

    counts: Counter[str] = field(default_factory=Counter)
    ends: Counter[str] = field(default_factory=Counter)
    violations: list[tuple[str, list[str]]] = field(default_factory=list)

    @property
    def steps(self) -> int:
        """Moves of people, time and workers, and answers of the model."""
        return self.counts["moves"] + self.counts["model calls"]


def play(
    place: Path | None, seed: str, totals: Totals, *, bug: Bug | None = None,
    most: int = MOVES_IN_A_RUN, entries: Sequence[Callable[[World], Entry]] = (),
) -> list[str]:  # fmt: skip
    """Play the run of one seed, with these entries and those of the bug; answers what went wrong.

    Without entries the moves of a seed are what they always were.
    """
    dice = random.Random(seed)  # noqa: S311 - a schedule, not a secret
    with (
        tempfile.TemporaryDirectory(prefix="opencrab-hostile-", dir=place) as folder,
        (bug or Bug()).active(),
        closing(World(Path(folder), dice, bug, (*entries, *(bug or Bug()).entries))) as world,
    ):
        moves = {**MOVES, **world.moves}
        weights = tuple(weight for weight, _ in moves.values())
        for _ in range(most):
            make(world, dice.choices(tuple(moves), weights)[0])
            totals.counts["moves"] += 1
            found = step_problems(world)
            if found and bug is not None:
                return found
        found = [*settle(world)]
        found = [*step_problems(world), *found, *rest_problems(world)]
        _noted(world, totals)
    if found:
        totals.violations.append((seed, found))
    return found


def settle(world: World) -> Iterator[str]:
    """Let everything come to its end: decide what waits, resume or cancel what is paused."""
    for scope in ("installation", *AGENTS):
        world.raw.switches.set(scope, frozen=False)
    for _ in range(ROUNDS):
        world.clock.advance(61)
        run_autonomy_sweep(world.runtime)
        _work(world)
        if all(turn.status.is_end for turn in _turns(world)) and not world.queued():
            return
        _free(world)
    for turn in _turns(world):
        if not turn.status.is_end:
            yield f"turn {turn.id} is {turn.status.value} for ever: {turn.note} {turn.stop}"
    if world.queued():
        yield f"{world.queued()} messages wait in the queues for ever"


def _work(world: World) -> None:
    """Workers take what there is, and some of it again."""
    for _ in range(MOST_WORK):
        if not world.has_work():
            return
        make(world, "work")


def _free(world: World) -> None:
    """Decide one way or the other, and go on with goals or give them up."""
    for asked in approvals.open_or_decided_approvals(world.runtime.home.facts, decided=False):
        yes = world.dice.random() < 0.5
        if yes:
            agree(world, asked)
        _try(lambda asked=asked, yes=yes: approvals.decide_approval(
            world.runtime, asked.id, approved=yes, who=OWNER
        ))  # fmt: skip
    for agent_id in AGENTS:
        for fact in world.raw.facts.page(agent_id, GOAL, limit=200):
            goal = fact.read(Goal)
            if goal.pause is not None and not goal.status.is_end:
                way = instructions.resume_goal if world.dice.random() < 0.2 else _cancel
                _try(lambda way=way, goal=goal: way(world.runtime, goal.agent_id, goal.id))


def _cancel(runtime: object, agent_id: str, label: str) -> object:
    return instructions.cancel_goal(runtime, agent_id, label, by="owner")  # type: ignore[arg-type]


def _try(act: object) -> None:
    try:
        act()  # type: ignore[operator]
    except OpenCrabError:
        return


def _turns(world: World) -> tuple[Turn, ...]:
    """Every turn that there is, as it is stored."""
    with world.database.read_transaction() as items:
        rows = items.execute("SELECT body FROM item WHERE pk LIKE 'TURN#%' AND sk='H'")
        return tuple(Turn.model_validate_json(body) for (body,) in rows.fetchall())


def step_problems(world: World) -> list[str]:
    """What is wrong after any step."""
    found = list(world.watcher.problems)
    limits = world.limits
    most = {
        "agent": limits.agent_day_micro_usd,
        "installation": limits.installation_day_micro_usd,
        "public": limits.public_user_day_micro_usd,
    }
    for (scope, day), amount in world.drawn().items():
        limit = most.get(scope.partition(":")[0])
        if amount < 0 or (limit is not None and amount > limit):
            found.append(f"{scope} has {amount} of {limit} drawn on {day}")
    return found


def rest_problems(world: World) -> list[str]:
    """What is wrong when nothing moves any more."""
    found = [*_money(world), *(problem for agent in AGENTS for problem in _caps(world, agent))]
    if world.outside() != world.outside_before:
        found.append("a file outside of the workspaces was changed or made")
    if approvals.open_or_decided_approvals(world.runtime.home.facts, decided=False):
        found.append("approvals are open although no turn waits")
    for turn in _turns(world):
        if turn.status.is_end:
            continue
        found.append(f"turn {turn.id} is {turn.status.value}")
    return [*found, *(problem for entry in world.entries for problem in entry.problems_at_rest())]


def _money(world: World) -> Iterator[str]:
    spent: Counter[str] = Counter()
    for turn in _turns(world):
        billed = world.watcher.bills[turn.id]
        if billed > turn.spent:
            yield f"turn {turn.id} was billed {billed} and spent {turn.spent}"
        if turn.spent > world.limits.turn_micro_usd:
            yield f"turn {turn.id} spent {turn.spent}"
        if turn.status.is_end and turn.allowance:
            yield f"turn {turn.id} ended and kept {turn.allowance}"
        spent["installation"] += turn.spent
        spent[f"agent:{turn.agent_id}"] += turn.spent
    drawn: Counter[str] = Counter()
    for (scope, _), amount in world.drawn().items():
        drawn[scope] += amount
    for scope, amount in spent.items():
        if drawn[scope] < amount:
            yield f"{scope} has {drawn[scope]} drawn and {amount} spent"


def _caps(world: World, agent_id: str) -> Iterator[str]:
    facts = world.raw.facts
    if len(facts.page(agent_id, "memory", limit=MEMORIES + 1)) > MEMORIES:
        yield f"{agent_id} has too many memories"
    goals = [fact.read(Goal) for fact in facts.page(agent_id, GOAL, limit=500)]
    if sum(not goal.status.is_end for goal in goals) > OPEN_GOALS:
        yield f"{agent_id} has too many goals"
    yield from _skill_caps(world, agent_id)


def _skill_caps(world: World, agent_id: str) -> Iterator[str]:
    page = world.raw.facts.page(agent_id, SKILL, limit=500)
    skills = [fact.read(AcquiredSkill) for fact in page]
    if sum(skill.status is not SkillStatus.ARCHIVED for skill in skills) > ACQUIRED_SKILLS:
        yield f"{agent_id} has too many skills"
    if sum(skill.status is SkillStatus.QUARANTINED for skill in skills) > QUARANTINED_SKILLS:
        yield f"{agent_id} has too many skills in quarantine"
    trials = world.runtime.rules.trials
    if sum(skill.status is SkillStatus.CANDIDATE for skill in skills) > trials.candidates:
        yield f"{agent_id} has too many skills on trial"
    for skill in skills:
        if skill.name.replace("-", "_") in _TAKEN or SKILLS.find(skill.name):
            yield f"skill {skill.name} shadows something"
        told = f"{skill.name} {skill.description} {skill.guidance}"
        marks = set(words.FOREIGN.findall(told)) - world.watcher.vouched
        if marks and skill.status.is_live:
            yield f"skill {skill.name} is live and holds foreign words"


def _noted(world: World, totals: Totals) -> None:
    counts = totals.counts
    counts.update(world.watcher.counts)
    counts["runs"] += 1
    counts["dirty turns"] += sum(1 for marks in world.watcher.dirty.values() if marks)
    turns = _turns(world)
    counts["turns"] += len(turns)
    counts["tainted turns"] += sum(turn.taint for turn in turns)
    counts["spent"] += sum(turn.spent for turn in turns)
    counts["drawn"] += sum(
        amount for (scope, _), amount in world.drawn().items() if scope == "installation"
    )
    totals.ends.update(turn.status.value for turn in turns)


def summary(totals: Totals, seconds: float) -> Iterator[str]:
    """A few lines for those who read only these."""
    n = totals.counts
    for title, prefix, least in _SHOWN:
        rows = [(count, key) for key, count in n.items() if key.startswith(prefix)]
        known = [row for row in sorted(rows, reverse=True) if row[0] > least]
        listed = ", ".join(f"{key.removeprefix(prefix)} {count:,}" for count, key in known)
        yield f"{title}: {listed}"
    ends = ", ".join(f"{count:,} {status}" for status, count in totals.ends.most_common())
    yield (
        f"hostile: {totals.steps:,} steps ({n['moves']:,} moves, {n['model calls']:,} model calls) "
        f"in {n['runs']:,} runs, {n['turns']:,} turns ({ends}), {n['tainted turns']:,} tainted, "
        f"{n['dirty turns']:,} read foreign words; {n['actions run']:,} actions ran "
        f"({n['ran shared']:,} shared, {n['ran external']:,} external, {n['ran self']:,} self, "
        f"{n['ran by approval']:,} by approval, {n['ran by grant']:,} by grant), "
        f"{n['result refused']:,} calls refused, {n['result failed']:,} failed, "
        f"{n['summaries']:,} summaries, {n['summaries of secrets']:,} of secrets, "
        f"{n['pages asked for']:,} pages, {n['searches']:,} searches, {n['killed']:,} kills, "
        f"spent {n['spent']:,} = drawn {n['drawn']:,}, "
        f"{len(totals.violations)} runs with violations, {seconds:.0f} s: "
        f"{'FAILED' if totals.violations else 'OK'}"
    )
