"""A life with words that are to be forgotten, and every byte in which they could still be."""

import json
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from opencrab.adapters.s3_files.snapshots import S3Snapshots
from opencrab.adapters.sqlite_search.search import SqliteSearch
from opencrab.domain.access import authority
from opencrab.domain.access.authority import Authority
from opencrab.domain.agents.agent_state import MIND, Agenda, AgentState
from opencrab.domain.agents.event import HAPPENING, AgentEvent
from opencrab.domain.autonomy.schedule import ScheduleDraft
from opencrab.domain.autonomy.vital_signs import VITALS, Mention, VitalSigns
from opencrab.domain.conversation.message import (
    Audience,
    Channel,
    Instruction,
    Line,
    LineKind,
    Message,
    Sender,
)
from opencrab.domain.conversation.session import Hearing, Participant, Session
from opencrab.domain.document import new_fact
from opencrab.domain.goals.goal import (
    GOAL,
    Goal,
    GoalStatus,
    PlannedTask,
    goal_document_id,
    number_tasks,
)
from opencrab.domain.goals.plan import PLAN, AbandonedPlan, abandoned_goal_plan_id
from opencrab.domain.memory.belief import BELIEF, Belief
from opencrab.domain.memory.belief_index import salient_beliefs_in_memory
from opencrab.domain.memory.knowledge_graph import EDGE, NODE, KnowledgeEdge, KnowledgeNode
from opencrab.domain.memory.memory import IMPRESSION, CoreMemory, Impression
from opencrab.domain.memory.peer import PEER, Peer
from opencrab.domain.memory.salient_beliefs import OUTLOOK
from opencrab.domain.memory.summary import (
    COMPACTION,
    SUMMARY,
    CompactionState,
    Summary,
    SummarySource,
    SummarySpan,
    SummaryTopic,
    memory_summary_document_id,
)
from opencrab.domain.memory.working_memory import WORKING, WorkingMemory
from opencrab.domain.turn.turn import Turn
from opencrab.domain.value import Language, Value
from opencrab.engine.autonomy.schedules import create_schedule
from opencrab.engine.goals.instructions import INSTRUCTION, InstructionGiver, _Given, cancel_goal
from opencrab.engine.goals.owner_goals import NewGoal, inject_owner_goal
from opencrab.engine.turn.admission import admit_guidance_for_turns, admit_turns_of_message
from opencrab.ports.home import Home
from opencrab.ports.memory.search import SearchQuery
from opencrab.ports.turn.journal import RECORD_BYTES
from tests.crash.outside import Reply, Script
from tests.crash.scenarios import message
from tests.e2e.house import START, House
from tests.searching import past_of, searching

HANAKO, NAME = "hanako", "山田花子"
SAID = "蟹座の合言葉は夕凪七号です"
ENGLISH = "The harbour password is moonlit otter forty-two"
WORDS = ("夕凪", "moonlit", NAME, HANAKO)
"""What nobody else says."""

KEPT = "太郎は毎朝六時に海辺を散歩します"
FILE = "notes/talk.md"


class Life:
    """The agent `crab`, `kai` beside it in one session, and three people who talk with them."""

    def __init__(self, house: House, folder: Path) -> None:
        self.house, self.folder = house, folder
        self.crab = house.agent("crab", (), Language.JA)
        self.kai = house.agent("kai", (Reply("I am Kai."),), Language.EN)
        self._open("direct", "crab")
        self._open("shared", "crab", "kai")
        self._open("kais", "kai")
        self._number = 0
        search(house, folder)

    def _open(self, session_id: str, *agents: str) -> None:
        self.house.home.sessions.create(
            Session(
                id=session_id,
                participants=tuple(Participant(agent_id=each) for each in agents),
                created_by=HANAKO if session_id == "shared" else "owner",
                theme=f"{NAME}さんと" if session_id == "shared" else "",
                created_at=START,
                updated_at=START,
            )
        )

    def say(
        self, text: str, script: Script, who: str = "taro", session_id: str = "direct", **more: Any
    ) -> tuple[Turn, ...]:
        """Somebody says something, and crab does what the script says."""
        self._number += 1
        self.house.clock.advance(60)
        self.house.scripts["crab"] = script
        name = NAME if who == HANAKO else who
        said: Message = message(text, f"m{self._number}").replaced(
            principal_id=who,
            sender=Sender(id=who, name=name),
            authority=Authority.USER,
            **more,
        )
        turns = admit_turns_of_message(self.house.runtime, session_id, said)
        self.house.work()
        return turns

    def keep(self, kind: str, fact_id: str, value: Value) -> None:
        """Something that an agent keeps."""
        self.house.home.facts.commit(new_fact("crab", kind, fact_id, value).replaced(version=0))


def lived(house: House, folder: Path, *, short: bool = False) -> Life:
    """A life in which Hanako was quoted, remembered, summarised, judged and written about.

    A short one has fewer lines of other people.
    """
    life = Life(house, folder)
    life.say(KEPT, (saving(KEPT), Reply("わかりました、太郎さん。")))
    life.say(
        SAID,
        (
            saving(f"合言葉の話: {SAID}"),
            Reply(calls=(("ws_write", {"path": FILE, "content": f"{SAID}\n{ENGLISH}"}),)),
            Reply(calls=(("learn_from_experience", _learned()),)),
            Reply(f"{NAME}さんの「{SAID}」を覚えました。", ponders=RECORD_BYTES),
        ),
        HANAKO,
    )
    wall = Channel(kind="wall", address=f"#{HANAKO}")
    life.say(ENGLISH, (Reply(f"You said: {ENGLISH}."),), HANAKO, "shared", channel=wall)
    search_it: dict[str, Any] = {"query": "合言葉は何ですか"}
    life.say(
        "What did we talk about?",
        (Reply(calls=(("search_my_history", search_it),)), Reply(f"こうでした。{SAID}。")),
    )
    if not short:
        life.say("See you tomorrow, Kai.", (Reply("また明日。"),), session_id="shared")
        life.say("また明日ね", (Reply("はい、また明日。"),))
    _told(life)
    _keepsakes(life)
    _inner(life)
    _summaries(life)
    _goal(life)
    _asked(life)
    house.runtime.search.search("crab", SearchQuery("合言葉"))
    house.runtime.search.catch_up("crab")  # type: ignore[attr-defined]
    house.runtime.search.catch_up("kai")  # type: ignore[attr-defined]
    return life


def search(house: House, folder: Path) -> None:
    """Give the house a real index with snapshots, where it would have them."""
    home, blobs = house.home, house.home.blobs
    bucket = getattr(blobs, "_bucket", None)
    index: Any = None
    if bucket is None:
        index = searching(home, house.clock, folder / "indexes")
    else:
        store = S3Snapshots(bucket._client, bucket.name, house.clock)
        index = SqliteSearch(past_of(home, house.clock), store, folder / "indexes", house.clock)
    house.runtime = replace(house.runtime, search=index)


def occurrences(house: House, folder: Path, *words: str) -> list[str]:
    """Where these words are still written, but for the file that the report names."""
    forms = [form for word in words for form in _forms(word)]
    return sorted(
        {
            f"{place}: {form.decode(errors='replace')}"
            for place, content in _everything(house.home, folder)
            for form in forms
            if form in content
        }
    )


def _forms(word: str) -> Iterator[bytes]:
    yield word.encode()
    if not word.isascii():
        yield json.dumps(word)[1:-1].encode()


def _everything(home: Home, folder: Path) -> Iterator[tuple[str, bytes]]:
    for path in folder.rglob("*"):
        if path.is_file() and not str(path).endswith(FILE) and "history" not in path.parts:
            yield str(path.relative_to(folder)), path.read_bytes()
    bucket = getattr(home.blobs, "_bucket", None)
    if bucket is not None:
        yield from _items(home.journal._table)  # type: ignore[attr-defined]
        yield from _versions(bucket._client, bucket.name)


def _items(table: Any) -> Iterator[tuple[str, bytes]]:
    start: dict[str, Any] = {}
    while True:
        page = table._dispatch("Scan", {"TableName": table.name, **start})
        for item in page["Items"]:
            key = f"{item['pk']['S']}/{item['sk']['S']}"
            yield key, json.dumps(item, ensure_ascii=False, default=str).encode()
        if "LastEvaluatedKey" not in page:
            return
        start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}


def _versions(client: Any, bucket: str) -> Iterator[tuple[str, bytes]]:
    for each in client.list_object_versions(Bucket=bucket).get("Versions", ()):
        if not each["Key"].endswith(FILE):
            which = {"Key": each["Key"], "VersionId": each["VersionId"]}
            content = client.get_object(Bucket=bucket, **which)["Body"].read()
            yield each["Key"], content
            with suppress(zlib.error):
                # What an increment of a search index says.
                yield each["Key"], zlib.decompress(content)


def saving(text: str) -> Reply:
    """A reply that keeps a memory."""
    return Reply(calls=(("save_memory", {"category": "fact", "content": text}),))


def _learned() -> dict[str, str]:
    return {"experience": f"{NAME}と話した", "outcome": "success", "lesson": "よく聞くこと"}


def _told(life: Life) -> None:
    """Hanako also steers what runs."""
    now = life.house.clock.now()
    line = Line(
        session_id="direct",
        group="steer1",
        kind=LineKind.SYSTEM,
        audience=Audience.AGENTS,
        speaker_id=HANAKO,
        speaker_name=NAME,
        authority=Authority.USER,
        text=f"急いで: {SAID}",
        message_id="steer1",
        at=now,
    )
    told = Instruction(id="steer1", session_id="direct", text=line.text, by=HANAKO, at=now)
    admit_guidance_for_turns(life.house.runtime.home, told, line)


def _keepsakes(life: Life) -> None:
    now = life.house.clock.now()
    life.keep(
        IMPRESSION,
        HANAKO,
        Impression(
            target_id=HANAKO, target_name="はなちゃん", notes=SAID, created_at=now, updated_at=now
        ),
    )
    life.keep(
        IMPRESSION,
        "taro",
        Impression(
            target_id="taro", target_name="太郎", notes="早起き", created_at=now, updated_at=now
        ),
    )
    for node_id, label in (("n1", NAME), ("n2", "海辺"), ("n3", "散歩")):
        life.keep(NODE, node_id, KnowledgeNode(id=node_id, label=label, updated_at=now))
    for target in ("n1", "n3"):
        edge = KnowledgeEdge(origin="n2", target=target, relation="near", updated_at=now)
        life.keep(EDGE, f"n2-{target}", edge)
    about = CoreMemory(id="c1", content=SAID, hearing=Hearing.PRIVATE, person_id=HANAKO)
    other = CoreMemory(id="c2", content=KEPT, hearing=Hearing.PRIVATE, person_id="taro")
    life.keep(MIND, MIND, AgentState(core=(about, other), agenda=Agenda(last_number=1)))


def _inner(life: Life) -> None:
    """What crab believes, notes and would wake for; much of it because of Hanako."""
    now = life.house.clock.now()
    beliefs = (
        Belief(id="b1", claim=SAID, formed_at=now, evidence=(ENGLISH,)),
        Belief(id="b2", claim="海は広い", formed_at=now, person_id=HANAKO),
        Belief(id="b3", claim=KEPT, formed_at=now, evidence=("early", ENGLISH), session_id="kais"),
    )
    peers = (
        Peer(agent_id="kai", interests=("海", NAME), interactions=2, last_session="kais"),
        Peer(agent_id=HANAKO, interactions=1),
        Peer(agent_id="once", interests=("Sea",), interactions=1, last_session="shared"),
    )
    for belief in beliefs:
        life.keep(BELIEF, belief.id, belief)
    for peer in peers:
        life.keep(PEER, peer.agent_id, peer)
    life.keep(OUTLOOK, OUTLOOK, salient_beliefs_in_memory(beliefs, peers))
    life.keep(WORKING, WORKING, WorkingMemory(text=f"あとで: {ENGLISH}", at=now))
    for name, who, text in (("e1", "kai", "It rains."), ("e2", HANAKO, ""), ("e3", "kai", SAID)):
        life.keep(
            HAPPENING, name, AgentEvent(id=name, type="speech", source=who, text=text, at=now)
        )
    asked = Mention(
        session_id="shared", line=1, authority=Authority.USER, principal_id=HANAKO, at=now
    )
    signs = VitalSigns(
        agent_id="crab",
        next_beat_at=now,
        lived_at=now,
        reviewed_at=now,
        unread=3,
        mention=asked,
        spoke={f"wall:#{HANAKO}": now, "wall:#all": now},
    )
    life.keep(VITALS, VITALS, signs)


def _summaries(life: Life) -> None:
    now = life.house.clock.now()
    for number, sources, parts in (
        (1, (SummarySource(session_id="direct", first=1, last=9),), ()),
        (2, (SummarySource(session_id="kais", first=1, last=9),), ()),
        (3, (), ("S1", "S2")),
        (4, (), ("S2",)),
    ):
        summary = Summary(
            id=f"S{number}",
            span=SummarySpan.TOPIC if sources else SummarySpan.DAY,
            title=SAID if number in {1, 3} else "朝のこと",
            text=ENGLISH if number in {1, 3} else "海の話でした",
            sources=sources,
            parts=parts,
            since=now,
            until=now,
            at=now,
        )
        life.keep(SUMMARY, memory_summary_document_id(summary.id), summary)
    topics = (SummaryTopic(id="S1", title=SAID, last=9, until=now),)
    life.keep(COMPACTION, "direct", CompactionState(done=9, topics=topics))


def _goal(life: Life) -> None:
    now = life.house.clock.now()
    goal = Goal(
        id="G1",
        agent_id="crab",
        session_id="task1",
        name=SAID[:20],
        instruction=SAID,
        given=True,
        status=GoalStatus.COMPLETED,
        principal_id=HANAKO,
        principal_name=NAME,
        created_at=now,
        ended_at=now,
    )
    life.keep(GOAL, goal_document_id("G1"), goal)
    life.keep(INSTRUCTION, "task1", _Given(goal="G1", instruction=SAID))
    step = PlannedTask(name=SAID[:20], precondition="…", postcondition="…")
    for number, tasks in ((1, (step,)), (9, (step.replaced(name="早朝に歩く"),))):
        # The other goal is there no more, and its plan says nothing of her.
        old = AbandonedPlan(
            goal_id=f"G{number}",
            revision=1,
            tasks=number_tasks(f"G{number}", tasks),
            why=ENGLISH if number == 1 else "雨",
            given_up_at=now,
        )
        life.keep(PLAN, abandoned_goal_plan_id(old.goal_id, 1), old)


def _asked(life: Life) -> None:
    """What crab was to do because of her, for Taro, and where she is."""
    asker = InstructionGiver(HANAKO, NAME, authority.Source.REST, Authority.OWNER)
    runtime = life.house.runtime
    asked = inject_owner_goal(
        runtime, "crab", NewGoal(name="歌う", description=SAID), asker, key="k"
    )
    cancel_goal(runtime, "crab", asked.id, by="owner")
    for name, instructions, where in (
        ("hers", f"{NAME}さんに挨拶する", None),
        ("his", KEPT, None),
        ("place", "Look around.", "shared"),
    ):
        draft = ScheduleDraft(
            name=name, when="@every 1d", instructions=instructions, session_id=where
        )
        create_schedule(runtime, "crab", name, draft)
