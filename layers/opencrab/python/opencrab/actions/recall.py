"""Finding again what was said, and choosing what to remember and what to forget.

A turn on behalf of the public or of a peer finds only what everybody in its session could hear:
no memories, no thoughts, no instructions. No turn searches another session than its own.
"""

from collections.abc import Iterable
from typing import Annotated, Any

from pydantic import Field, StringConstraints

from opencrab.actions.provenance import writes_clean
from opencrab.actions.registry import Group
from opencrab.domain.action import ActionResult, Effect, FileWritten, Impact
from opencrab.domain.authority import Authority
from opencrab.domain.errors import Conflict, Invalid, NotFound, Refused
from opencrab.domain.fact import Fact, new_fact
from opencrab.domain.memory import MEMORY_CHARACTERS, Category, Memory
from opencrab.domain.path import workspace_path
from opencrab.domain.value import ShortText, Text, Value
from opencrab.ports.action import ActionContext
from opencrab.ports.files import ABSENT
from opencrab.ports.search import Found

MEMORIES = 500
"""Memories that one agent may keep."""

MEMORY = "memory"
"""The kind of fact that memories are, and of what a search finds among them."""

MOST_FOUND = 50
SHOWN_CHARACTERS = 400
SHOWN_BYTES = 16 * 1024

_HEARD_BY_ALL = "speech"
_OUTSIDERS = {Authority.PUBLIC, Authority.PEER}
_EVERYTHING = 1_000
"""More than any search looks through: what outsiders may not see must not use up their share."""

Content = Annotated[Text, StringConstraints(min_length=1, max_length=MEMORY_CHARACTERS)]

group = Group("recall")


class SearchMyHistory(Value):
    query: ShortText = Field(min_length=1)
    limit: int = Field(10, ge=1, le=MOST_FOUND)
    session_id: str | None = Field(None, description="Only the present one is open to you")


class SummarizeAndSave(Value):
    content: Content = Field(description="The summary")
    filename: str = Field("", description="Also write it here, like summaries/today.md")
    summary_type: Category = "session"


class SaveMemory(Value):
    category: Category
    content: Content


class ForgetMemory(Value):
    memory_id: str


def _file_as_it_is(arguments: SummarizeAndSave, context: ActionContext) -> dict[str, Any]:
    """What the file is now, if one is to be written: a repeat finds its own content there."""
    if not arguments.filename:
        return {}
    stored = context.reach.files.info(context.agent.id, workspace_path(arguments.filename))
    return {"condition": stored.version if stored else ABSENT}


def _names_what_is_written(arguments: SummarizeAndSave) -> str:
    return repr(arguments.filename) if arguments.filename else MEMORY


@group.action(
    impact=Impact.READ,
    effect=Effect.PURE,
    sentences=("Search its past for {query}", "過去のやりとりから「{query}」を探す"),
    ja="この会話の過去の発言と、自分の記憶を探します。",
)
def search_my_history(arguments: SearchMyHistory, context: ActionContext) -> ActionResult:
    """Search what was said in this conversation, and your memories."""
    if not arguments.query.strip():
        raise Invalid("query is blank", field="query", cure="name what you look for")
    if arguments.session_id not in {None, "", context.session.id}:
        raise Refused(
            "only the present conversation can be searched",
            field="session_id",
            cure="leave session_id out",
        )
    outsider = context.turn.authority in _OUTSIDERS
    found = context.reach.search.search(
        context.agent.id,
        arguments.query,
        session_id=context.session.id,
        limit=_EVERYTHING if outsider else arguments.limit,
    )
    if outsider:
        # Whoever asks from outside hears of nothing but what everybody here could hear.
        heard = (each for each in found if each.kind == _HEARD_BY_ALL)
        found = tuple(heard)[: arguments.limit]
    shown = _shown(found, context)
    result = ActionResult.done(query=arguments.query, count=len(shown), results=shown)
    return result.replaced(taint=any(each.taint for each in found[: len(shown)]))


@group.action(
    impact=Impact.SELF,
    effect=Effect.KEYED,
    sentences=("Save a summary", "要約を保存する"),
    ja="会話の要約を記憶に残します。filename を指定するとファイルにも書きます。",
    prepare=_file_as_it_is,
    touches=_names_what_is_written,
)
def summarize_and_save(arguments: SummarizeAndSave, context: ActionContext) -> ActionResult:
    """Keep a summary as a memory; with `filename` write it to your workspace too."""
    memory = _new_memory(context, f"{arguments.summary_type[:32]}_summary", arguments.content)
    fact = new_fact(context.agent.id, MEMORY, memory.id, memory)
    kept = {"memory_id": memory.id, "category": memory.category}
    if not arguments.filename:
        return ActionResult.done(**kept).keeping(fact)
    written = _written(arguments, context)
    return ActionResult.done(written, **kept, path=written.path).keeping(fact)


@group.action(
    impact=Impact.SELF,
    effect=Effect.TRANSACTIONAL,
    sentences=("Remember: {content}", "「{content}」を覚える"),
    ja="大切なことを長く覚えておきます。category は preference のような英小文字です。",
)
def save_memory(arguments: SaveMemory, context: ActionContext) -> ActionResult:
    """Keep something worth knowing for good. A category is like `preference`."""
    memory = _new_memory(context, arguments.category, arguments.content)
    fact = new_fact(context.agent.id, MEMORY, memory.id, memory)
    return ActionResult.done(memory_id=memory.id, category=memory.category).keeping(fact)


@group.action(
    impact=Impact.SELF,
    effect=Effect.TRANSACTIONAL,
    sentences=("Forget memory {memory_id}", "記憶 {memory_id} を忘れる"),
    ja="記憶を1つ忘れます。memory_id は search_my_history でわかります。",
)
def forget_memory(arguments: ForgetMemory, context: ActionContext) -> ActionResult:
    """Forget one memory; search_my_history tells its memory_id."""
    fact = _stored(arguments.memory_id, context)
    if fact is None:
        raise NotFound(
            f"there is no memory {arguments.memory_id!r}",
            field="memory_id",
            cure="find it with search_my_history",
        )
    memory = fact.read(Memory)
    result = ActionResult.done(forgotten=memory.id, category=memory.category)
    return result.keeping(fact.removed())


def _new_memory(context: ActionContext, category: str, content: str) -> Memory:
    if not content.strip():
        raise Invalid("content is blank", field="content", cure="write what is to be kept")
    if len(_memories(context)) >= MEMORIES:
        raise Refused(
            f"you keep {MEMORIES} memories, and more are not allowed",
            cure="forget what you no longer need with forget_memory",
        )
    now = context.clock.now()
    return Memory(
        id=context.clock.new_id(),
        category=category,
        content=content,
        tainted=context.turn.taint,
        session_id=context.session.id,
        turn_id=context.turn.id,
        created_at=now,
        updated_at=now,
    )


def _memories(context: ActionContext) -> tuple[Fact, ...]:
    return context.reach.facts.page(context.agent.id, MEMORY, limit=MEMORIES)


def _stored(memory_id: str, context: ActionContext) -> Fact | None:
    """A memory of the agent's, whatever a model may have written as its id."""
    if not (memory_id.isascii() and memory_id.isalnum()):
        return None
    return context.reach.facts.get(context.agent.id, MEMORY, memory_id[:64])


def _written(arguments: SummarizeAndSave, context: ActionContext) -> FileWritten:
    """The summary as a file."""
    path, content = workspace_path(arguments.filename), arguments.content.encode()
    condition, clean = context.prepared["condition"], writes_clean(context)
    files = context.reach.files
    try:
        info = files.write(context.agent.id, path, content, condition=condition, clean=clean)
    except Conflict as error:
        raise Conflict(
            f"file {path!r} was changed by somebody else meanwhile; nothing was saved",
            field="filename",
            cure="use another filename, or leave it out",
        ) from error
    return FileWritten(path=info.path, sha256=info.sha256, size=info.size)


def _shown(found: Iterable[Found], context: ActionContext) -> list[dict[str, Any]]:
    """What was found as the model reads it, as much as fits; memories come with their ids."""
    found = tuple(found)
    kept = dict[tuple[str, object], Memory]()
    if any(each.kind == MEMORY for each in found):
        memories = (fact.read(Memory) for fact in _memories(context))
        kept = {(memory.content, memory.updated_at): memory for memory in memories}
    shown, room = list[dict[str, Any]](), SHOWN_BYTES
    for each in found:
        text = each.text
        if len(text) > SHOWN_CHARACTERS:
            text = f"{text[: SHOWN_CHARACTERS - 1]}…"
        room -= len(text.encode())
        if room < 0:
            break
        row: dict[str, Any] = {"kind": each.kind, "text": text, "at": each.at.isoformat()}
        row |= {"session_id": each.session_id} if each.session_id else {}
        memory = kept.get((each.text, each.at)) if each.kind == MEMORY else None
        if memory is not None:
            row |= {"memory_id": memory.id, "category": memory.category}
        elif each.kind != MEMORY:
            row["speaker"] = each.speaker
        shown.append(row)
    return shown
