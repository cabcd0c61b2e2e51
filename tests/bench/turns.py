"""What a turn costs in process: CPU from admission to close, its growth, its parts."""

import statistics
import time
from collections.abc import Callable

from tests.bench.floor import HISTORY, WARM_UP, Beside, bare_loop, beside_floor
from tests.bench.world import World

TURNS = 100
LONG = 10_000
PIECES = 40
BATCHES = 5


def cpu_ms(run: Callable[[], object], times: int) -> float:
    """CPU milliseconds of this process per run: the median of five batches."""
    batches = []
    for _ in range(BATCHES):
        started = time.process_time()
        for _ in range(times // BATCHES):
            run()
        batches.append((time.process_time() - started) * 1_000 / (times // BATCHES))
    return statistics.median(batches)


def beside(world: World, base_url: str, *, growing: bool = True) -> list[Beside]:
    """A turn in a session of 10 messages, and one in a session of 10,000, beside the floor."""
    agent_id = world.agent("蟹")
    short = [world.session(agent_id, HISTORY) for _ in range(TURNS + WARM_UP)]
    long = world.session(agent_id, LONG if growing else 0)

    def turn(session_id: str) -> None:
        world.say(session_id)
        world.work()

    runs = [lambda: turn(short.pop()), lambda: turn(long)][: 1 + growing]
    return beside_floor(bare_loop(base_url), *runs, turns=TURNS)


def load_ms(world: World) -> float:
    """CPU of loading one agent whole."""
    agent_id = world.agent("蟹")
    return cpu_ms(lambda: world.runtime.home.agents.get(agent_id), 1_000)


def flush_ms(world: World) -> float:
    """Wall milliseconds of one durable change of an agent: the median of many."""
    agent_id = world.agent("蟹")
    taken = []
    for _ in range(50):
        agent = world.runtime.home.agents.get(agent_id).agent
        started = time.perf_counter()
        world.runtime.home.agents.save(agent)
        taken.append((time.perf_counter() - started) * 1_000)
    return statistics.median(taken)
