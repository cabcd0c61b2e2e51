"""Instructions: each becomes a goal that turns carry out and people can steer."""

from contextlib import suppress
from dataclasses import dataclass

from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.agents.agent import Profile
from opencrab.domain.conversation.message import Audience, Channel, Instruction, Line, LineKind
from opencrab.domain.document import Document, new_fact
from opencrab.domain.errors import Changed, Conflict, NotFound
from opencrab.domain.goals.goal import (
    GOAL,
    OPEN_GOALS,
    Goal,
    GoalSource,
    GoalStatus,
    goal_document_id,
    goal_id_of_label,
)
from opencrab.domain.goals.promise import (
    PROMISE,
    Promise,
    goal_promises_due_item,
    is_goal_promised,
)
from opencrab.domain.goals.value_estimate import Horizon
from opencrab.domain.identifier import stable_id
from opencrab.domain.turn.turn import Stop, TurnStatus
from opencrab.domain.value import Identifier, MessageText, MicroUsd, Name, Value
from opencrab.engine.access.session_access import other_readers_access_document
from opencrab.engine.agents import vital_signs
from opencrab.engine.agents.events import ABANDONED, RESUMED, send_agent_goal_change_event
from opencrab.engine.goals import pausing
from opencrab.engine.goals.pausing import ATTEMPTS, notify_goal_channel, require_goal_document
from opencrab.engine.goals.queue import (
    GoalBoard,
    add_goal_to_queue,
    dequeue_goal_and_begin_next,
    goal_session,
    queue_goal,
)
from opencrab.engine.goals.self_goals import record_goal_outcome
from opencrab.engine.phrases import system_phrase
from opencrab.engine.queueing import enqueue_turn
from opencrab.engine.runtime import Runtime
from opencrab.engine.turn.admission import admit_guidance_for_turns, admit_turn_for_due_item
from opencrab.ports.clock import Clock
from opencrab.ports.documents import Documents
from opencrab.ports.home import Home
from opencrab.ports.turn.action import one_line
from opencrab.ports.turn.journal import Journal

INSTRUCTION = "instruction"
"""The kind of document that maps an instruction to its goal."""

_NAME = 80
_OWNERS_GOALS = 5
"""Open goals that are reserved for an owner's instructions."""


@dataclass(frozen=True)
class InstructionGiver:
    """The person who gives an instruction, with source, authority and channel of replies.

    `channel` shows the progress of the instruction and gets what its turns say; `others_read` says
    that more people read there.
    """

    principal_id: str
    name: str
    source: Source
    authority: Authority
    channel: Channel | None = None
    others_read: bool = False


class NewInstruction(Value, defer_build=False):
    """A person's instruction for an agent."""

    instruction: MessageText
    name: Name | None = None
    budget_micro_usd: MicroUsd | None = None


class _Given(Value):
    """The goal that an instruction became, so that a repeated request returns the same goal."""

    goal: Identifier
    instruction: str


def start_instruction_as_goal(
    runtime: Runtime, agent_id: str, asked: NewInstruction, asker: InstructionGiver, *, key: str
) -> Goal:
    """Make an instruction a goal with its own session, and begin or queue it.

    The same key again returns the same goal. Raises NotFound, and Conflict for a retired agent, for
    too many open goals, and for a key that was used for another instruction.
    """
    profile = runtime.home.agents.get(agent_id)
    if not profile.agent.answers:
        raise Conflict(f"agent {agent_id!r} has retired", cure="choose another agent")
    session_id = stable_id("task", agent_id, asker.principal_id, key)
    for _ in range(ATTEMPTS):
        earlier = runtime.home.facts.get(agent_id, INSTRUCTION, session_id)
        if earlier is not None:
            return _given_before(runtime.home.facts, agent_id, earlier, asked)
        board = _board(runtime.home.facts, runtime.clock, profile)
        goal = _new_goal(board, asked, asker, session_id)
        add_goal_to_queue(board, goal)
        queue_goal(board, goal)
        given = _Given(goal=goal.id, instruction=asked.instruction)
        mark = new_fact(agent_id, INSTRUCTION, session_id, given)
        readers = (other_readers_access_document(session_id),) if asker.others_read else ()
        try:
            _commit(runtime, board, mark, *readers)
        except Changed:
            continue
        return board.goal(goal.id) or goal
    raise _busy(agent_id)


def pause_goal_by_label(
    runtime: Runtime, agent_id: str, label: str, *, by: str, reason: str = ""
) -> Goal:
    """Pause a goal before its next call, until somebody resumes it."""
    language = runtime.home.agents.get(agent_id).agent.language
    why = reason or system_phrase("paused_by_hand", language)
    return pausing.pause_goal(runtime, agent_id, label, by=by, reason=why)


def resume_goal(runtime: Runtime, agent_id: str, label: str) -> Goal:
    """Resume a paused goal with the turn that waits, or with a new one.

    An active goal is returned as it is; one whose turn was lost begins a new one. A dormant agent
    is woken. Raises NotFound, Conflict (ended).
    """
    profile = vital_signs.make_dormant_agent_active(runtime, runtime.home.agents.get(agent_id))
    for _ in range(ATTEMPTS):
        fact = require_goal_document(runtime.home.facts, agent_id, label)
        goal = fact.read(Goal)
        if goal.status.is_end:
            raise Conflict(
                f"goal {goal.id} has ended and cannot be resumed", cure="give a new instruction"
            )
        turn_waits = goal.turn_id is not None and not _is_over(runtime.home.journal, goal.turn_id)
        if goal.pause is None and (turn_waits or goal.runs == 0):
            # Whoever resumed it may have died before the turn was told.
            _wake(runtime, goal)
            notify_goal_channel(runtime, goal)
            return goal
        board = GoalBoard.of(runtime.home.facts, profile, runtime.clock.now(), fact)
        going = goal.replaced(pause=None)
        board.put_goal(going)
        agenda = board.agenda()
        if not turn_waits:
            queue_goal(board, going)
        elif agenda.current is None:
            board.put_agenda(agenda.replaced(current=goal.id))
        try:
            _commit(runtime, board)
        except Changed:
            continue
        _wake(runtime, going)
        notify_goal_channel(runtime, going)
        if goal.pause is not None:
            send_agent_goal_change_event(runtime, going, RESUMED)
        return board.goal(goal.id) or going
    raise _busy(agent_id)


def _wake(runtime: Runtime, goal: Goal) -> None:
    """Resume the turn of a goal and queue it, if it waits for that."""
    if goal.turn_id is None:
        return
    with suppress(NotFound):
        turn = pausing.align_turn_with_goal(runtime, goal, goal.turn_id)
        if turn.status is TurnStatus.QUEUED:
            enqueue_turn(runtime.home, turn, again=f"-resume{goal.runs}-{turn.epoch}")


def cancel_goal(
    runtime: Runtime,
    agent_id: str,
    label: str,
    *,
    by: str,
    reason: str = "",
    tells: bool = True,
) -> Goal:
    """Cancel a goal: its turn stops before its next call; completed work is not undone.

    A goal that has ended is returned as it is. An agent that set itself the goal is told unless
    `tells` is false; a promise to reach it is withdrawn. Raises NotFound.
    """
    profile = runtime.home.agents.get(agent_id)
    for _ in range(ATTEMPTS):
        fact = require_goal_document(runtime.home.facts, agent_id, label)
        goal = fact.read(Goal)
        now, gives_up = runtime.clock.now(), not goal.status.is_end
        if gives_up:
            board = GoalBoard.of(runtime.home.facts, profile, now, fact)
            goal = goal.replaced(status=GoalStatus.ABANDONED, pause=None, ended_at=now)
            if goal.turn_id is None or _is_over(runtime.home.journal, goal.turn_id):
                goal = record_goal_outcome(board, goal)
                dequeue_goal_and_begin_next(board, goal)
            board.put_goal(goal)
            _withdraw_promise(board, goal, reason or "its goal was cancelled")
            try:
                _commit(runtime, board)
            except Changed:
                continue
        if goal.turn_id is not None and goal.status is GoalStatus.ABANDONED:
            _stop(runtime.home, runtime.clock, goal.turn_id, by, reason)
        notify_goal_channel(runtime, goal)
        if gives_up and tells:
            send_agent_goal_change_event(runtime, goal, ABANDONED, reason)
        return goal
    raise _busy(agent_id)


def _withdraw_promise(board: GoalBoard, goal: Goal, reason: str) -> None:
    """Withdraw the promise to reach a goal, if it is not due: others ended it, not the agent."""
    stored = None
    if is_goal_promised(goal):
        stored = board.facts_port.get(goal.agent_id, PROMISE, goal.session_id)
    promise = None if stored is None else stored.read(Promise)
    if stored is None or promise is None or not promise.is_open_at(board.now):
        return
    board.add_document(stored.with_body(promise.withdrawn(reason, board.now)))
    board.due.append(goal_promises_due_item(promise.session_id, f"ended-{promise.id}", board.now))


def steer_goal(
    runtime: Runtime, agent_id: str, label: str, text: str, *, asker: InstructionGiver, key: str
) -> Goal:
    """Send a message to a goal's turns, which they read before their next step; once per key.

    Raises NotFound, and Conflict for a goal that has ended.
    """
    goal = require_goal_document(runtime.home.facts, agent_id, label).read(Goal)
    if goal.status.is_end:
        raise Conflict(
            f"goal {goal.id} has ended and cannot be steered", cure="give a new instruction"
        )
    now = runtime.clock.now()
    instruction_id = stable_id("steer", goal.session_id, asker.principal_id, key)
    try:
        runtime.home.sessions.get(goal.session_id)
    except NotFound:
        # Its first turn has not begun yet and will find the message before its own.
        runtime.home.sessions.create(goal_session(goal, now))
    line = Line(
        session_id=goal.session_id,
        group=instruction_id,
        kind=LineKind.SYSTEM,
        audience=Audience.AGENTS,
        speaker_id=asker.principal_id,
        speaker_name=asker.name,
        authority=asker.authority,
        text=text,
        message_id=instruction_id,
        at=now,
    )
    instruction = Instruction(
        id=instruction_id,
        session_id=goal.session_id,
        text=text,
        by=asker.principal_id,
        name=asker.name,
        authority=asker.authority,
        at=now,
    )
    admit_guidance_for_turns(runtime.home, instruction, line)
    notify_goal_channel(runtime, goal)
    return goal


def page_of_goals(
    home: Home, agent_id: str, *, after: str = "", limit: int = 50
) -> tuple[Goal, ...]:
    """Return a page of an agent's goals, newest first, after the goal with id `after`."""
    home.agents.get(agent_id)
    place = goal_document_id(goal_id_of_label(after)) if after else ""
    found = home.facts.page(agent_id, GOAL, after=place, limit=limit, newest_first=True)
    return tuple(fact.read(Goal) for fact in found)


def _board(facts: Documents, clock: Clock, profile: Profile) -> GoalBoard:
    return GoalBoard.of(facts, profile, clock.now())


def _new_goal(
    board: GoalBoard, asked: NewInstruction, asker: InstructionGiver, session_id: str
) -> Goal:
    agenda = board.agenda()
    most = OPEN_GOALS if asker.authority is Authority.OWNER else OPEN_GOALS - _OWNERS_GOALS
    if len(agenda.open) >= most and _objectives(board) >= most:
        raise Conflict(
            f"limit reached: agent {board.profile.agent.id!r} has {most} open goals or more",
            cure="wait, or cancel one of them",
        )
    first_line = next((line for line in asked.instruction.splitlines() if line.strip()), "")
    return Goal(
        id=f"G{agenda.last_number + 1}",
        agent_id=board.profile.agent.id,
        session_id=session_id,
        name=one_line(asked.name or first_line, _NAME) or "…",
        instruction=asked.instruction,
        given=True,
        source=GoalSource.OWNER,
        authority=asker.authority,
        door=asker.source,
        channel=asker.channel,
        principal_id=asker.principal_id,
        principal_name=asker.name,
        budget_micro_usd=asked.budget_micro_usd,
        created_at=board.now,
    )


def _objectives(board: GoalBoard) -> int:
    """Count the open objectives; aspirations do not count towards the limit."""
    return sum(goal.horizon is Horizon.OBJECTIVE for goal in board.open_goals())


def _given_before(
    facts: Documents, agent_id: str, earlier: Document, asked: NewInstruction
) -> Goal:
    given = earlier.read(_Given)
    if given.instruction != asked.instruction:
        raise Conflict(
            "this key was already used for another instruction",
            field="Idempotency-Key",
            cure="use a new key for a new instruction",
        )
    return require_goal_document(facts, agent_id, given.goal).read(Goal)


def _commit(runtime: Runtime, board: GoalBoard, *more: Document) -> None:
    """Write the board and admit its due items; after a crash in between the sweep admits them."""
    runtime.home.facts.commit(*board.facts, *more, due=tuple(board.due))
    for item in (each for each in board.due if each.floor is None):
        admit_turn_for_due_item(runtime, item)
        runtime.home.due.remove(item.id)


def _is_over(journal: Journal, turn_id: str) -> bool:
    """Check whether a goal's turn has ended; one that is not admitted yet has not."""
    with suppress(NotFound):
        return journal.header(turn_id).status.is_end
    return False


def _stop(home: Home, clock: Clock, turn_id: str, by: str, reason: str) -> None:
    with suppress(NotFound):
        turn = home.journal.stop(turn_id, Stop(by=by, reason=reason, at=clock.now()))
        if turn.status is TurnStatus.QUEUED:
            enqueue_turn(home, turn, again="-stop")


def _busy(agent_id: str) -> Conflict:
    return Conflict(
        f"concurrent updates to agent {agent_id!r}; retries exhausted", cure="try again"
    )
