"""One run: people, workers and an owner under a plan, until every turn has ended."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from greenlet import GreenletExit

from opencrab.adapters.sqlite.database import sqlite_milliseconds
from opencrab.domain.errors import Unavailable
from opencrab.domain.turn.turn import Stop, Turn
from opencrab.engine.autonomy.sweep import run_autonomy_sweep
from opencrab.engine.runtime import Runtime
from opencrab.engine.turn.run import Pace, run_turn
from opencrab.ports.turn.queue import Delivery, MessageOutcome
from tests.crash.scheduling import Task
from tests.money.town import Town

WORKERS = 4
ROUNDS = 3_000
POINTS = 150_000


@dataclass
class Slot:
    """A place for one process: when one ends another takes its place, as long as there is work."""

    name: str
    job: Callable[[], None]
    has_work: Callable[[], bool]
    task: Task | None = None


class Run:
    """Everybody who takes part in one run."""

    def __init__(self, town: Town, runtime: Runtime, messages: int) -> None:
        self._town = town
        self._scheduler = town.scheduler
        self._plan = town.trouble
        self._runtime = runtime
        self._busy: list[Task] = []
        self._speakers = [town.speaker(runtime, number) for number in range(messages)]
        self._eager = town.dice.choice((0.02, 0.1, 0.5))
        self._sweep_wanted = False
        self._swept_at = 0
        self._seen: tuple[int, int, bool] = (-1, -1, False)
        self._copies = 0
        self._wishes: dict[str, Callable[[], None]] = {
            "jump": lambda: self._jump(town.dice.choice((40, 400, 2_000))),
            "midnight": self._to_midnight,
            "sweep": self._want_sweep,
            "copy": self._copy,
            "stop": self._stop,
            "limits": town.set_limits,
            "freeze": lambda: town.switch(frozen=True),
            "thaw": lambda: town.switch(frozen=False),
        }
        self._slots = [Slot("sweep", self._sweep, lambda: self._sweep_wanted)]
        self._slots += [Slot(f"worker-{n}", self._work, self._waits) for n in range(WORKERS)]

    def to_rest(self) -> None:
        """Let everything happen until nothing is left to do."""
        rounds = 0
        while rounds < ROUNDS and self._scheduler.points < POINTS:
            if self._one():
                continue
            if self._speakers:
                self._speak()
            elif self._time_passes():
                rounds += 1
            elif self._scheduler.sleeping:
                self._wake(self._scheduler.sleeping[0])
            else:
                return
        self._town.account.problems.append(f"no rest after {rounds} rounds of waiting")

    def end(self) -> None:
        """Let go of whoever is still on the way."""
        for task in [*self._busy, *self._scheduler.sleeping]:
            if not task.finished:
                task.greenlet.throw(GreenletExit)
        self._town.account.problems.extend(self._scheduler.afterlife)

    def _one(self) -> bool:
        """Let one go on; False when nobody can."""
        self._disturb()
        ready: list[Task | Slot] = [*self._busy]
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
            self._town.account.problems.append(f"{task.name} raised {task.failure!r}")

    def _speak(self) -> None:
        name = f"speaker-{len(self._speakers)}"
        self._busy.append(Task(name, self._speakers.pop(), self._scheduler.hub))

    def _disturb(self) -> None:
        for task in list(self._scheduler.sleeping):
            if self._plan.wakes():
                self._wake(task)
        if self._speakers and self._town.dice.random() < self._eager * 0.1:
            self._speak()
        wish = self._plan.disturbance()
        if wish is not None:
            self._wishes[wish]()

    def _jump(self, seconds: float) -> None:
        self._scheduler.overtaken(self._busy)
        self._town.clock.advance(seconds)

    def _to_midnight(self) -> None:
        """One second before the next day."""
        now = self._town.clock.now()
        self._jump(86_399 - (now.hour * 60 + now.minute) * 60 - now.second)

    def _want_sweep(self) -> None:
        self._sweep_wanted = True

    def _someone(self) -> Turn | None:
        """A turn that has called a model, perhaps long ago."""
        calls = list(self._town.account.intents.values())
        return self._town.dice.choice(calls).turn if calls else None

    def _stop(self) -> None:
        """Somebody wants a turn to stop."""
        turn = self._someone()
        if turn is not None:
            wish = Stop(by="owner", at=self._town.clock.now())
            self._town.watch.on_journal("stop", (), {}, self._town.raw.journal.stop(turn.id, wish))

    def _copy(self) -> None:
        """A turn's message is in the queue once more."""
        turn = self._someone()
        if turn is not None:
            self._copies += 1
            body, key = f'{{"v":1,"turn":"{turn.id}"}}', f"copy-{self._copies}"
            self._town.raw.turns.send(body, group=turn.session_id, deduplication=key)
            self._town.watch.version += 1

    def _wake(self, task: Task) -> None:
        self._scheduler.sleeping.remove(task)
        self._busy.insert(0, task)

    def _time_passes(self) -> bool:
        """Move the clock to the next thing that could happen; False when nothing is awaited."""
        town, now = self._town, sqlite_milliseconds(self._town.clock.now())
        awaited = town.ground.awaited()
        patience = town.rules.stale_seconds * 1_000
        lapses = [at + patience for _, at in awaited.lapses]
        if not awaited.visible and not lapses:
            return False
        if self._swept_at < now and any(moment <= now for moment in lapses):
            self._sweep_wanted = True
            return True
        ahead = [moment for moment in (*lapses, *awaited.visible) if moment > now]
        town.clock.advance((min(ahead) - now + 1) / 1_000 if ahead else 61)
        self._sweep_wanted = not ahead
        return True

    def _waits(self) -> bool:
        """Whether there is a turn for a worker; asked again only after a change."""
        now = sqlite_milliseconds(self._town.clock.now())
        version, at, answer = self._seen
        if (version, at) != (self._town.watch.version, now):
            answer = self._town.ground.has_work("turns")
            self._seen = self._town.watch.version, now, answer
        return answer

    def _sweep(self) -> None:
        self._sweep_wanted = False
        self._swept_at = sqlite_milliseconds(self._town.clock.now())
        with suppress(Unavailable):
            run_autonomy_sweep(self._runtime)

    def _work(self) -> None:
        """What the local runner and the Lambda handler do with one message."""
        queue = self._runtime.home.turns
        if self._scheduler.current is not None:
            self._scheduler.current.works = True
        try:
            visibility = self._runtime.rules.visibility_seconds
            delivery = queue.receive(visibility_seconds=visibility, wait_seconds=0)
        except Unavailable:
            return
        if delivery is None:
            return
        try:
            if self._run_turn(delivery) is MessageOutcome.FINISHED:
                queue.acknowledge(delivery.receipt)
        except Unavailable:
            with suppress(Unavailable):
                queue.continue_later(delivery.receipt, 2)

    def _run_turn(self, delivery: Delivery) -> MessageOutcome:
        left = iter(range(self._plan.patience()))
        pace = Pace(seconds_left=lambda: 0.0 if next(left, None) is None else 1e9)
        return run_turn(self._runtime, delivery, pace)
