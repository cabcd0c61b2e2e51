"""Observe: load the agent, the session and the recent journal that a turn needs."""

from opencrab.domain.access.authority import clearance_level
from opencrab.domain.conversation.message import Audience, Line
from opencrab.domain.goals.goal import GOAL, Goal, goal_id_of, goal_key
from opencrab.domain.turn.transcript import Transcript
from opencrab.domain.turn.turn import Turn
from opencrab.engine.runtime import Rules, Runtime
from opencrab.engine.turn.prompt.surroundings import has_foreign_words, read_surroundings
from opencrab.engine.turn.prompt_cache import PromptInputs
from opencrab.engine.turn.work import TurnWork
from opencrab.ports.turn.journal import Journal

_PAGE = 64
_PAGES_AFTER_TRIGGER = 4
_PAGES = 8


def observe_turn(runtime: Runtime, turn: Turn, transcript: Transcript) -> TurnWork:
    """Everything that a turn needs, in three reads: agent, session, recent lines.

    A turn that serves a goal reads that too; one that nobody asked for looks around in one more
    read, its goal among what it finds, and in another one where there are unread events.
    """
    profile = runtime.home.agents.get(turn.agent_id)
    session = runtime.home.sessions.get(turn.session_id)
    history = recent_lines_for_turn(runtime.home.journal, runtime.rules, turn)
    around = read_surroundings(runtime.home.facts, turn, profile)
    goal = None if around is None else around.served
    if around is None and turn.task is not None:
        goal = runtime.home.facts.get(turn.agent_id, GOAL, goal_key(goal_id_of(turn.task)))
    read = any(line.taints_reader(turn.agent_id) for line in history)
    return TurnWork(
        runtime=runtime,
        turn=turn.replaced(taint=turn.taint or read or has_foreign_words(around)),
        transcript=transcript,
        profile=profile,
        session=session,
        history=history,
        next_n=turn.sequence,
        limits=runtime.rules.limits,
        served=None if goal is None else goal.read(Goal),
        prompt=PromptInputs(
            around=around,
            seen_events=() if around is None else tuple(event.id for event in around.events),
        ),
    )


def recent_lines_for_turn(journal: Journal, rules: Rules, turn: Turn) -> tuple[Line, ...]:
    """The newest lines that this turn's agent may see before or beside its trigger, oldest first.

    Lines are grouped: a message and all answers to it. Groups that opened after the trigger are
    other turns' business, however early their messages came in. The trigger is always among them.
    """
    wanted = rules.history_lines
    size = max(wanted, _PAGE)
    lines: list[Line] = []
    before: int | None = None
    for page in range(_PAGES):
        if page == _PAGES_AFTER_TRIGGER and before is not None:
            before = min(before, turn.trigger_line + 1)
        rows = journal.lines(turn.session_id, before=before, limit=size, newest_first=True)
        lines.extend(row for row in rows if _belongs(row, turn))
        if len(rows) < size or len(lines) >= wanted:
            break
        before = rows[-1].sequence
    lines = lines[:wanted]
    if turn.trigger_line and not any(line.sequence == turn.trigger_line for line in lines):
        lines.extend(journal.lines(turn.session_id, after=turn.trigger_line - 1, limit=1))
    return tuple(sorted(lines, key=lambda line: (line.group_line or line.sequence, line.sequence)))


def _belongs(line: Line, turn: Turn) -> bool:
    """Whether a line is this turn's history: seen by its agent, opened in time, not its own."""
    opened = line.group_line or line.sequence
    if turn.trigger_line and opened > turn.trigger_line:
        return False
    private = line.audience is Audience.SELF
    if private and clearance_level(line.authority) > clearance_level(turn.authority):
        # What it found out for its owner is not told to a turn of a user, nor that to a guest.
        return False
    return line.is_visible_to(turn.agent_id) and line.turn_id != turn.id
