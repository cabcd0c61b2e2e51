"""A house with a past in which a word is followed: who wrote it, and which prompts hold it."""

from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.access.impact import Impact
from opencrab.domain.agents.event import HAPPENING, AgentEvent
from opencrab.domain.agents.heartbeat import Heartbeat
from opencrab.domain.autonomy.schedule import ScheduleDraft
from opencrab.domain.conversation.message import Message, Sender
from opencrab.domain.conversation.session import Participant, Session
from opencrab.domain.errors import OpenCrabError
from opencrab.domain.memory.summary import SHELF, SummaryIndex
from opencrab.domain.turn.turn import Trigger, Turn
from opencrab.engine.agents import vital_signs
from opencrab.engine.approvals import approvals
from opencrab.engine.autonomy.schedules import create_schedule
from opencrab.engine.goals.owner_goals import NewGoal, inject_owner_goal
from opencrab.engine.runtime import Rules
from opencrab.engine.turn.admission import admit_turns_of_message
from opencrab.ports.models.model import UNWATCHED, AnswerWatch, CallReturn, ChatModel, ChatRequest
from tests.contract.homes import sqlite
from tests.crash.errand import OWNER, RICH
from tests.crash.outside import Reply, Script
from tests.crash.scenarios import message
from tests.e2e.beating import minutes
from tests.e2e.forgotten import lived
from tests.e2e.house import START, House
from tests.hostile.routes.fields import WORD, Kind, actions, example

MEETING = "Meeting"
"""The alias of notes with a foreign name, which a clean turn knows."""

RULES: Rules = replace(RICH, compact_every=2)
DECIDER = approvals.Decider(id="owner", is_owner=True)
STRANGER = (Authority.PUBLIC, Source.WEBHOOK, "stranger")
PEER = (Authority.PEER, Source.PEER, "remote")
USER = (Authority.USER, Source.REST, "taro")

NEEDED: dict[str, Any] = {
    "path": "notes/talk.md", "new_path": "海neu", "target_note": "Sea", "source_note": "Sea",
    "name": "research", "goal_id": "G1", "task_id": "G1-T1", "memory_id": "c1", "url": "https://x",
    "target_id": "taro", "peer_id": "kai", "agents": ["kai"], "belief_id": "b2", "relation": "near",
    "old_string": "moonlit", "category": "fact", "template_name": "meeting", "group": "vault",
    "peer": "kai", "to": "owner_sessions",
    "tasks": [{"name": f"歩く{n}", "precondition": "…", "postcondition": "…"} for n in range(5)],
}  # fmt: skip
"""What the plain value of a field must be for its action to do something in this house."""


@dataclass(frozen=True)
class Heard:
    """A prompt that holds the word: of which kind it is, and whether its turn is tainted."""

    sink: str
    tainted: bool
    near: str


@dataclass
class Followed:
    """A model whose prompts are searched for a word before it answers."""

    model: ChatModel
    rooms: "Rooms"

    @property
    def info(self) -> Any:
        return self.model.info

    def encode(self, request: ChatRequest) -> bytes:
        return self.model.encode(request)

    def chat(self, request: ChatRequest, body: bytes, watch: AnswerWatch = UNWATCHED) -> Any:
        held = self.rooms.looked_at(request)
        answer = self.model.chat(request, body)
        if self.rooms.newest[-1].trigger is not Trigger.COMPACTION:
            return answer
        # A summary repeats what it has read.
        said = f"{self.rooms.word} " if held else ""
        return answer.replaced(text=f"{said}海の話\n{said}海の話をしました。", calls=())


@dataclass
class Rooms:
    """Turns of every kind in one house; `heard` are the prompts with the word in them."""

    folder: Path
    word: str
    heard: list[Heard] = field(default_factory=list)
    met: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.house = House(sqlite, self.folder, RULES)
        self.life = lived(self.house, self.folder, short=True)
        for number in (1, 2, 3):
            clean = AgentEvent(
                id=f"e{number}", type="speech", source="owner", text="雨", tainted=False, at=START
            )
            self.life.keep(HAPPENING, clean.id, clean)
        self.life.keep(SHELF, SHELF, SummaryIndex(last=9))
        self.newest: list[Turn] = []
        self._number = 0
        house = self.house
        journal = house.runtime.home.journal
        home = replace(house.runtime.home, journal=cast(Any, _Commits(journal, self.newest)))
        house.runtime = replace(house.runtime, home=home)
        house.provider.wrap = lambda model: cast(ChatModel, Followed(model, self))
        house.home.files.write("crab", "foreign.md", "よその言葉 / foreign words".encode())
        house.home.files.write("crab", "vault/Sea.md", b"# Sea\nwaves", clean=True)
        self.owners = self.session("crab")

    def close(self) -> None:
        """Give up the house."""
        self.house.close()

    def looked_at(self, request: ChatRequest) -> bool:
        """A model is sent this in the newest turn; True if the word is in it."""
        turn = self.newest[-1]
        sink = sink_of(turn)
        self.met.add(sink)
        parts = _parts(request)
        for part in parts:
            if self.word in part:
                at = part.index(self.word)
                self.heard.append(Heard(sink, turn.taint, part[max(0, at - 90) : at + 40]))
        return bool(self.heard) and self.word in "".join(parts)

    def session(self, *agents: str, **more: Any) -> str:
        """A new session."""
        self._number += 1
        name = f"room{self._number}"
        self.house.home.sessions.create(
            Session(
                id=name,
                participants=tuple(Participant(agent_id=each) for each in agents),
                created_by="owner",
                created_at=START,
                updated_at=START,
                **more,
            )
        )
        return name

    def say(self, session_id: str, script: Script, who: Any = None, **more: Any) -> None:
        """Somebody says something plain, and crab does what the script says."""
        self._number += 1
        self.house.scripts["crab"] = script
        said: Message = message("続けて / go on", f"r{self._number}")
        if who is not None:
            authority, source, name = who
            said = said.replaced(
                authority=authority, source=source, principal_id=name,
                sender=Sender(id=name, name=name),
            )  # fmt: skip
        admit_turns_of_message(self.house.runtime, session_id, said.replaced(**more))
        self.settle()

    def settle(self) -> None:
        """Work until nothing is left, and agree with whatever waits."""
        self.house.work()
        for _ in range(3):
            waiting = approvals.open_or_decided_approvals(
                self.house.runtime.home.facts, decided=False
            )
            for asked in waiting:
                with suppress(OpenCrabError):
                    approvals.decide_approval(
                        self.house.runtime, asked.id, approved=True, who=DECIDER
                    )
            self.house.work()
            if not waiting:
                break

    def listen(self) -> None:
        """Turns of every kind, each in a place where nothing else has tainted it."""
        self.house.scripts["crab"] = (Reply("ok"),) * 3
        self._beat()
        self._discuss()
        for name, arguments in readings():
            self.say(self.session("crab"), (Reply(calls=((name, arguments),)), Reply("ok")))
        self.say(self.owners, (Reply("ok"),))
        self.say(self.session("crab"), (Reply("ok"),), USER)
        self.say(self.session("crab"), (Reply("ok"),), STRANGER)
        self.say(self.session("crab"), (Reply("ok"),), PEER)

    def _discuss(self) -> None:
        talk = self.session("crab", "kai", hop_limit=3, max_turns=4, mode="autonomous")
        self.say(talk, (Reply("海は広い"),))
        for _ in range(3):
            self.house.later(61)

    def _beat(self) -> None:
        house = self.house
        agent = house.home.agents.get("crab").agent
        beating = Heartbeat(interval_seconds=307, instructions="海を見守る")
        house.home.agents.save(agent.replaced(heartbeat=beating))
        vital_signs.change_agent_vital_signs(
            house.runtime,
            "crab",
            lambda now: now.replaced(next_beat_at=house.clock.now(), unread=3),
        )
        goal = NewGoal(name="浜辺の記録", description="潮位を記録する")
        with suppress(OpenCrabError):
            inject_owner_goal(house.runtime, "crab", goal, OWNER, key="tide")
        draft = ScheduleDraft(name="tide", when="@every 5m", instructions="潮を見る")
        create_schedule(house.runtime, "crab", "tide", draft)
        minutes(house, 12)
        self.settle()


class _Commits:
    """The journal; each turn as it was last saved is noted."""

    def __init__(self, inner: Any, newest: list[Turn]) -> None:
        self._inner, self._newest = inner, newest

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def commit(self, change: Any) -> Turn:
        saved: Turn = self._inner.commit(change)
        self._newest.append(saved)
        return saved


def sink_of(turn: Turn) -> str:
    """The kind of a turn's prompts: what started it, for whom, and whether for a goal."""
    told = f"{turn.trigger.value} for {turn.authority.value}"
    return f"{told}, with a goal" if turn.task is not None else told


def readings() -> tuple[tuple[str, dict[str, Any]], ...]:
    """One call of each action that reads, with plain arguments, and some that find the word."""
    found = []
    for action in actions().values():
        if action.impact is Impact.READ and action.group not in {"web", "world", "finding"}:
            schema = action.arguments.model_json_schema()
            needed = NEEDED | ({"path": "Sea"} if action.group == "vault" else {})
            found.append((action.name, example(Kind(schema, schema.get("$defs", {})), needed)))
    searched = (("search_my_history", {"query": WORD}), ("search_notes", {"query": WORD}))
    listed = (("ws_list", {"path": "notes"}), ("ws_list", {"path": "inbox"}))
    # What a clean turn calls by a name of its own, it learns the foreign name of, and may keep.
    learned = (
        ("create_note", {"title": "海計画", "template": "metting"}),
        ("create_link", {"source_note": "Sea", "target_note": MEETING}),
        ("ws_read", {"path": "vault/Sea.md"}),
    )
    return (*found, *listed, *searched, *learned)


def _parts(request: ChatRequest) -> tuple[str, ...]:
    return (
        request.system,
        *map(_words, request.turns),
        *(each.as_json for each in request.actions),
    )


def _words(told: Any) -> str:
    if isinstance(told, CallReturn):
        return told.content
    return f"{told.text} {[dict(call) for call in told.calls]}"
