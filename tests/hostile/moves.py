"""What people, time and workers do in the hostile world: each a move that may come at any time."""

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.access.impact import Impact
from opencrab.domain.approvals.approval import Approval
from opencrab.domain.conversation.message import Channel, Message, Sender, TextPart
from opencrab.domain.errors import Conflict, OpenCrabError, Refused
from opencrab.domain.goals.goal import GOAL, Goal
from opencrab.domain.learning.skill_lifecycle import skill_lesson
from opencrab.domain.money.budget import INSTALLATION
from opencrab.domain.skills.skill import SKILL
from opencrab.domain.turn.turn import Trigger
from opencrab.engine.approvals import approvals, grants
from opencrab.engine.autonomy.sweep import sweep_agents
from opencrab.engine.conversation.delivery import deliver_utterance
from opencrab.engine.goals import instructions
from opencrab.engine.learning import feedback
from opencrab.engine.skills.owner import SkillOwner
from opencrab.engine.turn import control
from opencrab.engine.turn.admission import admit_message
from opencrab.engine.turn.background import run_background_turn
from opencrab.engine.turn.pace import MessageOutcome, Pace
from opencrab.engine.turn.run import run_turn
from opencrab.ports.turn.queue import Delivery
from tests.hostile import words
from tests.hostile.law import fingerprint
from tests.hostile.world import AGENTS, SAFE, SESSIONS, World

OWNER = approvals.Decider(id="owner", is_owner=True)
USER = approvals.Decider(id="yuki", is_owner=False)

_PEOPLE = {
    "owner": (Source.REST, Authority.OWNER, "owner"),
    "user": (Source.REST, Authority.USER, "yuki"),
    "public": (Source.DISCORD, Authority.PUBLIC, "stranger"),
    "hook": (Source.WEBHOOK, Authority.PUBLIC, "hook"),
    "peer": (Source.PEER, Authority.PEER, "remote"),
    "beat": (Source.HEARTBEAT, Authority.SELF, "heart"),
}


def say(world: World, who: str) -> None:
    """Somebody says something in some session."""
    dice, watcher = world.dice, world.watcher
    source, authority, principal = _PEOPLE[who]
    foreign = authority in {Authority.PUBLIC, Authority.PEER}
    text = dice.choice((*words.PLAIN, *words.INJECTIONS))
    if foreign:
        text = f"{watcher.mint()} {text}"
    elif dice.random() < 0.6:
        text = dice.choice(words.PLAIN)
    name = dice.choice(sorted(world.sessions))
    session_id = world.sessions[name]
    if who == "owner" and dice.random() < 0.15:
        session_id, text = SAFE, f"{text} {world.canaries[SAFE].token}"
    number = watcher.counts["said"] = watcher.counts["said"] + 1
    message = Message(
        source=source,
        source_id=f"m{number}",
        principal_id=principal,
        sender=Sender(id=principal, name="OpenCrab" if foreign else principal),
        authority=authority,
        parts=(TextPart(text=text),),
        channel=Channel(kind="wall", address="room") if dice.random() < 0.4 else None,
    )
    trigger = Trigger.HEARTBEAT if who == "beat" else Trigger.MESSAGE
    try:
        admit_message(world.runtime, session_id, message, trigger=trigger)
    except Conflict:
        if session_id != SAFE:
            world.sessions[name] = f"{name}-{number}"
            world.session(world.sessions[name], SESSIONS[name])


def work(world: World) -> None:
    """A worker takes the next message: of a turn, of a summary, or of something to deliver."""
    home = world.runtime.home
    queue, work_on = world.dice.choices(
        (
            (home.turns, _turn),
            (home.deliveries, _delivery),
            (home.compactions, _compaction),
        ),
        (80, 10, 10),
    )[0]
    delivery = queue.receive(
        visibility_seconds=world.runtime.rules.visibility_seconds, wait_seconds=0
    )
    if delivery is None:
        return
    if work_on(world, delivery) is MessageOutcome.FINISHED:
        queue.done(delivery.receipt)


def _turn(world: World, delivery: Delivery) -> MessageOutcome:
    watcher = world.watcher
    watcher.running = delivery.body.rpartition('"turn":"')[2].rstrip('"}')
    patience = world.dice.choice((1, 2, 100, 100, 100))
    left = iter(range(patience))
    pace = Pace(seconds_left=lambda: 0.0 if next(left, None) is None else 1e9)
    world.mouth.last = []
    try:
        return run_turn(world.runtime, delivery, pace)
    finally:
        watcher.running = None


def _delivery(world: World, delivery: Delivery) -> MessageOutcome:
    return deliver_utterance(world.runtime, delivery)


def _compaction(world: World, delivery: Delivery) -> MessageOutcome:
    watcher = world.watcher
    # A message names the turn of a summary, or a session that has grown: that one asks no model.
    watcher.running = json.loads(delivery.body).get("turn")
    try:
        return run_background_turn(world.runtime, delivery, Pace())
    finally:
        watcher.running = None


def die_at_work(world: World) -> None:
    """A worker is killed at some point of its work."""
    world.fuse.left = world.dice.choice((3, 8, 15, 25, 40, 70, 120))
    work(world)


def time_passes(world: World) -> None:
    """Time passes, and the sweep looks around."""
    world.clock.advance(world.dice.choice((1, 61, 61, 400, 2_000, 90_000)))
    sweep_agents(world.runtime)


def undertake(world: World) -> None:
    """Somebody gives an instruction."""
    dice = world.dice
    source, authority, who = dice.choice((_PEOPLE["owner"], _PEOPLE["user"]))
    number = world.watcher.counts["instructions"] = world.watcher.counts["instructions"] + 1
    instructions.start_instruction(
        world.runtime,
        dice.choice(sorted(AGENTS)),
        instructions.NewInstruction(instruction=dice.choice(words.PLAIN)),
        instructions.InstructionGiver(who, who, source, authority),
        key=f"k{number}",
    )


def _a_goal(world: World) -> tuple[str, str] | None:
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
    way = dice.choice(("pause", "resume", "resume", "cancel", "steer"))
    if way == "pause":
        instructions.pause_goal_by_label(runtime, *goal, by="owner")
    elif way == "resume":
        instructions.resume_goal(runtime, *goal)
    elif way == "cancel":
        instructions.cancel_goal(runtime, *goal, by="owner")
    else:
        number = world.watcher.counts["steered"] = world.watcher.counts["steered"] + 1
        instructions.steer_goal(
            runtime, *goal, dice.choice(words.PLAIN), asker=asker, key=f"s{number}"
        )


def stop(world: World) -> None:
    """The owner stops some turn."""
    if world.watcher.turns:
        turn_id = world.dice.choice(sorted(world.watcher.turns))
        control.stop_turn(world.runtime, turn_id, by="owner")


def decide(world: World, *, approved: bool) -> None:
    """The owner decides about a call that waits, or somebody tries who may not."""
    waiting = approvals.page_of_approvals(world.runtime.home.facts, decided=False)
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
            grants.revoke_grant(world.runtime.home.facts, agent_id, chosen.id)
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
    agent_id = dice.choice(sorted(AGENTS))
    keeper = SkillOwner(world.runtime, agent_id, "owner")
    facts = world.raw.facts.page(agent_id, SKILL, limit=50)
    names = [fact.id for fact in facts] + ["autonomous", "llm-selection", "knowledge-vault"]
    name = dice.choice(names)
    way = dice.choice(("approve", "toggle", "retire", "restore", "put"))
    if way == "approve":
        for fact in facts:
            if fact.id == name:
                watcher.vouched |= set(words.FOREIGN.findall(str(fact.body)))
        keeper.approve(name)
    elif way == "put":
        keeper.put(skill_lesson("owners-own", "today ノート", guidance="Write it down."))
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
            world.runtime, turn_id, by="yuki", thumbs="down", remark="", key=f"f{number}"
        )


def upload(world: World) -> None:
    """A foreign file comes in, or one is taken away, past the agent."""
    dice, files = world.dice, world.raw.files
    agent_id = dice.choice(sorted(AGENTS))
    path = dice.choice(
        ("notes/today.md", "data/up.txt", "vault/Up.md", "vault/templates/mine.md", "data/a.txt")
    )
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
    return lambda world: say(world, who)


MOVES: dict[str, tuple[int, Callable[[World], None]]] = {
    "say_owner": (10, _says("owner")),
    "say_user": (6, _says("user")),
    "say_public": (3, _says("public")),
    "say_hook": (2, _says("hook")),
    "say_peer": (3, _says("peer")),
    "say_beat": (3, _says("beat")),
    "work": (60, work),
    "die_at_work": (6, die_at_work),
    "time_passes": (10, time_passes),
    "undertake": (4, undertake),
    "handle_goal": (5, handle_goal),
    "stop": (1, stop),
    "approve": (7, lambda world: decide(world, approved=True)),
    "reject": (2, lambda world: decide(world, approved=False)),
    "grant": (2, grant),
    "keep_skill": (3, keep_skill),
    "remark": (1, remark),
    "upload": (3, upload),
    "rule": (1, rule),
}
"""What may happen next, and how often it does."""


def make(world: World, name: str) -> None:
    """Make a move; what the product refuses is refused, and the next one comes."""
    move = MOVES[name][1]
    world.watcher.counts[f"move {name}"] += 1

    def act() -> None:
        try:
            move(world)
        except OpenCrabError as error:
            world.watcher.counts[f"refused {name}: {type(error).__name__}"] += 1
            if name in {"work", "die_at_work", "time_passes"}:
                world.watcher.problem(f"{name} raised {error!r} {traceback(error)}")

    try:
        if not world.alive(act):
            world.watcher.counts["killed"] += 1
    except Exception as error:  # noqa: BLE001 - whatever it is, no model may cause it
        world.watcher.problem(f"{name} raised {error!r} {traceback(error)}")
        world.restart()


def traceback(error: BaseException) -> str:
    """Where an error comes from: the innermost places."""
    found, at = [], error.__traceback__
    while at is not None:
        code = at.tb_frame.f_code
        found.append(f"{code.co_filename.rpartition('opencrab/')[2]}:{at.tb_lineno}")
        at = at.tb_next
    return " ".join(found[-7:])
