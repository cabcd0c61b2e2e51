"""Window: the part of a session that fits the prompt, and a note about the rest.

The token budget alone decides. The opening line and the last speeches stay, the lines left out are
counted, and the newest topics before the window are named.
"""

import json
from collections.abc import Callable, Iterable
from functools import lru_cache
from itertools import pairwise
from typing import Any

from opencrab.domain.conversation.message import Audience, Line, LineKind
from opencrab.domain.memory.search_row import RowKind, SearchRow
from opencrab.domain.memory.summary import COMPACTION, CompactionState, SummaryTopic
from opencrab.domain.turn.record import ActionCall, CallResult
from opencrab.domain.turn.transcript import TurnStep
from opencrab.domain.turn.turn import UNASKED, Trigger, Turn
from opencrab.domain.value import Language
from opencrab.engine.runtime import Rules
from opencrab.engine.turn.prompt.system_text import (
    prompt_guidance_text,
    prompt_note_on_omitted_history,
    prompt_title_of_summary,
)
from opencrab.engine.turn.prompt_cache import EarlierHistory, MessageGroup, Shown
from opencrab.engine.turn.work import TurnWork
from opencrab.ports.models.model import (
    LABELS,
    CallReturn,
    ChatMessage,
    PromptText,
    estimated_message_tokens,
    estimated_tokens,
    labelled_message,
    labelled_result,
)
from opencrab.ports.turn.action import one_line

SPEECHES = 5
"""The number of last speeches that are kept when other lines must go."""

_PAUSE_SECONDS = 60
"""Lines further apart than this belong to different turns of an agent."""

_PAUSES = 5
"""The last pauses of which the median predicts the next."""

TOPICS = 8
"""The most topics that are named."""

OPENING_SHARE = 8
"""The opening line is kept if it takes at most one such part of the room."""

RECENT_PART = 4
"""Receipts and promises take one such part each of the share of recent actions; the history takes
the rest."""

_NOTE_TOKENS = 24
_REMEMBERED = 1_024
_LONGEST_REMEMBERED = 2_000
"""How many lines are remembered, and the tokens of the longest one."""

_rendered = dict[tuple[int, str, Language], tuple[Line, MessageGroup | None]]()
"""By the identity of a line, which is kept beside what was made of it."""


def prompt_history_tokens(turn: Turn, rules: Rules) -> int | None:
    """Return the most tokens of history in a heartbeat's or schedule's turn; None in others."""
    if turn.trigger not in {Trigger.HEARTBEAT, Trigger.SCHEDULE}:
        return None
    share = rules.autonomy.shares.recent
    return share - share // RECENT_PART


def earlier_prompt_history(
    work: TurnWork, render: Callable[[Line], MessageGroup | None]
) -> EarlierHistory:
    """Return the opening line and the topics from before the turn's history, read once."""
    if work.prompt.earlier is None:
        line = _first_line(work)
        opening = None if line is None else render(line)
        work.prompt.earlier = EarlierHistory(opening=opening, topics=_topics(work))
    return work.prompt.earlier


def prompt_history_that_fits(
    groups: tuple[MessageGroup, ...],
    trigger: MessageGroup | None,
    room: int,
    language: Language,
    earlier: Callable[[], EarlierHistory],
) -> Shown:
    """Return the newest groups that fit, and always the trigger; what is left out is counted.

    When something must go, the cut snaps to a coarse boundary, so that the beginning of the prompt
    stays the same for many turns and providers' prompt caches hit.
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
    note = (
        (labelled_message("user", prompt_note_on_omitted_history(language, gone, lines)),)
        if gone > 0
        else ()
    )
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
    """Return the index of the first of the newest groups that fit; `counted` ones take no room."""
    used, start = 0, len(groups)
    for group in reversed(groups):
        used += 0 if group.place in counted else group.tokens
        if used > room:
            break
        start -= 1
    return start


def _select_pinned_groups(
    groups: tuple[MessageGroup, ...],
    trigger: MessageGroup | None,
    opening: MessageGroup | None,
    room: int,
) -> tuple[tuple[MessageGroup, ...], int]:
    """Return the last speeches and the opening line as far as they fit, and the room left."""
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
    """Return the first index from `start` on whose place crosses a multiple of a power of 2."""
    kept = len(groups) - start
    grain = 1 << max((kept // 2).bit_length() - 1, 0)
    for at in range(start, len(groups)):
        before = groups[at - 1].place if at else groups[at].place - 1
        if groups[at].place // grain != before // grain:
            return at
    return start


def _names(topics: tuple[SummaryTopic, ...], language: Language) -> dict[int, PromptText]:
    """Return a line for each topic, by the last line of the session that it covers."""
    return {topic.last: prompt_title_of_summary(topic, language) for topic in topics}


def _first_line(work: TurnWork) -> Line | None:
    """Return the session's first line if it is speech to all that does not newly taint the turn."""
    if not work.history or work.history[0].sequence <= 1:
        return None
    line = next(iter(work.runtime.home.journal.lines(work.turn.session_id, limit=1)), None)
    if line is None or line.sequence != 1 or line.is_erased:
        return None
    heard = line.kind is LineKind.SPEECH and line.audience is Audience.ALL
    foreign = line.taints_reader(work.turn.agent_id) and not work.turn.taint
    return line if heard and not foreign and work.clearance.reads_line(line) else None


def _topics(work: TurnWork) -> tuple[SummaryTopic, ...]:
    """Return the topics of the session that the turn may see, oldest first.

    A tainted topic has no title in a turn that is not tainted itself.
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
    if not work.clearance.search.allows(summary):
        return ()
    stored = work.runtime.home.facts.get(turn.agent_id, COMPACTION, session.id)
    if stored is None:
        return ()
    return tuple(
        topic.replaced(title="") if topic.tainted and not turn.taint else topic
        for topic in stored.read(CompactionState).topics
    )


def prompt_call_arguments(line: Line) -> dict[str, object]:
    """Return an old call's arguments; truncated ones as the text that was kept, under `cut`."""
    kept = str((line.data or {}).get("arguments", "{}"))
    try:
        arguments = json.loads(kept)
    except ValueError:
        return {"cut": kept}
    return arguments if isinstance(arguments, dict) else {}


def prompt_reuse_seconds(work: TurnWork) -> float | None:
    """Return the seconds until a turn like this one is expected, which nobody asks for.

    It is the median of the session's last pauses; before the first, the heartbeat's interval. None
    for turns that people begin, whenever they like.
    """
    turn = work.turn
    if turn.trigger not in UNASKED:
        return None
    times = [line.at for line in work.history]
    gaps = [(later - at).total_seconds() for at, later in pairwise(times)]
    pauses = [gap for gap in gaps if gap > _PAUSE_SECONDS][-_PAUSES:]
    if pauses:
        return sorted(pauses)[len(pauses) // 2]
    if turn.trigger is Trigger.HEARTBEAT:
        return float(work.profile.agent.heartbeat.interval_seconds)
    return None


def render_prompt_step(step: TurnStep, *, tainted: bool) -> list[ChatMessage | CallReturn]:
    """Return what the agent said and did in a step; what it said has the taint of its turn."""
    answer = step.answer
    said = LABELS[tainted](answer.text)
    shown: list[ChatMessage | CallReturn] = [
        labelled_message("assistant", said, calls=answer.calls, replay=answer.replay)
    ]
    shown.extend(
        labelled_result(call.id, call.name, _content(step.results[call.id], tainted=tainted))
        for call in step.answer.calls
        if call.id in step.results
    )
    return shown


def _content(record: CallResult, *, tainted: bool) -> PromptText:
    result = record.result
    told: dict[str, Any] = {"state": record.state.value, "error": result.error}
    if result.success:
        told = result.data or {"done": True}
    return LABELS[tainted or result.taint](json.dumps(told, ensure_ascii=False))


def render_prompt_history(
    lines: tuple[Line, ...], agent_id: str, language: Language
) -> tuple[MessageGroup, ...]:
    """Return the history as groups that are shown whole: a call never without its result."""
    groups = []
    for line in lines:
        known = _rendered.get((id(line), agent_id, language))
        group = known[1] if known and known[0] is line else _render(line, agent_id, language)
        if group is not None:
            groups.append(group)
    return tuple(groups)


def _render(line: Line, agent_id: str, language: Language) -> MessageGroup | None:
    """Return what is shown of a line, and remember it unless it is long."""
    messages = _render_line(line, agent_id, language)
    group = None
    if messages:
        spoken = line.kind is LineKind.SPEECH
        group = MessageGroup(line.sequence, messages, estimated_message_tokens(messages), spoken)
    if group is None or group.tokens <= _LONGEST_REMEMBERED:
        if len(_rendered) >= _REMEMBERED:
            _rendered.clear()
        _rendered[id(line), agent_id, language] = (line, group)
    return group


def _render_line(line: Line, agent_id: str, language: Language) -> Shown:
    own = line.speaker_id == agent_id
    label = LABELS[line.taints_reader(agent_id)]
    match line.kind:
        case _ if line.is_erased or (own and line.audience is Audience.AGENTS):
            return ()
        case LineKind.SPEECH if own:
            return (labelled_message("assistant", label(line.text)),)
        case LineKind.SYSTEM if line.audience is Audience.AGENTS:
            given = (line.text, line.authority, prompt_person(line.speaker_name, line.speaker_id))
            told = prompt_guidance_text(language, *given, tainted=label(line.text).tainted)
            return (labelled_message("user", told),)
        case LineKind.SPEECH | LineKind.SYSTEM:
            name = "OpenCrab" if line.from_agent and line.kind is LineKind.SYSTEM else None
            speaker = name or prompt_person(line.speaker_name, line.speaker_id)
            told = label(f"{speaker}: {line.text}")
            return (labelled_message("user", told, name=line.speaker_id),)
        case LineKind.ACTION if own and line.data is not None:
            call = ActionCall.model_construct(
                id=f"h{line.sequence}",
                name=line.data["name"],
                arguments=prompt_call_arguments(line),
            )
            result = label(str(line.data.get("result", "")))
            return (
                labelled_message("assistant", label(""), calls=(call,)),
                labelled_result(call.id, call.name, result),
            )
        case _:
            return ()


@lru_cache(maxsize=512)
def prompt_person(name: str, person_id: str) -> str:
    """Return a speaker as `name (id)`; a name cannot contain what would make it look like another.

    Whoever sends a message chooses the name, but not the id.
    """
    shown = one_line(name.translate(_NO_NAME_MARKS))
    return f"{shown} ({person_id})" if shown else person_id


_NO_NAME_MARKS = str.maketrans("", "", "()（）[]:：")
