"""Window: which part of a session a model is shown, and what it is told of the rest.

The budget alone decides. What is left out is counted, its first line and the last speeches stay,
and the newest topics that lie before the window are named.
"""

from collections.abc import Callable, Iterable

from opencrab.domain.conversation.message import Audience, Line, LineKind
from opencrab.domain.memory.search_row import RowKind, SearchRow, search_clearance
from opencrab.domain.memory.summary import COMPACTION, CompactionState, SummaryTopic
from opencrab.domain.text.terms import estimated_tokens
from opencrab.domain.turn.turn import Trigger, Turn
from opencrab.domain.value import Language
from opencrab.engine.runtime import Rules
from opencrab.engine.turn.prompt.surroundings_text import RECENT_PART
from opencrab.engine.turn.prompt.system_text import omitted_history_note, summary_title_line
from opencrab.engine.turn.prompt_cache import EarlierHistory, MessageGroup, Shown
from opencrab.engine.turn.work import TurnWork
from opencrab.ports.models.model import ChatMessage

SPEECHES = 5
"""The last speeches, which are shown whatever else must go."""

TOPICS = 8
"""Topics that are named at most."""

OPENING_SHARE = 8
"""The first line takes at most such a part of the room, or it goes like any other."""

_NOTE_TOKENS = 24


def recent_history_tokens(turn: Turn, rules: Rules) -> int | None:
    """Most tokens of history that an agent's own session takes; None where others spoke there."""
    if turn.trigger not in {Trigger.HEARTBEAT, Trigger.SCHEDULE}:
        return None
    share = rules.autonomy.shares.recent
    return share - share // RECENT_PART


def earlier_history(
    work: TurnWork, render: Callable[[Line], MessageGroup | None]
) -> EarlierHistory:
    """What is told of the lines before the turn's history, read once."""
    if work.prompt.earlier is None:
        line = _first_line(work)
        opening = None if line is None else render(line)
        work.prompt.earlier = EarlierHistory(opening=opening, topics=_topics(work))
    return work.prompt.earlier


def history_that_fits(
    groups: tuple[MessageGroup, ...],
    trigger: MessageGroup | None,
    room: int,
    language: Language,
    earlier: Callable[[], EarlierHistory],
) -> Shown:
    """The newest groups that fit, and the trigger in any case; what is left out is counted.

    When something must go, the cut snaps to a coarse boundary between low and high water, so that
    the beginning of the prompt stays the same for many turns.
    """
    if not groups:
        return ()
    asked = set[int]() if trigger is None else {trigger.place}
    start = _start(groups, asked, room)
    if start == 0 and groups[0].place <= 1:
        return _messages(groups)
    told = earlier()
    opening = groups[0] if groups[0].place == 1 else told.opening
    pinned, left = _select_pinned_groups(groups, trigger, opening, room)
    names = _names(told.topics, language)
    reserve = _NOTE_TOKENS + sum(sorted(map(estimated_tokens, names.values()))[-TOPICS:])
    if reserve * 4 > left:
        names, reserve = {}, _NOTE_TOKENS
    counted = asked | {group.place for group in pinned}
    start = _align_window_start(groups, _start(groups, counted, left - reserve))
    first = groups[start].place if start < len(groups) else groups[-1].place + 1
    extra = (*pinned, *([trigger] if trigger is not None else []))
    before = sorted((each for each in extra if each.place < first), key=lambda each: each.place)
    gone = first - 1 - len(before)
    lines = [text for last, text in names.items() if last < first][-TOPICS:]
    note = (ChatMessage("user", omitted_history_note(language, gone, lines)),) if gone > 0 else ()
    opens = bool(before) and before[0].place == 1
    return (
        *_messages(before[:opens]),
        *note,
        *_messages(before[opens:]),
        *_messages(groups[start:]),
    )


def _messages(groups: Iterable[MessageGroup]) -> Shown:
    return tuple(message for group in groups for message in group.messages)


def _start(groups: tuple[MessageGroup, ...], counted: set[int], room: int) -> int:
    """Where the newest groups begin that fit into a room, in which some are counted already."""
    used = 0
    for place, group in reversed(list(enumerate(groups))):
        used += 0 if group.place in counted else group.tokens
        if used > room:
            return place + 1
    return 0


def _select_pinned_groups(
    groups: tuple[MessageGroup, ...],
    trigger: MessageGroup | None,
    opening: MessageGroup | None,
    room: int,
) -> tuple[tuple[MessageGroup, ...], int]:
    """The last speeches and the first line, as far as there is room, and the room that is left."""
    kept, left = list[MessageGroup](), room
    speeches = [group for group in groups if group.is_speech and group is not trigger]
    for group in reversed(speeches[-SPEECHES:]):
        if group.tokens <= left:
            kept.insert(0, group)
            left -= group.tokens
    places = {group.place for group in (*kept, *([trigger] if trigger is not None else []))}
    if opening is None or opening.place in places:
        return tuple(kept), left
    if opening.tokens * OPENING_SHARE > room or opening.tokens > left:
        return tuple(kept), left
    return (opening, *kept), left - opening.tokens


def _align_window_start(groups: tuple[MessageGroup, ...], start: int) -> int:
    """The first group at or after `start` whose place is a multiple of a power of two."""
    kept = len(groups) - start
    grain = 1 << max((kept // 2).bit_length() - 1, 0)
    for at in range(start, len(groups)):
        before = groups[at - 1].place if at else groups[at].place - 1
        if groups[at].place // grain != before // grain:
            return at
    return start


def _names(topics: tuple[SummaryTopic, ...], language: Language) -> dict[int, str]:
    """A line for each topic, by the last line of the session that it tells of."""
    return {
        topic.last: summary_title_line(topic.id, f"{topic.until:%Y-%m-%d}", topic.title, language)
        for topic in topics
    }


def _first_line(work: TurnWork) -> Line | None:
    """A session's first line, where it is speech that this turn may hear without harm."""
    if not work.history or work.history[0].sequence <= 1:
        return None
    line = next(iter(work.runtime.home.journal.lines(work.turn.session_id, limit=1)), None)
    if line is None or line.sequence != 1 or line.forgotten:
        return None
    heard = line.kind is LineKind.SPEECH and line.audience is Audience.ALL
    foreign = line.taints_reader(work.turn.agent_id) and not work.turn.taint
    return line if heard and not foreign else None


def _topics(work: TurnWork) -> tuple[SummaryTopic, ...]:
    """The topics of the session that the turn may hear of, oldest first.

    The words of a tainted one are left out where the turn is not tainted itself.
    """
    turn, session = work.turn, work.session
    summary = SearchRow(
        session_id=session.id,
        sequence=0,
        kind=RowKind.SUMMARY,
        hearing=session.hearing,
        speaker_id="",
        speaker="",
        at=session.created_at,
        text="",
        guild_id=session.guild_id or "",
    )
    if not search_clearance(turn.authority, session, turn.principal_id).allows(summary):
        return ()
    stored = work.runtime.home.facts.get(turn.agent_id, COMPACTION, session.id)
    if stored is None:
        return ()
    return tuple(
        topic.replaced(title="") if topic.tainted and not turn.taint else topic
        for topic in stored.read(CompactionState).topics
    )
