"""Plays: what people do on a chat service while something goes wrong, and what they see in the end.

At last every text is seen once; where it is not, or where nobody can know, its speech is marked.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from opencrab.domain.approvals.policy import ApprovalPolicy
from opencrab.domain.conversation.attachment import UPLOADS
from opencrab.domain.conversation.message import DeliveryState, Utterance
from opencrab.domain.value import Language
from tests.contract.homes import OpenHome
from tests.crash.outside import Reply
from tests.discord.faults import Fault
from tests.e2e.chat_house import ChatHouse
from tests.e2e.troubled_house import Trouble
from tests.e2e.troubles import HTTP, trouble_at_point

LONG = "\n\n".join(
    f"{n}. " + " ".join(f"Crab {n}-{m} lives deep in the sea." for m in range(150))
    for n in range(7)
)
NOTE = ("メモ.md", "蟹は横に歩く\n".encode())
_TWO = Reply(
    calls=(
        ("send_speech", {"content": "ひとつ", "more": True}),
        ("send_speech", {"content": "ふたつ", "more": False}),
    )
)


@dataclass(frozen=True)
class ChatScene:
    """What is asked of the agent, how it answers, and what is seen of that, in order."""

    name: str
    replies: tuple[Reply, ...]
    texts: tuple[str, ...]
    rings: int = 0
    group: bool = False
    late: bool = False
    file: tuple[str, bytes] | None = None


CHAT_SCENES = (
    ChatScene("ask", (Reply(text="元気です。"),), ("元気です。",)),
    ChatScene("file", (Reply(text="読みました。"),), ("読みました。",), file=NOTE),
    ChatScene("late", (Reply(text="遅れました。"),), ("遅れました。",), late=True),
    ChatScene("long", (Reply(text=LONG),), (LONG,)),
    ChatScene("two", (_TWO,), ("ひとつ", "ふたつ"), group=True),
    ChatScene(
        "button",
        (Reply(calls=(("ring_bell", {"tone": "ding"}),)), Reply(text="鳴らしました")),
        ("鳴らしました",),
        rings=1,
    ),
)


@dataclass
class ChatStage:
    """One installation for many plays; each has a person, or a group, and an agent of its own."""

    make: type[ChatHouse]
    opens: OpenHome
    folder: Path
    plays: int = 0
    marked: int = 0

    def __post_init__(self) -> None:
        self.house: ChatHouse = self.make(self.opens, self.folder)
        self.requests: dict[str, int] = {}

    def plain(self, scene: ChatScene) -> list[str]:
        """Play a scene in which nothing happens; answers its points."""
        before, none = len(self.house.vendor.log), Trouble()
        assert self.play(scene, none) == []
        self.requests[scene.name] = len(self.house.vendor.log) - before
        return none.seen

    def perform(self, scene: ChatScene, kind: str, at: int) -> list[str]:
        """Play a scene with one trouble; answers what is wrong in the end."""
        if kind in HTTP:
            return self.play(scene, Trouble(), HTTP[kind], at)
        if kind == "again":
            return self.play(scene, Trouble(), again=True)
        return self.play(scene, trouble_at_point(self.house, kind, at))

    def play(
        self,
        scene: ChatScene,
        trouble: Trouble,
        fault: Fault | None = None,
        at: int = 0,
        *,
        again: bool = False,
    ) -> list[str]:
        """Play a scene to its end."""
        house, self.plays = self.house, self.plays + 1
        asker, place = house.person_and_room(self.plays, group=scene.group)
        name = f"kani-{self.plays}"
        house.people = house.people.replaced(owner_ids=(asker,))
        agent = house.agent(name, scene.replies, Language.JA)
        if scene.name == "button":
            house.home.agents.save(agent.replaced(policy=ApprovalPolicy.STRICT))
        house.begin_play()
        house.name_agent(name)
        house.vendor.complaints.clear()
        house.vendor.faults.clear()
        house.trouble = trouble
        if fault is not None:
            house.vendor.faults.plan("", fault, skip=at - 1)
        began = house.clock.now()
        house.ask(f"{name}、元気?", asker, place if scene.group else None, scene.file)
        if again:
            house.vendor.send_again()
        if scene.late:
            house.clock.advance(70)
        house.rest()
        if scene.name == "button":
            self._decide(asker, place)
        if again:
            house.again()
            house.rest()
        self.marked += DeliveryState.INDETERMINATE in house.states()
        wrong = list(ChatEnd(house, scene, name, place, began).wrong())
        house.end_play()
        return wrong

    def _decide(self, owner: str, place: str) -> None:
        """The owner approves, and tries again when nothing seems to happen."""
        house = self.house
        for _ in range(3):
            shown = house.vendor.shown.get(place, [])
            decided = any("承認しました" in each.text for each in shown)
            if decided or not any(each.buttons for each in shown):
                return
            house.hear(house.vendor.press("承認", owner))
            house.rest()


@dataclass
class ChatEnd:
    """A scene that is over, and what is held against it."""

    house: ChatHouse
    scene: ChatScene
    agent_id: str
    place: str
    began: datetime

    def wrong(self) -> Iterator[str]:
        """Everything that should not be so."""
        yield from self.house.problems
        yield from self.house.vendor.complaints
        yield from self._of_texts()
        yield from self._of_states()
        yield from self._of_files()

    @property
    def speech(self) -> list[Utterance]:
        """What was said in this place, or was to be."""
        found = self.house.utterances()
        return [each for each in found if self.place in each.channel.address]

    @property
    def marked(self) -> list[Utterance]:
        """Speech of which nobody can know whether it was seen."""
        return [each for each in self.speech if each.state is DeliveryState.INDETERMINATE]

    def _of_texts(self) -> Iterator[str]:
        seen = self.house.vendor.texts(self.place)
        words = "".join("".join(seen).split())
        for text in self.scene.texts:
            wanted = "".join(text.split())
            times = words.count(wanted)
            if times > 1 or (text is LONG and len(set(seen)) != len(seen)):
                yield f"twice: {text[:20]}"
            is_excused = any(text == each.text or each.approval for each in self.marked)
            if not times and not is_excused:
                yield f"lost: {text[:20]} {[each.state for each in self.speech]}"

    def _of_files(self) -> Iterator[str]:
        """A file is in the workspace once; one that did not come in time is named instead."""
        paths = [each.path for each in self.house.home.files.list(self.agent_id, UPLOADS)]
        wanted = [] if self.scene.file is None else [self.scene.file[0]]
        is_taken = [each.rpartition("/")[2] for each in paths] == wanted
        if not is_taken and (paths or not self._is_named(wanted[0])):
            yield f"files: {paths}"

    def _is_named(self, file: str) -> bool:
        """Whether the message says that a file was not received."""
        home, note = self.house.home, f"[添付ファイル {file}: 受け取れていません"
        sessions = home.sessions.page(limit=5_000, after=None)
        own = [each for each in sessions if self.agent_id in each.agent_ids]
        return any(
            note in line.text for each in own for line in home.journal.lines(each.id, limit=9)
        )

    def _of_states(self) -> Iterator[str]:
        for each in self.speech:
            if not each.state.is_end:
                yield f"unfinished: {each.state}"
            if each.state is DeliveryState.FAILED:
                yield f"failed: {each.error}"
        for each in self.marked:
            if self._is_harmless(each):
                yield f"marked in vain: {each!r}"
        if len(self.house.bell.rings) > self.scene.rings:
            yield f"rang {len(self.house.bell.rings)} times"

    def _is_harmless(self, utterance: Utterance) -> bool:
        """Whether a repeat would have been."""
        since = utterance.since
        return since is not None and self.house.is_harmless(utterance, since, self.began)
