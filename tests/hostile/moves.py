"""What people, time and workers do in the hostile world: each a move that may come at any time."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.access.impact import Impact
from opencrab.domain.approvals.approval import Approval
from opencrab.domain.errors import OpenCrabError, Refused
from opencrab.domain.goals.goal import GOAL, Goal, goal_id_of_label
from opencrab.domain.money.budget import INSTALLATION
from opencrab.domain.skills.lifecycle import skill_lesson
from opencrab.domain.skills.skill import SKILL
from opencrab.engine.approvals import approvals, grants
from opencrab.engine.goals import instructions
from opencrab.engine.learning import feedback
from opencrab.engine.skills.owner import SkillOwner
from opencrab.engine.turn import control
from tests.hostile import names, speaking, words, working
from tests.hostile.law import fingerprint
from tests.hostile.world import AGENTS, World

OWNER = approvals.Decider(id="owner", is_owner=True)
_FOREIGN_NAMES = 0.5
_NEVER_REFUSED = {"work", "die_at_work", "time_passes", "work_beside", "sweep_beside"}
USER = approvals.Decider(id="yuki", is_owner=False)


def _a_goal(world: World) -> tuple[str, str] | None:
    turn = world.watcher.turns.get(_the_one_at_work(world) or "")
    if turn is not None and turn.task is not None:
        return turn.agent_id, goal_id_of_label(turn.task)
    agent_id = world.dice.choice(sorted(AGENTS))
    found = [fact.read(Goal).id for fact in world.raw.facts.page(agent_id, GOAL, limit=50)]
    return (agent_id, world.dice.choice(found)) if found else None


def handle_goal(world: World) -> None:
    """Somebody pauses, resumes, cancels or steers a goal."""
    goal = _a_goal(world)
    if goal is None:
        return
    runtime, dice = world.runtime, world.dice
    asker = instructions.InstructionGiver("yuki", "yuki", Source.REST, Authority.USER)
    way = dice.choice(("pause", "resume", "resume", "cancel", "steer", "both", "both"))
    if way == "pause":
        why = dice.choice(("", names.text(dice)))
        instructions.pause_goal_by_label(runtime, *goal, by="owner", reason=why)
    elif way == "both":
        instructions.pause_goal_by_label(runtime, *goal, by="owner")
        instructions.resume_goal(runtime, *goal)
    elif way == "resume":
        instructions.resume_goal(runtime, *goal)
    elif way == "cancel":
        instructions.cancel_goal(runtime, *goal, by="owner", reason=names.name(dice))
    else:
        number = world.watcher.counts["steered"] = world.watcher.counts["steered"] + 1
        instructions.steer_goal(runtime, *goal, names.text(dice), asker=asker, key=f"s{number}")


def stop(world: World) -> None:
    """The owner stops some turn."""
    if world.watcher.turns:
        turn_id = _the_one_at_work(world) or world.dice.choice(sorted(world.watcher.turns))
        control.stop_turn(world.runtime, turn_id, by="owner", reason=names.name(world.dice))


def _the_one_at_work(world: World) -> str | None:
    """Return the turn in whose midst this happens, most of the time."""
    running = world.watcher.running
    return running if running in world.watcher.turns and world.dice.random() < 0.8 else None


def decide(world: World, *, approved: bool) -> None:
    """The owner decides about a call that waits, or somebody tries who may not."""
    waiting = approvals.open_or_decided_approvals(world.runtime.home.facts, decided=False)
    if not waiting:
        return
    chosen = world.dice.choice(waiting)
    if world.dice.random() < 0.2:
        with suppress(Refused):
            approvals.decide_approval(world.runtime, chosen.id, approved=True, who=USER)
            world.watcher.problem("somebody who is no owner decided")
        return
    if approved:
        agree(world, chosen)
    approvals.decide_approval(world.runtime, chosen.id, approved=approved, who=OWNER)


def agree(world: World, asked: Approval) -> None:
    """Note what the owner agrees with: this call with these arguments, as they are stored now."""
    call = world.watcher.calls.get((asked.turn_id, asked.call_id))
    world.watcher.approved[asked.turn_id, asked.call_id] = fingerprint(call)
    if asked.action == "set_purpose" and call is not None:
        world.watcher.vouched |= set(words.FOREIGN.findall(str(call.arguments)))


def grant(world: World) -> None:
    """The owner gives leave beforehand, or takes it back."""
    dice, watcher = world.dice, world.watcher
    agent_id = dice.choice(sorted(AGENTS))
    given = [each for each in watcher.grants if each.agent_id == agent_id]
    if given and dice.random() < 0.3:
        chosen = dice.choice(given)
        with suppress(OpenCrabError):
            grants.revoke_approval_grant(world.runtime.home.facts, agent_id, chosen.id)
        return
    new = grants.NewGrant(
        actions=dice.choice(((), ("ring_gong",), ("publish_page", "web_fetch"))),
        impacts=dice.choice(((Impact.SHARED,), (Impact.EXTERNAL, Impact.SHARED), (Impact.SELF,))),
        calls=dice.choice((1, 3, 50)),
        hours=dice.choice((1, 48)),
    )
    made = grants.grant_approval_in_advance(
        world.runtime, agent_id, new, by="owner", grant_id=f"grant{len(watcher.grants)}"
    )
    watcher.grants.append(made)


def keep_skill(world: World) -> None:
    """The owner approves, switches, retires, restores or writes a skill."""
    dice, watcher = world.dice, world.watcher
    # No turn writes the skill's file, even if one is at work.
    watcher.running = None
    agent_id = dice.choice(sorted(AGENTS))
    keeper = SkillOwner(world.runtime, agent_id, "owner")
    facts = world.raw.facts.page(agent_id, SKILL, limit=50)
    known = [fact.id for fact in facts] + ["autonomous", "llm-selection", "knowledge-vault"]
    name = dice.choice(known)
    way = dice.choice(("approve", "toggle", "retire", "restore", "put"))
    if way == "approve":
        for fact in facts:
            if fact.id == name:
                watcher.vouched |= set(words.FOREIGN.findall(str(fact.body)))
        keeper.approve(name)
    elif way == "put":
        keeper.put(skill_lesson("owners-own", "today ノート", guidance=names.text(dice)))
    else:
        moves: dict[str, Callable[[str], Any]] = {
            "toggle": keeper.toggle, "retire": keeper.retire, "restore": keeper.restore,
        }  # fmt: skip
        moves[way](name)


def remark(world: World) -> None:
    """Somebody says what they think of a turn."""
    ended = [turn.id for turn in world.watcher.turns.values() if turn.status.is_end]
    if ended:
        number = world.watcher.counts["remarks"] = world.watcher.counts["remarks"] + 1
        turn_id = world.dice.choice(sorted(ended))
        feedback.give_feedback(
            world.runtime, turn_id, by="yuki", thumbs="down", remark=names.text(world.dice),
            key=f"f{number}",
        )  # fmt: skip


def upload(world: World) -> None:
    """A foreign file comes in, or one is taken away, past the agent."""
    dice, files = world.dice, world.raw.files
    agent_id = dice.choice(sorted(AGENTS))
    path = dice.choice(
        ("notes/today.md", "data/up.txt", "vault/Up.md", "vault/templates/mine.md", "data/a.txt")
    )
    if dice.random() < _FOREIGN_NAMES:
        path = names.path(dice, world.watcher.mint())
    with suppress(OpenCrabError):
        if dice.random() < 0.2:
            files.delete(agent_id, path)
        else:
            text = f"{world.watcher.mint()} {dice.choice(words.INJECTIONS)}\n[[Own]] {{{{title}}}}"
            files.write(agent_id, path, text.encode("utf-8", "replace"))
    known = {info.path for each in AGENTS for info in files.list(each)}
    world.watcher.files = tuple(sorted(known))


def rule(world: World) -> None:
    """The owner changes a policy, freezes something, or lets it run again."""
    dice, runtime = world.dice, world.runtime
    scope = dice.choice((INSTALLATION, *sorted(AGENTS)))
    runtime.home.switches.set(scope, frozen=dice.random() < 0.3)


def _says(who: str) -> Callable[[World], None]:
    return lambda world: speaking.say(world, who)


MOVES: dict[str, tuple[int, Callable[[World], None]]] = {
    "say_owner": (10, _says("owner")),
    "say_user": (6, _says("user")),
    "say_public": (3, _says("public")),
    "say_hook": (2, _says("hook")),
    "say_peer": (3, _says("peer")),
    "say_beat": (5, _says("beat")),
    "work": (60, working.work),
    "die_at_work": (6, working.die_at_work),
    "time_passes": (14, working.time_passes),
    "undertake": (7, speaking.undertake),
    "handle_goal": (5, handle_goal),
    "stop": (1, stop),
    "approve": (7, lambda world: decide(world, approved=True)),
    "reject": (2, lambda world: decide(world, approved=False)),
    "grant": (2, grant),
    "keep_skill": (3, keep_skill),
    "remark": (1, remark),
    "upload": (5, upload),
    "rule": (1, rule),
    "work_beside": (12, lambda world: working.work_beside(world, attempt)),
    "sweep_beside": (4, lambda world: working.sweep_beside(world, attempt)),
    "tell": (2, speaking.tell),
    "schedule": (1, speaking.schedule),
}
"""What may happen next, and how often it does."""


def make(world: World, name: str) -> None:
    """Make a move; what the product refuses is refused, and the next one comes."""
    try:
        if not world.alive(lambda: attempt(world, name)):
            world.watcher.counts["killed"] += 1
    except Exception as error:  # noqa: BLE001 - whatever it is, no model may cause it
        world.watcher.problem(f"{name} raised {error!r} {traceback(error)}")
        world.restart()


def attempt(world: World, name: str) -> None:
    """Try a move; a worker or the sweep is never refused."""
    world.watcher.counts[f"move {name}"] += 1
    try:
        (MOVES.get(name) or world.moves[name])[1](world)
    except OpenCrabError as error:
        world.watcher.counts[f"refused {name}: {type(error).__name__}"] += 1
        if name in _NEVER_REFUSED:
            world.watcher.problem(f"{name} raised {error!r} {traceback(error)}")


def traceback(error: BaseException) -> str:
    """Where an error comes from: the innermost places."""
    found, at = [], error.__traceback__
    while at is not None:
        code = at.tb_frame.f_code
        found.append(f"{code.co_filename.rpartition('opencrab/')[2]}:{at.tb_lineno}")
        at = at.tb_next
    return " ".join(found[-7:])
