"""What workers and the sweep do in the hostile world, and what happens at the same moment."""

import json
from collections.abc import Callable
from typing import Any

from opencrab.bootstrap.channels.interactions import handle_queued_interaction
from opencrab.engine.autonomy.sweep import run_autonomy_sweep
from opencrab.engine.conversation.delivery import deliver_session_utterance
from opencrab.engine.turn.background import run_background_turn
from opencrab.engine.turn.run import Pace, run_turn
from opencrab.ports.turn.queue import Delivery, MessageOutcome
from tests.hostile.world import World

_BESIDE = (
    "stop", "stop", "handle_goal", "handle_goal", "say_owner", "say_public", "say_peer",
    "undertake", "approve", "reject", "grant", "upload", "tell", "rule", "keep_skill", "work",
)  # fmt: skip
_BESIDE_SWEEP = ("work", "work", "work", "stop", "handle_goal", "say_owner")
_TRIES = 4
_POINTS = (0, 1, 3, 5, 8, 12, 20, 40, 70)


def work(world: World) -> None:
    """A worker takes the next message: of a turn, of a summary, or of something to deliver."""
    home = world.runtime.home
    jobs: list[tuple[Any, Callable[[World, Delivery], MessageOutcome]]] = [
        (home.turns, _turn),
        (home.deliveries, _delivery),
        (home.compactions, _compaction),
    ]
    if world.entries:
        jobs.append((home.interactions, _event))
    queue, work_on = world.dice.choices(jobs, (80, 10, 10, 25)[: len(jobs)])[0]
    delivery = queue.receive(
        visibility_seconds=world.runtime.rules.visibility_seconds, wait_seconds=0
    )
    if delivery is None:
        return
    if work_on(world, delivery) is MessageOutcome.FINISHED:
        queue.acknowledge(delivery.receipt)


def _turn(world: World, delivery: Delivery) -> MessageOutcome:
    watcher, mouth = world.watcher, world.mouth
    # A worker beside this one is another process: neither knows the other's calls.
    before = watcher.running, mouth.last
    watcher.running = delivery.body.rpartition('"turn":"')[2].rstrip('"}')
    patience = world.dice.choice((1, 2, 100, 100, 100))
    left = iter(range(patience))
    pace = Pace(seconds_left=lambda: 0.0 if next(left, None) is None else 1e9)
    mouth.last = []
    try:
        return run_turn(world.runtime, delivery, pace)
    finally:
        watcher.running, mouth.last = before


def _delivery(world: World, delivery: Delivery) -> MessageOutcome:
    return deliver_session_utterance(world.runtime, delivery)


def _compaction(world: World, delivery: Delivery) -> MessageOutcome:
    watcher = world.watcher
    before = watcher.running
    # A message names the turn of a summary, or a session that has grown: that one asks no model.
    watcher.running = json.loads(delivery.body).get("turn")
    try:
        return run_background_turn(world.runtime, delivery, Pace())
    finally:
        watcher.running = before


def _event(world: World, delivery: Delivery) -> MessageOutcome:
    return handle_queued_interaction(world.runtime, delivery)


def die_at_work(world: World) -> None:
    """A worker is killed at some point of its work."""
    world.fuse.left = world.dice.choice((3, 8, 15, 25, 40, 70, 120))
    work(world)


def time_passes(world: World) -> None:
    """Time passes, and the sweep looks around."""
    world.clock.advance(world.dice.choice((1, 61, 61, 400, 2_000, 90_000)))
    run_autonomy_sweep(world.runtime)


def work_beside(world: World, does: Callable[[World, str], None]) -> None:
    """A worker is at work, and in the midst of it somebody does something of which it knows not."""
    if not world.has_work():
        does(world, world.dice.choice(("say_owner", "say_user", "say_public", "time_passes")))
    _light(world, does, world.dice.choice(_BESIDE))
    for _ in range(_TRIES):
        work(world)
        if world.fuse.act is None:
            break


def sweep_beside(world: World, does: Callable[[World, str], None]) -> None:
    """The sweep looks around, and in the midst of it a worker takes up what it has found."""
    _light(world, does, world.dice.choice(_BESIDE_SWEEP))
    time_passes(world)


def _light(world: World, does: Callable[[World, str], None], name: str) -> None:
    watcher = world.watcher

    def act() -> None:
        before = watcher.running, watcher.acting
        watcher.counts["meanwhile"] += 1
        does(world, name)
        watcher.running, watcher.acting = before

    world.fuse.act = act
    if world.dice.random() < 0.5:
        world.fuse.within = True
    else:
        world.fuse.left = world.dice.choice(_POINTS)
