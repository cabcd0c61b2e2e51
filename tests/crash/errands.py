"""What may happen to an errand at a point, and what must hold once it has come to rest."""

from collections import Counter
from collections.abc import Callable, Iterator

from opencrab.domain.conversation.message import Line, LineKind, Message, Sender, TextPart
from opencrab.domain.errors import Conflict, NotFound, Unavailable
from opencrab.domain.goals.goal import Goal, GoalStatus, TaskStatus, goal_task_message
from opencrab.domain.turn.record import CallResult, CallState
from opencrab.domain.turn.turn import TurnStatus
from opencrab.engine.goals import instructions
from opencrab.engine.turn.admission import admit_turns_of_message
from opencrab.ports.models.model import ChatMessage
from tests.crash.errand import OWNER, Errand, Trouble
from tests.crash.scheduling import Killed

STEER, ASIDE = "短く書いて", "いま何をしていますか"
CALLS = 12
"""Model calls of an errand in which nothing goes wrong."""

_DAY = 90_000
_OUTSIDE = ("model", "bell", "files")


def plain(errand: Errand) -> Trouble:
    """An errand in which nothing goes wrong; its points are those of every other one."""
    trouble = Trouble()
    errand.begin(trouble)
    errand.rest()
    return trouble


def perform(errand: Errand, name: str) -> list[str]:
    """Play the errand of this name, such as `cancel:17` or `kill:3:40`; what went wrong."""
    kind, *places = name.split(":")
    return _PLAYS[kind](errand, [int(place) for place in places])


def _kill(_point: str) -> None:
    raise Killed


def _outage(point: str) -> None:
    if not point.startswith(_OUTSIDE):
        raise Unavailable("the store does not answer")


def _faulty(errand: Errand, trouble: Trouble, happens: int) -> list[str]:
    errand.begin(trouble)
    errand.rest()
    if not _given(errand):
        return ["the instruction is lost"]
    return [*_completed(errand, extra=happens), *_always(errand)]


def kill(errand: Errand, points: list[int]) -> list[str]:
    """Whoever is at these points dies there."""
    return _faulty(errand, Trouble(dict.fromkeys(points, _kill)), len(points))


def outage(errand: Errand, points: list[int]) -> list[str]:
    """A store does not answer."""
    return _faulty(errand, Trouble(dict.fromkeys(points, _outage)), len(points))


def lost(errand: Errand, points: list[int]) -> list[str]:
    """A store did what it was asked, and its answer is lost."""
    return _faulty(errand, Trouble(dict.fromkeys(points, _outage), after=True), len(points))


def sleep(errand: Errand, points: list[int]) -> list[str]:
    """Whoever is at a point oversleeps there, and wakes when others have ended everything."""

    def happens(_point: str) -> None:
        errand.house.clock.advance(2_000)
        errand.rest()

    return _faulty(errand, Trouble({points[0]: happens}), len(points))


def cancel(errand: Errand, points: list[int]) -> list[str]:
    """The owner gives the goal up; further points kill."""
    done: list[int] = []

    def act() -> None:
        before = _effects(errand)
        instructions.cancel_goal(errand.runtime, errand.agent_id, "G1", by="owner")
        done.append(before)

    _with_client(errand, points, act)
    found = [*_always(errand)]
    if errand.goal.status is GoalStatus.ABANDONED and _effects(errand) - done[0] > 1 + len(points):
        found.append(f"{_effects(errand) - done[0]} effects after it was given up")
    if done and not errand.goal.status.is_end:
        found.append(f"it is {errand.goal.status} after it was given up")
    return found


def pause(errand: Errand, points: list[int]) -> list[str]:
    """The owner lets the goal wait for a day; further points kill."""

    def act() -> None:
        instructions.pause_goal_by_label(errand.runtime, errand.agent_id, "G1", by="owner")

    _with_client(errand, points, act)
    found = [f"paused: {problem}" for problem in _always(errand)]
    if not errand.goal.status.is_end:
        if errand.goal.pause is None:
            found.append("it does not wait")
        before = _effects(errand)
        errand.house.clock.advance(_DAY)
        errand.rest()
        if _effects(errand) != before:
            found.append("it went on by itself")
    return [*found, *_resumed(errand, extra=len(points) - 1)]


def interrupt(errand: Errand, points: list[int]) -> list[str]:
    """The owner says something in the task's session; further points kill."""

    asked: list[bool] = []

    def act() -> None:
        try:
            given = instructions.page_of_goals(errand.runtime.home, errand.agent_id)
            for goal in given:
                admit_turns_of_message(errand.runtime, goal.session_id, _aside())
            asked.append(bool(given))
        except Conflict:
            assert errand.goal.status.is_end

    _with_client(errand, points, act)
    found = [*_always(errand)]
    if any(asked) and errand.goal.pause is None and not errand.goal.status.is_end:
        found.append("it does not wait")
    spoken = [line.text for line in _lines(errand) if line.kind is LineKind.SPEECH]
    if spoken.count("はい、聞いています") != int(any(asked)):
        found.append(f"the message was answered {spoken.count('はい、聞いています')} times")
    return [*found, *_resumed(errand, extra=len(points))]


def hurry(errand: Errand, points: list[int]) -> list[str]:
    """Paused at one point and resumed at another; further ones kill."""

    def act() -> None:
        instructions.pause_goal_by_label(errand.runtime, errand.agent_id, "G1", by="owner")

    def again(_point: str) -> None:
        errand.client(
            _tolerant(lambda: instructions.resume_goal(errand.runtime, errand.agent_id, "G1"))
        )

    first, second, *others = points
    trouble = Trouble({first: lambda _point: errand.client(_tolerant(act)), second: again})
    trouble.at.update(dict.fromkeys(others, _kill))
    errand.begin(trouble)
    errand.rest()
    found = [*_always(errand)]
    if not errand.goal.status.is_end and errand.goal.pause is None:
        found.append(f"it hangs: {errand.goal.turn_id}")
    return [*found, *_resumed(errand, extra=len(others))]


def steer(errand: Errand, points: list[int]) -> list[str]:
    """The owner whispers; whoever thinks next hears it."""
    thought: list[int] = []

    def act() -> None:
        before = len(errand.house.provider.seen)
        instructions.steer_goal(errand.runtime, errand.agent_id, "G1", STEER, asker=OWNER, key="s")
        thought.append(before)

    _with_client(errand, points, act)
    found = [*_completed(errand, extra=len(points) - 1), *_always(errand)]
    later = errand.house.provider.seen[thought[0] + 1 :] if thought else []
    heard = [
        any(STEER in m.text for m in seen.turns if isinstance(m, ChatMessage)) for seen in later
    ]
    if not all(heard):
        found.append(f"heard: {heard}")
    return found


def approve(errand: Errand, points: list[int]) -> list[str]:
    """Each file is asked about, and the owner agrees; points kill."""
    errand.begin(Trouble(dict.fromkeys(points, _kill)), guarded=True)
    errand.rest(lambda: errand.decides(approved=True))
    return [*_completed(errand, extra=len(points)), *_always(errand)]


def reject(errand: Errand, points: list[int]) -> list[str]:
    """The owner agrees but to one file, and does so later; further points kill."""
    nth, *others = points
    asked: list[bool] = []

    def decide() -> bool:
        waits = errand.decides(approved=len(asked) + 1 != nth)
        asked.extend([True] * waits)
        return waits

    errand.begin(Trouble(dict.fromkeys(others, _kill)), guarded=True)
    errand.rest(decide)
    found = [*_always(errand)]
    if errand.goal.pause is None:
        found.append("it does not wait after a no")
    before = _effects(errand)
    errand.house.clock.advance(_DAY)
    errand.rest()
    if _effects(errand) != before:
        found.append("it went on by itself")
    errand.client(lambda: instructions.resume_goal(errand.runtime, errand.agent_id, "G1"))
    errand.rest(lambda: errand.decides(approved=True))
    return [*found, *_completed(errand, extra=len(others) + 1), *_always(errand)]


_PLAYS: dict[str, Callable[[Errand, list[int]], list[str]]] = {
    play.__name__: play
    for play in (
        kill, outage, lost, sleep, cancel, pause, interrupt, hurry, steer, approve, reject,
    )
}  # fmt: skip


AT_A_POINT = tuple(_PLAYS)
"""What may happen to an errand."""


def _tolerant(act: Callable[[], object]) -> Callable[[], None]:
    """What somebody does who takes it that the goal has ended."""

    def tried() -> None:
        try:
            act()
        except NotFound:
            # Nobody has undertaken it yet.
            return
        except Conflict as error:
            assert "ended" in error.message, error  # noqa: PT017

    return tried


def _with_client(errand: Errand, points: list[int], act: Callable[[], object]) -> None:
    first, *others = points
    trouble = Trouble({first: lambda _point: errand.client(_tolerant(act))})
    trouble.at.update(dict.fromkeys(others, _kill))
    errand.begin(trouble)
    errand.rest()


def _resumed(errand: Errand, *, extra: int) -> list[str]:
    """The same after somebody said go on."""
    if not errand.goal.status.is_end:
        errand.client(lambda: instructions.resume_goal(errand.runtime, errand.agent_id, "G1"))
        errand.rest()
    return [*_completed(errand, extra=extra), *_always(errand)]


def _aside() -> Message:
    return Message(
        source=OWNER.source,
        source_id="aside",
        principal_id="owner",
        sender=Sender(id="owner", name="Owner"),
        authority=OWNER.authority,
        parts=(TextPart(text=ASIDE),),
    )


def _given(errand: Errand) -> bool:
    return bool(instructions.page_of_goals(errand.house.runtime.home, errand.agent_id))


def _effects(errand: Errand) -> int:
    """What has happened outside of the journal."""
    happened = ("model.chat", "bell.ring", "files.write")
    return sum(point in happened for point in errand.trouble.seen)


def _lines(errand: Errand) -> tuple[Line, ...]:
    return errand.house.home.journal.lines(errand.goal.session_id, limit=1_000)


def _completed(errand: Errand, *, extra: int) -> Iterator[str]:
    """Everything was carried out, with no more thought than the trouble cost."""
    goal = errand.goal
    if goal.status is not GoalStatus.COMPLETED:
        yield f"the goal is {goal.status}, it waits because of {goal.pause}"
        return
    ends = [task.status.value for task in goal.tasks]
    if ends != ["done", "done", "fail", "done", "done"]:
        yield f"tasks ended as {ends}"
    received = errand.house.provider.bill.received
    if received > CALLS + extra + 1:
        yield f"{received} model calls"
    if len({turn.task for turn in errand.turns.values() if turn.task}) < 6:
        yield "a task had no turn"


def _always(errand: Errand) -> Iterator[str]:
    """What holds at rest, however it came to that."""
    yield from errand.problems
    goal = errand.goal
    yield from _told(errand, goal)
    yield from _places(errand, goal)
    yield from _rings(errand)
    yield from _turns(errand, goal)
    yield from _files(errand, goal)


def _told(errand: Errand, goal: Goal) -> Iterator[str]:
    """Each end is told once, nothing else is, and each call has one line."""
    lines = _lines(errand)
    told = Counter(line.text.splitlines()[0] for line in lines if line.kind is LineKind.SYSTEM)
    for task in goal.tasks:
        times = told[goal_task_message(task)]
        if times != int(task.status.is_end):
            yield f"{task.id} is {task.status} and told {times} times"
    ends = sum(text.startswith("[G1] DONE") for text in told.elements())
    if ends != int(goal.status is GoalStatus.COMPLETED):
        yield f"the goal is {goal.status} and its end told {ends} times"
    deeds = Counter(line.turn_id for line in lines if line.kind is LineKind.ACTION)
    for turn_id, count in deeds.items():
        records = errand.house.home.journal.load(str(turn_id)).records
        results = [r for r in records if isinstance(r, CallResult)]
        spoken = [r for r in results if r.name == "report" and r.result.success]
        unseen = [r for r in results if r.state is CallState.CANCELLED]
        if count != len(results) - len(spoken) - len(unseen):
            yield f"{turn_id} has {count} action lines and {len(results)} results"


def _places(errand: Errand, goal: Goal) -> Iterator[str]:
    """The line of goals: what has ended or waits for somebody holds no place in it."""
    agenda = errand.agenda
    idle = goal.status.is_end or goal.pause is not None
    if idle and (agenda.current or agenda.waiting):
        yield f"nothing is carried out and the agenda is {agenda}"
    if goal.status.is_end == (goal.id in agenda.open):
        yield f"it is {goal.status} and open are {agenda.open}"


def _rings(errand: Errand) -> Iterator[str]:
    """The bell rang once a task, or perhaps not at all where nobody can know."""
    rings, tasks_rung = Counter(errand.house.bell.rings), Counter[str]()
    for turn_id, turn in errand.turns.items():
        for record in errand.house.home.journal.load(turn_id).records:
            if not isinstance(record, CallResult) or record.name != "ring_bell":
                continue
            times = rings.pop(f"{turn_id}-{record.call_id}", 0)
            tasks_rung[str(turn.task)] += times
            possible = {CallState.COMPLETED: {1}, CallState.UNKNOWN: {0, 1}}
            if times not in possible.get(record.state, {0}):
                yield f"the bell rang {times} times for {turn.task}: {record.state}"
    yield from (f"the bell rang for {key}, which has no result" for key in rings)
    yield from (f"the bell rang {n} times for {key}" for key, n in tasks_rung.items() if n > 1)


def _turns(errand: Errand, goal: Goal) -> Iterator[str]:
    """Whatever has begun has ended, or waits with its goal; bill <= spent = drawn."""
    held = 0
    for turn_id in errand.turns:
        turn = errand.house.turn(turn_id)
        held += turn.spent + turn.allowance
        waits = goal.pause is not None and goal.turn_id == turn_id
        if not turn.status.is_end and not (waits and turn.status is TurnStatus.WAITING):
            yield f"turn {turn_id} for {turn.task} is {turn.status}"
        if turn.status.is_end and turn.allowance:
            yield f"turn {turn_id} kept an allowance"
    if errand.drawn() != held:
        yield f"{errand.drawn()} drawn, the turns hold {held}"
    if errand.house.provider.bill.total > held:
        yield "more was billed than spent"


def _files(errand: Errand, goal: Goal) -> Iterator[str]:
    files = errand.house.home.files
    for n, task in enumerate(goal.tasks, 1):
        ran = task.status.is_end and task.status is not TaskStatus.PENDING
        if ran and files.read(errand.agent_id, f"{n}.md")[1] != f"# {n}".encode():
            yield f"{n}.md is wrong"
