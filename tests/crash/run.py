"""One run: clients and workers under a plan, from the first message until nothing is left to do."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from greenlet import GreenletExit

from opencrab.adapters.sqlite.database import sqlite_milliseconds
from opencrab.domain.errors import Conflict, Unavailable
from opencrab.engine.autonomy.heartbeat import decide_queued_heartbeat
from opencrab.engine.autonomy.sweep import run_autonomy_sweep
from opencrab.engine.conversation.delivery import deliver_session_utterance
from opencrab.engine.runtime import Runtime
from opencrab.engine.turn.run import Pace, run_turn
from opencrab.ports.turn.queue import Delivery, MessageOutcome, Queue
from tests.crash.invariants import problems
from tests.crash.scenarios import Client, Scenario
from tests.crash.scheduling import Plan, Task
from tests.crash.weather import Weather
from tests.crash.world import Cast, Mutation, World

TURN_WORKERS = 3
DELIVERY_WORKERS = 2
DELIVERY_VISIBILITY = 120
BEAT_VISIBILITY = 120
ROUNDS = 80
POINTS = 20_000


def play(
    world: World,
    scenarios: tuple[Scenario, ...],
    plan: Plan,
    mutation: Mutation | None = None,
    *,
    trace: list[str] | None = None,
    weather: Weather | None = None,
) -> list[str]:
    """Play scenarios side by side under a plan; answers what went wrong."""
    runtime = world.prepare(scenarios, plan, mutation or Mutation(), weather)
    world.scheduler.trace = trace
    run = Run(world, runtime)
    try:
        run.to_rest()
    finally:
        run.end()
    return problems(world)


@dataclass
class Slot:
    """A place for one process: when one ends another takes its place, as long as there is work."""

    name: str
    job: Callable[[], None]
    has_work: Callable[[], bool]
    task: Task | None = None


class Run:
    """Everybody who takes part in one run."""

    def __init__(self, world: World, runtime: Runtime) -> None:
        self._world = world
        self._scheduler = world.scheduler
        self._plan = world.scheduler.plan
        self._runtime = runtime
        self._busy: list[Task] = []
        self._again: list[tuple[Cast, Client]] = []
        self._held = [(cast, client) for cast in world.casts for client in cast.scenario.clients]
        self._sweep_wanted = False
        self._swept_at = 0
        self._copies = 0
        self._seen: dict[str, tuple[int, int, bool]] = {}
        self._slots = [Slot("sweep", self._sweep, lambda: self._sweep_wanted)]
        self._slots += [
            Slot(f"worker-{n}", self._turn, lambda: self._waits("turns"))
            for n in range(TURN_WORKERS)
        ]
        # On one computer they are kept in memory only, and gone with their process.
        if world.ground.name == "aws":
            self._slots.append(Slot("beat", self._beat, lambda: self._waits("beats")))
        if any(cast.scenario.wall_failures for cast in world.casts):
            self._slots += [
                Slot(f"delivery-{n}", self._deliver, lambda: self._waits("deliveries"))
                for n in range(DELIVERY_WORKERS)
            ]

    def to_rest(self) -> None:
        """Let everything happen until nothing is left to do."""
        rounds = 0
        while rounds < ROUNDS and self._scheduler.points < POINTS:
            if self._one():
                continue
            if self._time_passes():
                rounds += 1
            elif not self._last_resort():
                return
        self._world.problems.append(f"no rest after {rounds} rounds of waiting")

    def end(self) -> None:
        """Let go of whoever is still on the way."""
        for task in [*self._busy, *self._scheduler.sleeping]:
            if not task.finished:
                task.greenlet.throw(GreenletExit)
        self._world.problems.extend(self._scheduler.afterlife)

    def _one(self) -> bool:
        """Let one go on; False when nobody can."""
        self._disturb()
        if self._held:
            self._begin_clients()
        ready: list[Task | Slot] = [*self._busy]
        if not ready or not self._plan.straight:
            ready += [slot for slot in self._slots if slot.task is None and slot.has_work()]
        if not ready:
            return False
        chosen = ready[self._plan.pick(len(ready))]
        if isinstance(chosen, Slot):
            chosen.task = task = Task(chosen.name, chosen.job, self._scheduler.hub)
            self._busy.append(task)
        else:
            task = chosen
        self._go_on(task)
        return True

    def _go_on(self, task: Task) -> None:
        self._scheduler.resume(task)
        if task.finished or task in self._scheduler.sleeping:
            self._busy.remove(task)
            for slot in self._slots:
                if slot.task is task:
                    slot.task = None
        if task.failure is not None:
            self._world.problems.append(f"{task.name} raised {task.failure!r}")

    def _begin_clients(self) -> None:
        """Clients whose time has come begin; they go first."""
        for cast, client in list(self._held):
            if client.when is None or client.when(cast):
                self._held.remove((cast, client))
                self._busy.insert(0, self._client(cast, client))

    def _client(self, cast: Cast, client: Client) -> Task:
        """A process of its own; if it is killed, somebody tries again in the end."""

        def act() -> None:
            self._again.append((cast, client))
            try:
                client.act(cast)
            except Conflict:
                if client.when is None:
                    raise
            except Unavailable:
                return
            self._again.remove((cast, client))

        return Task(client.name, act, self._scheduler.hub)

    def _disturb(self) -> None:
        for task in list(self._scheduler.sleeping):
            if self._plan.wakes():
                self._wake(task)
        match self._plan.disturbance():
            case "jump":
                self._scheduler.overtaken(self._busy)
                self._world.clock.advance(400 if self._scheduler.points % 2 else 2_000)
            case "sweep":
                self._sweep_wanted = True
            case "copy":
                self._copy()
            case _:
                pass

    def _copy(self) -> None:
        """Each turn's message is in the queue once more."""
        for cast in self._world.casts:
            for turn_id in cast.promised:
                self._copies += 1
                body, key = f'{{"v":1,"turn":"{turn_id}"}}', f"copy-{self._copies}"
                self._world.raw.turns.send(body, group=cast.session_id, deduplication=key)
        self._world.watch.version += 1

    def _wake(self, task: Task) -> None:
        self._scheduler.sleeping.remove(task)
        self._busy.insert(0, task)

    def _time_passes(self) -> bool:
        """Move the clock to the next thing that could happen; False when nothing is awaited."""
        world, now = self._world, sqlite_milliseconds(self._world.clock.now())
        awaited = world.ground.awaited()
        visible, patience = awaited.visible, world.casts[0].scenario.rules.stale_seconds * 1_000
        lapses = [at + (0 if name == "due" else patience) for name, at in awaited.lapses]
        if not visible and not lapses:
            return False
        if self._swept_at < now and any(moment <= now for moment in lapses):
            self._sweep_wanted = True
            return True
        moments = (*lapses, *visible)
        ahead = [moment for moment in moments if moment > now]
        world.clock.advance((min(ahead) - now + 1) / 1_000 if ahead else 61)
        self._sweep_wanted = not ahead
        return True

    def _last_resort(self) -> bool:
        """Sleepers wake, killed clients try again; False when there are none."""
        if self._scheduler.sleeping:
            self._wake(self._scheduler.sleeping[0])
            return True
        if self._again:
            self._busy.append(self._client(*self._again.pop(0)))
            return True
        if self._held:
            self._busy.extend(self._client(cast, client) for cast, client in self._held)
            self._held = []
            return True
        return False

    def _waits(self, name: str) -> bool:
        """Whether a queue has something for a worker; asked again only after a change."""
        now = sqlite_milliseconds(self._world.clock.now())
        version, at, answer = self._seen.get(name, (-1, -1, False))
        if (version, at) != (self._world.watch.version, now):
            answer = self._world.ground.has_work(name)
            self._seen[name] = (self._world.watch.version, now, answer)
        return answer

    def _turn(self) -> None:
        self._work(self._runtime.home.turns, self._runtime.rules.visibility_seconds, self._run_turn)

    def _deliver(self) -> None:
        self._work(
            self._runtime.home.deliveries,
            DELIVERY_VISIBILITY,
            lambda delivery: deliver_session_utterance(self._runtime, delivery),
        )

    def _beat(self) -> None:
        """What the sweep queues for its second, such as the end of a lease."""
        self._work(
            self._runtime.home.beats,
            BEAT_VISIBILITY,
            lambda delivery: decide_queued_heartbeat(self._runtime, delivery),
        )

    def _sweep(self) -> None:
        self._sweep_wanted = False
        self._swept_at = sqlite_milliseconds(self._world.clock.now())
        with suppress(Unavailable):
            run_autonomy_sweep(self._runtime)

    def _run_turn(self, delivery: Delivery) -> MessageOutcome:
        left = iter(range(self._plan.patience()))
        pace = Pace(seconds_left=lambda: 0.0 if next(left, None) is None else 1e9)
        return run_turn(self._runtime, delivery, pace)

    def _work(
        self, queue: Queue, visibility: int, handle: Callable[[Delivery], MessageOutcome]
    ) -> None:
        """What the local runner and the Lambda handlers do with one message."""
        task = self._scheduler.current
        if task is not None:
            task.works = True
        try:
            delivery = queue.receive(visibility_seconds=visibility, wait_seconds=0)
        except Unavailable:
            return
        if delivery is None:
            return
        try:
            outcome = handle(delivery)
            if outcome is MessageOutcome.FINISHED:
                queue.acknowledge(delivery.receipt)
            else:
                self._scheduler.hand_backs += 1
        except Unavailable:
            with suppress(Unavailable):
                queue.continue_later(delivery.receipt, 2)
