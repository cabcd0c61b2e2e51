"""Searching the past and memories, and saving and forgetting memories.

What a turn finds depends on its clearance: the least of what its asker and everybody who hears the
answer may know.
"""

from collections.abc import Iterable
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from pydantic import Field

from opencrab.actions.memory.writes import (
    count_memory_again,
    drop_memory,
    may_hear_memory,
    new_memory,
    refuse_memory,
    require_memory,
    store_memory,
)
from opencrab.actions.registry import Group
from opencrab.actions.workspace.provenance import writes_untainted_workspace_file
from opencrab.actions.workspace.write import file_change
from opencrab.domain.access.impact import Impact
from opencrab.domain.approvals.call_text import TextChange
from opencrab.domain.conversation.session import Hearing
from opencrab.domain.discord.community import DISCORD_PRINCIPAL
from opencrab.domain.document import new_fact
from opencrab.domain.errors import Conflict, Invalid, NotFound
from opencrab.domain.learning.change import learning_holdout_percent
from opencrab.domain.memory.memory import MEMORY, Category, Memory, MemoryContent
from opencrab.domain.memory.search_row import RowKind
from opencrab.domain.memory.write_policy import SUMMARIES, memory_refusal
from opencrab.domain.statistics.hash_bucket import hash_fraction
from opencrab.domain.turn.action import ActionResult, Effect, FileWritten, MemoriesFound
from opencrab.domain.value import ShortText, Unit, Value
from opencrab.domain.workspace.path import workspace_path
from opencrab.ports.conversation.sessions import Sessions
from opencrab.ports.memory.search import (
    MOST_FOUND,
    SearchHit,
    SearchQuery,
    search_each_question,
)
from opencrab.ports.turn.action import PAGED_BYTES, ActionContext, byte_count_of_turn_json, one_line
from opencrab.ports.workspace.files import ABSENT

SHOWN_CHARACTERS = 500
SHOWN_BYTES = 16 * 1024
LINKS_AT_ONCE = 3
"""Most memories that one call may link; each gets a link back in the same transaction."""

_COUNTED = {RowKind.MEMORY, RowKind.EXPERIENCE}
_HEAD_BYTES = 256
_LINKED_CHARACTERS = 120
_LINKED = 2

group = Group("recall")


class SearchMyHistory(Value):
    query: ShortText = Field(min_length=1)
    limit: int = Field(10, ge=1, le=MOST_FOUND)
    session_id: str | None = None
    kind: str = ""
    speaker: str = ""
    since: str = ""
    until: str = ""


class SummarizeAndSave(Value):
    content: MemoryContent = Field(description="The summary")
    filename: str = Field("", description="Also write it here, like summaries/today.md")
    summary_type: Category = Field("session", description="session, topic or period")


class SaveMemory(Value):
    category: Category
    content: MemoryContent
    importance: Unit | None = None
    hearing: Hearing | None = None
    replaces: str = ""
    links: tuple[str, ...] = Field((), max_length=LINKS_AT_ONCE)


class ForgetMemory(Value):
    memory_id: str


def _file_as_it_is(arguments: SummarizeAndSave, context: ActionContext) -> dict[str, Any]:
    """Return the condition for writing the file, if any; a retry then finds its own content."""
    if not arguments.filename:
        return {}
    stored = context.reach.files.info(context.agent.id, workspace_path(arguments.filename))
    return {"condition": stored.version if stored else ABSENT}


def _summary_change(arguments: SummarizeAndSave, context: ActionContext) -> TextChange | None:
    if not arguments.filename:
        return None
    return file_change(context, workspace_path(arguments.filename), arguments.content)


def _summary_file(arguments: SummarizeAndSave, _context: ActionContext) -> tuple[str, ...]:
    return (workspace_path(arguments.filename),) if arguments.filename else ()


def _names_what_is_written(arguments: SummarizeAndSave) -> str:
    return repr(arguments.filename) if arguments.filename else MEMORY


def _foreign_words_may_not_forget(_arguments: ForgetMemory, context: ActionContext) -> Impact:
    """Return SHARED in a tainted turn: forgetting is final, so a human must approve it."""
    return Impact.SHARED if context.turn.taint else Impact.SELF


@group.action(
    impact=Impact.READ,
    effect=Effect.PURE,
    sentences=("Search its past for {query}", "過去のやりとりから「{query}」を探す"),
    ja="過去と記憶を探します。query は会話の言語の質問文全体(1行1問)。",
    result_bytes=PAGED_BYTES,
    spills=False,
)
def search_my_history(arguments: SearchMyHistory, context: ActionContext) -> ActionResult:
    """Search past and memories. Pass whole questions in the conversation's language, one a line."""
    if not arguments.query.strip():
        raise Invalid("query is blank", field="query", cure="give the words to search for")
    query = _query(arguments, context)
    everything = search_each_question(context.reach.search, context.agent.id, query)
    found, could_hide, hidden = _left(_without_left_sessions(everything, context), query, context)
    shown = _render_hits(found, query, context)
    result = ActionResult.ok(query=arguments.query, count=len(shown), results=shown)
    ids = tuple(row.get("memory_id") or row["id"] for row in shown if row["kind"] in _COUNTED)
    if ids or could_hide:
        effect = MemoriesFound(ids=ids, hidden=hidden, could_hide=could_hide)
        result = result.replaced(side_effects=(effect,))
    tainted = any(each.taint or each.row.taint for each in found[: len(shown)])
    return result.replaced(taint=tainted)


@group.action(
    impact=Impact.SELF,
    effect=Effect.KEYED,
    sentences=("Save a summary", "要約を保存する"),
    ja="会話の要約を記憶に残します。filename を指定するとファイルにも書きます。",
    prepare=_file_as_it_is,
    touches=_names_what_is_written,
    targets=_summary_file,
    change=_summary_change,
)
def summarize_and_save(arguments: SummarizeAndSave, context: ActionContext) -> ActionResult:
    """Keep a summary as a memory; with `filename` write it to your workspace too."""
    path = workspace_path(arguments.filename) if arguments.filename else ""
    category = f"{arguments.summary_type[:32]}{SUMMARIES}"
    memory = new_memory(context, category, arguments.content, path=path)
    reason = memory_refusal(memory)
    if reason is not None:
        return refuse_memory(reason, context)
    # Only new documents: an action that has written a file cannot be retried on a conflict.
    facts = (new_fact(context.agent.id, MEMORY, memory.id, memory), count_memory_again(context))
    kept = {"memory_id": memory.id, "category": memory.category}
    if not path:
        return ActionResult.ok(**kept).keeping(*facts)
    written = _write_summary_file(path, arguments.content, context)
    return ActionResult.ok(written, **kept, path=written.path).keeping(*facts)


@group.action(
    impact=Impact.SELF,
    effect=Effect.TRANSACTIONAL,
    sentences=("Remember: {content}", "「{content}」を覚える"),
    ja="大切な事実を1つ長く覚えます。category は fact など。core は常に見えます。",
)
def save_memory(arguments: SaveMemory, context: ActionContext) -> ActionResult:
    """Keep one fact for good. Category `core` is always in view."""
    memory = new_memory(
        context,
        arguments.category,
        arguments.content,
        importance=arguments.importance,
        hearing=arguments.hearing,
    )
    return store_memory(memory, context, replaces=arguments.replaces, links=arguments.links)


@group.action(
    impact=Impact.SELF,
    effect=Effect.TRANSACTIONAL,
    sentences=("Forget memory {memory_id}", "記憶 {memory_id} を忘れる"),
    ja="記憶を1つ忘れます。memory_id は search_my_history でわかります。",
    impact_of=_foreign_words_may_not_forget,
)
def forget_memory(arguments: ForgetMemory, context: ActionContext) -> ActionResult:
    """Forget one memory; search_my_history tells its memory_id."""
    return drop_memory(require_memory(arguments.memory_id, context, to_change=True), context)


def _left(
    found: tuple[SearchHit, ...], query: SearchQuery, context: ActionContext
) -> tuple[tuple[SearchHit, ...], bool, bool]:
    """Return the hits to show, whether memories could be held out, and whether they were.

    The hash bucket depends on the turn alone, so all searches of one turn include or exclude
    memories. A search for memories only is never part of the hold-out, nor are core memories, which
    are in the prompt, nor what an owner put in outside of any session. With a hold-out of 0 percent
    no turn is counted for the comparison.
    """
    others = tuple(
        each for each in found if each.row.kind is not RowKind.MEMORY or not each.row.session_id
    )
    percent = learning_holdout_percent(context.mind, context.trials)
    could_hide = percent > 0 and len(others) < len(found) and query.kinds != {RowKind.MEMORY}
    hidden = could_hide and hash_fraction("memory", context.turn.id) * 100 < percent
    return (others if hidden else found), could_hide, hidden


def _without_left_sessions(
    found: tuple[SearchHit, ...], context: ActionContext
) -> tuple[SearchHit, ...]:
    """Leave out other sessions in which the person once spoke and takes no part any more.

    The index knows who spoke, not who was uninvited since. People on Discord are no members of
    sessions: there the guild decides.
    """
    clearance, sessions = context.clearance.search, context.reach.sessions
    person = clearance.person_id
    if clearance.whole or not person or person.startswith(DISCORD_PRINCIPAL) or sessions is None:
        return found
    elsewhere = {
        hit.row.session_id
        for hit in found
        if hit.row.hearing not in {Hearing.PUBLIC, Hearing.GUILD}
        and hit.row.session_id != clearance.session_id
    }
    left = {each for each in elsewhere if not _takes_part(sessions, each, person)}
    return tuple(
        hit
        for hit in found
        if hit.row.session_id not in left or hit.row.hearing in {Hearing.PUBLIC, Hearing.GUILD}
    )


def _takes_part(sessions: Sessions, session_id: str, person: str) -> bool:
    try:
        session, access = sessions.get_with_access(session_id)
    except NotFound:
        return False
    return person == session.created_by or person in access.members


def _query(arguments: SearchMyHistory, context: ActionContext) -> SearchQuery:
    """Build the search query, limited to what the turn's principal may find."""
    turn, session, zone = context.turn, context.session, context.time_zone
    since, until = arguments.since, arguments.until
    return SearchQuery(
        text=arguments.query,
        clearance=context.clearance.search,
        limit=arguments.limit,
        session_id=arguments.session_id or None,
        kinds=_kinds(arguments.kind),
        speaker=arguments.speaker.strip() or None,
        since=_moment("since", since, zone, after=False) if since.strip() else None,
        until=_moment("until", until, zone, after=True) if until.strip() else None,
        before=(session.id, turn.trigger_line) if turn.trigger_line > 0 else None,
        zone=zone,
    )


def _kinds(kind: str) -> frozenset[RowKind]:
    wanted = kind.strip().lower()
    if not wanted:
        return frozenset()
    if wanted not in set(RowKind):
        raise Invalid(
            f"there is no kind {kind!r}", field="kind", cure=f"use one of {', '.join(RowKind)}"
        )
    return frozenset({RowKind(wanted)})


def _moment(field: str, text: str, zone: str, *, after: bool) -> datetime:
    """Parse a date or time of a time zone; a date alone is its start, or its end if `after`.

    Raises Invalid if the text is neither.
    """
    try:
        moment = datetime.fromisoformat(text.strip())
        if len(text.strip()) <= len("2026-12-31"):
            day = date.fromisoformat(text.strip())
            moment = datetime.combine(day, time.min) + timedelta(days=after)
        here = moment.replace(tzinfo=ZoneInfo(zone)) if moment.tzinfo is None else moment
        return here.astimezone(UTC)
    except (ValueError, OverflowError):
        raise Invalid(
            f"{field} {text[:40]!r} is not a valid date",
            field=field,
            cure="write it like 2026-12-31",
        ) from None


def _write_summary_file(path: str, text: str, context: ActionContext) -> FileWritten:
    """Write the summary as a file; raises Conflict if the file was changed meanwhile."""
    condition, clean = context.prepared["condition"], writes_untainted_workspace_file(context)
    files = context.reach.files
    try:
        info = files.write(context.agent.id, path, text.encode(), condition=condition, clean=clean)
    except Conflict as error:
        raise Conflict(
            f"file {path!r} was changed concurrently; nothing was saved",
            field="filename",
            cure="use another filename, or omit it",
        ) from error
    return FileWritten(path=info.path, sha256=info.sha256, size=info.size)


def _render_hits(
    found: Iterable[SearchHit], query: SearchQuery, context: ActionContext
) -> list[dict[str, Any]]:
    """Format hits for the model, as many as fit; memories come with their ids.

    Scores are only shown to those who may read everything, since they reveal how often others used
    a word.
    """
    shown = list[dict[str, Any]]()
    room = min(SHOWN_BYTES, PAGED_BYTES - _HEAD_BYTES - byte_count_of_turn_json(query.text))
    for each in found:
        told = _render_hit(each, context)
        if query.clearance.whole:
            told["score"] = float(f"{each.score:.3g}")
        room -= byte_count_of_turn_json(told) + len(", ")
        if room < 0:
            break
        shown.append(told)
    return shown


def _render_hit(found: SearchHit, context: ActionContext) -> dict[str, Any]:
    row = found.row
    told: dict[str, Any] = {
        "id": row.id,
        "kind": row.kind.value,
        "excerpt": _excerpt(found),
        "at": row.at.isoformat(),
        "why": list(found.why),
    }
    told |= {"session_id": row.session_id} if row.session_id else {}
    told |= {"speaker": row.speaker} if row.speaker else {}
    if row.kind is RowKind.MEMORY:
        told |= _memory(row.ref, context)
    return told


def _excerpt(found: SearchHit) -> str:
    """Return the row's excerpt with its neighbours, or the row alone if that is too long."""
    if 0 < len(found.excerpt) <= SHOWN_CHARACTERS:
        return found.excerpt
    return one_line(found.row.text, SHOWN_CHARACTERS)


def _memory(memory_id: str, context: ActionContext) -> dict[str, Any]:
    """Return what the search row of a memory lacks: category, path and linked memories."""
    fact = context.reach.facts.get(context.agent.id, MEMORY, memory_id)
    if fact is None:
        return {"memory_id": memory_id}
    memory = fact.read(Memory)
    told: dict[str, Any] = {"memory_id": memory.id, "category": memory.category}
    told |= {"path": memory.path} if memory.path else {}
    linked = list[dict[str, str]]()
    for other_id in memory.links[-_LINKED:]:
        other = context.reach.facts.get(context.agent.id, MEMORY, other_id)
        if other is None:
            continue
        also = other.read(Memory)
        if may_hear_memory(also, context) and not also.tainted:
            text = _cut(also.content, _LINKED_CHARACTERS)
            linked.append({"memory_id": also.id, "text": text})
    return told | ({"linked": linked} if linked else {})


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
