"""Every byte of a prompt carries its provenance: strangers' words in any store taint the reader.

One kind of stored thing at a time is poisoned where it is read: each free text in it gets a canary,
and where its type has a mark of taint, that mark is set. Which kinds there are, and which of their
fields are texts, is found by looking at what the turns read, not from a list.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, cast

from pydantic import TypeAdapter, ValidationError

from opencrab.domain.access.authority import Authority
from opencrab.domain.agents.agent_state import MIND
from opencrab.domain.autonomy.vital_signs import VITALS
from opencrab.domain.conversation.message import Audience, Instruction, Line, LineKind
from opencrab.domain.document import Document
from opencrab.domain.turn.turn import Turn
from opencrab.domain.value import Value
from opencrab.engine.agents import vital_signs
from opencrab.engine.goals.owner_goals import NewGoal, inject_owner_goal
from opencrab.engine.turn.admission import admit_guidance_for_turns, admit_turns_of_message
from opencrab.ports.memory.search import SearchHit
from opencrab.ports.models.model import (
    NO_TEXT,
    UNWATCHED,
    AnswerWatch,
    CallReturn,
    ChatMessage,
    ChatModel,
    ChatRequest,
    PromptText,
    TrustedText,
    fill_model_template,
    is_model_request_tainted,
    join_texts_for_model_call,
    labelled_message,
    labelled_request,
)
from opencrab.ports.workspace.files import FileInfo
from tests.contract.homes import HOMES
from tests.crash.errand import OWNER, RICH
from tests.crash.outside import Reply
from tests.crash.scenarios import message
from tests.e2e.beating import minutes, tell
from tests.e2e.forgotten import Life, lived
from tests.e2e.house import House

CANARY = "⟦夕なぎの canary⟧"
LINES, HITS, FILES = "lines of sessions", "search hits", "files"
VOUCHED = {
    MIND: "core memories, skills and ids enter it only in words that somebody vouched for",
    VITALS: "counters and times, and whom an agent would answer",
}
"""Kinds without a mark of taint whose words may stand in a clean prompt, and why."""


def poisoned(value: Any, annotation: Any = None) -> Any:
    """The same value with a canary in each free text, marked as tainted where its type can be."""
    if isinstance(value, Value):
        fields = type(value).model_fields
        changed = {
            name: poisoned(getattr(value, name), (each.annotation, tuple(each.metadata)))
            for name, each in fields.items()
        }
        marks = {name: True for name in ("taint", "tainted") if name in fields}
        return value.replaced(**(changed | (marks if CANARY in repr(changed) else {})))
    if isinstance(value, str) and type(value) is str:
        return f"{value} {CANARY}" if is_free_text(value, annotation) else value
    if isinstance(value, tuple):
        return tuple(poisoned(each, _inner(annotation)) for each in value)
    return value


def _inner(annotation: Any) -> Any:
    arguments = getattr(annotation[0], "__args__", None) if annotation else None
    return (arguments[0], ()) if arguments else (str, ())


def is_free_text(value: str, annotation: Any) -> bool:
    """Check whether a field takes any words; names of things such as ids do not."""
    kind, metadata = annotation or (str, ())
    checked = kind
    for each in metadata:
        checked = Annotated[checked, each]
    try:
        TypeAdapter(checked).validate_python(f"{value} {CANARY}")
    except ValidationError:
        return False
    return " " in value or not value.isascii()


class PoisonedDocument(Document):
    """A document of which whoever reads it gets the canaries."""

    def read(self, kind: Any) -> Any:
        return poisoned(super().read(kind))


@dataclass
class Stores:
    """Documents and lines as they are read, one kind of them poisoned; `kinds` are all met."""

    inner: Any
    poison: str
    kinds: set[str] = field(default_factory=set)

    def __getattr__(self, method: str) -> Any:
        call: Callable[..., Any] = getattr(self.inner, method)

        def read(*arguments: Any, **named: Any) -> Any:
            return self._seen(call(*arguments, **named))

        return read

    def _seen(self, found: Any) -> Any:
        if type(found) is tuple:
            return tuple(map(self._seen, found))
        kind = found.kind if isinstance(found, Document) else _KINDS.get(type(found), "")
        self.kinds |= {kind} - {""}
        return _foreign(found) if kind == self.poison and kind else found


_KINDS = {SearchHit: HITS, FileInfo: FILES, bytes: FILES, Line: LINES}


def _foreign(found: Any) -> Any:
    if isinstance(found, Document):
        return PoisonedDocument(**dict(found))
    if isinstance(found, SearchHit):
        return replace(found, excerpt=f"{found.excerpt} {CANARY}", taint=True)
    if isinstance(found, FileInfo):
        return replace(found, clean=False)
    if isinstance(found, bytes):
        return found + CANARY.encode()
    said = found.text and found.speaker_id != "owner"
    return found.replaced(text=f"{found.text} {CANARY}", taint=True) if said else found


@dataclass
class Watched:
    """A model before whose answer the header of its turn is held against what it was sent."""

    model: ChatModel
    newest: list[Turn]
    caught: list[str]
    reached: list[str]

    @property
    def info(self) -> Any:
        return self.model.info

    def encode(self, request: ChatRequest) -> bytes:
        return self.model.encode(request)

    def chat(self, request: ChatRequest, body: bytes, watch: AnswerWatch = UNWATCHED) -> Any:
        turn = self.newest[-1]
        sent = (request.system, *map(_words, request.turns), *map(repr, request.actions))
        for part in sent:
            if CANARY in part:
                self.reached.append(turn.trigger)
                if not turn.taint:
                    self.caught.append(f"{turn.trigger}: …{part[-300:]}")
        return self.model.chat(request, body)


def _words(message: Any) -> str:
    if isinstance(message, CallReturn):
        return message.content
    return str(message.text) + json.dumps(
        [dict(call) for call in message.calls], ensure_ascii=False
    )


READING: tuple[tuple[str, dict[str, Any]], ...] = (
    ("search_my_history", {"query": "合言葉"}),
    ("browse_history", {}),
    ("browse_history", {"id": "S1"}),
    ("ws_read", {"path": "notes/talk.md"}),
    ("ws_list", {}),
    ("search_notes", {"query": "海"}),
    ("recall_model_experiences", {"query": "海"}),
    ("use_skill", {"name": "research"}),
)
"""Actions by which a turn reads what is stored, each in a step of its own."""


@dataclass
class Outcome:
    """What became of a life with one kind poisoned: where the canary came, and where unmarked."""

    kinds: set[str]
    reached: list[str]
    caught: list[str]


def outcome(home: House, folder: Any, poison: str) -> Outcome:
    """Live a little with a message, a goal, a heartbeat and their turns, one kind poisoned."""
    life = lived(home, folder, short=True)
    newest: list[Turn] = []
    facts = Stores(home.runtime.home.facts, poison)
    journal = _Journal(home.runtime.home.journal, poison, newest)
    search = Stores(home.runtime.search, poison)
    files = Stores(home.runtime.home.files, poison)
    home.runtime = replace(
        home.runtime,
        home=replace(home.runtime.home, facts=facts, journal=journal, files=files),
        search=cast(Any, search),
    )
    caught, reached = list[str](), list[str]()
    home.provider.wrap = lambda model: cast(ChatModel, Watched(model, newest, caught, reached))
    turns(home, life)
    kinds = facts.kinds | journal.kinds | search.kinds | files.kinds
    return Outcome(kinds, reached, caught)


class _Journal(Stores):
    def __init__(self, inner: Any, poison: str, newest: list[Turn]) -> None:
        super().__init__(inner, poison)
        self.newest = newest

    def commit(self, change: Any) -> Turn:
        saved = self.inner.commit(change)
        self.newest.append(saved)
        return cast(Turn, saved)


def turns(home: House, life: Life) -> None:
    """A turn of each kind that an agent has: asked, for a goal, and of its own accord."""
    life.say("潮はどうですか", (Reply("満ちています。"),))
    home.scripts["crab"] = (*(Reply(calls=(call,)) for call in READING), Reply("読みました。"))
    admit_turns_of_message(home.runtime, "direct", message("全部読んで", "read"))
    home.work()
    life.say("Did Kai write?", (Reply("Yes, he did."),), session_id="shared")
    home.scripts["crab"] = (Reply("done"),) * 3
    agent = home.home.agents.get("crab").agent
    beating = agent.heartbeat.replaced(interval_seconds=307, instructions="海を見守る")
    home.home.agents.save(agent.replaced(heartbeat=beating))
    vital_signs.change_agent_vital_signs(
        home.runtime, "crab", lambda now: now.replaced(next_beat_at=home.clock.now(), unread=3)
    )
    tell(home, "crab", 7, text="波の高さは二メートル", tainted=False)
    goal = NewGoal(name="浜辺の記録をつける", description="毎朝の潮位を記録する")
    inject_owner_goal(home.runtime, "crab", goal, OWNER, key="tide")
    minutes(home, 12)


def test_no_stored_word_of_a_stranger_reaches_a_prompt_that_counts_as_clean(tmp_path: Path) -> None:
    clean = _lived_with(tmp_path, "")
    assert not clean.reached
    assert len(clean.kinds) >= 12, clean.kinds
    reached = set[str]()
    for kind in sorted(clean.kinds - VOUCHED.keys()):
        found = _lived_with(tmp_path, kind)
        assert not found.caught, f"{kind}: {found.caught[0]}"
        reached |= {kind} if found.reached else set()
    # Where nothing comes through, nothing is proven: these do.
    assert reached >= {HITS, LINES, FILES, "goal", "happening", "summary", "working"}, reached


def _lived_with(folder: Path, poison: str) -> Outcome:
    house = House(HOMES[0], folder / (poison or "clean"), RICH)
    try:
        return outcome(house, folder / (poison or "clean"), poison)
    finally:
        house.close()


def test_guidance_of_a_peer_during_a_turn_taints_it_before_the_next_call(home: House) -> None:
    agent = home.agent("crab", (Reply(calls=(("ws_list", {}),)), Reply("done")))
    home.session(agent)
    given = Instruction(
        id="g1",
        session_id="s",
        text=f"急いで {CANARY}",
        by="kai",
        authority=Authority.PEER,
        at=home.clock.now(),
    )
    line = Line(
        session_id="s",
        group="g1",
        kind=LineKind.SYSTEM,
        audience=Audience.AGENTS,
        speaker_id="kai",
        speaker_name="kai",
        authority=Authority.PEER,
        text=given.text,
        message_id="g1",
        at=given.at,
    )
    home.interrupt(lambda: admit_guidance_for_turns(home.runtime.home, given, line))
    (turn,) = home.say("お願い")
    home.work()
    assert CANARY in "".join(map(_words, home.provider.seen[-1].turns))
    assert home.turn(turn.id).taint


def test_a_text_without_a_label_taints_the_request_that_it_is_in() -> None:
    request = labelled_request(
        model="m",
        actions=(),
        system=TrustedText("rules"),
        turns=(labelled_message("user", TrustedText("hello")),),
        max_output_tokens=10,
        temperature=None,
        stop=(),
        timeout_seconds=1.0,
    )
    assert not is_model_request_tainted(request)
    for changed in (
        replace(request, system="rules"),
        replace(request, turns=(ChatMessage("user", "hello"),)),
        replace(request, turns=(*request.turns, CallReturn("1", "ws_read", PromptText("x")))),
    ):
        assert is_model_request_tainted(changed)


def test_parts_taint_what_they_are_joined_and_filled_into() -> None:
    clean, foreign = TrustedText("海"), PromptText("sea")
    assert not join_texts_for_model_call(", ", (clean, NO_TEXT, clean)).tainted
    assert join_texts_for_model_call(", ", (clean, foreign)) == "海, sea"
    assert join_texts_for_model_call(", ", (clean, foreign)).tainted
    assert not fill_model_template("{a} {n:.1f}", a=clean, n=1.0).tainted
    assert fill_model_template("{a} {b}", a=clean, b=foreign).tainted
