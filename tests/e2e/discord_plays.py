"""Plays: what people do on Discord while something goes wrong, and what they see in the end.

A play has a scene (who asks for what), a kind of trouble and the point at which it comes. At last
every text is seen once; where it is not, or where nobody can know, its speech is marked.
"""

from dataclasses import dataclass
from pathlib import Path

from opencrab.domain.approvals.policy import ApprovalPolicy
from opencrab.domain.conversation.message import DeliveryState
from opencrab.domain.value import Language
from tests.contract.homes import OpenHome
from tests.crash.errand import scripts
from tests.crash.outside import Reply
from tests.discord.fake import GUILD_ID, OWNER
from tests.discord.faults import Fault
from tests.discord.state import Message, Place
from tests.e2e.discord_ends import LONG, End, Scene
from tests.e2e.discord_house import DiscordHouse
from tests.e2e.troubled_house import Trouble
from tests.e2e.troubles import HTTP, trouble_at_point


def _said(*texts: str) -> Reply:
    last = len(texts) - 1
    calls = (("send_speech", {"content": t, "more": n < last}) for n, t in enumerate(texts))
    return Reply(calls=tuple(calls))


def _flowing(text: str, *calls: tuple[str, dict[str, str]]) -> Reply:
    return Reply(text=text, calls=calls, streamed=True)


FLOW = "海の 底は 暗く 静かで 蟹は ゆっくり 歩きます。"
SILENCE = ("send_noreact", {"reason": "なし"})
RING = Reply(calls=(("ring_bell", {"tone": "ding"}),))
SCENES = (
    Scene("ask", (Reply(text="元気です。"),), ("元気です。",)),
    Scene("long", (Reply(text=LONG),), ()),
    Scene("button", (RING, Reply(text="鳴らしました")), ("鳴らしました",), rings=1),
    Scene(
        "guest", (_said("ひとつ", "ふたつ", "みっつ"),), ("ひとつ", "ふたつ", "みっつ"), guest=True
    ),
    Scene("silent", (Reply(calls=(("send_noreact", {"reason": "なし"}),)),), (), shows=False),
    Scene("flow", (_flowing(FLOW),), (FLOW,)),
    Scene("flow-guest", (_flowing(FLOW),), (FLOW,), guest=True),
    Scene(
        "flow-acts",
        (_flowing("では 鐘を 鳴らして みますね", ("ring_bell", {})), _flowing(FLOW)),
        (FLOW,),
        rings=1,
    ),
    Scene("flow-silent", (_flowing("ええと 何か 言おうか やめようか", SILENCE),), (), shows=False),
    Scene("task", (Reply(text="…"),), ("書きました", "整理しました"), rings=5, command="task"),
    Scene("show", (Reply(text="…"),), (), command="agent show"),
)


@dataclass
class Stage:
    """One installation for many plays; each has a channel and an agent of its own."""

    opens: OpenHome
    folder: Path
    plays: int = 0
    marked: int = 0

    def __post_init__(self) -> None:
        self.house = DiscordHouse(self.opens, self.folder)
        self.requests: dict[str, int] = {}

    def plain(self, scene: Scene) -> list[str]:
        """Play a scene in which nothing happens; answers its points."""
        before, none = len(self.house.discord.log), Trouble()
        assert self.play(scene, none) == []
        self.requests[scene.name] = len(self.house.discord.log) - before
        return none.seen

    def perform(self, scene: Scene, kind: str, at: int) -> list[str]:
        """Play a scene with one trouble; answers what is wrong in the end."""
        if kind in HTTP:
            return self.play(scene, Trouble(), HTTP[kind], at)
        if kind == "again":
            return self.play(scene, Trouble(), again=True)
        return self.play(scene, trouble_at_point(self.house, kind, at))

    def play(
        self,
        scene: Scene,
        trouble: Trouble,
        fault: Fault | None = None,
        at: int = 0,
        *,
        again: bool = False,
    ) -> list[str]:
        """Play a scene to its end."""
        house, self.plays = self.house, self.plays + 1
        place = self._place(guest=scene.guest)
        name = f"kani-{self.plays}"
        agent = house.agent(name, scene.replies, Language.JA)
        if scene.name == "button":
            house.home.agents.save(agent.replaced(policy=ApprovalPolicy.STRICT))
        if scene.name == "task":
            house.scripts.update(scripts(name))
        house.begin_play()
        house.discord.api.complaints.clear()
        house.discord.api.faults.clear()
        house.trouble = trouble
        if fault is not None:
            house.discord.fail("", fault, skip=at - 1)
        given = {"agent": name, **scene.options}
        interaction = house.discord.command(scene.command, given, place=place)
        house.rest()
        if scene.name == "button":
            _decide(house, place)
        if again:
            house.again()
            house.rest()
        self.marked += DeliveryState.INDETERMINATE in house.states()
        wrong = End(house, scene, place, interaction).wrong()
        house.end_play()
        return wrong

    def _place(self, *, guest: bool) -> Place:
        guild = "1300000000000000009" if guest else GUILD_ID
        place = Place(str(1_700_000_000_000_000_000 + self.plays), guild_id=guild, guest=guest)
        return self.house.discord.place(place)


def _decide(house: DiscordHouse, place: Place) -> None:
    """The owner approves, and tries again when nothing seems to happen."""
    for _ in range(3):
        questions = [each for each in house.discord.shown(place, OWNER) if _is_open(each)]
        if not questions:
            return
        house.discord.press(questions[0], "承認")
        house.rest()


def _is_open(message: Message) -> bool:
    return any(each["label"] == "承認" and not each.get("disabled") for each in message.buttons)
